"""Git's configuration: ``blackbird.*`` in all its layers, rules for files, and colour."""

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path

from git_blackbird.git.core.output import grouped, texts
from git_blackbird.git.core.process import GitError, operands
from git_blackbird.git.core.repository import ConfigValue, KnownConfig, Repository, signature
from git_blackbird.model.base.system import find_on_path, tick_of
from git_blackbird.model.config.layers import ConfigProblem, Layer, RawSetting, parse_boolean

_CONVERTING = ("core.autocrlf", "core.ignorecase", "core.precomposeunicode")
_SECTION = "blackbird."
_AUTO = "auto"
_DUMB = "dumb"
_NO_SUCH_KEY = 1
# What `git -c` sets, and a worktree's own configuration, are as near as this clone's.
_OF_ALL_PROJECTS = frozenset({"system", "global"})
_UNSETTLED = (-1,)
# A condition may ask for the branch, or for the place of the git directory.
_INCLUDE_IF = "includeif."
_OF_WORKTREE = "extensions.worktreeconfig"

# What libgit2 cannot open: the value without it, what it is, and the way out.
_FORMATS = {
    "extensions.refstorage": (
        "files",
        "references in a reftable cannot be used",
        "`git refs migrate --ref-format=files` writes them as files, with git 2.46 or newer",
    ),
    "extensions.objectformat": (
        "sha1",
        "objects with SHA-256 names cannot be used",
        "use a repository made with `git init --object-format=sha1`",
    ),
    "extensions.partialclone": (
        "",
        "a partial clone cannot be used",
        "clone it without --filter",
    ),
}


def read_settings(repo: Repository) -> tuple[list[RawSetting], list[ConfigProblem]]:
    """Return every value under ``blackbird.`` in git's order, and for what the repository cannot be used.

    The last one of a key is effective. Names are in lower case without ``blackbird.``. Raises GitError.
    """
    settings: list[RawSetting] = []
    problems: list[ConfigProblem] = []
    for scope, file, key, value in read_config(repo).values:
        name = key.lower()
        usual, what, hint = _FORMATS.get(name, ("", "", ""))
        if what and (value or "").lower() != usual:
            problems.append(ConfigProblem(str(file or f"git config ({scope})"), key, what, hint))
        if name.startswith(_SECTION):
            layer = Layer.GIT_GLOBAL if scope in _OF_ALL_PROJECTS else Layer.GIT_LOCAL
            # A key without a value means true, as in git.
            raw = "true" if value is None else value
            settings.append(RawSetting(name.removeprefix(_SECTION), raw, layer, f"git config ({scope})"))
    return settings, problems


def read_config(repo: Repository) -> KnownConfig:
    """Return all of git's configuration, read again once a file of it may have changed. Raises GitError."""
    known = _known_config(repo)
    if known is not None and all(seen == signature(file) for file, seen in known.signatures.items()):
        return known
    began = time.time_ns()
    listed = repo.git("config", "--list", "--show-scope", "--show-origin", "-z")
    values = listed.records(partial(_parsed, repo.top))
    # What decides on the configuration, and where git looks for more, which may not exist yet; some builds of
    # git read other files too.
    system, everyone = repo.environ.get("GIT_CONFIG_SYSTEM"), repo.environ.get("GIT_CONFIG_GLOBAL")
    files = [repo.common_dir / "config", repo.git_dir / "config.worktree", Path(system or "/etc/gitconfig")]
    if everyone is not None:
        files.append(repo.top / everyone)
    elif home := repo.environ.get("HOME"):
        files += [Path(home) / ".gitconfig", _user_folder(repo) / "config"]
    files += [value.file for value in values if value.file is not None]
    files += [repo.git_dir / "HEAD" for value in values if value.key.startswith(_INCLUDE_IF)]
    known = KnownConfig(values, {file: stable_signature(file, began) for file in dict.fromkeys(files)})
    # All worktrees have these values, unless they depend on one's path or branch.
    is_own = any(value.key.startswith((_INCLUDE_IF, _OF_WORKTREE)) for value in values)
    is_own = is_own or not all(name.startswith("/") for name in (system, everyone) if name)
    repo.config_memo.pop(None, None)
    repo.config_memo[repo.git_dir if is_own else None] = known
    return known


