"""Runs one agent the way the controller does: held, opened, followed."""

import asyncio
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from git_blackbird.agents.environment import child_environ
from git_blackbird.agents.process.launch import GatedProcess, spawn_gated
from git_blackbird.agents.process.logs import LogFiles, cut_saved
from git_blackbird.agents.process.outcome import ChildRequest, Limits, ProcessResult
from git_blackbird.agents.protocol import (
    RUN_FOLDER_PREFIX,
    TMP_FOLDER,
    Agent,
    JsonObject,
    LaunchSpec,
    OutputParser,
    RunRequest,
)
from git_blackbird.model.base.redaction import Redactor
from git_blackbird.model.run.agent_io import AgentResult, Progress

# Processes are found by this id: tests that run side by side must not stop each other's.
RUN_ID = f"{os.getpid():016x}"
PATIENT = Limits(wall_seconds=60, idle_seconds=60, grace_seconds=5)
MEGABYTE = 1024 * 1024


class Ear:
    """A reader that only listens."""

    needs_all = True
    remaining_work: tuple[str, ...] | None = None

    def __init__(self) -> None:
        self.heard = 0

    def feed(self, data: bytes) -> tuple[Progress, ...]:
        self.heard += len(data)
        return ()

    def finish(self, exit_code: int | None, stderr_tail: str) -> AgentResult:
        return AgentResult(succeeded=exit_code == 0, final_text=stderr_tail)


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

    def hold(self, launch: LaunchSpec, **variables: str) -> GatedProcess:
        work = self.work
        environ = child_environ(
            {**os.environ, **variables},
            task_id="t1",
            run_id=self.run_id,
            tmp_dir=work / TMP_FOLDER,
            extra=launch.environ,
        )
        return spawn_gated(launch, cwd=self.tree, environ=environ, logs=self.logs, work_dir=work)

    async def follow(
        self, child: GatedProcess, reader: OutputParser | None = None, hurry: asyncio.Event | None = None
    ) -> ProcessResult:
        request = ChildRequest(
            reader or Ear(),
            self.limits,
            on_progress=self.progress.append,
            on_output=self._hear,
            hurry=hurry or asyncio.Event(),
        )
        return await child.follow(request)

    def _hear(self, data: bytes, _: str, skipped: int) -> None:
        self.output.append(data)
        self.skipped += skipped

    def run_shell(self, script: str, reader: OutputParser | None = None, stdin: bytes = b"") -> ProcessResult:
        child = self.hold(LaunchSpec(argv=("/bin/sh", "-c", script), stdin=stdin))
        child.open_gate()
        ended = asyncio.run(self.follow(child, reader))
        for path in (self.logs.stdout, self.logs.stderr):
            cut_saved(path, self.max_bytes)
        return ended

    def run_agent(self, agent: Agent, assignment: RunRequest, **variables: str) -> ProcessResult:
        child = self.hold(agent.launch(assignment), **variables)
        child.open_gate()
        return asyncio.run(self.follow(child, agent.parser(assignment)))


def assign(
    prompt: str = "",
    *,
    session: str | None = "5e551011-0000-4000-8000-000000000001",
    resume: bool = False,
    context: JsonObject | None = None,
    previous_totals: Mapping[str, float] | None = None,
    folder: str = "",
    schema: JsonObject | None = None,
    read_only: bool = False,
    scratch: str = "",
) -> RunRequest:
    pack = {"schemaVersion": 1, "task": {"id": "t1", "title": "T", "prompt": prompt}, **(context or {})}
    return RunRequest(
        task_id="t1",
        run_id=RUN_ID,
        session=session,
        prompt=prompt,
        context=pack,
        resume=resume,
        previous_totals=previous_totals or {},
        folder=folder,
        schema=schema,
        read_only=read_only,
        scratch=scratch,
    )


async def until(condition: Callable[[], bool], seconds: float = 30) -> None:
    """Wait for something that another process does, after every task has begun."""
    await asyncio.sleep(0)
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110  # nobody tells us
            await asyncio.sleep(0.01)
