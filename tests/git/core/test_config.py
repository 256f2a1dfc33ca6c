import os
import subprocess
from pathlib import Path

import pytest

from git_blackbird.git.core.config import (
    color_wanted,
    list_own_keys,
    read_settings,
    remove_own_sections,
    unset_setting,
    write_setting,
)
from git_blackbird.git.core.process import GitError
from git_blackbird.git.core.repository import discover
from git_blackbird.model.config.layers import Layer, RawSetting
from tests.git.support import found
from tests.support import git, wait_until, write


def test_no_setting(repo: Path) -> None:
    assert read_settings(found(repo)) == ([], [])


def test_every_layer_with_its_scope(repo: Path, sealed: Path) -> None:
    git(repo, "config", "--global", "blackbird.snapshot.timeoutSeconds", "30")
    git(repo, "config", "--global", "Blackbird.Agent", "claude")
    git(repo, "config", "blackbird.agent", "a\nb")
    with (repo / ".git" / "config").open("a") as file:
        file.write('[blackbird "Execution"]\n\tstopAfterEachTask\n\tcommit =\n')
    environ = {**os.environ, "GIT_CONFIG_PARAMETERS": "'blackbird.agent'='demo'"}
    assert tuple(read_settings(discover(repo, environ))[0]) == (
        RawSetting("snapshot.timeoutseconds", "30", Layer.GIT_GLOBAL, "git config (global)"),
        RawSetting("agent", "claude", Layer.GIT_GLOBAL, "git config (global)"),
        RawSetting("agent", "a\nb", Layer.GIT_LOCAL, "git config (local)"),
        RawSetting("execution.stopaftereachtask", "true", Layer.GIT_LOCAL, "git config (local)"),
        RawSetting("execution.commit", "", Layer.GIT_LOCAL, "git config (local)"),
        RawSetting("agent", "demo", Layer.GIT_LOCAL, "git config (command)"),
    )


def test_what_is_written_is_read_and_can_be_unset(repo: Path, sealed: Path) -> None:
    there = found(repo)
    write_setting(there, "execution.stopAfterEachTask", "true")
    write_setting(there, "agent", "-x")
    assert tuple(read_settings(there)[0]) == (
        RawSetting("execution.stopaftereachtask", "true", Layer.GIT_LOCAL, "git config (local)"),
        RawSetting("agent", "-x", Layer.GIT_LOCAL, "git config (local)"),
    )
    assert unset_setting(there, "agent")
    assert not unset_setting(there, "agent")
    git(repo, "config", "--add", "blackbird.execution.stopAfterEachTask", "false")
    write_setting(there, "execution.stopAfterEachTask", "true")
    assert tuple(read_settings(there)[0]) == (
        RawSetting("execution.stopaftereachtask", "true", Layer.GIT_LOCAL, "git config (local)"),
    )


def test_git_is_asked_again_once_a_file_may_have_changed(repo: Path, sealed: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    there = discover(repo, {**os.environ, "GIT_TRACE": str(trace)})

    def asked() -> int:
        before = trace.read_text().count("built-in: git config")
        read_settings(there)
        return trace.read_text().count("built-in: git config") - before

    # A file that has just been written may be written again at the same time.
    wait_until(lambda: asked() == 0)
    assert asked() == 0
    for change in (
        ["config", "blackbird.agent", "demo"],
        ["config", "--global", "include.path", "more"],
        ["config", "--file", str(sealed / "more"), "blackbird.agent", "codex"],
    ):
        git(repo, *change)
        assert asked() == 1
    assert [(item.raw, item.layer) for item in read_settings(there)[0]] == [
        ("codex", Layer.GIT_GLOBAL),
        ("demo", Layer.GIT_LOCAL),
    ]


def test_a_configuration_git_cannot_read_is_told(repo: Path) -> None:
    there = found(repo)
    write(repo, {".git/config": "[core\n"})
    with pytest.raises(GitError, match="bad config line 1 in file"):
        read_settings(there)


def test_a_linked_worktree_writes_the_shared_configuration(repo: Path, tmp_path: Path) -> None:
    git(repo, "commit", "-q", "--allow-empty", "-m", "x")
    git(repo, "worktree", "add", "-q", str(tmp_path / "linked"))
    write_setting(found(tmp_path / "linked"), "agent", "demo")
    assert read_settings(found(repo))[0] == [
        RawSetting("agent", "demo", Layer.GIT_LOCAL, "git config (local)")
    ]


def asked_of_git(repo: Path, environ: dict[str, str], *, is_tty: bool) -> bool:
    question = ["git", "config", "--get-colorbool", "color.blackbird", str(is_tty).lower()]
    answer = subprocess.run(question, cwd=repo, env=environ, capture_output=True, check=False)
    return answer.stdout.strip() == b"true"


SPELLINGS = (
    "auto",
    "Always",
    "never",
    "true",
    "ON",
    "yes",
    "False",
    "no",
    "",
    "0",
    "1",
    "2k",
    "0x0",
    "nonsense",
)


@pytest.mark.sampled(9)
@pytest.mark.parametrize("value", [None, *SPELLINGS])
@pytest.mark.parametrize(
    "lines", ["[color]\n\tui{}\n", "[color]\n\tui = never\n\tBlackbird{}\n", "[color]\n"]
)
def test_colour_is_as_git_says(repo: Path, lines: str, value: str | None) -> None:
    write(repo, {".git/config": lines.format("" if value is None else f" = {value}")})
    terminals: tuple[dict[str, str], ...] = ({"TERM": "xterm"}, {"TERM": "dumb"}, {"TERM": ""})
    for variables in (*terminals, {"TERM": "xterm", "GIT_PAGER_IN_USE": "1"}):
        environ = {**os.environ, **variables}
        opened = discover(repo, environ)
        for is_tty in (True, False):
            assert color_wanted(opened, is_tty=is_tty) == asked_of_git(repo, environ, is_tty=is_tty)


def test_colour_in_a_pager_is_as_git_says_unless_the_pager_takes_none(repo: Path) -> None:
    environ = {**os.environ, "TERM": "xterm", "GIT_PAGER_IN_USE": "1"}
    assert color_wanted(discover(repo, environ), is_tty=False)
    git(repo, "config", "color.pager", "no")
    opened = discover(repo, environ)
    assert not color_wanted(opened, is_tty=False)
    assert color_wanted(opened, is_tty=True)


def test_own_keys_are_listed_and_their_sections_removed(repo: Path, sealed: Path) -> None:
    opened = found(repo)
    git(repo, "config", "--global", "blackbird.agent", "codex")
    for key in ("blackbird.agent", "blackbird.execution.commit", "blackbird.Odd Case.x", "pager.blackbird"):
        git(repo, "config", key, "true")
    assert list_own_keys(opened) == ("blackbird.agent", "blackbird.execution.commit", "blackbird.Odd Case.x")
    remove_own_sections(opened)
    assert list_own_keys(opened) == ()
    assert "blackbird" not in (repo / ".git/config").read_text().replace("\tblackbird = true\n", "")
    assert git(repo, "config", "blackbird.agent") == "codex"
    remove_own_sections(opened)


def test_a_worktree_with_a_configuration_of_its_own_is_asked_too(repo: Path) -> None:
    git(repo, "config", "extensions.worktreeConfig", "true")
    git(repo, "config", "--worktree", "blackbird.agent", "demo")
    git(repo, "config", "blackbird.agent", "codex")
    opened = found(repo)
    assert list_own_keys(opened) == ("blackbird.agent",)
    remove_own_sections(opened)
    assert list_own_keys(opened) == ()
