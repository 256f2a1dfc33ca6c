"""Hostile values in every field of every file start no program with them, and write nothing outside.

``BLACKBIRD_EVERY_STEP=1 pytest tests/attack/test_fuzzed_files.py`` puts every value into every place:
it tries all 10,000 cases; the suite a few.
"""

import copy
import itertools
import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from git_blackbird.cli.main import main
from git_blackbird.controller.core.environment import system_environment
from tests.controller.killing import SHARDS, sample
from tests.support import commit
from tests.trial.program import Trial

TOKEN = "Zq7Evil"
VICTIM = "precious"
SHAPES = (
    f"--output=../{VICTIM}-{TOKEN}",
    f"-o../{VICTIM}-{TOKEN}",
    f"--exec=touch {TOKEN}",
    f"-ccore.fsmonitor=touch ../{VICTIM}-{TOKEN}",
    f"../../{TOKEN}",
    f"/etc/{TOKEN}",
    f"{TOKEN}/../../x",
    f"$(touch ../{VICTIM}-{TOKEN})",
    f"`touch ../{VICTIM}-{TOKEN}`; touch ../{VICTIM}-{TOKEN}",
    f"{TOKEN}\n--output=../{VICTIM}-{TOKEN}",
    f"{TOKEN}\x00{TOKEN}",
    f"\x1b]0;{TOKEN}\x07\u202e{TOKEN}\ud800",
    f"refs/heads/{TOKEN}..HEAD",
    f"HEAD^{{/{TOKEN}}}",
    TOKEN * 20_000,
)
OTHERS: tuple[object, ...] = (-1, 2**70, 1.5e308, True, None, [], {}, [TOKEN], {TOKEN: TOKEN}, [[[[TOKEN]]]])
READING = (
    ("status", "--json"),
    ("list", "--all", "--tree"),
    ("runs", "a"),
    ("runs", "a", "--diff"),
    ("show", "c", "--prompt"),
    ("review", "show", "a"),
    ("config",),
)
WRITING = (
    ("decide", "a", "--approve"),
    ("decide", "a", "--request-changes", "-m", "more"),
    ("decide", "a", "--reject"),
    ("resume", "c", "--no-input"),
    ("restart", "c", "--no-input"),
    ("retry", "b"),
    ("execute", "--no-input"),
    ("execute", "--no-input", "--dry-run"),
    ("move", "b", "--parent", "p"),
    ("set-status", "b", "todo"),
    ("edit", "b", "--title", "Other"),
)
FILES = (
    "blackbird.plan.json",
    ".blackbird/config.json",
    ".blackbird/agent.json",
    ".blackbird/parent-review-feedback/c.json",
    ".blackbird/runs/a/*.json",
)
# Fields of a record that the usual one does not have.
ABSENT = (
    *("commits", "resumes", "reviewed_run", "error", "shown", "notes", "plan_edits", "way_out"),
    *("superseded_by", "terminal_reason", "message", "decision_feedback", "review_state", "merged_review"),
    *("questions", "answers", "agent_version", "parent_review_feedback", "parent_review_results"),
)


@dataclass(frozen=True)
class Attack:
    """One file, one place in it by the names that lead there, and what is put there."""

    file: str
    way: tuple[Any, ...]
    value: object
    command: Sequence[str]


started: list[Sequence[object]] = []


def listen(event: str, args: tuple[object, ...]) -> None:
    if (event == "subprocess.Popen" and isinstance(args[1], list | tuple)) or (
        event in {"os.posix_spawn", "os.exec"} and isinstance(args[1], list | tuple)
    ):
        started.append(args[1])


@pytest.fixture(scope="module", autouse=True)
def listening() -> Iterator[None]:
    sys.addaudithook(listen)
    yield
    started.clear()


