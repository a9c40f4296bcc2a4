# SPDX-License-Identifier: ISC
# bash completion for dragoman. It asks the program itself what to offer, so that it is always up to
# date.

# Lists the options in the --help text on standard input; "--[no-]x" stands for two options.
_dragoman_options()
{
    grep -o -E -e '--(\[no-\])?[a-z][a-z-]*' | sed 's/^--\[no-\]\(.*\)/--\1\n--no-\1/' | sort -u
}

_dragoman_commands()
{
    "$1" --help | sed -n 's/^  \([a-z-]*\) .*/\1/p'
}

_dragoman()
{
    local program=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}
    local words=
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="$(_dragoman_commands "$program") help --help --version"
    elif [[ $word == -* ]]; then
        words=$("$program" "$command" --help | _dragoman_options)
    elif [[ $command == help ]]; then
        words=$(_dragoman_commands "$program")
    elif [[ $command == get ]]; then
        words=$("$program" models --available 2>/dev/null | sed -n 's/^[* ] \([a-z][^ ]*\) .*/\1/p' | sort -u)
    elif [[ $command == remove ]]; then
        words=$("$program" models 2>/dev/null | sed -n 's/^\([^ ]*-[^ ]*\) .*/\1/p')
    elif [[ $before == --model || $before == -m ]]; then
        mapfile -t COMPREPLY < <(compgen -d -- "$word")
        return
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        return
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o filenames -F _dragoman dragoman
