# fish completion for git-blackbird; fish's own completion of git asks it for `git blackbird`.

# COMMAND OPTION|PLACE|- KIND WHAT-IT-IS, kept in step with the program by its tests.
set -g __git_blackbird_table '
# table: begin
command add - Add a task to the plan.
command agent - Show which agents there are, and which is chosen.
command completion - Print the completion script of a shell.
command config - Show every key, or read or write one.
command decide - Record a decision on a task\'s run.
command deinit - Remove git-blackbird from a repository.
command delete - Take a task out of the plan.
command demo - Try everything in a repository made for it.
command deps - Change which tasks must be done before another.
command edit - Edit a task, with options or in your editor.
command execute - Run what is ready; stop where someone must decide.
command hooks - Install, remove or show the post-commit hook.
command init - Make a plan to start from.
command list - List tasks.
command move - Put a task below another parent or at another place.
command restart - Start a task again in a new session.
command resume - Go on in the same agent session.
command retry - Make a task todo again; start nothing.
command review - Show the reviews of a task, run or dismiss them.
command runs - Show what happened, what it cost, what it changed.
command set-status - Set a task\'s status by hand.
command show - Show one task and why it is or is not ready.
command status - Show where the plan stands and what is due.
command tui - Open the plan in a full-screen application.
command validate - Check the plan file; every fault in one go.
key agent words:claude|codex|command|demo the agent that does the tasks
key claude.path text the claude program
key claude.permissionMode words:bypassPermissions|acceptEdits|auto|default|dontAsk|manual|plan what claude may do without asking
key claude.model text the model claude uses; its own choice when unset
key claude.args text more arguments for claude
key codex.path text the codex program
key codex.sandbox words:read-only|workspace-write|danger-full-access what codex may do
key codex.model text the model codex uses; its own choice when unset
key codex.args text more arguments for codex
key command.run text the shell command of the agent `command`
key command.schema words:true|false the command honours BLACKBIRD_RESPONSE_SCHEMA
key execution.stopAfterEachTask words:true|false stop for a decision after each task
key execution.acceptNoChange words:true|false a task may be done without a change and without a decision
key execution.commit words:never|approved what is committed when a change is approved
key execution.parentReviewEnabled words:true|false review a parent when all its children are done
key execution.timeoutMinutes text longest run
key execution.idleMinutes text longest silence of an agent
key execution.logMegabytes text kept of each output stream of a run
key execution.stopGraceSeconds text an agent\'s time to stop by itself
key notify.command text a shell command to run when you are needed
key reviews.mode words:off|parallel review what each task changed: spec and code side by side
key reviews.maxIterations text most rounds of reviews and fixes
key reviews.diffThresholdLines text longest diff given to reviewers in full
key reviews.timeoutSeconds text time limit of one review attempt
key reviews.spec.agent words:claude|codex|command|demo who reviews against the task; the agent when unset
key reviews.spec.model text the model of that reviewer
key reviews.code.agent words:claude|codex|command|demo who reviews the code; the agent when unset
key reviews.code.model text the model of that reviewer
key snapshot.timeoutSeconds text longest time for one snapshot
key snapshot.maxUntrackedBytes text largest untracked file a snapshot keeps
key tui.theme words:auto|dark|light|ansi the screen\'s colours; auto goes by COLORFGBG
key tui.runDataRefreshIntervalSeconds text kept for the Go program
key tui.planDataRefreshIntervalSeconds text kept for the Go program
key planning.maxPlanAutoRefinePasses text kept for the Go program
. --version - Show the version and exit.
. -h - Show this message and exit.
. --help - Show this message and exit.
add --id text The id; made when not given.
add --title text What the task is, in a line.
add --description text What it is about.
add --prompt text What its agent is to do.
add --notes text Notes for people.
add --ac text An acceptance criterion; repeatable.
add --dep tasks A task that must be done before; repeatable.
add --parent tasks The parent task.
add --index text The place among the parent\'s children, from 0.
add --json - Print JSON for programs.
add --no-input - Never ask; stop where someone must decide.
add -h - Show this message and exit.
add --help - Show this message and exit.
agent --json - Print JSON for programs.
agent --no-input - Never ask; stop where someone must decide.
agent -h - Show this message and exit.
agent --help - Show this message and exit.
agent 1 words:claude|codex|command|demo -
completion --tasks words:add|agent|completion|config|decide|deinit|delete|demo|deps|edit|execute|hooks|init|list|move|restart|resume|retry|review|runs|set-status|show|status|tui|validate For the scripts: the tasks that COMMAND takes now.
completion --runs tasks For the scripts: the runs of TASK.
completion --deps text For the scripts: the tasks that deps VERB TASK takes.
completion --json - Print JSON for programs.
completion --no-input - Never ask; stop where someone must decide.
completion -h - Show this message and exit.
completion --help - Show this message and exit.
completion 1 words:bash|zsh|fish -
config --unset - Remove KEY from the place named.
config --local - This clone\'s git configuration; the default.
config --project - The project\'s .blackbird/config.json.
config --global - Your ~/.blackbird/config.json.
config --json - Print JSON for programs.
config --no-input - Never ask; stop where someone must decide.
config -h - Show this message and exit.
config --help - Show this message and exit.
config 1 keys -
config 2 value -
decide --approve - Take the change.
decide --request-changes - Send -m TEXT to the session.
decide --reject - Fail the task; files stay as they are.
decide --any-branch - Approve though HEAD has left the branch of the run.
decide --run runs Decide only if this is still the run in question.
decide -m text What to tell the agent.
decide --message text What to tell the agent.
decide -F file Read that from a file; - is standard input.
decide --file file Read that from a file; - is standard input.
decide -e - Write that in your editor.
decide --edit - Write that in your editor.
decide --json - Print JSON for programs.
decide --no-input - Never ask; stop where someone must decide.
decide -h - Show this message and exit.
decide --help - Show this message and exit.
decide 1 tasks -
deinit --hooks - The post-commit hook; the one from before comes back.
deinit --refs - The references of runs, with the trees they keep.
deinit --state - The records and logs of runs, in .blackbird and in .git.
deinit --config - The keys in this repository\'s git config.
deinit --all - All of these; not the plan.
deinit --plan - The plan file.
deinit --yes - Do not ask.
deinit --json - Print JSON for programs.
deinit --no-input - Never ask; stop where someone must decide.
deinit -h - Show this message and exit.
deinit --help - Show this message and exit.
delete --cascade-children - Delete everything below it too.
delete --force - Take it out of the dependencies of others; drop a pending decision.
delete --json - Print JSON for programs.
delete --no-input - Never ask; stop where someone must decide.
delete -h - Show this message and exit.
delete --help - Show this message and exit.
delete 1 tasks -
demo --dir folder Where to make the repository; blackbird-demo here when not given.
demo --auto - Answer everything by itself, and show the commands for it.
demo --json - Print JSON for programs.
demo --no-input - Never ask; stop where someone must decide.
demo -h - Show this message and exit.
demo --help - Show this message and exit.
deps --json - Print JSON for programs.
deps --no-input - Never ask; stop where someone must decide.
deps -h - Show this message and exit.
deps --help - Show this message and exit.
deps 1 words:add|remove|set -
deps 2 tasks -
deps * deps -
edit --title text What the task is, in a line.
edit --description text What it is about.
edit --clear-description - Clear the description.
edit --prompt text What its agent is to do.
edit --clear-prompt - Clear the prompt.
edit --notes text Notes for people.
edit --clear-notes - Clear the notes.
edit --ac text An acceptance criterion, in place of those there are; repeatable.
edit --clear-ac - Clear the criteria.
edit --json - Print JSON for programs.
edit --no-input - Never ask; stop where someone must decide.
edit -h - Show this message and exit.
edit --help - Show this message and exit.
edit 1 tasks -
execute --dry-run - Only say what would be started, in order.
execute --limit text At most N starts.
execute --stop-after-each - Stop for a decision after each task, or not.
execute --no-stop - Stop for a decision after each task, or not.
execute --reviews words:off|parallel Have each change reviewed, spec and code side by side, or not: parallel, off.
execute --agent words:claude|codex|command|demo The agent for new runs.
execute --stream - Show what the agent does and says as it comes.
execute --json - Print JSON for programs.
execute --no-input - Never ask; stop where someone must decide.
execute -h - Show this message and exit.
execute --help - Show this message and exit.
execute * tasks -
hooks --json - Print JSON for programs.
hooks --no-input - Never ask; stop where someone must decide.
hooks -h - Show this message and exit.
hooks --help - Show this message and exit.
hooks 1 words:install|uninstall|status -
init --hooks - Install the post-commit hook, or do not offer to; see `hooks`.
init --no-hooks - Install the post-commit hook, or do not offer to; see `hooks`.
init --json - Print JSON for programs.
init --no-input - Never ask; stop where someone must decide.
init -h - Show this message and exit.
init --help - Show this message and exit.
list --ready - Only what can be started now.
list --blocked - Only leaves that wait for others.
list --all - Everything, parents and finished tasks too.
list --status words:todo|queued|in_progress|waiting_user|blocked|done|failed|skipped Only tasks in this status.
list --tree - Show children below their parents.
list --porcelain - Print records of tab-separated fields for scripts.
list -z - The same, each ended with NUL and nothing quoted.
list --json - Print JSON for programs.
list --no-input - Never ask; stop where someone must decide.
list -h - Show this message and exit.
list --help - Show this message and exit.
move --parent tasks The new parent; root, or /, is the top of the plan.
move --index text The place among the parent\'s children, from 0; the last when not given.
move --json - Print JSON for programs.
move --no-input - Never ask; stop where someone must decide.
move -h - Show this message and exit.
move --help - Show this message and exit.
move 1 tasks -
restart -m text What to tell the agent.
restart --message text What to tell the agent.
restart -F file Read that from a file; - is standard input.
restart --file file Read that from a file; - is standard input.
restart -e - Write that in your editor.
restart --edit - Write that in your editor.
restart --stop-after-each - Stop for a decision after each task, or not.
restart --no-stop - Stop for a decision after each task, or not.
restart --reviews words:off|parallel Have each change reviewed, spec and code side by side, or not: parallel, off.
restart --agent words:claude|codex|command|demo The agent for new runs.
restart --stream - Show what the agent does and says as it comes.
restart --json - Print JSON for programs.
restart --no-input - Never ask; stop where someone must decide.
restart -h - Show this message and exit.
restart --help - Show this message and exit.
restart 1 tasks -
resume --all - TASK is a parent: all below it that its review flagged.
resume -m text What to tell the agent.
resume --message text What to tell the agent.
resume -F file Read that from a file; - is standard input.
resume --file file Read that from a file; - is standard input.
resume -e - Write that in your editor.
resume --edit - Write that in your editor.
resume --answer text Answer one question; repeatable.
resume --stop-after-each - Stop for a decision after each task, or not.
resume --no-stop - Stop for a decision after each task, or not.
resume --reviews words:off|parallel Have each change reviewed, spec and code side by side, or not: parallel, off.
resume --stream - Show what the agent does and says as it comes.
resume --json - Print JSON for programs.
resume --no-input - Never ask; stop where someone must decide.
resume -h - Show this message and exit.
resume --help - Show this message and exit.
resume 1 tasks -
retry --json - Print JSON for programs.
retry --no-input - Never ask; stop where someone must decide.
retry -h - Show this message and exit.
retry --help - Show this message and exit.
retry 1 tasks -
review --agent words:claude|codex|command|demo With run: the agent that reviews.
review --stream - With run: show what the reviewer does and says as it comes.
review --format words:text|xml With show of a leaf: the form.
review --reason text With dismiss: why it may be done all the same.
review --json - Print JSON for programs.
review --no-input - Never ask; stop where someone must decide.
review -h - Show this message and exit.
review --help - Show this message and exit.
review 1 words:show|run|dismiss -
review 2 reviewable -
runs --limit text At most N runs; 20 over all tasks.
runs --log - Show what its agent did and said, in the pager.
runs --follow - Show what a live run does, until it ends.
runs --diff - Show the full diff: of RUN, or of the task\'s change.
runs --since-request - With --diff: what changed since you last requested changes.
runs --accept - Let the record of RUN count, whoever wrote it.
runs --raw - With --log and --follow: both streams as they were printed.
runs --porcelain - Print records of tab-separated fields for scripts.
runs -z - The same, each ended with NUL and nothing quoted.
runs --json - Print JSON for programs.
runs --no-input - Never ask; stop where someone must decide.
runs -h - Show this message and exit.
runs --help - Show this message and exit.
runs 1 tasks -
runs 2 runs -
set-status --json - Print JSON for programs.
set-status --no-input - Never ask; stop where someone must decide.
set-status -h - Show this message and exit.
set-status --help - Show this message and exit.
set-status 1 tasks -
set-status 2 words:todo|queued|in_progress|waiting_user|blocked|done|failed|skipped -
show --prompt - Show exactly what its agent would be told now.
show --commit commits Show which task and run made a commit.
show --json - Print JSON for programs.
show --no-input - Never ask; stop where someone must decide.
show -h - Show this message and exit.
show --help - Show this message and exit.
show 1 tasks -
status --porcelain - Print records of tab-separated fields for scripts.
status -z - The same, each ended with NUL and nothing quoted.
status --json - Print JSON for programs.
status --no-input - Never ask; stop where someone must decide.
status -h - Show this message and exit.
status --help - Show this message and exit.
tui --json - Print JSON for programs.
tui --no-input - Never ask; stop where someone must decide.
tui -h - Show this message and exit.
tui --help - Show this message and exit.
validate --json - Print JSON for programs.
validate --no-input - Never ask; stop where someone must decide.
validate -h - Show this message and exit.
validate --help - Show this message and exit.
# table: end
'

