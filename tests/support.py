"""What tests of every package need: a real git, and files in a real repository."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path

import pygit2

from git_blackbird.git.core.repository import LOCAL_VARIABLES, Repository, discover
from git_blackbird.model.config.config import Config, with_value
from git_blackbird.model.config.keys import Value
from git_blackbird.model.run.run import Run

PATIENCE_SECONDS = 120.0
_USUAL_CONFIG = {
    "core.repositoryformatversion",
    "core.filemode",
    "core.bare",
    "core.logallrefupdates",
}
SEALED_GIT_CONFIG = "[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n"
# A commit would be a step of these.
_UNDER_WAY = (
    *("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG"),
    *("rebase-merge", "rebase-apply", "sequencer"),
)


def git(repo: Path, *args: str, stdin: bytes | None = None) -> str:
    """Run git in ``repo`` and give its output as text, less the last newline."""
    done = subprocess.run(["git", *args], cwd=repo, input=stdin, capture_output=True, check=False)
    assert done.returncode == 0, (args, done.stderr.decode())
    return done.stdout.decode(errors="surrogateescape").removesuffix("\n")


def run_trees(repo: Path, run_id: str) -> tuple[str | None, str | None]:
    """Return the base and the head tree that the reference of a run keeps."""
    name = git(repo, "for-each-ref", "--format=%(refname)", f"refs/blackbird/runs/{run_id}")
    entries = git(repo, "ls-tree", name).splitlines() if name else ()
    kept = {entry.partition("\t")[2]: entry.split()[2] for entry in entries}
    return kept.get("base"), kept.get("head")


def repository_at(path: Path, environ: Mapping[str, str]) -> Repository:
    """Find a repository as a command does; git is asked only where it is no plain one.

    The same one is returned again, with what it knows of git's configuration while its files are the same.
    """
    is_plain = (
        (path / ".git").is_dir() and not path.is_symlink() and not any(map(environ.get, LOCAL_VARIABLES))
    )
    return _plain_repository(path, frozenset(environ.items())) if is_plain else discover(path, environ)


@lru_cache(maxsize=64)
def _plain_repository(path: Path, environ: frozenset[tuple[str, str]]) -> Repository:
    return Repository(path, path / ".git", path / ".git", dict(environ))


def hold_none(_run: Run, _trees: frozenset[str]) -> frozenset[str]:
    """Hold nothing, for records that name trees which no repository has."""
    return frozenset()


def redact_none() -> None:
    """Mask no secrets in records."""


def examples(usual: int) -> int:
    """How many examples of a property are tried: a fifth of these, or as many as BLACKBIRD_EXAMPLES says."""
    return int(os.environ.get("BLACKBIRD_EXAMPLES", usual // 5))


def wait_until(holds: Callable[[], object], why: object = "") -> None:
    """Wait for something outside this process, however long it takes within patience."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < deadline, why
        time.sleep(0.01)


@dataclass(frozen=True)
class Prepared:
    """A folder of repositories in the state that several tests begin with."""

    folder: Path

    def bring(self, repo: Path, prepare: Callable[[], object]) -> Path:
        """Bring a repository to the state that ``prepare`` makes: the first; others are copies."""
        kept = self.folder / f"{prepare.__module__}.{prepare.__qualname__}"
        if kept.exists():
            shutil.rmtree(repo)
            shutil.copytree(kept, repo, symlinks=True)
        else:
            prepare()
            shutil.copytree(repo, kept, symlinks=True)
        return repo


def config_with(**values: Value | None) -> Config:
    """Return a configuration with these values; ``claude__model`` is the key ``claude.model``."""
    config = Config()
    for name, value in values.items():
        config = with_value(config, name.split("__"), value)
    return config


def write(repo: Path, files: Mapping[str, str | bytes]) -> None:
    """Put files into the worktree, making the folders they need."""
    for name, content in files.items():
        path = repo / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def commit(repo: Path, files: Mapping[str, str | bytes], message: str = "a commit") -> str:
    """Write ``files``, commit them and give the new commit's id."""
    write(repo, files)
    if _is_plain(repo, files):
        return _plain_commit(repo, files, message)
    git(repo, "add", "--", *files)
    git(repo, "commit", "-q", "-m", message)
    return git(repo, "rev-parse", "HEAD")


def _is_plain(repo: Path, files: Mapping[str, str | bytes]) -> bool:
    """Whether these are ordinary files, in a repository as ``git init`` makes it with nothing under way."""
    folder = repo / ".git"
    if not folder.is_dir() or any((folder / name).exists() for name in _UNDER_WAY):
        return False
    if any(folder.glob("sharedindex.*")):
        return False
    names = (entry.name for entry in pygit2.Config(os.fspath(folder / "config")))
    is_usual = all(name in _USUAL_CONFIG or name.startswith("blackbird.") for name in names)
    is_sealed = Path(os.environ["HOME"], ".gitconfig").read_text() == SEALED_GIT_CONFIG
    has_hooks = any(hook.suffix != ".sample" for hook in folder.glob("hooks/*"))
    are_ordinary = all(name.isascii() and name != ".gitattributes" for name in files)
    has_attributes = any(path.exists() for path in (repo / ".gitattributes", folder / "info/attributes"))
    return is_usual and is_sealed and are_ordinary and not has_hooks and not has_attributes


def _plain_commit(repo: Path, files: Mapping[str, str | bytes], message: str) -> str:
    """Do what three processes of git would do: most tests begin with it."""
    opened = pygit2.Repository(os.fspath(repo))
    for name in files:
        opened.index.add(name)
    opened.index.write()
    # Libgit2 tells fractions of a second apart, git does not: with an old index it looks into the files.
    os.utime(repo / ".git" / "index", (1, 1))
    tree = opened.index.write_tree()
    author, committer = (_signature(role) for role in ("AUTHOR", "COMMITTER"))
    parents = [] if opened.head_is_unborn else [opened.head.target]
    return str(opened.create_commit("HEAD", author, committer, f"{message.strip()}\n", tree, parents))


def _signature(role: str) -> pygit2.Signature:
    name, email, date = (os.environ[f"GIT_{role}_{part}"] for part in ("NAME", "EMAIL", "DATE"))
    return pygit2.Signature(name, email, int(datetime.fromisoformat(date).timestamp()), 0)


NOT_INSTALLED = {"claude.path": "/dev/null", "codex.path": "/dev/null"}
"""The agents that are held to a schema, where the machine may have them."""


def set_config(repo: Path, values: Mapping[str, str]) -> None:
    """Set keys below ``blackbird.`` of this clone, as ``git config`` does."""
    path = repo / ".git" / "config"
    if not path.is_file():
        path = repo / git(repo, "rev-parse", "--git-common-dir") / "config"
    config = pygit2.Config(os.fspath(path))
    for key, value in values.items():
        config[f"blackbird.{key}"] = value
