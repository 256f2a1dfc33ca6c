"""Records of a clone: without ``adopt`` nothing of them counts, and with it only the Go program's fields.

``BLACKBIRD_EVERY_STEP=1 pytest tests/attack/test_hostile_clones.py`` tries every case, more than 10,000; the
suite a few.
"""

import itertools
import json
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from git_blackbird.cli.main import main
from git_blackbird.controller.core.environment import system_environment
from git_blackbird.model.base.record import Part
from git_blackbird.model.run.file_form import GO_FIELDS, our_fields
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import PROGRAM
from tests.controller.killing import SHARDS, sample
from tests.records import kind_of, record_of
from tests.support import commit, git
from tests.trial.program import Trial

RUN = "01a2000000000001"
LATER = "ffffffffffff0000"
MARK = "Zq7Evil"
READING = (("status",), ("list",), ("runs",), ("show", "a"), ("runs", "a", "--diff"), ("review", "show", "a"))
WRITING = (
    ("execute", "--no-input"),
    ("execute", "--no-input", "a"),
    ("decide", "b", "--approve"),
    ("decide", "b", "--reject", "--undo"),
    ("retry", "b"),
    ("undo", "a"),
    ("redo", "a"),
    ("restore", RUN, "out"),
    ("resume", "--all", "p", "--no-input"),
    ("worktrees", "prune"),
    ("review", "run", "a", "--no-input"),
    ("set-status", "a", "todo"),
)
ANSWERS = ("--leave", "--take")
OURS = {"program", "status_since"}
"""What an adopted record has of ours: whose it is, and since when its task has its status."""


@dataclass(frozen=True)
class Case:
    """A record of a clone with one field that is hostile, newer than a run of ours or alone."""

    field: tuple[str, ...]
    value: object
    command: Sequence[str]
    is_newer: bool
    answer: str


started: list[str] = []


def listen(event: str, args: tuple[object, ...]) -> None:
    if event in {"subprocess.Popen", "os.posix_spawn", "os.exec"}:
        started.append(repr(args[1]))


@pytest.fixture(scope="module", autouse=True)
def listening() -> Iterator[None]:
    sys.addaudithook(listen)
    yield
    started.clear()


@pytest.fixture
def trial(repo: Path, capfd: pytest.CaptureFixture[str]) -> Trial:
    """A repository with a plan, a run of ours of ``a``, and a worktree of the user's own beside it."""
    commit(repo, {"x": "1\n"})
    git(repo, "worktree", "add", "-q", "-b", "side", "../side")
    trial = Trial(repo)
    trial.plan({"a": (), "b": (), "c": ("a",), "p": ()})
    trial.configure({"execution.stopAfterEachTask": "true", "execution.commit": "approved"})
    trial.command("cat >/dev/null; echo 2 >y; echo done")
    trial.expect(3, "execute", "--no-input", "b")
    capfd.readouterr()
    return trial


def hostile_tree(repo: Path) -> str:
    """Make a tree whose entries name files outside, as git takes it."""
    blob = git(repo, "hash-object", "-w", "--stdin", stdin=b"evil\n")
    names = (f"../side/{MARK}", f"{repo.parent}/victim", "../victim", "..")
    entries = b"".join(b"100644 " + name.encode() + b"\0" + bytes.fromhex(blob) for name in sorted(names))
    path = repo.parent / "raw"
    path.write_bytes(entries)
    try:
        return git(repo, "hash-object", "-w", "-t", "tree", "--literally", str(path))
    finally:
        path.unlink()