# Give NAME, KIND and what it is of each of the table's lines of a command.
function __git_blackbird_lines -a command
    string replace -rf -- '^'(string escape --style=regex -- $command)' ' '' (string split \n -- $__git_blackbird_table)
end

# Give the KIND of a name of a command; fails when it has none.
function __git_blackbird_kind -a command name
    for line in (__git_blackbird_lines $command)
        set -l parts (string split -m 2 ' ' -- $line)
        if test $parts[1] = $name
            echo $parts[2]
            return 0
        end
    end
    return 1
end

# Offer values of a kind, each behind a prefix.
function __git_blackbird_offer -a prefix kind command
    set -l given $argv[4..]
    switch $kind
        case 'words:*'
            string join \n -- $prefix(string split '|' -- (string replace 'words:' '' -- $kind))
        case reviewable
            string join \n -- $prefix(git $__git_blackbird_at blackbird completion --tasks "$command $given[1]" 2>/dev/null)
        case tasks
            string join \n -- $prefix(git $__git_blackbird_at blackbird completion --tasks $command 2>/dev/null)
        case runs
            string join \n -- $prefix(git $__git_blackbird_at blackbird completion --runs "$given[1]" 2>/dev/null)
        case deps
            string join \n -- $prefix(git $__git_blackbird_at blackbird completion --deps "$given[1]" "$given[2]" 2>/dev/null)
        case keys
            __git_blackbird_lines key | string replace -r '^(\S+) \S+ ' $prefix'$1\t'
        case value
            __git_blackbird_offer "$prefix" (__git_blackbird_kind key "$given[1]"; or echo none)
        case commits
            string join \n -- $prefix(git $__git_blackbird_at for-each-ref --format='%(refname:short)' refs/heads refs/tags 2>/dev/null)
        case folder
            __fish_complete_directories
        case file
            __fish_complete_path
    end
