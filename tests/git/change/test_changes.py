import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pexpect

from git_blackbird.git.change.changes import (
    changed_paths,
    diff_text,
    files_before,
    path_differs,
    show_diff,
)
from git_blackbird.model.run.summary import Trees
from tests.git.support import change_after, found, tree_of
from tests.support import commit, git, write

HOUSE = Path(__file__).parents[3]
SHOW = (
    "import os, sys\n"
    "from pathlib import Path\n"
    "from git_blackbird.git.change.changes import show_diff\n"
    "from git_blackbird.git.core.repository import discover\n"
    "from git_blackbird.model.run.summary import Trees\n"
    "status = show_diff(discover(Path(sys.argv[1]), os.environ), Trees(*sys.argv[2:]))\n"
    "print('alive', status)"
)


def test_touched_are_both_sides_of_a_rename_and_nothing_else(repo: Path) -> None:
    commit(repo, {"old name": "long enough to be alike\n" * 9, "same": "1", "mode": "1", "not\udcff": "1"})
    base = tree_of(repo)
    (repo / "old name").rename(repo / "new\nname")
    (repo / "mode").chmod(0o755)
    write(repo, {"not\udcff": "2", "dir/deep/new": "n"})
    assert changed_paths(found(repo), change_after(repo, base)) == {
        b"old name",
        b"new\nname",
        b"mode",
        b"not\xff",
        b"dir/deep/new",
    }


def test_touched_where_files_and_directories_change_places(repo: Path) -> None:
    commit(repo, {"f": "1", "d/x": "1", "d/y": "1"})
    base = tree_of(repo)
    (repo / "f").unlink()
    shutil.rmtree(repo / "d")
    write(repo, {"f/g": "1", "d": "1"})
    assert changed_paths(found(repo), change_after(repo, base)) == {b"f", b"f/g", b"d", b"d/x", b"d/y"}


def test_an_agent_that_commits_changes_what_it_committed(repo: Path) -> None:
    commit(repo, {"f": "1"})
    write(repo, {"mine": "edit"})
    base = tree_of(repo)
    commit(repo, {"f": "2"})
    assert changed_paths(found(repo), change_after(repo, base)) == {b"f"}


def test_differs_names_paths_of_the_change_that_moved_on(repo: Path) -> None:
    commit(repo, {"edited": "1", "deleted": "1", "kept": "1", "other": "1"})
    base = tree_of(repo)
    (repo / "deleted").unlink()
    write(repo, {"edited": "2", "kept": "2", "added": "2", "dir/new": "2"})
    pair = change_after(repo, base)
    assert path_differs(found(repo), tree_of(repo), pair) == ()
    shutil.rmtree(repo / "dir")
    write(repo, {"edited": "3", "deleted": "back", "dir": "file", "other": "mine"})
    (repo / "added").unlink()
    assert path_differs(found(repo), tree_of(repo), pair) == ("added", "deleted", "dir/new", "edited")


def test_no_file_was_there_before_a_run_that_begins_later_than_now(repo: Path) -> None:
    commit(repo, {"old": "1"})
    base = tree_of(repo)
    write(repo, {"new": "1"})
    pair, here, began = change_after(repo, base), found(repo), time.time_ns() + 10**12
    here.private_dir.mkdir(exist_ok=True)
    # Its time is that of the file system's clock.
    (here.private_dir / "now").touch()
    assert files_before(here, pair, began, time.time_ns()) == frozenset()


def test_the_whole_diff_is_a_plain_patch(repo: Path) -> None:
    git(repo, "config", "diff.noprefix", "true")
    git(repo, "config", "color.ui", "always")
    git(repo, "config", "diff.external", "false")
    write(repo, {"f": "1\n"})
    base = tree_of(repo)
    write(repo, {"f": "2\n"})
    assert diff_text(found(repo), change_after(repo, base)) == (
        b"diff --git a/f b/f\nindex d00491f..0cfbf08 100644\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-1\n+2\n"
    )


def test_the_diff_is_shown_as_the_user_likes_it(repo: Path) -> None:
    git(repo, "config", "diff.noprefix", "true")
    write(repo, {"f": "1\n"})
    base = tree_of(repo)
    write(repo, {"f": "2\n"})
    pair = change_after(repo, base)
    command = [sys.executable, "-c", SHOW, str(repo), pair.base, pair.head]
    done = subprocess.run(command, cwd=HOUSE, capture_output=True, check=False)
    shown = b"diff --git f f\nindex d00491f..0cfbf08 100644\n--- f\n+++ f\n@@ -1 +1 @@\n-1\n+2\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, shown + b"alive 0\n", b"")
    assert show_diff(found(repo), Trees("1" * 40, pair.head)) == 128


def test_ctrl_c_in_the_pager_leaves_us_alive(repo: Path, tmp_path: Path) -> None:
    pager = tmp_path / "pager"
    steps = [
        "#!/bin/sh",
        "trap '' INT",
        "head -n 1",
        "echo pager is up",
        "read line </dev/tty",
        "echo pager ends",
    ]
    pager.write_text("\n".join(steps))
    pager.chmod(0o755)
    base = tree_of(repo)
    write(repo, {"f": "line\n"})
    pair = change_after(repo, base)
    environ = {**os.environ, "GIT_PAGER": str(pager)}
    arguments = ["-c", SHOW, str(repo), pair.base, pair.head]
    terminal = pexpect.spawn(sys.executable, arguments, cwd=str(HOUSE), env=environ, timeout=60)
    terminal.expect("pager is up")
    terminal.sendintr()
    terminal.sendline("")
    terminal.expect("pager ends")
    terminal.expect(r"alive \d+")
    terminal.expect(pexpect.EOF)
    terminal.wait()
    terminal.close()


def test_a_change_is_read_from_a_linked_worktree_and_below_it(repo: Path, tmp_path: Path) -> None:
    commit(repo, {"dir/f": "1"})
    linked = tmp_path / "linked"
    git(repo, "worktree", "add", "-q", str(linked))
    base = tree_of(linked / "dir")
    write(linked, {"dir/f": "2"})
    assert changed_paths(found(linked / "dir"), change_after(linked / "dir", base)) == {b"dir/f"}
