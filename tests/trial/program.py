"""The program as its user starts it: a process of its own, in a real repository."""

import json
import os
import pty
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from git_blackbird.controller.core.workspace import hold_controller
from tests import preloaded
from tests.controller.support import open_at
from tests.json_lines import assert_valid
from tests.support import git, set_config

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 120.0
Record = dict[str, Any]


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:
        return b""


@dataclass
class Trial:
    """One worktree and the program in it; ``environ`` is what its processes get beyond the sealed one."""

    repo: Path
    environ: dict[str, str] = field(default_factory=dict)
    popen: type[preloaded.Popen] = preloaded.Popen

    def all_variables(self) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(ROOT), **self.environ}

    def start(self, *args: str, cwd: Path | None = None) -> subprocess.Popen[str]:
        return self.popen(
            [*preloaded.PROGRAM, *args],
            cwd=cwd or self.repo,
            env=self.all_variables(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="surrogateescape",
        )

    def run(self, *args: str, stdin: str = "", cwd: Path | None = None) -> tuple[int, str]:
        """Return the exit code and all that was said."""
        process = self.start(*args, cwd=cwd)
        said, _ = process.communicate(stdin, timeout=PATIENCE_SECONDS)
        assert_valid(said)
        return process.returncode, said

    def expect(self, code: int, *args: str, stdin: str = "", cwd: Path | None = None) -> str:
        """Run a command that must end so, and give all that it said."""
        seen, said = self.run(*args, stdin=stdin, cwd=cwd)
        assert seen == code, said
        return said

    def on_terminal(self, *args: str) -> bytes:
        """All that a command sends to a terminal."""
        ours, theirs = pty.openpty()
        changed = {"TERM": "xterm-256color", "PAGER": "cat", "NO_COLOR": ""}
        process = self.popen(
            [*preloaded.PROGRAM, *args],
            cwd=self.repo,
            env={**self.all_variables(), **changed},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        data = b"".join(iter(lambda: _read(ours), b""))
        os.close(ours)
        process.wait()
        return data

    def approve(self, task_id: str, *options: str) -> str:
        """Approve a change while another call is at work: it is that which would land it."""
        with hold_controller(open_at(self.repo), "execute"):
            return self.expect(0, "decide", task_id, "--approve", *options)

    def init(self, *args: str) -> None:
        """Make a plan, in a project that does not stop after each task."""
        self.expect(0, "init", *args)
        self.expect(0, "config", "--project", "execution.stopAfterEachTask", "false")

    def configure(self, settings: Mapping[str, str]) -> None:
        set_config(self.repo, settings)

    def plan(self, tasks: Mapping[str, tuple[str, ...]]) -> None:
        """Write a plan of these tasks with what each depends on; the agent is asked for ``TASK.py``."""
        stamp = "2026-01-02T03:04:05Z"
        items = {
            task: {
                "id": task,
                "title": task.title(),
                "description": "",
                "acceptanceCriteria": [],
                "prompt": f"Write {task}.py.",
                "parentId": None,
                "childIds": [],
                "deps": list(deps),
                "status": "todo",
                "createdAt": stamp,
                "updatedAt": stamp,
            }
            for task, deps in tasks.items()
        }
        (self.repo / "blackbird.plan.json").write_text(json.dumps({"schemaVersion": 1, "items": items}))

    def command(self, script: str) -> None:
        """Let a shell script be the agent; one that changes nothing does its task as well."""
        settings = {"agent": "command", "command.run": script, "execution.stopGraceSeconds": "0"}
        self.configure({**settings, "execution.acceptNoChange": "true"})

    def records(self, task: str) -> list[Record]:
        """The records of a task, oldest first."""
        folder = Path(git(self.repo, "rev-parse", "--absolute-git-dir"), "blackbird", "runs", task)
        return [json.loads(path.read_bytes()) for path in sorted(folder.glob("*.json"))]

    def reviews(self, task: str) -> list[Record]:
        """The records of the spec and code reviews of a task's changes, oldest first."""
        return self.records(f"{task}/reviews")

    def statuses(self) -> dict[str, str]:
        plan = json.loads((self.repo / "blackbird.plan.json").read_bytes())
        return {task: item["status"] for task, item in sorted(plan["items"].items())}
