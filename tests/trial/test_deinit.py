"""``deinit``: nothing of the program is left, and nothing else is gone."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.terminal import Terminal
from tests.support import Prepared, commit, git, write
from tests.trial.program import Trial

PARTS = ["hooks", "refs", "state", "config", "plan"]
SURVEY = """\
hooks   the post-commit hook $REPO/.git/hooks/post-commit; the one from before comes back
refs    1 reference below refs/blackbird/: the trees that diffs are made of
state   1 run on record: $REPO/.blackbird, $REPO/.git/blackbird; \
your own among them: .blackbird/config.json
config  4 keys in this repository's git config: $KEYS
plan    the plan $REPO/blackbird.plan.json, 1 task
"""
KEYS = (
    "blackbird.agent, blackbird.command.run, blackbird.execution.stopgraceseconds,"
    " blackbird.execution.acceptnochange"
)
NONE = """\
hooks   no hook
refs    no references
state   no state
config  no keys in this repository's git config
plan    no plan
"""


def everything(repo: Path) -> dict[str, object]:
    """All files of worktree and git folder, less git's objects and the notes it makes of its own."""
    found: dict[str, object] = {}
    for folder, _, names in os.walk(repo):
        for name in names:
            path = Path(folder, name)
            place = str(path.relative_to(repo))
            if not place.startswith((".git/objects", ".git/logs")):
                found[place] = (path.read_bytes(), path.stat().st_mode)
    return found


@pytest.fixture
def before(repo: Path) -> dict[str, object]:
    commit(repo, {"old.txt": "old\n"})
    hook = repo / ".git/hooks/post-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 0\n")
    hook.chmod(0o755)
    git(repo, "config", "pager.blackbird", "true")
    return everything(repo)


@pytest.fixture
def used(repo: Path, before: dict[str, object], prepared: Prepared) -> Trial:
    """A repository in which everything there is was made."""
    trial = Trial(repo)

    def make() -> None:
        trial.init("--hooks")
        trial.plan({"a": ()})
        trial.command("true")
        trial.expect(0, "execute", "--no-input")

    prepared.bring(repo, make)
    return trial


def normalized(trial: Trial, text: str) -> str:
    return text.replace(str(trial.repo), "$REPO").replace(KEYS, "$KEYS")


def test_everything_goes_but_what_was_there_before(used: Trial, before: dict[str, object]) -> None:
    output = used.expect(0, "deinit", "--all", "--plan", "--no-input")
    assert normalized(used, output) == f"{SURVEY}removed: hooks, refs, state, config, plan\n"
    assert everything(used.repo) == before
    assert git(used.repo, "for-each-ref", "refs/blackbird") == ""
    assert used.expect(0, "deinit", "--all", "--plan") == f"{NONE}nothing was removed\n"
    assert everything(used.repo) == before


def test_what_a_person_wrote_is_named_and_the_plan_stays_unless_it_is(used: Trial) -> None:
    write(used.repo, {".blackbird/snapshot.md": "mine\n", ".git/blackbird/drafts/a.md": "text\n"})
    write(used.repo, {".git/blackbird/drafts/texts/a/message.md": "text\n"})
    output = used.expect(0, "deinit", "--all", "--no-input")
    own = ".blackbird/config.json, .blackbird/snapshot.md, .git/blackbird/drafts/a.md, "
    own += ".git/blackbird/drafts/texts/a/message.md"
    assert f".git/blackbird; your own among them: {own}\n" in output
    assert used.statuses() == {"a": "done"}
    assert used.expect(0, "status").startswith("1 task: 1 done\n")


