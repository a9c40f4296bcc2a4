# SPDX-License-Identifier: ISC
# fish completion for dragoman. It takes what it offers from the program's own --help, so that it is
# always up to date.
complete -c dragoman -n __fish_use_subcommand -f \
    -a "(dragoman --help | string match -r '^  [a-z-]+ .*' | string replace -r '^  ([a-z-]+) +' '\$1\t')"
complete -c dragoman -n "not __fish_use_subcommand" \
    -a "(dragoman (commandline -opc)[2] --help | string match -ra -- '--(?:\[no-\])?[a-z][a-z-]*' | \
        string replace -r -- '^--\[no-\](.*)' '--\$1\n--no-\$1' | sort -u)"