def _known_config(repo: Repository) -> KnownConfig | None:
    return repo.config_memo.get(repo.git_dir) or repo.config_memo.get(None)


def _parsed(top: Path, records: list[bytes]) -> tuple[ConfigValue, ...]:
    values = []
    for scope, origin, item in grouped(records, 3):
        key, separator, value = item.decode(errors="replace").partition("\n")
        name = os.fsdecode(origin)
        file = top / name.removeprefix("file:") if name.startswith("file:") else None
        values.append(ConfigValue(scope.decode(), file, key, value if separator else None))
    return tuple(values)


def stable_signature(path: str | Path, began: int) -> tuple[int, ...]:
    """Return a file's signature; one that matches no other if it may have changed unseen since ``began``."""
    now = signature(path)
    changed = max(now[:2], default=0)
    return now if changed + tick_of(changed) < began else _UNSETTLED


def write_setting(repo: Repository, key: str, value: str) -> None:
    """Set ``blackbird.KEY`` for this repository, keeping an existing spelling. Raises GitError."""
    spelled = [*_spellings(repo, key), _SECTION + key][0]
    repo.git("config", "--local", "--replace-all", *operands(spelled, value))


def unset_setting(repo: Repository, key: str) -> bool:
    """Remove ``blackbird.KEY`` in any spelling from this repository; return whether it was set there."""
    spellings = _spellings(repo, key)
    for spelled in spellings:
        repo.git("config", "--local", "--unset-all", *operands(spelled))
    return bool(spellings)


def _spellings(repo: Repository, key: str) -> list[str]:
    """Return the spellings of a key in a file, last first: its middle part is case-sensitive."""
    name = (_SECTION + key).lower()
    return list(dict.fromkeys(key for key in reversed(_keys_in(repo, "local")) if key.lower() == name))


def files_of_rules(repo: Repository) -> tuple[Path, ...]:
    """List the files outside the worktree that decide on conversion and ignoring. Raises GitError."""
    config = read_config(repo)
    values = config.effective
    ignored = (
        _configured_file(repo, values, "core.excludesfile", "ignore"),
        repo.common_dir / "info" / "exclude",
    )
    return tuple(dict.fromkeys((*config.signatures, *ignored, *_attributes_files(repo, values))))


def configured_paths(repo: Repository, keys: Iterable[str]) -> Iterator[str]:
    """Yield the paths below the top of the main or this worktree that these keys name. Raises GitError."""
    values = read_config(repo).effective
    for name in filter(None, (values.get(key) for key in keys)):
        path = Path(os.path.normpath(_expand_path(repo, name)))
        tops = (top for top in (repo.top, repo.common_dir.parent) if path.is_relative_to(top) and path != top)
        yield from (os.fspath(path.relative_to(top)) for top in tops)


def may_convert_files(repo: Repository) -> bool:
    """Whether git may convert files for another reason than a ``.gitattributes``. Raises GitError."""
    values = read_config(repo).effective
    is_set = any(values.get(key, "false") != "false" for key in _CONVERTING)
    return is_set or any(map(os.path.lexists, _attributes_files(repo, values)))


def takes_modes_from_files(repo: Repository) -> bool:
    """Whether git takes it from files whether they are executable, or links. Raises GitError."""
    values = read_config(repo).effective
    return all(values.get(key, "true") == "true" for key in ("core.filemode", "core.symlinks"))


def _attributes_files(repo: Repository, values: Mapping[str, str | None]) -> tuple[Path, ...]:
    return (
        _configured_file(repo, values, "core.attributesfile", "attributes"),
        repo.common_dir / "info" / "attributes",
        Path("/etc/gitattributes"),
        _installed(repo.environ.get("PATH")) / "etc" / "gitattributes",
    )