def test_what_git_tracks_stays_and_is_named(used: Trial) -> None:
    write(
        used.repo, {".blackbird/snapshot.md": "mine\n", ".blackbird/sub/kept": "", ".blackbird/sub/gone": ""}
    )
    tracked = [".blackbird/.gitignore", ".blackbird/config.json", ".blackbird/sub/kept"]
    git(used.repo, "add", "-f", *tracked)
    write(used.repo, {".blackbird/config.json": '{"execution": {"stopAfterEachTask": true}}\n'})
    named = f"; what git tracks stays (`git rm` removes it): {', '.join(tracked)}\n"
    output = used.expect(0, "deinit", "--state", "--no-input")
    assert f"; your own among them: .blackbird/snapshot.md{named}" in output
    left = [path for path in (used.repo / ".blackbird").rglob("*") if path.is_file()]
    assert sorted(str(path.relative_to(used.repo)) for path in left) == tracked
    assert "stopAfterEachTask" in (used.repo / ".blackbird/config.json").read_text()
    output = used.expect(0, "deinit", "--state", "--no-input")
    assert f"state   no state{named}" in output
    assert output.endswith("nothing was removed\n")


def test_only_what_is_named_goes(used: Trial) -> None:
    for number, part in enumerate(PARTS, 1):
        envelope = json.loads(used.expect(0, "deinit", f"--{part}", "--json"))
        assert [part["part"] for part in envelope["data"]["removed"]] == [part]
        left = used.expect(0, "deinit", f"--{part}", "--no-input").splitlines()
        gone = [line.split()[0] for line in left if line.split()[1] == "no"]
        assert gone == PARTS[:number]


def test_who_names_nothing_or_is_an_agent_takes_nothing_away(used: Trial) -> None:
    was = everything(used.repo)
    for args in (("--no-input",), ("--yes",), ("--json",), ()):
        output = used.expect(2, "deinit", *args)
        assert "say what to remove" in output
    used.environ["BLACKBIRD_RUN_ID"] = "0123456789abcdef"
    assert "error: an agent may not remove git-blackbird" in used.expect(1, "deinit", "--all")
    assert everything(used.repo) == was


def test_each_part_is_asked_for_on_a_terminal(used: Trial) -> None:
    with Terminal(used.repo, "deinit") as terminal:
        terminal.wait_for("Remove hooks? [y/N]:")
        terminal.type("perhaps\r")
        terminal.wait_for("Error: invalid input")
        for part, answer in (("hooks", "n"), ("refs", "y"), ("state", "n"), ("config", "y")):
            terminal.wait_for(f"Remove {part}? [y/N]:")
            terminal.type(f"{answer}\r")
        assert terminal.end() == 0
        assert "removed: refs, config" in terminal.plain
        assert "Remove plan?" not in terminal.plain
    assert git(used.repo, "for-each-ref", "refs/blackbird") == ""
    assert (used.repo / ".git/hooks/post-commit.before-blackbird").exists()
    assert len(used.records("a")) == 1


def test_giving_up_takes_nothing_away(used: Trial) -> None:
    was = everything(used.repo)
    with Terminal(used.repo, "deinit", "--all") as terminal:
        terminal.wait_for("Remove hooks? [y/N]:")
        terminal.type("y\r")
        terminal.wait_for("Remove refs? [y/N]:")
        terminal.type("\x03")
        assert terminal.end() == 130
    assert everything(used.repo) == was


@pytest.mark.parametrize("part", ["refs", "state"])
def test_what_is_not_finished_keeps_its_trees_unless_that_is_meant(used: Trial, part: str) -> None:
    used.expect(0, "add", "--id", "b", "--title", "B")
    used.configure({"execution.stopAfterEachTask": "true"})
    used.expect(3, "execute", "--no-input")
    was = git(used.repo, "for-each-ref"), used.records("b")
    output = used.expect(1, "deinit", f"--{part}", "--no-input")
    assert "the trees that diffs are made of; b still needs them\n" in output
    assert output.endswith(
        f"error: b: a decision is due or a run is not finished, which needs {part}\n"
        "hint: `git blackbird status` shows what is due\n"
        "hint: or remove it anyway: --yes\n"
    )
    assert (git(used.repo, "for-each-ref"), used.records("b")) == was
    assert used.expect(0, "deinit", f"--{part}", "--yes").endswith(f"removed: {part}\n")


