# fish completion for git-blackbird; fish's own completion of git asks it for `git blackbird`.

# Give what the program offers behind the line: for git, where that is told to run.
function __git_blackbird_complete
    set -l words (commandline -opc)
    set -l cur (commandline -ct)
    # Asked by fish's own completion of git, as git-blackbird: it has kept the line.
    if status stack-trace | string match -q '*__fish_git_complete_custom_command*'
        set words (string unescape -- (string match -ar '(?:[^\s\\\\"\']|\\\\.|"[^"]*"|\'[^\']*\')+' -- "$__fish_git_cmdline"))
        test -n "$cur"; and set -e words[-1]
    end
    set -l at
    if test (path basename -- "$words[1]") = git
        while set -q words[2]; and string match -q -- '-*' $words[2]
            set -l size 2
            contains -- $words[2] -C -c --git-dir --work-tree --namespace --exec-path --config-env
            and set size 3
            if string match -qr -- '^(-C$|--git-dir|--work-tree)' $words[2]
                set -a at (string replace -r '^~(?=/|$)' $HOME -- $words[2..$size])
            end
            set -e words[2..$size]
        end
        set -e words[1]
    end
    # An option with its value is one word to the program: it answers with values alone.
    set -l ahead (string match -r -- '^--[^=]*=' $cur)
    set -l value (string replace -r -- '^--[^=]*=' '' $cur)
    set -l response (COMP_WORDS=(string join ' ' -- git-blackbird (string escape -- $words[2..])) COMP_CWORD="$cur" \
        _GIT_BLACKBIRD_COMPLETE=fish_complete git $at blackbird 2>/dev/null)
    for line in $response
        set -l parts (string split -m 1 -- , $line)
        switch $parts[1]
            case dir
                string join \n -- "$ahead"(__fish_complete_directories $value)
            case file
                string join \n -- "$ahead"(__fish_complete_path $value)
            case plain
                echo "$ahead$parts[2]"
        end
    end
end

complete -c git -f -n 'functions -q __fish_git_needs_command; and __fish_git_needs_command' -a blackbird -d 'Run coding agents over a plan'

# Some releases of fish do not ask for `git blackbird`: where this file was read, they need not.
complete -c git -f -n 'functions -q __fish_git_using_command; and __fish_git_using_command blackbird' -a '(__git_blackbird_complete)'
complete -c git-blackbird -f -a '(__git_blackbird_complete)'
