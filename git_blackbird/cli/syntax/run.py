"""Syntax of the commands that run agents, and of those that decide what becomes of what they did."""

from click import Argument, Choice, Option, Path

from git_blackbird.cli.syntax import completion as complete
from git_blackbird.cli.syntax.registry import TASK, CommandSpec, NumberRange, flag, text, texts
from git_blackbird.model.config.layers import AGENT_NAMES, REVIEW_MODES

_TASK = Argument(["task_id"], type=TASK, metavar="TASK", shell_complete=complete.tasks)
_AGENT = Option(["--agent"], type=Choice(AGENT_NAMES), help="The agent for new runs.")
_STOP = Option(
    ["--stop-after-each/--no-stop", "stop"], default=None, help="Stop for a decision after each task, or not."
)
_REVIEWS = Option(
    ["--reviews"],
    metavar="MODE",
    type=Choice(REVIEW_MODES),
    help="Whether each change is reviewed: parallel or off.",
)
_CLUSTER = Option(
    ["--cluster"],
    metavar="ADDRESS",
    type=text,
    help="Let agents work on the workers of this Dask scheduler, or on N here: local:N; '' is this machine.",
)
_BUDGET = texts(
    "What this call may use up: usd=5, tokens=2000000 or minutes=90; repeatable.", "UNIT=AMOUNT", "--budget"
)
_STREAM = flag("Show what the agent does and says as it happens.", "--stream")
_TIMINGS = flag("At the end, show where the time went, by task and in all.", "--timings")
_MESSAGE = (
    Option(["-m", "--message"], type=text, help="The message for the agent."),
    Option(
        ["-F", "--file", "message_file"],
        type=Path(dir_okay=False, allow_dash=True),
        help="Read the message from a file; - is standard input.",
    ),
    flag("Write the message in your editor.", "-e", "--edit", "in_editor"),
)

