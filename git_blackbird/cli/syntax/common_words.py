"""Words that other programs have for what a command here does."""

from git_blackbird.model.base.sanitize import shell_word

# For each word the commands to name. None starts an agent: whoever types a word may mean something else.
_WORDS = {
    "approve accept": ("decide {task} --approve",),
    "reject": ("decide {task} --reject",),
    "request-changes": ("decide {task} --request-changes -e",),
    "diff changes": ("runs {task} --diff",),
    "log logs output": ("runs {task} --log",),
    "tail follow watch": ("runs {task} --follow",),
    "history cost costs usage": ("runs", "report"),
    "next todo continue": ("status", "list --ready"),
    "start run exec go work": ("execute --dry-run",),
    "stop pause cancel kill": ("status",),
    "rm remove del": ("delete {task} --dry-run",),
    "ls tasks": ("list --all",),
    "dag mermaid dot svg": ("graph",),
    "tree": ("list --tree --all", "edit --plan"),
    "export": ("plan export",),
    "import load": ("plan import -h",),
    "generate": ("plan generate",),
    "refine": ("plan refine",),
    "infer": ("deps infer",),
    "new create": ("add",),
    "lint": ("plan lint", "validate"),
    "check repair fsck": ("doctor", "validate"),
    "gc clean cleanup": ("prune --dry-run", "worktrees prune --dry-run"),
    "done finish complete": ("set-status {task} done",),
    "skip": ("set-status {task} skipped",),
    "mv reorder": ("move -h",),
    "info view cat describe answer ask reply": ("show {task}",),
    "revert rollback": ("undo {task} --dry-run",),
    "merge land commit": ("branch {task}",),
    "push": ("branch {task} --push",),
    "pr": ("branch {task} --pr",),
    "set get settings configure": ("config",),
    "agents login": ("agent",),
    "ui gui": ("tui",),
    "version": ("--version",),
}
_REMARKS = {
    "execute --dry-run": "shows what `git blackbird execute` would start",
    "status": "shows what runs and what is next; Ctrl+C in its terminal pauses a call",
}


def hint_for(words: list[str]) -> str | None:
    """Return the commands for what was typed, one a line; None for a word that is not common."""
    word, *rest = words
    is_named = bool(rest) and not rest[0].startswith("-")
    task = shell_word(rest[0]) if is_named else ""
    for names, commands in _WORDS.items():
        if word in names.split():
            return "\n".join(_line(command, task) for command in commands)
    return None


def _line(command: str, task: str) -> str:
    verb, takes_task, _ = command.partition(" {task}")
    if takes_task and not task:
        return f"git blackbird {verb} -h"
    remark = f"    # {_REMARKS[command]}" if command in _REMARKS else ""
    return f"git blackbird {command.format(task=task)}{remark}"
