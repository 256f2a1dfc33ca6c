"""Any worktree: a snapshot is what ``git add -A`` in a copy of the repository would write."""

import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.git.support import tree_of, user_state
from tests.support import git

PATHS = ["f", "f/g", "f/g/h", "d/x y", "d/\udcff", "new\nline", ".gitignore", "-a", "d/.gitignore"]
KINDS = ["1", "2", "longer", "executable", "link -a", "link d", "-a\nf\n"]
WORKTREES = st.dictionaries(st.sampled_from(PATHS), st.sampled_from(KINDS))


def put(repo: Path, files: dict[str, str]) -> None:
    """Make the worktree hold exactly these files; of a file and a directory of one name, the first."""
    for path in repo.iterdir():
        if path.name != ".git":
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    for name, kind in files.items():
        path = repo / name
        above = [parent for parent in path.parents if parent != repo and parent.is_relative_to(repo)]
        # Of what lay below a link that now leads to itself, `git add` cannot tell that it is gone.
        if kind == f"link {name}" or os.path.lexists(path):
            continue
        if any(parent.is_symlink() or parent.is_file() for parent in above):
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if kind.startswith("link "):
            path.symlink_to(kind.removeprefix("link "))
        else:
            path.write_text(kind)
            path.chmod(0o755 if kind == "executable" else 0o644)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(committed=WORKTREES, staged=st.none() | WORKTREES, last=WORKTREES, splits=st.booleans())
def test_a_snapshot_is_what_git_add_would_write(
    committed: dict[str, str], staged: dict[str, str] | None, last: dict[str, str], splits: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        repo = Path(folder, "repo")
        git(Path(folder), "init", "-q", "-b", "main", "repo")
        put(repo, committed)
        git(repo, "add", "-A")
        git(repo, "commit", "-q", "--allow-empty", "-m", "a commit")
        if splits:
            git(repo, "update-index", "--split-index")
        if staged is not None:
            put(repo, staged)
            git(repo, "add", "-A")
        put(repo, last)
        before = user_state(repo)
        tree = tree_of(repo)
        assert user_state(repo) == before
        copy = Path(folder, "copy")
        shutil.copytree(repo, copy, symlinks=True)
        git(copy, "add", "-A")
        assert git(copy, "write-tree") == tree