execute = CommandSpec(
    "execute",
    "run:execute",
    """Run what is ready; stop where someone must decide.

    With TASKs only these leaves are run.
    """,
    Argument(["task_ids"], type=TASK, nargs=-1, metavar="[TASK]...", shell_complete=complete.tasks),
    flag("Only list what would start, in order.", "--dry-run"),
    Option(["--limit"], type=NumberRange(min=1), metavar="N", help="Start at most N runs."),
    Option(
        ["--until"],
        type=text,
        metavar="TIME",
        help="Start nothing from TIME on, as 07:30: what runs then goes on to its end.",
    ),
    Option(
        ["-j", "--jobs"],
        type=NumberRange(1, 64),
        metavar="N",
        help="Work on N tasks at once, in worktrees of their own.",
    ),
    Option(
        ["--worktrees/--no-worktrees", "worktrees"],
        default=None,
        help="Work on each task in a worktree of its own, or in this one.",
    ),
    _CLUSTER,
    _BUDGET,
    _STOP,
    _REVIEWS,
    _AGENT,
    _STREAM,
    _TIMINGS,
)
resume = CommandSpec(
    "resume",
    "run:resume",
    """Continue a task in the same session: with answers, with feedback, or as it is.

    With --all, TASK is a parent: every leaf below it that its review flagged gets the feedback.
    """,
    _TASK,
    flag("TASK is a parent: resume all below it that its review flagged.", "--all", "below"),
    *_MESSAGE,
    texts("Answer one question; repeatable.", "ID=VALUE", "--answer", "answers"),
    flag("Open the session at this terminal and speak with the agent yourself.", "--interactive"),
    _CLUSTER,
    _BUDGET,
    _STOP,
    _REVIEWS,
    _STREAM,
    _TIMINGS,
)
tell = CommandSpec(
    "tell",
    "run:tell",
    """Tell a task's agent something while it works.

    Its run is paused when the step at work ends, within a minute, and goes on with the text in the same
    session. If it ends first, the text is a change request on it; if no call is at work any more, the next
    execute goes on with it.
    """,
    _TASK,
    Argument(["words"], metavar="[TEXT]", required=False, type=text),
    *_MESSAGE,
    flag("Pause it at once, in the middle of a step too.", "--now", "at_once"),
)
restart = CommandSpec(
    "restart",
    "run:restart",
    "Start a task again in a new session, with everything pending.",
    _TASK,
    *_MESSAGE,
    _CLUSTER,
    _BUDGET,
    _STOP,
    _REVIEWS,
    _AGENT,
    _STREAM,
    _TIMINGS,
)
retry = CommandSpec(
    "retry",
    "plan:retry",
    """Set a task back to todo; start nothing.

    For tasks that failed, were rejected, are paused, waiting or blocked.
    """,
    _TASK,
)
adopt = CommandSpec(
    "adopt",
    "adopt:adopt",
    """Let count what another program or clone did.

    Its runs, decisions and feedback lie below .blackbird/ and count for nothing until you say so: of all
    tasks, or of TASKs. Without an option it shows them and asks. What is left is not asked about again,
    and can still be adopted.
    """,
    Argument(["task_ids"], type=TASK, nargs=-1, metavar="[TASK]...", shell_complete=complete.tasks),
    flag("Adopt it: it counts from now on.", "--take"),
    flag("Leave it: it does not count.", "--leave"),
)
decide = CommandSpec(
    "decide",
    "decide:decide",
    """Decide on the changes of tasks, from anywhere.

    Without an option it asks for each decision that waits, those first that unblock most, or for those on
    TASKs. What is approved lands at once, and no agent is started: requests are sent by the next execute or
    resume. An execute that is waiting for the decision continues with it.
    """,
    Argument(["task_ids"], type=TASK, nargs=-1, metavar="[TASK]...", shell_complete=complete.tasks),
    flag("Ask for one decision alone: the one that unblocks most.", "--next", "only_next"),
    flag("Accept the change.", "--approve"),
    flag("Send the text of -m, -F or the editor to the session.", "--request-changes"),
    flag("Fail the task, for the reason of -m; files stay.", "--reject"),
    flag("With --reject: take the change back, as `git blackbird undo` does.", "--undo"),
    flag("With --approve: make no commit, whatever execution.commit says.", "--no-commit"),
    flag("Approve although HEAD has left the branch of the run.", "--any-branch"),
    texts("Approve the change at this file or folder alone; repeatable.", "PATH", "--files", "only"),
    flag("Ask hunk by hunk what of the change to approve, as `git add -p` does.", "-p", "--patch", "by_hunk"),
    texts(
        "Request TEXT instead of what the agent decided itself on its question ID; repeatable.",
        "ID=TEXT",
        "--overrule",
        "overruled",
    ),
    Option(
        ["--run", "run_id"],
        metavar="RUN",
        help="Decide only if this is still the task's run.",
        shell_complete=complete.runs,
    ),
    *_MESSAGE,
)
_TASK_OR_NONE = Argument(
    ["task_id"], type=TASK, required=False, metavar="[TASK]", shell_complete=complete.tasks
)
_DRY_RUN = flag("Only show what would change.", "-n", "--dry-run")
undo = CommandSpec(
    "undo",
    "undo:undo",
    """Take the change of TASK back out of the worktree.

    What anyone did since stays: each run of TASK is taken back by a three-way merge, and a path where later
    edits overlap is left alone and named. Where the branch has commits of the change, a commit takes them
    back. TASK is taken back then, failed in the plan. `git blackbird redo` brings the change back.

    Without TASK it says whose change can be taken back.
    """,
    _TASK_OR_NONE,
    _DRY_RUN,
)
redo = CommandSpec(
    "redo",
    "undo:redo",
    """Bring back the change of TASK that undo took out last.

    Without TASK it says whose change can come back.
    """,
    _TASK_OR_NONE,
    _DRY_RUN,
)
branch = CommandSpec(
    "branch",
    "branch:branch",
    """Commit the change of TASK on a new branch, ready to push.

    The branch begins at HEAD and has one commit, of exactly the change, with the trailers that approvals
    give. HEAD, index and worktree stay as they are. NAME is blackbird/TASK if it is left out.
    """,
    _TASK,
    Argument(["name"], metavar="[NAME]", required=False),
    Option(["--onto"], metavar="COMMIT", help="Begin there instead of at HEAD."),
    flag("Push the branch to origin, or to --remote.", "--push"),
    flag("Push it, and open a request to merge it, with gh or glab.", "--pr", "requests"),
    Option(["--remote"], metavar="REMOTE", help="The remote to push to; origin if left out."),
)
restore = CommandSpec(
    "restore",
    "branch:restore",
    """Put the files as RUN left them into a new worktree at FOLDER, or on a new branch.

    RUN is an id that `git blackbird runs` shows, or how it begins, or the reference of a worktree of a task
    that was removed; of a TASK it is the latest run. Nothing else is changed.
    """,
    Argument(["run_id"], metavar="RUN|TASK"),
    Argument(["folder"], metavar="[FOLDER]", required=False, type=Path()),
    Option(["--branch"], metavar="NAME", help="A new branch instead of a worktree."),
    flag("The files as they were when RUN began.", "--before"),
)
worktrees = CommandSpec(
    "worktrees",
    "branch:worktrees",
    """List the worktrees in which tasks are worked on, remove those that are done with, or open one.

    list shows what is going on in each, since when, and how much room it takes. prune removes those whose
    task has landed, or was given up: reset, rejected, or removed from the plan. The files of each are kept
    by a reference before. open prints the path of one: `cd "$(git blackbird worktrees open TASK)"`.
    """,
    Argument(
        ["action"],
        type=Choice(["list", "prune", "open"]),
        default="list",
        metavar="[list|prune|open",
    ),
    Argument(["task_id"], type=TASK, metavar="[TASK]]", required=False, shell_complete=complete.all_tasks),
    flag("With prune: only show what would be removed.", "-n", "--dry-run"),
)
review = CommandSpec(
    "review",
    "review:review",
    """Show the reviews of TASK, have it reviewed, or dismiss its review.

    If reviews.mode is parallel, `execute` has the change of each leaf reviewed, against the task and as
    code. When all children of a parent are done, it has the parent reviewed against its acceptance
    criteria. show shows what was found. run has TASK reviewed now, even if it was before. dismiss lets a
    parent be done without a passing review of its children as they are, and records the reason.
    """,
    Argument(["action"], type=Choice(["show", "run", "dismiss"]), metavar="show|run|dismiss"),
    Argument(["task"], type=TASK, metavar="TASK", shell_complete=complete.tasks),
    Option(["--agent"], type=Choice(AGENT_NAMES), help="With run: the agent that reviews."),
    flag("With run: show what the reviewer does and says as it happens.", "--stream"),
    Option(["--format", "form"], type=Choice(["text", "xml"]), help="With show of a leaf: the format."),
    Option(["--reason"], type=text, help="With dismiss: why; else asked for."),
)
prove = CommandSpec(
    "prove",
    "prove:prove",
    """Find which hunks of a change no check notices.

    Each hunk is taken back, and the checks that see its file run, in folders of their own. Called again it
    goes on with what is open.
    """,
    _TASK,
    Option(
        ["--seconds"],
        type=NumberRange(min=1),
        metavar="N",
        help="Start no run of a check that would not be over N seconds from now.",
    ),
)
worker = CommandSpec(
    "worker",
    "worker:worker",
    """Work for the calls that name this scheduler with --cluster.

    ADDRESS is that of a Dask scheduler, such as tcp://HOST:8786. Agents start here, with this machine's
    logins and programs; each task gets a worktree in a clone below the folder. Ctrl+C stops the agents and
    ends it.
    """,
    Argument(["address"], metavar="ADDRESS"),
    Option(
        ["--slots"],
        type=NumberRange(1, 64),
        default=1,
        metavar="N",
        help="How many agents may work here at once.",
    ),
    Option(["--name"], type=text, metavar="NAME", help="The name of this worker; its host's when not given."),
    Option(
        ["--dir", "folder"],
        type=Path(),
        shell_complete=complete.folders,
        metavar="D",
        help="Where clones and worktrees are; ~/.cache/git-blackbird/worker when not given.",
    ),
)
