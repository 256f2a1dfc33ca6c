"""Completion in the shells themselves."""

import os
import shlex
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from git_blackbird.cli.syntax.registry import COMMANDS
from git_blackbird.model.config.config import KEYS
from git_blackbird.model.config.layers import AGENT_NAMES
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.states import RunStatus
from tests import preloaded
from tests.cli import shells
from tests.cli.golden_harness import save
from tests.cli.plans import FIRST_RUN, run, task
from tests.cli.shells import Shell, install_program
from tests.cli.syntax.names import NAMES, command_named
from tests.support import git, write

Make = Callable[[Path, Path], Shell]
SECOND_RUN = "019b7c4e52000002"


@pytest.fixture(params=["bash", "zsh", "fish"])
def make(request: pytest.FixtureRequest) -> Make:
    missing = shells.why_missing(request.param)
    if missing is not None:
        pytest.skip(missing)
    found: dict[str, Make] = {"bash": shells.bash, "zsh": shells.zsh, "fish": shells.Fish}
    return found[request.param]


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    return install_program(tmp_path / "installed")


@pytest.fixture
def planned(repo: Path) -> Path:
    """A task in every state that a command asks for."""
    tasks = [
        task("done", status=Status.DONE),
        task("failed", status=Status.FAILED),
        task("paused", status=Status.WAITING_USER),
        task("pending", status=Status.WAITING_USER),
        task("ready"),
        task("waits", deps=("failed",)),
        task("with a space", "It's “odd”: $HOME [x]", deps=("done",)),
    ]
    runs = [
        run("done", "019b7c4e52000003"),
        run("failed", "019b7c4e52000004", RunStatus.FAILED),
        run("paused", "019b7c4e52000005", RunStatus.PAUSED),
        run("pending", SECOND_RUN, decision_state="pending", decision_required=True, resumes=FIRST_RUN),
        run("pending", FIRST_RUN),
    ]
    save(repo, tasks, runs)
    git(repo, "config", "alias.bb", "blackbird")
    git(repo, "commit", "-q", "--allow-empty", "-m", "first")
    git(repo, "tag", "v1")
    write(repo, {"notes.txt": "", "folder/of/files": ""})
    return repo


ALL = ["done", "failed", "paused", "pending", "ready", "waits", "with a space"]
LINES = {
    "git blackb": ["blackbird"],
    "git blackbird exe": ["execute"],
    "git-blackbird exe": ["execute"],
    "git blackbird ": sorted(COMMANDS),
    "git blackbird plan ": ["export", "generate", "import", "lint", "refine"],
    "git blackbird plan re": ["refine"],
    "git blackbird execute ": ["ready", "with a space"],
    "git blackbird execute --limit 3 re": ["ready"],
    "git blackbird decide ": ["paused", "pending"],
    "git blackbird resume ": ["paused", "pending"],
    "git blackbird retry ": ["failed", "paused", "pending"],
    "git blackbird restart ": ["failed", "paused", "pending", "ready", "with a space"],
    "git blackbird show ": ALL,
    "git blackbird edit ": ALL,
    "git blackbird delete --force pa": ["paused"],
    "git blackbird move ready --parent do": ["done"],
    "git blackbird deps ": ["add", "infer", "remove", "set"],
    "git blackbird deps add ready done fa": ["failed"],
    "git blackbird deps add waits ": ["done", "paused", "pending", "ready", "with a space"],
    "git blackbird deps remove waits ": ["failed"],
    "git blackbird deps remove ready ": [],
    "git blackbird deps set waits ": [one for one in ALL if one != "waits"],
    "git blackbird deps remove with\\ a\\ space ": ["done"],
    "git-blackbird show pe": ["pending"],
    "git bb show pe": ["pending"],
    "git blackbird runs pending ": [FIRST_RUN, SECOND_RUN],
    "git blackbird decide pending --run ": [FIRST_RUN, SECOND_RUN],
    "git blackbird set-status ready s": ["skipped"],
    "git blackbird config ": sorted(KEYS),
    "git blackbird config execution.commit ": ["approved", "checked", "never"],
    "git blackbird config execution.stopAfterEachTask ": ["false", "true"],
    "git blackbird agent ": sorted(AGENT_NAMES),
    "git blackbird execute --agent ": sorted(AGENT_NAMES),
    "git blackbird list --status wait": ["waiting_user"],
    "git blackbird show --commit v": ["v1"],
    "git blackbird completion ": ["bash", "fish", "zsh"],
    "git blackbird resume paused -m ": [],
    "git blackbird resume paused -F note": ["notes.txt"],
    "git blackbird resume paused --file=note": ["--file=notes.txt"],
    "git blackbird demo --dir fold": ["folder"],
    "git blackbird retry --": ["--help", "--json", "--no-input"],
}
# What one shell may do otherwise than another; the program's answers are the same for all.
DIFFERING = (
    "git blackb",
    "git-blackbird exe",
    "git blackbird ",
    "git blackbird execute ",
    "git blackbird execute --limit 3 re",
    "git blackbird move ready --parent do",
    "git blackbird deps remove with\\ a\\ space ",
    "git bb show pe",
    "git blackbird config ",
    "git blackbird resume paused -m ",
    "git blackbird resume paused -F note",
    "git blackbird resume paused --file=note",
    "git blackbird demo --dir fold",
    "git blackbird retry --",
)


