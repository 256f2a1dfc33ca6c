"""The layers of configuration that git keeps: ``git config blackbird.*`` (DESIGN.md 11)."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple, cast

from git_blackbird.git.program import GitError, operands, run_git
from git_blackbird.git.repository import Repository

Scope = Literal["system", "global", "local", "worktree", "command"]

_SECTION = "blackbird."
_PAGER_IN_USE = "GIT_PAGER_IN_USE"
_NO_SUCH_KEY = 1


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
    """Set ``blackbird.KEY`` for this repository or for the user, as it is spelled there if it is.

    Raises GitError in git's words when it cannot.
    """
    spelled = [*_spellings(repo, key, scope), _SECTION + key][0]
    repo.git("config", f"--{scope}", "--replace-all", *operands(spelled, value))


def unset_setting(repo: Repository, key: str, scope: Literal["local", "global"]) -> bool:
    """Remove ``blackbird.KEY``, however it is spelled; False when it was not set there."""
    spellings = _spellings(repo, key, scope)
    for spelled in spellings:
        repo.git("config", f"--{scope}", "--unset-all", *operands(spelled))
    return bool(spellings)


def _spellings(repo: Repository, key: str, scope: str) -> list[str]:
    """Give the ways in which a file has a key, the last first: git tells the letter case of a middle part."""
    name = (_SECTION + key).lower()
    return list(dict.fromkeys(one for one in reversed(_keys_in(repo, scope)) if one.lower() == name))


def files_of_settings(repo: Repository) -> tuple[Path, ...]:
    """Name the files that git reads settings from, with those that they include, and its places for more.

    Raises GitError when a configuration file cannot be read.
    """
    done = repo.git("config", "--list", "--name-only", "--show-origin", "-z")
    origins = dict.fromkeys(done.out.split(b"\0")[:-1:2])
    files = [origin.removeprefix(b"file:") for origin in origins if origin.startswith(b"file:")]
    named = (repo.top / os.fsdecode(file) for file in files)
    return tuple(dict.fromkeys((*_places(repo), *named)))


def _places(repo: Repository) -> Iterator[Path]:
    """Give where git looks whether or not there is anything yet; the system's place is known to git alone."""
    yield repo.common_dir / "config"
    yield repo.git_dir / "config.worktree"
    home, elsewhere = repo.environ.get("HOME"), repo.environ.get("GIT_CONFIG_GLOBAL")
    if elsewhere is not None:
        yield repo.top / elsewhere
    elif home:
        yield Path(home) / ".gitconfig"
        yield Path(repo.environ.get("XDG_CONFIG_HOME") or Path(home) / ".config") / "git" / "config"


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
            repo.git("config", f"--{scope}", "--remove-section", *operands(section))


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