def fields_of(model: type[BaseModel], above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every field of a record by the names that lead to it, also within our parts, with its type."""
    for name, info in model.model_fields.items():
        is_ours = model is Run and name in our_fields(Run)
        path = (*above, *(["blackbird"] if is_ours else []), info.alias or name)
        whole = kind_of(info)
        yield path, whole
        for kind in (whole, *get_args(whole)):
            for part in (kind, *get_args(kind)):
                if isinstance(part, type) and issubclass(part, Part):
                    yield from fields_of(part, path)


def values_of(annotation: Any, ids: Sequence[str]) -> Iterator[object]:
    """Hostile values for a field of a record, by its type."""
    for kind in (annotation, *get_args(annotation)):
        if isinstance(kind, type) and issubclass(kind, StrEnum):
            yield from (value.value for value in kind)
    yield from ids
    yield from ("..", "../side", "/etc", f"../{MARK}", f"--output=../{MARK}", f"$(touch ../{MARK})")
    yield from (True, 2**70)
    yield from ({"base": ids[0], "head": ids[1]}, [ids[0]], [f"../{MARK}"])


def cases(ids: Sequence[str]) -> Iterator[Case]:
    turns, answers = itertools.cycle(WRITING), itertools.cycle(ANSWERS)
    for path, kind in dict(fields_of(Run)).items():
        for value in values_of(kind, ids):
            for is_newer in (False, True):
                for command in itertools.islice(turns, 4):
                    yield Case(path, value, command, is_newer, next(answers))


def record(case: Case, ids: Sequence[str]) -> dict[str, object]:
    """A record that would land, commit and remove, if anything of it counted."""
    tree, base, head = ids
    whole = record_of(
        id=LATER if case.is_newer else RUN,
        taskId="b" if case.is_newer else "a",
        startedAt="2999-01-01T00:00:00Z",
        completedAt="2999-01-01T00:00:00Z",
        status="success",
        decision_required=True,
        decision_state="approved_continue",
        program=PROGRAM,
        start_commit=head,
        base_tree=base,
        head_tree=tree,
        worktree="../side",
        worktree_base=base,
        landing="due",
        pid=1,
    )
    *above, name = case.field
    if not above and name in {"id", "taskId"}:
        return whole
    part = whole
    for folder in above:
        if not isinstance(part.get(folder), dict):
            part[folder] = {}
        part = part[folder]
    part[name] = case.value
    return whole


def outside(trial: Trial) -> Mapping[str, bytes]:
    """Every file beside the repository, and in the worktree that is the user's own."""
    return {
        str(path): path.read_bytes()
        for path in trial.repo.parent.rglob("*")
        if path.is_file() and trial.repo not in path.parents and "kept" not in path.parts
    }


@pytest.mark.parametrize("shard", range(SHARDS))
def test_nothing_of_them_is_acted_on(
    trial: Trial, tmp_path: Path, capfd: pytest.CaptureFixture[str], shard: int
) -> None:
    (trial.repo.parent / "victim").write_text("mine\n")
    tree, head = (git(trial.repo, "rev-parse", name) for name in ("HEAD^{tree}", "HEAD"))
    ids = hostile_tree(trial.repo), tree, head
    kept = tmp_path / "kept"
    shutil.copytree(trial.repo, kept, symlinks=True)
    every = list(cases(ids))
    assert len(every) >= 10_000
    before, heads = outside(trial), git(trial.repo, "for-each-ref", "refs/heads")
    for case in sample(every, shard, 20):
        shutil.rmtree(trial.repo)
        shutil.copytree(kept, trial.repo, symlinks=True)
        found = record(case, ids)
        folder = trial.repo / ".blackbird/runs" / str(found["taskId"])
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{found['id']}.json").write_text(json.dumps(found))
        plan, ours = (trial.repo / "blackbird.plan.json").read_bytes(), private(trial)
        capfd.readouterr()
        is_asked = run(trial, ("status",), case, capfd).find("of another program or clone") >= 0
        for command in READING:
            run(trial, command, case, capfd)
        said = run(trial, case.command, case, capfd)
        if is_asked and case.command[0] in ASKING and "an agent" not in said:
            # Nothing at all has happened.
            assert "does not count here yet" in said, (case, said)
            assert (trial.repo / "blackbird.plan.json").read_bytes() == plan, case
            assert private(trial) == ours, case
        assert done(trial) <= {*case.command} & {"b"}, case
        run(trial, ("adopt", case.answer), case, capfd)
        if case.answer == "--leave":
            assert "of another program or clone" not in run(trial, ("status",), case, capfd), case
            run(trial, case.command, case, capfd)
            assert done(trial) <= {*case.command} & {"b"}, case
            if case.command[:2] != ("decide", "b"):
                assert git(trial.repo, "for-each-ref", "refs/heads") == heads, case
        else:
            assert git(trial.repo, "for-each-ref", "refs/heads") == heads or "decide" in case.command, case
        for path in (trial.repo / ".git/blackbird/runs").glob("*/*.json"):
            if path.stem in {RUN, LATER}:
                taken = json.loads(path.read_bytes())
                assert case.answer == "--take", case
                assert set(taken) <= {*GO_FIELDS} | {"blackbird"}, case
                assert set(taken["blackbird"]) <= OURS, case
        assert outside(trial) == before, case


ASKING = {"execute", "decide", "resume", "review"}


def run(trial: Trial, command: Sequence[str], case: Case, capfd: pytest.CaptureFixture[str]) -> str:
    started.clear()
    code = main(command, lambda: system_environment()._replace(cwd=trial.repo))
    said = capfd.readouterr()
    assert code in {0, 1, 2, 3, 4, 5, 7, 8, 128}, (case, said)
    assert "Traceback" not in said.err, (case, said)
    assert [one for one in started if MARK in one] == [], case
    return said.out + said.err


def done(trial: Trial) -> set[str]:
    """The tasks that are done by the plan."""
    items: dict[str, Any] = json.loads((trial.repo / "blackbird.plan.json").read_bytes())["items"]
    return {name for name, task in items.items() if task["status"] == "done"}


def private(trial: Trial) -> Mapping[str, bytes]:
    """Every record in the git directory."""
    folder = trial.repo / ".git/blackbird/runs"
    return {str(path): path.read_bytes() for path in folder.rglob("*.json")}