@pytest.mark.skipif(shells.why_missing("bash") is not None, reason="bash or its completion is not installed")
def test_every_command_offers_what_fits(planned: Path, installed: Path) -> None:
    seen = dict(zip(LINES, shells.bash(planned, installed).complete(LINES), strict=True))
    assert seen == LINES


@pytest.mark.sampled(1)
@pytest.mark.parametrize("make", ["zsh", "fish"], indirect=True)
def test_a_shell_offers_what_fits(make: Make, planned: Path, installed: Path) -> None:
    lines = {line: LINES[line] for line in DIFFERING}
    seen = dict(zip(lines, make(planned, installed).complete(lines), strict=True))
    assert seen == lines


@pytest.mark.sampled(1)
def test_a_shell_asks_where_git_is_told_to(make: Make, planned: Path, installed: Path) -> None:
    elsewhere = planned.parent / "else where"
    elsewhere.mkdir()
    git(elsewhere, "init", "-q", "-b", "main")
    save(elsewhere, [task("other")])
    (elsewhere.parent / "plain").symlink_to(elsewhere)
    plain, escaped = elsewhere.parent / "plain", str(elsewhere).replace(" ", "\\ ")
    lines = [
        f"git -C {plain} blackbird show ",
        f"git -C {escaped} blackbird show ",
        f'git -C "{elsewhere}" blackbird show ',
        f"git -C '{elsewhere}' blackbird show ",
        f"git --git-dir={plain}/.git --work-tree={plain} blackbird show ",
        f"git --git-dir={escaped}/.git --work-tree={escaped} blackbird show ",
    ]
    seen = dict(zip(lines, make(planned, installed).complete(lines), strict=True))
    assert seen == {line: ["other"] for line in lines}


@pytest.mark.sampled(1)
def test_a_shell_offers_what_can_be_reviewed(make: Make, repo: Path, installed: Path) -> None:
    done = Status.DONE
    tasks = [
        task("bad", status=Status.WAITING_USER, children=("bad-1", "bad-2")),
        *(task(name, status=done, parent="bad") for name in ("bad-1", "bad-2")),
        task("good", status=done, children=("good-1",)),
        task("good-1", status=done, parent="good"),
        task("open", children=("open-1",)),
        task("open-1", parent="open"),
    ]
    save(repo, tasks, [run("bad-2")])
    feedback = repo / ".blackbird/parent-review-feedback/bad-2.json"
    feedback.parent.mkdir(parents=True)
    feedback.write_text("{}")
    expected = {
        "git blackbird review ": ["dismiss", "run", "show"],
        "git blackbird review show ": ["bad", "bad-2", "good", "open"],
        "git blackbird review run ": ["bad", "bad-2", "good"],
        "git blackbird review dismiss ": ["bad"],
        "git blackbird resume ": ["bad-2"],
        "git blackbird resume --all ": ["bad"],
        "git blackbird review run bad --agent ": sorted(AGENT_NAMES),
    }
    seen = dict(zip(expected, make(repo, installed).complete(expected), strict=True))
    assert seen == expected


@pytest.mark.skipif(shells.why_missing("fish") is not None, reason="fish is not installed")
def test_an_installed_program_is_found_by_fish(planned: Path, installed: Path) -> None:
    fish = shells.Fish(planned, installed, sourced=False)
    assert list(fish.complete(["git blackb", "git-blackbird exe"])) == [["blackbird"], ["execute"]]


@pytest.mark.sampled(1)
def test_a_value_may_stand_behind_an_equals_sign(make: Make, planned: Path, installed: Path) -> None:
    (seen,) = make(planned, installed).complete(["git blackbird execute --agent=co"])
    assert [word.removeprefix("--agent=") for word in seen] == ["codex", "command"]


@pytest.mark.exhaustive
def test_every_option_is_offered(planned: Path) -> None:
    assert {name: words_offered(planned, *name.split(), "--") for name in NAMES} == {
        name: long_options(name) for name in NAMES
    }


def words_offered(repo: Path, *words: str) -> list[str]:
    """What the program answers to the question that bash asks it."""
    question = {
        "COMP_WORDS": shlex.join(["git-blackbird", *words]),
        "COMP_CWORD": str(len(words)),
        "_GIT_BLACKBIRD_COMPLETE": "bash_complete",
    }
    completed = preloaded.run(
        preloaded.PROGRAM,
        cwd=repo,
        env={**os.environ, **question},
        capture_output=True,
        text=True,
        check=True,
    )
    offered = (line.partition(",") for line in completed.stdout.splitlines())
    return sorted(value for kind, _, value in offered if kind == "plain")


def long_options(name: str) -> list[str]:
    command = command_named(name)
    context = click.Context(command, help_option_names=["-h", "--help"])
    options = [one for one in command.get_params(context) if isinstance(one, click.Option)]
    words = {word for option in options for word in (*option.opts, *option.secondary_opts)}
    return sorted(word for word in words if word.startswith("--"))


@pytest.mark.sampled(1)
def test_where_there_is_no_plan_a_shell_says_nothing(make: Make, repo: Path, installed: Path) -> None:
    lines = ["git blackbird show ", "git blackbird execute ", "git blackbird runs x "]
    assert list(make(repo, installed).complete(lines)) == [[], [], []]
