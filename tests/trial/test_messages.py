"""Words that must hold in odd places: an unknown change, a long plan, an odd repository."""

import json
from pathlib import Path

import pytest

from tests.support import commit, git
from tests.trial.program import Trial

MANY = 60


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {"old.txt": "old\n"})
    trial = Trial(repo)
    trial.init()
    trial.expect(0, "add", "--id", "a", "--title", "A")
    trial.command("true")
    return trial


def test_a_change_that_could_not_be_seen_is_not_called_none(trial: Trial) -> None:
    trial.command("echo garbage >.git/index; echo new >new.txt")
    output = trial.expect(0, "execute", "--no-input")
    assert "completed a: changes unknown, " in output
    git(trial.repo, "read-tree", "HEAD")
    trial.expect(0, "add", "--id", "b", "--title", "B")
    lines = trial.expect(0, "execute", "--json").splitlines()
    ended = [json.loads(line) for line in lines if line.startswith("{") and '"run_ended"' in line]
    assert [one["changes"] for one in ended] == [None]


def test_the_end_of_a_call_says_what_is_left_and_no_more_than_fits(trial: Trial) -> None:
    path = trial.repo / "blackbird.plan.json"
    plan = json.loads(path.read_bytes())
    task = plan["items"].pop("a")
    for number in range(MANY):
        name = f"t{number:03}"
        deps = [f"t{number - 1:03}"] if number % 3 else []
        plan["items"][name] = {**task, "id": name, "deps": deps}
    path.write_text(json.dumps(plan))
    lines = trial.expect(0, "execute", "--limit", "3", "--no-input").splitlines()[7:]
    assert lines == [
        "this call is done; 19 tasks are ready",
        "next step: git blackbird execute --no-input",
        *(f"blocked: t{n:03} waits for t{n - 1:03}" for n in (4, 5, 7, 8, 10, 11, 13, 14)),
        "and 30 more blocked (`git blackbird list --blocked`)",
    ]


def test_what_git_announces_with_a_colon_is_said_too(trial: Trial) -> None:
    git(trial.repo, "config", "extensions.nonsense", "true")
    git(trial.repo, "config", "core.repositoryFormatVersion", "1")
    assert trial.expect(128, "status") == (
        "fatal: unknown repository extension found: nonsense\n"
        "hint: a newer git made this repository: use that one\n"
    )


@pytest.mark.parametrize(
    ("key", "value", "what", "way"),
    [
        (
            "refStorage",
            "reftable",
            "references in a reftable",
            "`git refs migrate --ref-format=files` writes",
        ),
        ("partialClone", "origin", "a partial clone", "clone it without --filter"),
    ],
)
def test_a_repository_that_cannot_be_used_is_refused_before_there_is_a_plan(
    repo: Path, key: str, value: str, what: str, way: str
) -> None:
    # This git cannot make such a one, or opens it in its first format only.
    git(repo, "config", f"extensions.{key}", value)
    trial = Trial(repo)
    fault = f"{repo}/.git/config: extensions.{key.lower()}: {what} cannot be used"
    assert trial.expect(128, "init").startswith(f"fatal: the configuration is not usable:\n- {fault} ({way}")
    assert not (repo / "blackbird.plan.json").exists()
    trial.plan({"a": ()})
    assert f"warning: {fault}\nhint: {way}" in trial.expect(0, "status")
    assert f"configuration: extensions.{key.lower()}: {what} cannot be used\n" in trial.run("doctor")[1]
    assert fault in trial.expect(128, "execute")
    git(repo, "config", f"extensions.{key}", "files" if key == "refStorage" else "")
    assert "warning" not in trial.expect(0, "status")
