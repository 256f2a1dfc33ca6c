"""Commits by four processes while an agent works: each of the run's is on its record, once.

``BLACKBIRD_COMMITS`` asks for another number of them.
"""

import os
import subprocess
import time
from pathlib import Path

import pytest

from tests.records import fact
from tests.support import commit, git
from tests.trial.program import PATIENCE_SECONDS, Trial

COMMITS = int(os.environ.get("BLACKBIRD_COMMITS", "120"))
EACH = COMMITS // 4
BRANCHES = ("main", "other")
# Nobody commits before the hook of the commit before has looked at HEAD.
LOOP = f"""
made=0
while [ $made -lt {EACH} ]; do
    echo "$made" >"$ERRORS/new-$WHO" && mv "$ERRORS/new-$WHO" "$WHO.txt"
    until mkdir "$ERRORS/turn" 2>/dev/null; do sleep 0.01; done
    git commit -q -m "$WHO $made" "$WHO.txt" 2>>"$ERRORS/$WHO" && made=$((made + 1))
    rmdir "$ERRORS/turn"
done
"""


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {f"{who}-{branch}.txt": "" for who in ("agent", "person") for branch in BRANCHES}, "start")
    git(repo, "worktree", "add", "-q", "-b", "other", "../other")
    trial = Trial(repo)
    trial.init("--hooks")
    trial.expect(0, "add", "--id", "a", "--title", "A")
    return trial


def subjects(repo: Path, branch: str) -> dict[str, str]:
    """Commits of a branch since the first, oldest first, with their messages."""
    listed = git(repo, "log", "--reverse", "--format=%H %s", branch).splitlines()[1:]
    return dict(line.split(" ", 1) for line in listed)


def start_person(branch: str, folder: Path, errors: Path) -> subprocess.Popen[bytes]:
    environ = {**os.environ, "WHO": f"person-{branch}", "ERRORS": str(errors)}
    return subprocess.Popen(["sh", "-c", LOOP], cwd=folder, env=environ, stdout=subprocess.DEVNULL)


@pytest.mark.exhaustive
def test_each_commit_of_the_run_is_on_its_record_and_none_twice(trial: Trial) -> None:
    folders = dict(zip(BRANCHES, (trial.repo, trial.repo.parent / "other"), strict=True))
    errors = {branch: trial.repo.parent / f"errors-{branch}" for branch in folders}
    loop = trial.repo.parent / "loop"
    loop.write_text(LOOP)
    parts = [
        f"(cd '{folders[branch]}' && WHO=agent-{branch} ERRORS='{errors[branch]}' sh '{loop}') & p{number}=$!"
        for number, branch in enumerate(folders)
    ]
    trial.command("\n".join([*parts, "wait $p0 && wait $p1"]))
    for path in errors.values():
        path.mkdir()
    process = trial.start("execute", "--no-input")
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (trial.repo / ".git" / "blackbird" / "active").exists():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.002)
    persons = [start_person(branch, folder, errors[branch]) for branch, folder in folders.items()]
    said, _ = process.communicate(timeout=10 * PATIENCE_SECONDS)
    assert [person.wait(10 * PATIENCE_SECONDS) for person in persons] == [0, 0]
    assert process.returncode == 0, said
    (record,) = trial.records("a")
    made = {branch: subjects(trial.repo, branch) for branch in folders}
    assert [len(one) for one in made.values()] == [2 * EACH, 2 * EACH]
    own = [oid for one in made.values() for oid, subject in one.items() if subject.startswith("agent-")]
    assert fact(record, "commits") == own
    said_by_git = [path.read_text() for branch in folders for path in errors[branch].glob("*-*")]
    assert said_by_git == ["", "", "", ""]
    assert not (trial.repo / ".git" / "blackbird" / "active").exists()
