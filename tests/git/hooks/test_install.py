"""The hook's file: put in its place whatever is there, and taken away without a trace."""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from git_blackbird.errors import RequestError, UnusableError
from git_blackbird.git.core.repository import Repository, discover
from git_blackbird.git.hooks.install import (
    HookAction,
    HookState,
    HookStatus,
    install_hook,
    uninstall_hook,
    view_hook,
)
from git_blackbird.git.hooks.script import HookCommand, is_untouched
from tests.git.hook_kinds import (
    KINDS,
    PLACES,
    facts,
    hooks_of,
    in_absolute_folder,
    in_default_folder,
    in_home_folder,
    in_relative_folder,
    prepare,
)
from tests.support import commit, git


@pytest.fixture(autouse=True)
def no_samples(repo: Path) -> None:
    """Git's own templates fill the folder."""
    shutil.rmtree(repo / ".git" / "hooks")


@pytest.fixture
def caller(tmp_path: Path) -> HookCommand:
    entry = tmp_path / "it's here" / "hook.py"
    entry.parent.mkdir()
    entry.write_text("")
    return HookCommand(Path(sys.executable), entry)


def at(path: Path) -> Repository:
    return discover(path, os.environ)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", KINDS)
def test_uninstall_leaves_byte_for_byte_what_was_there(
    repo: Path, caller: HookCommand, kind: str, place: str
) -> None:
    folder = PLACES[place](repo)
    before = prepare(folder, kind)
    result = install_hook(at(repo), caller)
    assert (result.outcome, result.view.state) == (HookAction.INSTALLED, HookState.INSTALLED)
    assert result.view.path == folder / "post-commit"
    assert result.view.backup == folder / "post-commit.before-blackbird"
    assert facts(folder)["post-commit.before-blackbird"] == before["post-commit"]
    gone = uninstall_hook(at(repo), caller)
    assert (gone.outcome, gone.view.state) == (HookAction.RESTORED, HookState.ABSENT)
    assert facts(folder) == before


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_there_runs_when_git_would_run_it(repo: Path, caller: HookCommand, kind: str) -> None:
    prepare(hooks_of(repo), kind)
    view = install_hook(at(repo), caller).view
    assert view.runs_aside == (kind not in {"not_executable", "dangling_link"})


def test_where_nothing_was_nothing_is_left(repo: Path, caller: HookCommand) -> None:
    hooks_of(repo)
    assert install_hook(at(repo), caller).view.backup is None
    assert [path.name for path in hooks_of(repo).iterdir()] == ["post-commit"]
    assert uninstall_hook(at(repo), caller).outcome is HookAction.REMOVED
    assert not list(hooks_of(repo).iterdir())


def test_folders_that_were_made_go_again(repo: Path, caller: HookCommand) -> None:
    git(repo, "config", "core.hooksPath", "a/b/c")
    (repo / "a").mkdir()
    install_hook(at(repo), caller)
    assert (repo / "a" / "b" / "c" / "post-commit").exists()
    uninstall_hook(at(repo), caller)
    assert not list((repo / "a").iterdir())


def test_a_folder_that_was_made_stays_when_someone_uses_it(repo: Path, caller: HookCommand) -> None:
    git(repo, "config", "core.hooksPath", "a/b")
    install_hook(at(repo), caller)
    (repo / "a" / "b" / "pre-commit").touch()
    uninstall_hook(at(repo), caller)
    assert [path.name for path in (repo / "a" / "b").iterdir()] == ["pre-commit"]


def test_installing_twice_changes_nothing(repo: Path, caller: HookCommand) -> None:
    prepare(hooks_of(repo), "script")
    install_hook(at(repo), caller)
    before = facts(hooks_of(repo))
    assert install_hook(at(repo), caller).outcome is HookAction.UNCHANGED
    assert facts(hooks_of(repo)) == before


def test_uninstalling_twice_changes_nothing(repo: Path, caller: HookCommand) -> None:
    before = prepare(hooks_of(repo), "script")
    install_hook(at(repo), caller)
    uninstall_hook(at(repo), caller)
    assert uninstall_hook(at(repo), caller).outcome is HookAction.UNCHANGED
    assert facts(hooks_of(repo)) == before


def test_uninstalling_what_never_was_makes_no_folder(repo: Path, caller: HookCommand) -> None:
    git(repo, "config", "core.hooksPath", "nowhere")
    assert uninstall_hook(at(repo), caller).outcome is HookAction.UNCHANGED
    assert not (repo / "nowhere").exists()


