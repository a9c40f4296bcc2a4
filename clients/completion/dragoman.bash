# SPDX-License-Identifier: ISC
# bash completion for dragoman: what it offers comes from the program's own --help, so that it is always true.

# The options of a --help on standard input; "--[no-]x" is two.
_dragoman_options()
{
    grep -o -E -e '--(\[no-\])?[a-z][a-z-]*' | sed 's/^--\[no-\]\(.*\)/--\1\n--no-\1/' | sort -u
}

_dragoman()
{
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "$("${COMP_WORDS[0]}" --help | sed -n 's/^  \([a-z-]*\) .*/\1/p') --help --version" -- "$word")
    elif [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$("${COMP_WORDS[0]}" "$command" --help | _dragoman_options)" -- "$word")
    elif [[ $before == --model || $before == -m ]]; then
        mapfile -t COMPREPLY < <(compgen -d -- "$word")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
}
complete -o filenames -F _dragoman dragoman
