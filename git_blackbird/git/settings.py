"""The layers of configuration that git keeps: ``git config blackbird.*`` (DESIGN.md 11)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple, cast

from git_blackbird.git.program import GitError, run_git
from git_blackbird.git.repository import Repository

Scope = Literal["system", "global", "local", "worktree", "command"]

_SECTION = "blackbird."
_PAGER_IN_USE = "GIT_PAGER_IN_USE"
_NO_SUCH_KEY = 1
_NOTHING_TO_UNSET = 5


class GitSetting(NamedTuple):
    """One value as git holds it: ``key`` in lower case without ``blackbird.``, and the file it is from."""

    key: str
    value: str
    scope: Scope


def read_settings(repo: Repository) -> tuple[GitSetting, ...]:
    """Give every value under ``blackbird.``, in git's order: the last one of a key is the one that counts.

    Raises GitError when a configuration file cannot be read.
    """
    done = repo.git("config", "-z", "--show-scope", "--get-regexp", r"^blackbird\.", check=False)
    if done.code == _NO_SUCH_KEY:
        return ()
    if done.code != 0:
        raise GitError(("config",), done.code, done.err)
    fields = done.out.decode(errors="replace").split("\0")[:-1]
    return tuple(_parse_setting(scope, item) for scope, item in zip(fields[::2], fields[1::2], strict=True))


def _parse_setting(scope: str, item: str) -> GitSetting:
    """Read one ``key LF value``; a key without a value is true, as git says."""
    key, separator, value = item.partition("\n")
    name = key.lower().removeprefix(_SECTION)
    return GitSetting(name, value if separator else "true", cast("Scope", scope))


def write_setting(repo: Repository, key: str, value: str, scope: Literal["local", "global"]) -> None:
    """Set ``blackbird.KEY`` for this repository or for the user.

    Raises GitError in git's words when it cannot.
    """
    repo.git("config", f"--{scope}", "--replace-all", "--", _SECTION + key, value)


def unset_setting(repo: Repository, key: str, scope: Literal["local", "global"]) -> bool:
    """Remove ``blackbird.KEY``; False when it was not set there."""
    done = repo.git("config", f"--{scope}", "--unset-all", "--", _SECTION + key, check=False)
    if done.code not in (0, _NOTHING_TO_UNSET):
        raise GitError(("config",), done.code, done.err)
    return done.code == 0


def list_own_keys(repo: Repository) -> tuple[str, ...]:
    """Name every ``blackbird.`` key that this repository's own configuration files hold."""
    found = [key for scope in _own_scopes(repo) for key in _keys_in(repo, scope)]
    return tuple(dict.fromkeys(found))


def remove_own_sections(repo: Repository) -> None:
    """Remove the section ``blackbird``, whole, from this repository's own configuration files.

    Raises GitError in git's words when it cannot.
    """
    for scope in _own_scopes(repo):
        sections = dict.fromkeys(key.rpartition(".")[0] for key in _keys_in(repo, scope))
        for section in sections:
            repo.git("config", f"--{scope}", "--remove-section", section)


def _own_scopes(repo: Repository) -> tuple[str, ...]:
    """Name the files: a worktree has one of its own only where the repository says that they do."""
    asked = ("config", "--local", "--type=bool", "--get", "extensions.worktreeConfig")
    has_own = repo.git(*asked, check=False).out.strip() == b"true"
    return ("local", "worktree") if has_own else ("local",)


def _keys_in(repo: Repository, scope: str) -> list[str]:
    done = repo.git("config", f"--{scope}", "-z", "--name-only", "--get-regexp", r"^blackbird\.", check=False)
    if done.code not in (0, _NO_SUCH_KEY):
        raise GitError(("config",), done.code, done.err)
    return done.out.decode(errors="surrogateescape").split("\0")[:-1]


def person_name(repo: Repository) -> str:
    """Give the name and address that a commit made now would have; "" where git knows none."""
    done = repo.git("var", "GIT_COMMITTER_IDENT", check=False)
    if done.code != 0:
        return ""
    name, _, _ = done.out.decode(errors="replace").strip().rsplit(" ", 2)
    return name


def color_wanted(cwd: Path, environ: Mapping[str, str], *, is_tty: bool) -> bool:
    """Whether output is to be coloured: ``color.blackbird``, else ``color.ui``, else on a terminal.

    A pager that git has started counts as a terminal, save where ``color.pager`` says no.
    """
    if environ.get(_PAGER_IN_USE):
        asked: tuple[str, ...] = ("config", "--type=bool", "--get", "color.pager")
        if run_git(asked, cwd=cwd, environ=environ, check=False).out.strip() == b"false":
            environ = {name: value for name, value in environ.items() if name != _PAGER_IN_USE}
    asked = ("config", "--get-colorbool", "color.blackbird", "true" if is_tty else "false")
    done = run_git(asked, cwd=cwd, environ=environ, check=False)
    return done.out.strip() == b"true"