@lru_cache(maxsize=1)
def _installed(folders: str | None) -> Path:
    """Return the folder in which git is installed, by PATH."""
    environ = {} if folders is None else {"PATH": folders}
    return Path(find_on_path("git", environ) or "/usr/bin/git").resolve().parent.parent


def _configured_file(repo: Repository, values: Mapping[str, str | None], key: str, name: str) -> Path:
    return _expand_path(repo, values.get(key) or f"{_user_folder(repo)}/{name}")


def is_sparse(repo: Repository) -> bool:
    """Whether the worktree is a sparse checkout. Raises GitError."""
    value = read_config(repo).effective.get("core.sparsecheckout", "false")
    try:
        # A key without a value means true, as in git.
        return value is None or parse_boolean(value)
    except ValueError:  # git itself says so
        return False


def _user_folder(repo: Repository) -> Path:
    environ = repo.environ
    return Path(environ.get("XDG_CONFIG_HOME") or f"{environ.get('HOME', '')}/.config") / "git"


def _expand_path(repo: Repository, name: str) -> Path:
    home = repo.environ.get("HOME", "")
    return repo.top / (f"{home}{name[1:]}" if name.startswith("~/") else os.path.expanduser(name))  # noqa: PTH111


def list_own_keys(repo: Repository) -> tuple[str, ...]:
    return tuple(dict.fromkeys(key for scope in _own_scopes(repo) for key in _keys_in(repo, scope)))


def remove_own_sections(repo: Repository) -> None:
    """Remove the section ``blackbird`` from this repository's own configuration files. Raises GitError."""
    for scope in _own_scopes(repo):
        sections = dict.fromkeys(key.rpartition(".")[0] for key in _keys_in(repo, scope))
        for section in sections:
            repo.git("config", f"--{scope}", "--remove-section", *operands(section))


def _own_scopes(repo: Repository) -> tuple[str, ...]:
    """Return the scopes to search; a worktree has its own file only if the repository enables that."""
    asked = ("config", "--local", "--type=bool", "--get", "extensions.worktreeConfig")
    has_own = repo.git(*asked, check=False).answer_if_any() == "true"
    return ("local", "worktree") if has_own else ("local",)


def _keys_in(repo: Repository, scope: str) -> list[str]:
    asked = ("config", "-z", f"--{scope}", "--name-only", "--get-regexp", r"^blackbird\.")
    completed = repo.git(*asked, check=False)
    if completed.code not in (0, _NO_SUCH_KEY):
        raise GitError(("config",), completed.code, completed.err)
    return completed.records(texts)


def git_identity(repo: Repository) -> str:
    """Return name and address of a commit made now, "" without any."""
    completed = repo.git("var", "GIT_COMMITTER_IDENT", check=False)
    if completed.code != 0:
        return ""
    # The time and the zone follow.
    return " ".join(completed.answer("replace").split(" ")[:-2])


def color_wanted(repo: Repository, *, is_tty: bool) -> bool:
    """Whether git would colour output: ``color.blackbird``, else ``color.ui``, else on a terminal.

    A pager started by git counts as a terminal, unless ``color.pager`` is off. Nothing is coloured with a
    value that git rejects. Uses the configuration that was read before, if it was. Raises GitError.
    """
    config = _known_config(repo) or read_config(repo)
    # A key without a value means true, as in git.
    values = {key: "true" if value is None else value for key, value in config.effective.items()}
    chosen = values.get("color.blackbird", values.get("color.ui", _AUTO)).lower()
    if chosen in {"always", "never"}:
        return chosen == "always"
    try:
        if chosen != _AUTO and not parse_boolean(chosen):
            return False
        in_pager = repo.is_in_pager and parse_boolean(values.get("color.pager", "true"))
    except ValueError:
        return False
    return (is_tty or in_pager) and repo.environ.get("TERM", _DUMB) != _DUMB
