"""Agents that work or meet a usage limit as told, and a clock that jumps to where a call waits for."""

import os
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from git_blackbird.controller.core.environment import Environment
from git_blackbird.controller.core.workspace import Workspace, view_workspace
from git_blackbird.controller.engine.loop import Loop
from git_blackbird.model.views.events import Event, LimitsHeld, RunStarted
from git_blackbird.model.views.stop import Stop
from tests.controller.support import Person, configure, run_to_stop
from tests.support import repository_at

SECOND = 10**9
HOUR = 3600
# Each start takes the next line of the file that is named after its task, and is noted with its session.
_PROGRAM = r"""#!/bin/sh
case "$1" in --version) echo "{version}"; exit;; esac
cat >{here}/prompt; here={here}; before=; session=01a1b2c3-0000-7000-8000-0123456789ab
for word; do case $before in --session-id | --resume) session=$word;; esac; before=$word; done
echo "$BLACKBIRD_TASK_ID $session" >>$here/started
steps=$here/$BLACKBIRD_TASK_ID
step=$(sed -n 1p $steps 2>/dev/null); [ -z "$step" ] || sed -i 1d $steps
set -- $step; at=$2
{functions}
case $1 in
refused) init; refuses;;
broke) init; echo "Error: Credit balance is too low" >&2; exit 1;;
cut) init; says; echo x >>$BLACKBIRD_TASK_ID.txt; refuses;;
fails) init; says; exit 3;;
*) init; says; echo x >>$BLACKBIRD_TASK_ID.txt; ends;;
esac
"""
_CLAUDE = r"""
init() { printf '{"type":"system","subtype":"init","session_id":"%s"}\n' "$session"; }
says() {
    printf '{"type":"assistant","message":{"id":"m1","model":"m-1","content":[{"type":"text",'
    printf '"text":"I begin."}],"usage":{"input_tokens":9,"output_tokens":3}}}\n'
}
refuses() {
    printf '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":%s}}\n' "${at:-0}"
    printf '{"type":"result","subtype":"success","is_error":true,"result":"You have hit your limit",'
    printf '"session_id":"%s","api_error_status":429}\n' "$session"
    exit 1
}
ends() {
    printf '{"type":"result","subtype":"success","is_error":false,"result":"Done.","session_id":"%s",' \
        $session
    printf '"structured_output":{"passed":true,"feedback":"","results":[{"taskId":"a","status":"pass"}]}}\n'
}
"""
_CODEX = r"""
init() { printf '{"type":"thread.started","thread_id":"%s"}\n{"type":"turn.started"}\n' "$session"; }
says() { printf '{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"Done."}}\n'; }
refuses() { printf '{"type":"turn.failed","error":{"message":"You have hit your usage limit."}}\n'; exit 1; }
ends() { printf '{"type":"turn.completed","usage":{"input_tokens":9,"output_tokens":3}}\n'; }
"""
_KINDS = {"claude": ("2.1.329 (Claude Code)", _CLAUDE), "codex": ("codex-cli 0.169.0", _CODEX)}


@dataclass
class Clock:
    """The time of this machine, and how far ahead of it a test has gone."""

    ahead: int = 0

    def now(self) -> int:
        return time.time_ns() + self.ahead

    def seconds(self) -> int:
        return self.now() // SECOND

    def jump_to(self, moment: int) -> None:
        self.ahead += max(0, moment - self.now())


@dataclass
class Waiter(Person):
    """A person at a terminal; each time the call waits, the clock goes to where that is over.

    Each run takes ``run_seconds`` by it.
    """

    is_on_terminal: bool = True
    clock: Clock = field(default_factory=Clock)
    on_wait: Callable[[], object] | None = None
    run_seconds: int = 0

    def notify(self, event: Event) -> None:
        super().notify(event)
        if isinstance(event, RunStarted):
            self.clock.ahead += self.run_seconds * SECOND
        if isinstance(event, LimitsHeld) and event.holds:
            if self.on_wait is not None:
                self.on_wait()
            else:
                self.clock.jump_to(min(hold.until for hold in event.holds))

    @property
    def waits(self) -> list[LimitsHeld]:
        return [event for event in self.events if isinstance(event, LimitsHeld) and event.holds]

    @property
    def minutes(self) -> list[int]:
        """For how long each wait was, rounded."""
        return [round((event.holds[0].until - event.now) / SECOND / 60) for event in self.waits]


def enlist(repo: Path, name: str = "claude", **steps: Sequence[str]) -> Path:
    """Let a program be this agent, which does these steps on each task, and works when none is left."""
    folder = repo.parent / name
    folder.mkdir(exist_ok=True)
    for task, lines in steps.items():
        (folder / task).write_text("".join(f"{line}\n" for line in lines))
    version, functions = _KINDS[name]
    program = folder / "program"
    text = _PROGRAM.replace("{version}", version).replace("{here}", str(folder))
    program.write_text(text.replace("{functions}", functions))
    program.chmod(0o755)
    configure(repo, **{f"{name}__path": str(program)})
    return folder


def started(repo: Path, name: str = "claude") -> list[str]:
    """Return the tasks that this agent was started on."""
    return [line.split()[0] for line in _starts(repo, name)]


def sessions(repo: Path, task: str, name: str = "claude") -> list[str]:
    return [line.split()[1] for line in _starts(repo, name) if line.split()[0] == task]


def _starts(repo: Path, name: str) -> list[str]:
    path = repo.parent / name / "started"
    return path.read_text().splitlines() if path.exists() else []


def call_at(
    repo: Path,
    person: Waiter,
    prepare: Callable[[Workspace, Waiter], Loop],
    watch: Callable[[Loop], None] | None = None,
) -> Stop:
    """Run a loop to its stop by the person's clock."""
    world = Environment(dict(os.environ), repo, person.clock.now, secrets.randbits)
    workspace = view_workspace(repository_at(repo, world.environ), world)
    return run_to_stop(workspace, prepare(workspace, person), watch)