def test_the_hook_of_another_version_is_brought_up_to_date(repo: Path, caller: HookCommand) -> None:
    before = prepare(hooks_of(repo), "other_manager")
    other = HookCommand(Path("/gone/bin/python"), Path("/gone/hook.py"))
    install_hook(at(repo), other)
    seen = view_hook(at(repo), caller)
    assert (seen.state, seen.missing_programs) == (HookState.OUTDATED, ("/gone/bin/python", "/gone/hook.py"))
    result = install_hook(at(repo), caller)
    assert (result.outcome, result.view.state, result.view.missing_programs) == (
        HookAction.UPDATED,
        HookState.INSTALLED,
        (),
    )
    uninstall_hook(at(repo), caller)
    assert facts(hooks_of(repo)) == before


def test_the_hook_of_another_version_can_be_taken_away(repo: Path, caller: HookCommand) -> None:
    before = prepare(hooks_of(repo), "link")
    install_hook(at(repo), HookCommand(Path("/gone/bin/python"), Path("/gone/hook.py")))
    assert uninstall_hook(at(repo), caller).outcome is HookAction.RESTORED
    assert facts(hooks_of(repo)) == before


def refused(act: Callable[[Repository, HookCommand], object], repo: Path, caller: HookCommand) -> str:
    before = facts(hooks_of(repo))
    with pytest.raises(RequestError) as error:
        act(at(repo), caller)
    assert facts(hooks_of(repo)) == before
    return error.value.message


@pytest.mark.parametrize("kind", ["script", "binary", "dangling_link"])
def test_a_hook_that_was_put_over_ours_is_left_alone_and_named(
    repo: Path, caller: HookCommand, kind: str
) -> None:
    prepare(hooks_of(repo), "empty")
    install_hook(at(repo), caller)
    (hooks_of(repo) / "post-commit").unlink()
    prepare(hooks_of(repo), kind)
    assert view_hook(at(repo), caller).state is HookState.REPLACED
    for act in (install_hook, uninstall_hook):
        assert refused(act, repo, caller) == (
            f"{hooks_of(repo) / 'post-commit'} was replaced by another hook; it is left alone, "
            f"and so is {hooks_of(repo) / 'post-commit.before-blackbird'}, the previous hook"
        )


def test_a_hook_that_its_manager_wrote_again_is_moved_aside_again(repo: Path, caller: HookCommand) -> None:
    prepare(hooks_of(repo), "other_manager")
    install_hook(at(repo), caller)
    (hooks_of(repo) / "post-commit").unlink()
    before = prepare(hooks_of(repo), "other_manager")
    assert view_hook(at(repo), caller).state is HookState.ABSENT
    assert install_hook(at(repo), caller).outcome is HookAction.INSTALLED
    uninstall_hook(at(repo), caller)
    assert facts(hooks_of(repo)) == {"post-commit": before["post-commit"]}


def test_ours_is_known_where_another_manager_keeps_and_runs_it(repo: Path, caller: HookCommand) -> None:
    before = prepare(hooks_of(repo), "script")
    install_hook(at(repo), HookCommand(Path("/gone/bin/python"), Path("/gone/hook.py")))
    kept = hooks_of(repo) / "post-commit.legacy"
    (hooks_of(repo) / "post-commit").rename(kept)
    prepare(hooks_of(repo), "binary")
    over = facts(hooks_of(repo))["post-commit"]
    result = install_hook(at(repo), caller)
    assert (result.outcome, result.view.path, result.view.other) == (HookAction.UPDATED, kept, False)
    assert uninstall_hook(at(repo), caller).outcome is HookAction.RESTORED
    assert facts(hooks_of(repo)) == {"post-commit": over, "post-commit.legacy": before["post-commit"]}


def test_what_stands_in_the_place_of_the_hook_before_is_not_overwritten(
    repo: Path, caller: HookCommand
) -> None:
    (hooks_of(repo) / "post-commit.before-blackbird").write_text("precious")
    prepare(hooks_of(repo), "script")
    assert "it is left alone" in refused(install_hook, repo, caller)


def test_a_hook_of_ours_that_someone_edited_is_left_alone(repo: Path, caller: HookCommand) -> None:
    hooks_of(repo)
    install_hook(at(repo), caller)
    with (hooks_of(repo) / "post-commit").open("a") as hook:
        hook.write("echo mine\n")
    assert view_hook(at(repo), caller).state is HookState.EDITED
    for act in (install_hook, uninstall_hook):
        assert "is our hook, edited by someone else; it is left alone" in refused(act, repo, caller)


def test_a_hook_of_ours_that_was_removed_by_hand_can_be_put_back_or_undone(
    repo: Path, caller: HookCommand
) -> None:
    before = prepare(hooks_of(repo), "script")
    install_hook(at(repo), caller)
    (hooks_of(repo) / "post-commit").unlink()
    assert install_hook(at(repo), caller).view.runs_aside
    (hooks_of(repo) / "post-commit").unlink()
    assert uninstall_hook(at(repo), caller).outcome is HookAction.RESTORED
    assert facts(hooks_of(repo)) == before


