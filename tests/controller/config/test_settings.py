import json
from pathlib import Path

import pytest

from git_blackbird.controller.config.settings import Scope, scope_of, settings_rows, unset_key, write_key
from git_blackbird.controller.core.workspace import shorten_path
from git_blackbird.errors import BlackbirdError, RequestError, UnusableError, UsageError
from git_blackbird.model.config.config import KEYS
from git_blackbird.model.config.layers import ConfigProblem
from git_blackbird.model.config.settings import KeyLayers
from tests.controller.support import open_at
from tests.support import git, write

PROJECT = ".blackbird/config.json"


def test_broken_files_and_unknown_names_are_listed_before_the_keys(repo: Path, sealed: Path) -> None:
    write(sealed, {PROJECT: '{"schemaVersion": 3}'})
    git(repo, "config", "blackbird.agnet", "x")
    broken, unknown, first, *_ = settings_rows(open_at(repo))
    assert isinstance(broken, ConfigProblem)
    assert (broken.origin, broken.what) == (str(sealed / PROJECT), "is 3, not 1")
    assert isinstance(unknown, ConfigProblem)
    assert (unknown.key, unknown.what) == ("agnet", "unknown key")
    assert isinstance(first, KeyLayers)
    assert first.key.name == "agent"


@pytest.mark.parametrize(
    ("scope", "key", "home", "message"),
    [
        (Scope.PROJECT, "claude.path", True, "claude.path cannot be set in a repository's own file"),
        (Scope.GLOBAL, "claude.path", True, "Expecting value at line 1, column 2"),
        (Scope.GLOBAL, "agent", False, "there is no HOME, so no ~/.blackbird/config.json"),
    ],
)
def test_a_place_that_cannot_be_written_is_named(
    repo: Path, sealed: Path, scope: Scope, key: str, home: bool, message: str
) -> None:
    write(sealed, {PROJECT: "["})
    workspace = open_at(repo) if home else open_at(repo, HOME="")
    with pytest.raises(BlackbirdError, match=message):
        write_key(workspace, key, "demo", scope)


def test_a_worktrees_own_configuration_overrules_the_clones(repo: Path) -> None:
    git(repo, "config", "extensions.worktreeConfig", "true")
    git(repo, "config", "--worktree", "blackbird.agent", "demo")
    workspace = open_at(repo)
    origins = [setting.origin for setting in workspace.settings.layers_of(KEYS["agent"]).values]
    assert [scope_of(workspace, origin) for origin in origins] == [None]
    written = write_key(workspace, "agent", "codex", Scope.LOCAL)
    assert written.overruled_by is not None
    assert written.overruled_by.origin == "git config (worktree)"
    assert write_key(open_at(repo), "claude.model", "x", Scope.LOCAL).overruled_by is None


def test_a_key_that_git_has_in_other_letter_case_is_written_and_removed_there(repo: Path) -> None:
    config = repo / ".git/config"
    config.write_text(f'{config.read_text()}[blackbird "Execution"]\n\tCommit = never\n')
    write_key(open_at(repo), "execution.commit", "approved", Scope.LOCAL)
    assert git(repo, "config", "--get-regexp", "^blackbird") == "blackbird.Execution.commit approved"
    unset_key(open_at(repo), "execution.commit", Scope.LOCAL)
    assert open_at(repo).settings.applied["execution.commit"].origin == "default"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("execution.commit", {"execution.commit": "approved"}),
        ("a.b.c", {"a": {"b.c": 1}}),
        ("a.b.c", {"a.b": {"c": 1}}),
        ("execution", {"execution": 5}),
    ],
)
def test_what_a_file_has_under_a_dotted_name_is_removed(
    repo: Path, name: str, content: dict[str, object]
) -> None:
    write(repo, {PROJECT: json.dumps(content)})
    unset_key(open_at(repo), name, Scope.PROJECT)
    left = json.loads((repo / PROJECT).read_text())
    assert left.pop("schemaVersion") == 1
    assert not any(left.values())
    with pytest.raises((RequestError, UsageError)):
        unset_key(open_at(repo), name, Scope.PROJECT)


def test_places_are_named_from_where_a_person_is(repo: Path, sealed: Path) -> None:
    workspace = open_at(repo)
    assert shorten_path(workspace, str(workspace.paths.config)) == PROJECT
    assert shorten_path(workspace, str(sealed / PROJECT)) == f"~/{PROJECT}"
    assert shorten_path(workspace, "git config (local)") == "git config (local)"


@pytest.mark.parametrize("place", ["project", "home"])
def test_an_unknown_key_is_removed_from_the_only_place_that_has_it(
    repo: Path, sealed: Path, place: str
) -> None:
    file = (repo if place == "project" else sealed) / PROJECT
    write(file.parents[1], {PROJECT: '{"execution": {"foo": 1}}'})
    workspace = open_at(repo)
    option = "--project" if place == "project" else "--global"
    with pytest.raises(
        UnusableError, match=f"`git blackbird config --unset execution.foo {option}` removes it"
    ):
        workspace.require_settings()
    assert unset_key(workspace, "execution.foo", None).place == str(file)
    open_at(repo).require_settings()


def test_an_unknown_key_in_several_places_is_named_with_a_command_for_each(repo: Path, sealed: Path) -> None:
    for top in (repo, sealed):
        write(top, {PROJECT: '{"execution": {"foo": 1}}'})
    git(repo, "config", "--global", "blackbird.execution.foo", "1")
    with pytest.raises(UsageError, match=r"unknown key execution\.foo is not set in git config") as raised:
        unset_key(open_at(repo), "execution.foo", None)
    for command in (
        "git blackbird config --unset execution.foo --project",
        "git blackbird config --unset execution.foo --global",
        "git config --global --unset-all blackbird.execution.foo",
    ):
        assert f"`{command}` removes it" in (raised.value.hint or "")


def test_a_key_of_an_included_file_is_not_removed_but_the_file_can_be_found(repo: Path) -> None:
    (repo / "more").write_text('[blackbird "execution"]\n\tonLimit = maybe\n')
    git(repo, "config", "include.path", str(repo / "more"))
    with pytest.raises(RequestError, match="itself, but in a file that it includes") as raised:
        unset_key(open_at(repo), "execution.onLimit", None)
    assert raised.value.hint is not None
    assert str(repo / "more") in git(repo, *raised.value.hint.split()[1:])
