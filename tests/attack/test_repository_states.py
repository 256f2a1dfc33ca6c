"""Snapshots, summaries and commits are right whatever form the user's index has."""

import itertools
import os
from pathlib import Path

import pytest

from tests.records import fact
from tests.sampling import EVERY_STEP
from tests.support import commit, git, write
from tests.trial.program import Trial

FEATURES = {
    "split": {"core.splitIndex": "true"},
    "untracked": {"core.untrackedCache": "true"},
    "fsmonitor": {"core.fsmonitor": "true"},
    "sparse": {"core.sparseCheckout": "true", "core.sparseCheckoutCone": "true"},
}
SIZES = range(1, len(FEATURES) + 1) if EVERY_STEP else (1, len(FEATURES))
COMBINATIONS = [names for size in SIZES for names in itertools.combinations(FEATURES, size)]
AGENT = "cat >/dev/null; echo changed >kept/f1; echo new >kept/new"


def prepare(repo: Path, names: tuple[str, ...], hook: Path) -> None:
    """Return the repository an index of this form, with every extension really in it."""
    files = {
        f"{folder}/f{number}": f"{folder} {number}\n" for folder in ("kept", "away") for number in range(9)
    }
    commit(repo, files)
    for name in names:
        for key, value in FEATURES[name].items():
            git(repo, "config", key, str(hook) if key == "core.fsmonitor" else value)
    if "sparse" in names:
        # Git itself cannot read an index that is both sparse and split.
        form = "--no-sparse-index" if "split" in names else "--sparse-index"
        git(repo, "sparse-checkout", "set", "--cone", form, "kept")
    options = [f"--{name}" for name in ("fsmonitor", "untracked-cache") if name.partition("-")[0] in names]
    git(repo, "update-index", *options)
    if "split" in names:
        git(repo, "update-index", "--split-index")
    git(repo, "status")


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    """A program that watches the worktree, and says that it was asked."""
    hook = tmp_path / "watch"
    hook.write_text(f"#!/bin/sh\necho asked >>'{tmp_path}/asked'\nexit 1\n")
    hook.chmod(0o755)
    return hook


@pytest.mark.sampled(1)
@pytest.mark.parametrize("names", COMBINATIONS, ids="-".join)
def test_what_is_shown_is_what_is_committed(
    repo: Path, tmp_path: Path, asked: Path, names: tuple[str, ...]
) -> None:
    prepare(repo, names, asked)
    trial = Trial(repo)
    trial.plan({"a": ()})
    trial.command(AGENT)
    trial.configure({"execution.stopAfterEachTask": "true", "execution.commit": "approved"})
    write(repo, {"kept/f2": "an edit of the user's\n"})
    (tmp_path / "asked").unlink(missing_ok=True)

    trial.expect(3, "execute", "--no-input")
    [record] = trial.records("a")
    assert record["review_summary"]["files"] == ["kept/f1", "kept/new"]
    assert [git(repo, "rev-parse", f"{fact(record, side)}:away") for side in ("base_tree", "head_tree")] == [
        git(repo, "rev-parse", "HEAD:away")
    ] * 2
    trial.expect(0, "decide", "a", "--approve")
    assert not (tmp_path / "asked").exists()
    assert git(repo, "show", "--name-only", "--format=", "HEAD").split() == ["kept/f1", "kept/new"]
    assert git(repo, "status", "--porcelain").splitlines() == [
        " M kept/f2",
        "?? .blackbird/",
        "?? blackbird.plan.json",
    ]
    git(repo, "fsck", "--strict")


def test_a_program_that_watches_the_worktree_holds_nothing_up(repo: Path, tmp_path: Path) -> None:
    hook, held = tmp_path / "watch", tmp_path / "held"
    os.mkfifo(held)
    hook.write_text(f"#!/bin/sh\nread -r _ <'{held}'\n")
    hook.chmod(0o755)
    prepare(repo, (), hook)
    git(repo, "update-index", "--fsmonitor")
    git(repo, "config", "core.fsmonitor", str(hook))
    trial = Trial(repo)
    trial.plan({"a": ()})
    trial.command(AGENT)
    trial.configure({"execution.stopAfterEachTask": "true", "execution.commit": "approved"})
    trial.expect(3, "execute", "--no-input")
    trial.expect(0, "decide", "a", "--approve")
    trial.expect(0, "status")
