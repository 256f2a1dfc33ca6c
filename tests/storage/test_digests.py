"""The digests of record files: of all at first, then of what changed, and of very many only at the end."""

import os
import time
from pathlib import Path

import pytest

from git_blackbird.model.base.ids import RunId
from git_blackbird.storage.digests import DigestStore
from git_blackbird.storage.ledger import Ledger
from git_blackbird.storage.paths import Paths
from tests.storage.building import make_layout

RUN = RunId("019b8000000000aa")
TICK = 0.15


def save(paths: Paths, task: str, name: str, text: str) -> Path:
    path = paths.runs / task / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def settled() -> int:
    """Let the clock of the file system go on, and return the time."""
    time.sleep(TICK)
    return time.time_ns()


def test_only_what_changed_is_written_again(tmp_path: Path) -> None:
    paths = make_layout(tmp_path)
    for task in ("a", "b", "c"):
        save(paths, task, "1.json", task)
    save(paths, "a/reviews", "2.json", "review")
    store = DigestStore(paths)
    store.accept_all(settled(), paths.runs / "b" / "3.json")
    before = paths.known_records.read_bytes()
    save(paths, "b", "3.json", "new")
    (paths.runs / "c" / "1.json").unlink()
    (paths.runs / "c").rmdir()
    store.accept_all(settled(), paths.runs / "b" / "3.json")
    added = paths.known_records.read_bytes().removeprefix(before)
    assert (b'"runs/b"' in added, b'"runs/c", null' in added, b"runs/a" in added) == (True, True, False)
    again = DigestStore(paths).load()
    assert again == store.load()
    assert {folder: sorted(names) for folder, names in again.folders.items()} == {
        "runs/a": ["1.json"],
        "runs/a/reviews": ["2.json"],
        "runs/b": ["1.json", "3.json"],
        "parent-review-feedback": [],
    }


def test_the_file_of_digests_stays_in_proportion(tmp_path: Path) -> None:
    paths = make_layout(tmp_path)
    store = DigestStore(paths)
    for turn in range(800):
        save(paths, "a", "1.json", str(turn))
        store.accept_all(time.time_ns(), paths.runs / "a" / "1.json")
    assert len(paths.known_records.read_text().split("\n")) < 1200
    assert DigestStore(paths).load() == store.load()


def test_a_line_that_a_crash_cut_off_is_no_line(tmp_path: Path) -> None:
    paths = make_layout(tmp_path)
    save(paths, "a", "1.json", "a")
    store = DigestStore(paths)
    store.accept_all(settled(), paths.runs / "b" / "3.json")
    with paths.known_records.open("a") as file:
        file.write('["runs/a", {"1.js')
    cut = DigestStore(paths)
    assert cut.load() == store.load()
    save(paths, "b", "1.json", "b")
    cut.accept_all(settled(), paths.runs / "b" / "1.json")
    assert "runs/b" in DigestStore(paths).load().folders


@pytest.mark.parametrize("tasks", [3, 600])
def test_what_an_agent_does_to_records_is_found_with_few_and_with_many(tmp_path: Path, tasks: int) -> None:
    paths = make_layout(tmp_path)
    for number in range(tasks):
        save(paths, f"t{number:03}", "1.json", "{}")
    ledger = Ledger(paths)
    settled()
    ledger.begin(RUN, save(paths, "t000", "2.json", "{}"))
    rewritten = save(paths, "t001", "1.json", '{"status": "success"}')
    (paths.runs / "t002" / "1.json").unlink()
    settled()
    found = ledger.end(None)
    assert found is not None
    assert [record.path for record in found.rewritten] == [str(rewritten)]
    assert ledger.judge(rewritten, rewritten.read_bytes()) is not None
    assert found.unconfirmed == ()
    # Very many digests are read once the first agent has ended: what it removed is not known.
    assert found.removed == ((str(paths.runs / "t002" / "1.json"),) if tasks == 3 else ())
    assert DigestStore(paths).load().is_whole
    os.utime(paths.runs / "t000" / "1.json")
    ledger.begin(RUN, save(paths, "t000", "3.json", "{}"))
    touched = paths.runs / "t000" / "1.json"
    os.utime(touched)
    assert ledger.judge(touched, b"{}") is None