end

# Keep what git is told of the place before the name of the program, for who asks it.
function __git_blackbird_note_place
    set -g __git_blackbird_at
    set -l words $argv
    # Asked by fish's own completion of git, as git-blackbird: it has kept the line.
    if status stack-trace | string match -q '*__fish_git_complete_custom_command*'
        set words (string unescape -- (string match -ar '(?:[^\s\\\\"\']|\\\\.|"[^"]*"|\'[^\']*\')+' -- "$__fish_git_cmdline"))
    end
    test (path basename -- "$words[1]") = git
    or return
    while set -q words[2]; and string match -q -- '-*' $words[2]
        set -l size 2
        contains -- $words[2] -C -c --git-dir --work-tree --namespace --exec-path --config-env
        and set size 3
        if string match -qr -- '^(-C$|--git-dir|--work-tree)' $words[2]
            set -a __git_blackbird_at (string replace -r '^~(?=/|$)' $HOME -- $words[2..$size])
        end
        set -e words[2..$size]
    end
end

# Give what stands behind the name of the program, called by itself or by git.
function __git_blackbird_words
    set -l words $argv
    if test (path basename -- $words[1]) = git
        while set -q words[2]; and string match -q -- '-*' $words[2]
            contains -- $words[2] -C -c --git-dir --work-tree --namespace --exec-path --config-env
            and set -e words[2]
            set -e words[2]
        end
        set -e words[1]
    end
    string join \n -- $words[2..]
