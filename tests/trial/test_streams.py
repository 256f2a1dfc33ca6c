"""Event streams of real agents, as people report them, and what each must come to.

Each ``[[stream]]`` in ``streams/TOPIC.toml`` is one call of ``git blackbird execute`` in a repository with
one task, with a program in place of the agent's own that prints what is there. To add one, say

- ``name``, ``provider``, ``version`` (of the program), and ``role``: ``implementer``, ``reviewer`` (both of
  the task's change) or ``parent`` (the reviewer of the task's parent). The others then do well;
- what the program does (``printer.Answer``): ``stdout``, ``then`` (printed a little later), ``stderr``,
  ``exit``, ``lingers`` (it does not exit), ``writes`` (a file that it changes). It does so at each start;
  ``[[stream.start]]`` instead is the first start, the next, and so on, the last one ever again;
- ``[stream.expected]``: what a person would expect (``Expected``). ``text``, ``questions``, ``cost`` and
  ``notes`` that are not given must not be there.

Texts are written anew, in the shapes of public reports: no one's words or names.
"""

import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from git_blackbird.agents.registry import load_agent
from tests.agents.running import assign
from tests.controller.support import leaf, parent_of, put_plan
from tests.records import fact
from tests.support import commit, config_with
from tests.trial.printer import SESSION, Answer, install, starts
from tests.trial.program import PATIENCE_SECONDS, Record, Trial

FOLDER = Path(__file__).with_name("streams")
_HURRIED = """
from functools import partial
from git_blackbird.controller.launch import launch
launch.Limits = partial(launch.Limits, result_seconds=0.0)
from git_blackbird.cli.main import run
run()
"""
_STRICT = ConfigDict(extra="forbid", strict=True, frozen=True)
_WORKS = {
    "claude": '{"type":"result","subtype":"success","is_error":false,"result":"ok","session_id":"@SESSION@"}',
    "codex": '{"type":"thread.started","thread_id":"@SESSION@"}\n'
    '{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"ok"}}\n'
    '{"type":"turn.completed","usage":{}}',
}


class Expected(BaseModel):
    """What a stream comes to: the exit code of the call, and the record of the last start in its role.

    ``says`` are lines that the call prints (each a part of one), ``starts`` how often the agent was started
    in its role, each of two reviewers, ``task`` the status of its task.
    """

    model_config = _STRICT

    exit: int
    status: Literal["success", "failed", "waiting_user", "paused"]
    reason: str | None = None
    text: str | None = None
    questions: list[str] = []
    cost: float | None = None
    notes: list[str] = []
    error: str | None = None
    says: list[str] = []
    starts: int = 1
    task: str | None = None


class Stream(Answer):
    """One entry of a file."""

    name: str
    provider: Literal["claude", "codex", "gemini", "opencode"]
    version: str
    role: Literal["implementer", "reviewer", "parent"]
    start: list[Answer] = Field(default=[])
    expected: Expected

    @property
    def answers(self) -> list[Answer]:
        return self.start or [Answer.model_validate(self.model_dump(include=set(Answer.model_fields)))]


def streams() -> Iterator[tuple[str, Stream]]:
    for path in sorted(FOLDER.glob("*.toml")):
        for entry in tomllib.loads(path.read_text())["stream"]:
            stream = Stream.model_validate(entry)
            yield f"{path.stem}: {stream.name}", stream


STREAMS = dict(streams())
OF_WORK = {
    name: stream
    for name, stream in STREAMS.items()
    if name.startswith("ends_") and stream.role == "implementer"
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS)
def test_a_stream_comes_to_what_a_person_would_expect(stream: Stream, repo: Path, tmp_path: Path) -> None:
    trial, folder = Trial(repo), tmp_path / "bin"
    commit(repo, {"old.txt": "old\n"})
    prepare(trial, stream, folder)
    code, said = execute(trial, hurried=any(answer.lingers for answer in stream.answers))
    expected, record = stream.expected, record_of(trial, stream)
    seen = Expected(
        exit=code,
        status=record["status"],
        reason=fact(record, "terminal_reason"),
        text=fact(record, "final_text"),
        questions=[question["prompt"] for question in fact(record, "questions") or ()],
        cost=fact(record, "cost_usd"),
        notes=fact(record, "notes") or [],
        error=record.get("error"),
        says=[text for text in expected.says if text in said],
        starts=len(starts_of(stream, folder)),
        task=expected.task and trial.statuses()["greet"],
    )
    wrong = [(*got, due[1]) for got, due in zip(seen, expected, strict=True) if got != due]
    assert not wrong, said


@pytest.mark.parametrize("stream", OF_WORK.values(), ids=OF_WORK)
def test_an_end_is_good_known_as_a_failure_or_neither(stream: Stream) -> None:
    (answer,) = stream.answers
    parser = load_agent(stream.provider, config_with()).parser(assign("Write greet.py.", session=SESSION))
    parser.feed(answer.stdout.replace("@SESSION@", SESSION).encode())
    reading, expected = parser.finish(answer.exit, answer.stderr), stream.expected
    # What it did to the files is not in its output.
    is_good = expected.status == "success" or (expected.error or "").startswith("nothing was changed")
    assert reading.succeeded == is_good
    assert [question.prompt for question in reading.questions] == expected.questions
    if not reading.questions:
        assert reading.is_unknown_end == (expected.reason == "unknown_end")
    if not is_good:
        assert reading.error == expected.error


def execute(trial: Trial, *, hurried: bool) -> tuple[int, str]:
    """Run the program; ``hurried`` it gives no grace to an agent that does not exit after its result."""
    if not hurried:
        return trial.run("execute", "--no-input")
    done = subprocess.run(
        [sys.executable, "-c", _HURRIED, "execute", "--no-input"],
        cwd=trial.repo,
        env=trial.all_variables(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    return done.returncode, done.stdout


def prepare(trial: Trial, stream: Stream, folder: Path) -> None:
    """Make a plan of one task, and install the program."""
    is_review = stream.role != "implementer"
    answers = {"implementer": stream.answers}
    if is_review:
        works = [Answer(stdout=_WORKS[stream.provider], writes="greet.py")]
        answers = {"implementer": works, "reviewer": stream.answers}
    path = install(folder, stream.provider, stream.version, answers)
    trial.configure(
        {
            "agent": stream.provider,
            f"{stream.provider}.path": str(path),
            "execution.stopAfterEachTask": "false",
            "execution.acceptNoChange": "true",
            "execution.stopGraceSeconds": "1",
            "reviews.mode": "parallel" if stream.role == "reviewer" else "off",
        }
    )
    parents = [parent_of("whole", ["greet"])] if stream.role == "parent" else []
    put_plan(trial.repo, *parents, leaf("greet", "Write greet.py.", parent="whole" if parents else None))


def record_of(trial: Trial, stream: Stream) -> Record:
    match stream.role:
        case "implementer":
            return trial.records("greet")[-1]
        case "reviewer":
            return [record for record in trial.reviews("greet") if record["run_type"] == "spec_review"][-1]
        case "parent":
            return trial.records("whole")[-1]


def starts_of(stream: Stream, folder: Path) -> list[str]:
    if stream.role == "implementer":
        return starts(folder, "implementer")
    return starts(folder, "reviewer", "spec" if stream.role == "reviewer" else "parent")
