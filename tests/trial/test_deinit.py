"""``deinit``: nothing of the program is left, and nothing else is gone."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.terminal import Terminal
from tests.support import Prepared, commit, git, write
from tests.trial.program import Trial

SURVEY = """\
the post-commit hook $REPO/.git/hooks/post-commit; the one from before comes back
the merge driver for the plan
1 reference below refs/blackbird/: the trees that diffs are made of
1 run on record: $REPO/.blackbird, $REPO/.git/blackbird; your own among them: .blackbird/config.json
4 keys in this repository's git config: $KEYS
stays: the plan $REPO/blackbird.plan.json, 1 task
"""
REMOVED = "removed git-blackbird from this repository\n"
QUESTION = "Remove all of this? [y/N]:"
KEYS = (
    "blackbird.agent, blackbird.command.run, blackbird.execution.stopgraceseconds,"
    " blackbird.execution.acceptnochange"
)


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


def test_everything_goes_but_the_plan_and_what_was_there_before(
    used: Trial, before: dict[str, object]
) -> None:
    output = used.expect(0, "deinit", "--yes", "--no-input")
    assert normalized(used, output) == f"{SURVEY}{REMOVED}"
    assert used.statuses() == {"a": "done"}
    assert git(used.repo, "for-each-ref", "refs/blackbird") == ""
    output = used.expect(0, "deinit", "--no-input")
    assert normalized(used, output) == (
        "stays: the plan $REPO/blackbird.plan.json, 1 task\nnothing was removed\n"
    )
    (used.repo / "blackbird.plan.json").unlink()
    assert used.expect(0, "deinit") == "nothing was removed\n"
    assert everything(used.repo) == before


def test_what_a_person_wrote_is_named(used: Trial) -> None:
    write(used.repo, {".blackbird/snapshot.md": "mine\n", ".git/blackbird/drafts/a.md": "text\n"})
    write(used.repo, {".git/blackbird/drafts/texts/a/message.md": "text\n"})
    output = used.expect(0, "deinit", "--yes")
    own = ".blackbird/config.json, .blackbird/snapshot.md, .git/blackbird/drafts/a.md, "
    own += ".git/blackbird/drafts/texts/a/message.md"
    assert f".git/blackbird; your own among them: {own}\n" in output


def test_what_git_tracks_stays_and_is_named(used: Trial) -> None:
    write(
        used.repo, {".blackbird/snapshot.md": "mine\n", ".blackbird/sub/kept": "", ".blackbird/sub/gone": ""}
    )
    tracked = [".blackbird/.gitignore", ".blackbird/config.json", ".blackbird/sub/kept"]
    git(used.repo, "add", "-f", *tracked)
    write(used.repo, {".blackbird/config.json": '{"execution": {"stopAfterEachTask": true}}\n'})
    named = f"stays: what git tracks (`git rm` removes it): {', '.join(tracked)}\n"
    output = used.expect(0, "deinit", "--yes")
    assert "; your own among them: .blackbird/snapshot.md\n" in output
    assert named in output
    left = [path for path in (used.repo / ".blackbird").rglob("*") if path.is_file()]
    assert sorted(str(path.relative_to(used.repo)) for path in left) == tracked
    assert "stopAfterEachTask" in (used.repo / ".blackbird/config.json").read_text()
    output = used.expect(0, "deinit")
    assert named in output
    assert output.endswith("nothing was removed\n")


def test_json_has_what_was_removed(used: Trial) -> None:
    data = json.loads(used.expect(0, "deinit", "--yes", "--json"))["data"]
    assert [normalized(used, text) for text in data["removed"]] == SURVEY.splitlines()[:-1]
    assert json.loads(used.expect(0, "deinit", "--json"))["data"] == {"removed": []}


def test_nothing_goes_where_nobody_agrees_or_an_agent_does(used: Trial) -> None:
    was = everything(used.repo)
    refused = "error: nobody can be asked whether to remove this\nhint: git blackbird deinit --yes\n"
    for args in (("--no-input",), ()):
        assert normalized(used, used.expect(2, "deinit", *args)) == f"{SURVEY}{refused}"
    assert used.expect(2, "deinit", "--json").startswith(refused)
    used.environ["BLACKBIRD_RUN_ID"] = "0123456789abcdef"
    assert "error: an agent may not remove git-blackbird" in used.expect(1, "deinit", "--yes")
    assert everything(used.repo) == was


def test_it_asks_once_on_a_terminal(used: Trial) -> None:
    was = everything(used.repo)
    for answer, code in (("\r", 0), ("n\r", 0), ("\x03", 130)):
        with Terminal(used.repo, "deinit") as terminal:
            terminal.wait_for(QUESTION)
            terminal.type(answer)
            assert terminal.end() == code
            assert ("nothing was removed" in terminal.plain) == (code == 0)
        assert everything(used.repo) == was
    with Terminal(used.repo, "deinit") as terminal:
        terminal.wait_for(QUESTION)
        terminal.type("perhaps\r")
        terminal.wait_for("Error: invalid input")
        terminal.wait_for(QUESTION)
        terminal.type("y\r")
        assert terminal.end() == 0
        assert REMOVED.strip() in terminal.plain
    assert used.expect(0, "deinit").endswith("nothing was removed\n")


def test_what_is_not_finished_is_named_before_its_trees_go(used: Trial) -> None:
    used.expect(0, "add", "--id", "b", "--title", "B")
    used.configure({"execution.stopAfterEachTask": "true"})
    used.expect(3, "execute", "--no-input")
    needed = "the trees that diffs are made of; b still needs them\n"
    assert needed in used.expect(2, "deinit", "--no-input")
    assert needed in used.expect(0, "deinit", "--yes")
    assert git(used.repo, "for-each-ref", "refs/blackbird") == ""


def test_it_is_refused_while_agents_work(used: Trial) -> None:
    used.expect(0, "add", "--id", "b", "--title", "B")
    used.command("mkfifo gate; : >started; read -r _ <gate")
    running = used.start("execute", "--no-input")
    try:
        while not (used.repo / "started").exists():
            assert running.poll() is None
        output = used.expect(7, "deinit", "--yes")
        assert "error: another git-blackbird is running here: execute (process " in output
        linked = used.repo.parent / "linked"
        git(used.repo, "worktree", "add", "-q", "../linked")
        output = used.expect(7, "deinit", "--yes", cwd=linked)
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
    used.expect(0, "deinit", "--yes")
    assert not (used.repo / ".blackbird").is_symlink()
    assert (elsewhere / "runs" / "a").is_dir()


def test_a_home_that_is_a_worktree_keeps_its_own_configuration(sealed: Path) -> None:
    git(sealed, "init", "-q", "-b", "main")
    trial = Trial(sealed)
    trial.plan({"a": ()})
    trial.command("true")
    trial.expect(0, "execute", "--no-input")
    trial.expect(0, "config", "--global", "execution.idleMinutes", "7")
    trial.expect(0, "deinit", "--yes")
    assert [path.name for path in (sealed / ".blackbird").iterdir()] == ["config.json"]


def test_a_hook_that_someone_put_over_ours_is_left(used: Trial) -> None:
    hook = used.repo / ".git/hooks/post-commit"
    hook.write_text("#!/bin/sh\n# another\n")
    output = used.expect(0, "deinit", "--yes")
    assert f"stays: the hook that has replaced ours: {hook}\n" in output
    assert output.endswith(REMOVED)
    assert hook.read_text() == "#!/bin/sh\n# another\n"


def test_what_git_cannot_change_is_named(used: Trial) -> None:
    (used.repo / ".git/config.lock").touch()
    completed = subprocess.run(
        [*("git", "config", "blackbird.agent", "demo")], cwd=used.repo, capture_output=True, check=False
    )
    assert completed.returncode != 0
    output = used.expect(128, "deinit", "--yes")
    assert "could not lock config file" in output
