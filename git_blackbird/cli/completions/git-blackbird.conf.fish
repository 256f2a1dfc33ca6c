# Read by every fish at its start: fish's own completion of git does not find programs called git-*.
complete -c git -f -n 'functions -q __fish_git_needs_command; and __fish_git_needs_command' -a blackbird -d 'Run coding agents over a plan'
