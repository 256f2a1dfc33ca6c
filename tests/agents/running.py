"""Runs one agent the way the controller does: held, opened, followed."""

import asyncio
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from git_blackbird.agents.process.gate import Watcher
from git_blackbird.agents.process.launch import GatedProcess, spawn_gated
from git_blackbird.agents.process.logs import LogFiles, cut_saved
from git_blackbird.agents.protocol import (
    RUN_FOLDER_PREFIX,
    TMP_FOLDER,
    Agent,
    Assignment,
    JsonObject,
    Launch,
    Limits,
    OutputParser,
)
from git_blackbird.agents.registry import child_environ
from git_blackbird.model.base.redaction import Redactor
from git_blackbird.model.run.agent_io import Progress
from git_blackbird.model.run.ended import Ended

# Processes are found by this id: tests that run side by side must not stop each other's.
RUN_ID = f"{os.getpid():016x}"
PATIENT = Limits(wall_seconds=60, idle_seconds=60, grace_seconds=5)
MEGABYTE = 1024 * 1024


class Ear:
    """A reader that only listens."""

    needs_all = True
    remaining_work: tuple[str, ...] | None = None
    step: int | None = None

    def __init__(self) -> None:
        self.heard = 0

    def feed(self, data: bytes) -> tuple[Progress, ...]:
        self.heard += len(data)
        return ()

    def finish(self, exit_code: int | None, stderr_tail: str) -> Ended:
        return Ended(succeeded=exit_code == 0, final_text=stderr_tail)


class Bin(list[bytes]):
    """Takes output and keeps none of it."""

    def append(self, data: bytes) -> None:
        pass


@dataclass
class Stage:
    """A worktree with a place for logs, and what was heard of the run."""

    root: Path
    limits: Limits = PATIENT
    max_bytes: int = 10 * MEGABYTE
    run_id: str = RUN_ID
    redactor: Redactor | None = None
    progress: list[Progress] = field(default_factory=list)
    output: list[bytes] = field(default_factory=list)
    skipped: int = 0

    @property
    def tree(self) -> Path:
        path = self.root / "tree"
        path.mkdir(parents=True, exist_ok=True)
        return path

    @property
    def work(self) -> Path:
        path = self.root / f"{RUN_FOLDER_PREFIX}{self.run_id}"
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        return path

    @property
    def logs(self) -> LogFiles:
        return LogFiles(
            self.root / "logs/run.stdout", self.root / "logs/run.stderr", self.max_bytes, self.redactor
        )

    def hold(self, launch: Launch, **variables: str) -> GatedProcess:
        work = self.work
        environ = child_environ(
            {**os.environ, **variables},
            task_id="t1",
            run_id=self.run_id,
            tmp_dir=work / TMP_FOLDER,
            extra=launch.environ,
        )
        here = launch._replace(environ=environ, folder=str(self.tree), scratch=str(work), limits=self.limits)
        return spawn_gated(here, self.logs)

    async def follow(
        self, child: GatedProcess, reader: OutputParser | None = None, hurry: asyncio.Event | None = None
    ) -> Ended:
        child.launch = child.launch._replace(reader=reader or Ear())
        return await child.follow(StageWatcher(self, hurry or asyncio.Event()))

    def run_shell(self, script: str, reader: OutputParser | None = None, stdin: bytes = b"") -> Ended:
        child = self.hold(Launch(argv=("/bin/sh", "-c", script), stdin=stdin))
        child.open_gate()
        ended = asyncio.run(self.follow(child, reader))
        for path in (self.logs.stdout, self.logs.stderr):
            cut_saved(path, self.max_bytes)
        return ended

    def run_agent(self, agent: Agent, assignment: Assignment, **variables: str) -> Ended:
        folder = str(self.tree)
        child = self.hold(agent.launch(assignment, folder, str(self.work)), **variables)
        child.open_gate()
        return asyncio.run(self.follow(child, agent.parser(assignment, folder)))


class StageWatcher(Watcher):
    """Keeps what a stage sees of a run."""

    wants_output = True

    def __init__(self, stage: Stage, hurry: asyncio.Event) -> None:
        super().__init__(hurry)
        self._stage = stage

    def see_step(self, step: Progress) -> None:
        self._stage.progress.append(step)

    def see_output(self, data: bytes, stream: str, skipped: int) -> None:
        self._stage.output.append(data)
        self._stage.skipped += skipped


def assign(
    prompt: str = "",
    *,
    session: str | None = "5e551011-0000-4000-8000-000000000001",
    resume: bool = False,
    context: JsonObject | None = None,
    previous_totals: Mapping[str, float] | None = None,
    schema: JsonObject | None = None,
    read_only: bool = False,
) -> Assignment:
    pack = {"schemaVersion": 1, "task": {"id": "t1", "title": "T", "prompt": prompt}, **(context or {})}
    return Assignment(
        agent="",
        task_id="t1",
        run_id=RUN_ID,
        session=session,
        prompt=prompt,
        context=pack,
        resume=resume,
        previous_totals=previous_totals or {},
        schema=schema,
        read_only=read_only,
    )


def as_read(ended: Ended) -> Ended:
    """Leave out what the process saw of an end."""
    return ended._replace(
        exit_code=None,
        stdout_tail="",
        stderr_tail="",
        stdout_bytes=0,
        stderr_bytes=0,
        duration_seconds=0.0,
    )


async def until(condition: Callable[[], bool], seconds: float = 30) -> None:
    """Wait for something that another process does, after every task has begun."""
    await asyncio.sleep(0)
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110  # nobody tells us
            await asyncio.sleep(0.01)