@pytest.mark.parametrize(("make", "what"), [(Path.mkdir, "a folder"), (os.mkfifo, "not a file")])
def test_what_is_no_hook_is_refused(
    repo: Path, caller: HookCommand, make: Callable[[Path], None], what: str
) -> None:
    path = hooks_of(repo) / "post-commit"
    make(path)
    with pytest.raises(RequestError, match=f"post-commit is {what}; it is left alone"):
        install_hook(at(repo), caller)
    assert [path.name for path in hooks_of(repo).iterdir()] == ["post-commit"]


def test_two_at_once_do_not_lose_a_hook(repo: Path, caller: HookCommand) -> None:
    before = prepare(hooks_of(repo), "script")
    held = hooks_of(repo) / "post-commit.lock"
    with held.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        for act in (install_hook, uninstall_hook):
            with pytest.raises(
                RequestError, match=r"another process is working here: it holds .*post-commit\.lock"
            ):
                act(at(repo), caller)
            assert held.exists()
    held.unlink()
    assert facts(hooks_of(repo)) == before


def test_a_killed_install_is_in_nobodys_way(repo: Path, caller: HookCommand) -> None:
    hook = prepare(hooks_of(repo), "script")
    (hooks_of(repo) / "post-commit.lock").write_text("half a ho")
    os.link(hooks_of(repo) / "post-commit", hooks_of(repo) / "post-commit.before-blackbird")
    install_hook(at(repo), caller)
    uninstall_hook(at(repo), caller)
    assert facts(hooks_of(repo)) == hook


@pytest.mark.parametrize("path", ["/dev/null", "file"])
def test_where_hooks_are_turned_off_that_is_said(repo: Path, caller: HookCommand, path: str) -> None:
    (repo / "file").touch()
    git(repo, "config", "core.hooksPath", path)
    with pytest.raises(RequestError, match="is not a folder: this repository runs no hooks"):
        install_hook(at(repo), caller)
    assert uninstall_hook(at(repo), caller).outcome is HookAction.UNCHANGED


def test_a_path_that_git_itself_refuses_is_named(repo: Path, caller: HookCommand) -> None:
    git(repo, "config", "core.hooksPath", "")
    with pytest.raises(UnusableError, match="git does not say where hooks are"):
        view_hook(at(repo), caller)


MANAGERS = {
    "#!/usr/bin/env python3\nimport os, sys\nprint(os.path.basename(sys.argv[0]))\n": True,
    "#!/usr/bin/env python3\nimport pathlib\nprint(pathlib.Path(__file__).name)\n": True,
    "#!/usr/bin/env perl\nuse File::Basename;\nprint basename($0), qq(\\n);\n": True,
    '#!/usr/bin/env bash\nbasename "${BASH_SOURCE[0]}"\n': True,
    '#!/usr/bin/env bash\necho "${BASH_SOURCE##*/}"\n': True,
    '#!/usr/bin/env bash\necho "${BASH_SOURCE[0]}"\n': True,
    '#!/usr/bin/env bash\n[ "$0" = "${BASH_SOURCE[0]}" ] && echo "$0"\n': True,
    "#!/usr/bin/env perl\nprint $0, qq(\\n);\n": True,
    "#!/usr/bin/env python3\nimport sys\nprint(sys.argv[0])\n": True,
    '#!/bin/sh\nbasename "$0"\n': False,
    '#!/bin/sh\necho "$0"\n': False,
    'echo "$0"\n': False,
    **({'#!/usr/bin/env zsh\necho "$0"\n': False} if shutil.which("zsh") else {}),
    "#!/usr/bin/env python3\nprint('post-commit')\n": False,
}


def said_by_hook(repo: Path) -> str:
    """Return the last part of the name that the hook says it has."""
    # Of all things called python3, the one that is quick to start.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    completed = subprocess.run(
        ["git", "commit", "-q", "--allow-empty", "-m", "x"],
        cwd=repo,
        env={**os.environ, "PATH": path},
        capture_output=True,
        check=True,
    )
    return (completed.stdout + completed.stderr).decode().rpartition("/")[2]


