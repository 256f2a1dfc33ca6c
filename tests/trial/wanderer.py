"""A program in place of ``claude`` that works outside its place as a script says, and prints its edits."""

import json
import shlex
import subprocess
from collections.abc import Iterable
from pathlib import Path

from tests import preloaded
from tests.support import git
from tests.trial.program import Trial

# A person beside the agent: nothing ties what is typed so to the run.
PERSON = "env -u BLACKBIRD_RUN_ID -u BLACKBIRD_TASK_ID"
_PROGRAM = """\
#!/bin/sh
[ "$1" = --version ] && echo "2.1.332 (Claude Code)" && exit
before= session=
for word; do
    case $before in --session-id | --resume) session=$word ;; esac
    before=$word
done
cat >/dev/null
here={folder}/$BLACKBIRD_TASK_ID
[ ! -e "$here.sh" ] || . "$here.sh" >&2
sed "s/@SESSION@/$session/g" "$here.jsonl"
"""


def _events(edits: Iterable[tuple[str, str, bool]]) -> Iterable[object]:
    for number, (tool, path, is_error) in enumerate(edits):
        use = {"type": "tool_use", "id": f"t{number}", "name": tool, "input": {"file_path": path}}
        answer = {"type": "tool_result", "tool_use_id": f"t{number}", "is_error": is_error, "content": "."}
        yield {"type": "assistant", "message": {"id": f"m{number}", "content": [use]}}
        yield {"type": "user", "message": {"content": [answer]}}
    ending = {"terminal_reason": "completed", "result": "Done.", "session_id": "@SESSION@"}
    yield {"type": "result", "subtype": "success", "is_error": False, **ending}


def install(trial: Trial) -> None:
    """Let it be the agent, in a repository with our hook."""
    folder = trial.repo.parent / "wanderer"
    folder.mkdir()
    (folder / "claude").write_text(_PROGRAM.format(folder=shlex.quote(str(folder))))
    (folder / "claude").chmod(0o755)
    trial.configure({"agent": "claude", "claude.path": str(folder / "claude")})
    trial.expect(0, "hooks", "install")


def tell(trial: Trial, task: str, script: str, edits: Iterable[tuple[str, str, bool]] = ()) -> None:
    """Say what it does on a task, and what its output says of edits: tool, path, whether it failed."""
    folder = trial.repo.parent / "wanderer"
    (folder / f"{task}.sh").write_text(script)
    (folder / f"{task}.jsonl").write_text("".join(f"{json.dumps(event)}\n" for event in _events(edits)))


def place_of(trial: Trial, task: str) -> Path:
    """Return the worktree of a task."""
    return trial.repo.parent / f"{trial.repo.name}.worktrees" / task


def head_of(repo: Path, name: str = "HEAD") -> str:
    """Return the commit of a name."""
    return git(repo, "rev-parse", name)


def as_typed(trial: Trial, line: str) -> None:
    """Type a line into a shell at the top of the user's worktree."""
    preloaded.write_command(trial.repo.parent / "git-blackbird")
    environ = trial.all_variables()
    environ["PATH"] = f"{trial.repo.parent}:{environ['PATH']}"
    subprocess.run(line, shell=True, cwd=trial.repo, env=environ, check=True, capture_output=True)