@pytest.fixture
def trial(repo: Path, capfd: pytest.CaptureFixture[str]) -> Trial:
    """A plan, a configuration, a record that owes a decision, and feedback of a review."""
    commit(repo, {"x": "1\n"})
    trial = Trial(repo)
    trial.plan({"a": (), "b": ("a",), "c": (), "p": ()})
    plan = json.loads((repo / FILES[0]).read_text())
    plan["items"]["p"]["childIds"], plan["items"]["c"]["parentId"] = ["c"], "p"
    (repo / FILES[0]).write_text(json.dumps(plan))
    trial.command("cat >/dev/null; echo 2 >x; echo done")
    trial.configure({"command.schema": "true"})
    (repo / ".blackbird").mkdir()
    project = {"execution": {"stopAfterEachTask": True}, "reviews": {"mode": "off", "spec.model": "m"}}
    (repo / FILES[1]).write_text(json.dumps(project | {"claude": {"model": "m"}, "agent": "command"}))
    (repo / FILES[2]).write_text(json.dumps({"schemaVersion": 1, "selectedAgent": "claude"}))
    trial.expect(3, "execute", "--no-input", "a")
    stamp = "2026-01-02T03:04:05Z"
    feedback = {"parentTaskId": "p", "reviewRunId": "0" * 16, "feedback": "more", "createdAt": stamp}
    (repo / ".blackbird/parent-review-feedback").mkdir()
    (repo / FILES[3]).write_text(json.dumps(feedback | {"updatedAt": stamp}))
    capfd.readouterr()
    return trial


def places(value: object, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a document."""
    found = [way] if way else []
    if isinstance(value, dict):
        found += [step for key, inner in value.items() for step in places(inner, (*way, key))]
    if isinstance(value, list):
        found += [step for index, inner in enumerate(value) for step in places(inner, (*way, index))]
    return found


def changed(document: Any, attack: Attack) -> object:
    """The document with another value at one of its places."""
    result = copy.deepcopy(document)
    inner = result
    for step in attack.way[:-1]:
        inner = inner[step]
    inner[attack.way[-1]] = attack.value
    return result


def file_of(trial: Trial, name: str) -> Path:
    [found] = trial.repo.glob(name)
    return found


def attacks(trial: Trial) -> Iterator[Attack]:
    """Every case, the one after the other of another kind."""
    turns = itertools.cycle(WRITING)
    for value in (*SHAPES, *OTHERS):
        for name in FILES:
            document = json.loads(file_of(trial, name).read_text())
            extra = [(field,) for field in ABSENT] if name.startswith(".blackbird/runs") else []
            for way in (*places(document), *extra):
                for command in itertools.islice(turns, 3):
                    yield Attack(name, way, value, command)


def is_fenced(arguments: Sequence[object]) -> bool:
    """Whether what is hostile among arguments stands behind what ends options, or is glued to one of ours."""
    words = [os.fsdecode(word) if isinstance(word, bytes) else str(word) for word in arguments]
    hostile = [index for index, word in enumerate(words) if TOKEN in word]
    fence = next(
        (index for index, word in enumerate(words) if word in {"--", "--end-of-options"}), len(words)
    )
    return all(index > fence or words[index].startswith("--grep=Blackbird-Run: ") for index in hostile)


@pytest.mark.parametrize("shard", range(SHARDS))
def test_no_value_becomes_an_option_a_path_or_a_program(
    trial: Trial, tmp_path: Path, capfd: pytest.CaptureFixture[str], shard: int
) -> None:
    kept = tmp_path / "kept"
    shutil.copytree(trial.repo, kept, symlinks=True)
    cases = list(attacks(trial))
    assert len(cases) >= 10_000
    for attack in sample(cases, shard, 25):
        shutil.rmtree(trial.repo)
        shutil.copytree(kept, trial.repo, symlinks=True)
        file = file_of(trial, attack.file)
        file.write_text(json.dumps(changed(json.loads(file.read_text()), attack)))
        before = listing(tmp_path)
        for command in (*READING, attack.command):
            started.clear()
            code = main(command, lambda: system_environment()._replace(cwd=trial.repo))
            said = capfd.readouterr()
            assert code in {0, 1, 2, 3, 4, 5, 7, 8, 128}, (attack, said)
            assert "Traceback" not in said.err, (attack, said)
            assert [arguments for arguments in started if not is_fenced(arguments)] == [], attack
        assert listing(tmp_path) == before, attack
        assert not list(trial.repo.rglob(f"{VICTIM}*")), attack


def listing(place: Path) -> Mapping[str, bytes]:
    """What lies beside the repository."""
    return {path.name: path.read_bytes() for path in place.iterdir() if path.is_file()}