@pytest.mark.sampled(7)
@pytest.mark.parametrize("manager", MANAGERS)
@pytest.mark.parametrize("linked", [False, True])
def test_a_hook_that_goes_by_its_own_name_is_called_by_it(
    repo: Path, caller: HookCommand, manager: str, *, linked: bool
) -> None:
    folder = hooks_of(repo)
    path = folder / ("manager" if linked else "post-commit")
    path.write_text(manager)
    path.chmod(0o755)
    if linked:
        (folder / "post-commit").symlink_to("manager")
    before = facts(folder)
    is_named = linked or MANAGERS[manager]
    assert said_by_hook(repo) == "post-commit\n"
    install_hook(at(repo), caller)
    assert ((folder / "before-blackbird").is_dir(), said_by_hook(repo)) == (is_named, "post-commit\n")
    uninstall_hook(at(repo), caller)
    assert facts(folder) == before
    assert not (folder / "before-blackbird").exists()


def test_a_hook_that_was_installed_before_learns_to_call_by_name(repo: Path, caller: HookCommand) -> None:
    (hooks_of(repo) / "manager").write_text(next(iter(MANAGERS)))
    (hooks_of(repo) / "manager").chmod(0o755)
    (hooks_of(repo) / "post-commit").symlink_to("manager")
    install_hook(at(repo), HookCommand(Path("/gone/bin/python"), Path("/gone/hook.py")))
    shutil.rmtree(hooks_of(repo) / "before-blackbird")
    assert said_by_hook(repo) == "post-commit.before-blackbird\n"
    install_hook(at(repo), caller)
    assert said_by_hook(repo) == "post-commit\n"


def test_a_folder_of_someone_elses_is_not_taken_for_the_name(repo: Path, caller: HookCommand) -> None:
    prepare(hooks_of(repo), "link")
    before = facts(hooks_of(repo))
    (hooks_of(repo) / "before-blackbird").mkdir()
    with pytest.raises(RequestError, match="before-blackbird exists; it is left alone"):
        install_hook(at(repo), caller)
    assert facts(hooks_of(repo)) == before
    assert (hooks_of(repo) / "before-blackbird").is_dir()


def seen_from(path: Path, caller: HookCommand) -> HookStatus:
    return view_hook(at(path), caller)


@pytest.mark.parametrize("place", [in_default_folder, in_absolute_folder, in_home_folder])
def test_a_linked_worktree_and_its_main_agree(
    repo: Path, caller: HookCommand, place: Callable[[Path], Path]
) -> None:
    commit(repo, {"a": "1"})
    before = prepare(place(repo), "script")
    linked = repo.parent / "linked"
    git(repo, "worktree", "add", "-q", str(linked))
    folder = install_hook(at(linked), caller).view.path.parent
    assert seen_from(repo, caller) == seen_from(linked, caller)
    assert seen_from(repo, caller).state is HookState.INSTALLED
    uninstall_hook(at(repo), caller)
    assert seen_from(repo, caller) == seen_from(linked, caller)
    assert facts(folder) == before


def test_from_below_the_top_it_is_the_same_folder(repo: Path, caller: HookCommand) -> None:
    git(repo, "config", "core.hooksPath", "tools")
    (repo / "below").mkdir()
    assert seen_from(repo / "below", caller) == seen_from(repo, caller)
    assert seen_from(repo, caller).path == repo / "tools" / "post-commit"


@pytest.mark.parametrize(
    ("place", "said"),
    [
        (in_default_folder, None),
        (in_relative_folder, "core.hooksPath points into the worktree: "),
        (in_absolute_folder, "core.hooksPath points outside this repository: "),
        (in_home_folder, "core.hooksPath of the global git configuration: "),
    ],
)
def test_whom_a_folder_serves_besides_is_said(
    repo: Path, caller: HookCommand, place: Callable[[Path], Path], said: str | None
) -> None:
    place(repo)
    shared = install_hook(at(repo), caller).view.shared
    assert shared is None if said is None else (shared or "").startswith(said)


def test_a_folder_given_for_one_call_is_said_to_be(
    repo: Path, caller: HookCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", f"'core.hooksPath'='{repo.parent / 'once'}'")
    shared = install_hook(at(repo), caller).view.shared
    assert shared == "core.hooksPath is set for this call only: commits made without it do not run the hook"
    assert (repo.parent / "once" / "post-commit").exists()


def test_a_read_only_folder_is_named(repo: Path, caller: HookCommand) -> None:
    if os.geteuid() == 0:
        pytest.skip("nothing is read-only for this user")
    hooks_of(repo).chmod(0o555)
    with pytest.raises(UnusableError, match="cannot write"):
        install_hook(at(repo), caller)
    hooks_of(repo).chmod(0o755)


def test_the_installed_text_is_executable_and_knows_itself(repo: Path, caller: HookCommand) -> None:
    path = install_hook(at(repo), caller).view.path
    assert os.access(path, os.X_OK)
    assert is_untouched(path.read_text())