def test_on_a_terminal_that_is_said_before_it_is_asked(used: Trial) -> None:
    used.expect(0, "add", "--id", "b", "--title", "B")
    used.configure({"execution.stopAfterEachTask": "true"})
    used.command("echo new >new.txt")
    used.expect(3, "execute", "--no-input")
    with Terminal(used.repo, "deinit", "--refs") as terminal:
        terminal.wait_for("b still needs them")
        terminal.wait_for("Remove refs? [y/N]:")
        terminal.type("y\r")
        assert terminal.end() == 0
    write(used.repo, {"new.txt": "other\n"})
    git(used.repo, "gc", "-q", "--prune=now")
    tree = used.records("b")[-1]["head_tree"]
    used.expect(0, "decide", "b", "--reject")
    lost = f"fatal: the tree {tree} is not in this repository\n"
    assert used.expect(128, "undo", "b") == lost
    assert (used.repo / "new.txt").read_text() == "other\n"


def test_it_is_refused_while_agents_work(used: Trial) -> None:
    used.expect(0, "add", "--id", "b", "--title", "B")
    used.command("mkfifo gate; : >started; read -r _ <gate")
    running = used.start("execute", "--no-input")
    try:
        while not (used.repo / "started").exists():
            assert running.poll() is None
        output = used.expect(7, "deinit", "--all", "--plan")
        assert "error: another git-blackbird is running here: execute (process " in output
        linked = used.repo.parent / "linked"
        git(used.repo, "worktree", "add", "-q", "../linked")
        output = used.expect(7, "deinit", "--refs", cwd=linked)
        assert "error: another git-blackbird is running in a worktree of this repository: execute" in output
        assert not (used.repo / ".git/worktrees/linked/blackbird").exists()
    finally:
        (used.repo / "gate").open("w").close()
        assert running.communicate(timeout=60)[0]
    assert running.returncode in (0, 1)


@pytest.mark.parametrize("is_tracked", [False, True])
def test_nothing_is_removed_through_a_link(used: Trial, is_tracked: bool) -> None:
    if is_tracked:
        git(used.repo, "add", "-f", ".blackbird/config.json")
    elsewhere = used.repo.parent / "elsewhere"
    (used.repo / ".blackbird").rename(elsewhere)
    (used.repo / ".blackbird").symlink_to(elsewhere)
    used.expect(0, "deinit", "--state")
    assert not (used.repo / ".blackbird").is_symlink()
    assert (elsewhere / "runs" / "a").is_dir()


def test_a_home_that_is_a_worktree_keeps_its_own_configuration(sealed: Path) -> None:
    git(sealed, "init", "-q", "-b", "main")
    trial = Trial(sealed)
    trial.plan({"a": ()})
    trial.command("true")
    trial.expect(0, "execute", "--no-input")
    trial.expect(0, "config", "--global", "execution.idleMinutes", "7")
    trial.expect(0, "deinit", "--all")
    assert [path.name for path in (sealed / ".blackbird").iterdir()] == ["config.json"]


def test_a_hook_that_someone_put_over_ours_is_left(used: Trial) -> None:
    hook = used.repo / ".git/hooks/post-commit"
    hook.write_text("#!/bin/sh\n# another\n")
    output = used.expect(0, "deinit", "--all")
    assert f"hooks   another hook has replaced ours and was left alone: {hook}" in output
    assert "removed: refs, state, config\n" in output
    assert hook.read_text() == "#!/bin/sh\n# another\n"


def test_what_git_cannot_change_is_named(used: Trial) -> None:
    (used.repo / ".git/config.lock").touch()
    completed = subprocess.run(
        [*("git", "config", "blackbird.agent", "demo")], cwd=used.repo, capture_output=True, check=False
    )
    assert completed.returncode != 0
    output = used.expect(128, "deinit", "--config")
    assert "could not lock config file" in output
