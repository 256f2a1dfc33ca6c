# bash completion for git-blackbird, through git's own: it calls _git_blackbird for `git blackbird`.

# COMMAND OPTION|PLACE|- KIND WHAT-IT-IS, kept in step with the program by its tests.
__git_blackbird_table='
# table: begin
command add - Add a task to the plan.
command agent - Show which agents there are, and which is chosen.
command completion - Print the completion script of a shell.
command config - Show every key, or read or write one.
command decide - Record a decision on a task'\''s run.
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
command set-status - Set a task'\''s status by hand.
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
key execution.stopGraceSeconds text an agent'\''s time to stop by itself
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
key tui.theme words:auto|dark|light|ansi the screen'\''s colours; auto goes by COLORFGBG
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
add --index text The place among the parent'\''s children, from 0.
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
config --local - This clone'\''s git configuration; the default.
config --project - The project'\''s .blackbird/config.json.
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
deinit --config - The keys in this repository'\''s git config.
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
move --index text The place among the parent'\''s children, from 0; the last when not given.
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
runs --diff - Show the full diff: of RUN, or of the task'\''s change.
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

# Give each NAME and KIND of the table's lines of COMMAND.
__git_blackbird_lines ()
{
	local of name kind says
	while read -r of name kind says; do
		[ "$of" = "$1" ] && printf '%s %s\n' "$name" "$kind"
	done <<<"$__git_blackbird_table"
}

# Give the KIND of NAME of COMMAND; fails when it has none.
__git_blackbird_kind ()
{
	local name kind
	while read -r name kind; do
		[ "$name" = "$2" ] && printf '%s' "$kind" && return
	done <<<"$(__git_blackbird_lines "$1")"
	return 1
}

# Put what a WORD of the line stands for, without its quotes, into dequoted_word.
__git_blackbird_plain ()
{
	local home=""
	[[ $1 = "~" || $1 = "~/"* ]] && home=$HOME
	__git_dequote "${1#${home:+\~}}"
	dequoted_word=$home$dequoted_word
}

# Run git where the line tells it to: git's own completion passes places on with their quotes, and not all.
__git_blackbird_git ()
{
	local i dequoted_word
	local -a at=()
	for ((i = 1; i < ${__git_cmd_idx:-0}; i++)); do
		__git_blackbird_plain "${words[i]}"
		case "$dequoted_word" in
		--git-dir=* | --work-tree=* | --bare) at+=("$dequoted_word") ;;
		-C | --git-dir | --work-tree)
			at+=("$dequoted_word")
			__git_blackbird_plain "${words[++i]-}"
			at+=("$dequoted_word")
			;;
		-c | --namespace | --config-env) ((++i)) ;;
		esac
	done
	git ${at[@]+"${at[@]}"} "$@" 2>/dev/null
}

# Ask the program; it answers in lines of a value, a tab and what it is, and never complains.
__git_blackbird_ask ()
{
	__git_blackbird_git blackbird completion "$@"
}

# Offer what begins with CURRENT among the lines of standard input, each as one word of the shell.
__git_blackbird_values ()
{
	local current=$1 ahead="" line word
	# What readline takes for an earlier word of its own stays as it was typed.
	[[ $current == *[:=]* ]] && ahead=${current%"${current##*[:=]}"}
	while IFS= read -r line; do
		line=${line%%$'\t'*}
		printf -v word '%q' "$line"
		[[ -n $line && ( $line == "$current"* || $word == "$current"* ) ]] || continue
		COMPREPLY+=("${word#"$ahead"} ")
	done
}

# Offer values of KIND that begin with CURRENT; $command, $scope and $given are those of the line.
__git_blackbird_offer ()
{
	local kind=$1 current=$2
	case "$kind" in
	words:*) kind=${kind#words:} && __git_blackbird_values "$current" <<<"${kind//|/$'\n'}" ;;
	tasks) __git_blackbird_values "$current" < <(__git_blackbird_ask --tasks "$command$scope") ;;
	reviewable) __git_blackbird_values "$current" < <(__git_blackbird_ask --tasks "$command ${given[0]-}") ;;
	runs) __git_blackbird_values "$current" < <(__git_blackbird_ask --runs "${given[0]-}") ;;
	deps) __git_blackbird_values "$current" < <(__git_blackbird_ask --deps "${given[0]-}" "${given[1]-}") ;;
	keys) __git_blackbird_values "$current" < <(__git_blackbird_lines key | cut -d ' ' -f 1) ;;
	value) kind=$(__git_blackbird_kind key "${given[0]-}") && __git_blackbird_offer "$kind" "$current" ;;
	commits) __git_blackbird_values "$current" < <(__git_blackbird_git for-each-ref --format='%(refname:short)' refs/heads refs/tags) ;;
	folder) compopt +o nospace -o dirnames 2>/dev/null ;;
	file) compopt +o nospace 2>/dev/null && COMPREPLY=() && return ;;
	esac
	# Where nothing fits, the shell must not fall back on names of files.
	[ "$kind" = folder ] || compopt +o default +o bashdefault 2>/dev/null
}

_git_blackbird ()
{
	local command="" scope="" kind="" owner="" ended="" word i dequoted_word
	local -a given=()
	for ((i = ${__git_cmd_idx:-1} + 1; i < cword; i++)); do
		word=${words[i]}
		if [ -n "$owner" ]; then
			owner=""
		elif [ -z "$ended" ] && [ "$word" = -- ]; then
			ended=yes
		elif [ -z "$ended" ] && [[ $word == -?* ]]; then
			kind=$(__git_blackbird_kind "${command:-.}" "$word") && [ "$kind" != - ] && owner=$word
			[ "$command $word" = "resume --all" ] && scope=" --all"
		elif [ -z "$command" ]; then
			command=$word
		else
			__git_blackbird_plain "$word" && given+=("$dequoted_word")
		fi
	done
	COMPREPLY=()
	if [ -n "$owner" ]; then
		__git_blackbird_offer "$(__git_blackbird_kind "$command" "$owner")" "$cur"
	elif [ -z "$ended" ] && [[ $cur == --*=* ]]; then
		kind=$(__git_blackbird_kind "$command" "${cur%%=*}") && cur=${cur#*=} &&
			__git_blackbird_offer "$kind" "$cur"
	elif [ -z "$ended" ] && [[ $cur == -* ]]; then
		__git_blackbird_offer "words:$(__git_blackbird_lines "${command:-.}" | sed -n 's/^\(-[^ ]*\).*/\1/p')" "$cur"
	elif [ -z "$command" ]; then
		__git_blackbird_offer "words:$(__git_blackbird_lines command | cut -d ' ' -f 1)" "$cur"
	else
		kind=$(__git_blackbird_kind "$command" $((${#given[@]} + 1)) ||
			__git_blackbird_kind "$command" '*')
		__git_blackbird_offer "${kind:-none}" "$cur"
	fi
}

# For the program under its own name; git's completion may not be loaded yet.
if ! declare -F __git_complete >/dev/null; then
	if declare -F _comp_load >/dev/null; then
		_comp_load git
	elif declare -F _completion_loader >/dev/null; then
		_completion_loader git
	fi
fi
if declare -F __git_complete >/dev/null; then
	__git_complete git-blackbird _git_blackbird
fi