end

function __git_blackbird_complete
    set -l words (commandline -opc)
    set -l cur (commandline -ct)
    set -l command
    set -l scope
    set -l owner
    set -l ended
    set -l given
    __git_blackbird_note_place $words
    for word in (__git_blackbird_words $words)
        if set -q owner[1]
            set owner
        else if not set -q ended[1]; and test "$word" = --
            set ended yes
        else if not set -q ended[1]; and string match -q -- '-?*' $word
            set -l kind (__git_blackbird_kind (set -q command[1]; and echo $command; or echo .) $word)
            and test $kind != -
            and set owner $word
            test "$command $word" = 'resume --all'
            and set scope ' --all'
        else if not set -q command[1]
            set command $word
        else
            set -a given $word
        end
    end
    if set -q owner[1]
        __git_blackbird_offer '' (__git_blackbird_kind "$command" $owner) "$command" $given
    else if not set -q ended[1]; and string match -q -- '--*=*' $cur
        set -l name (string split -m 1 = -- $cur)[1]
        set -l kind (__git_blackbird_kind "$command" $name)
        and __git_blackbird_offer $name= $kind "$command" $given
    else if not set -q ended[1]; and string match -q -- '-*' $cur
        __git_blackbird_lines (set -q command[1]; and echo $command; or echo .) | string replace -rf '^(-\S*) \S+ ' '$1\t'
    else if not set -q command[1]
        __git_blackbird_lines command | string replace -r '^(\S+) \S+ ' '$1\t'
    else
        set -l kind (__git_blackbird_kind $command (math (count $given) + 1); or __git_blackbird_kind $command '*')
        and __git_blackbird_offer '' $kind "$command$scope" $given
    end
end

complete -c git -f -n 'functions -q __fish_git_needs_command; and __fish_git_needs_command' -a blackbird -d 'Run coding agents over a plan'

# Some releases of fish do not ask for `git blackbird`: where this file was read, they need not.
complete -c git -f -n 'functions -q __fish_git_using_command; and __fish_git_using_command blackbird' -a '(__git_blackbird_complete)'
complete -c git-blackbird -f -a '(__git_blackbird_complete)'
