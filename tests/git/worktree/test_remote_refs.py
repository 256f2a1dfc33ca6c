"""References on another repository: who is refused, and what that says."""

import os
import sys
from pathlib import Path

import pytest

from git_blackbird.git.core.process import GitError
from git_blackbird.git.core.repository import discover
from git_blackbird.git.worktree.remote_refs import fetch, list_refs, push, remote_url, without_login
from tests.support import commit, git

REF, OTHER = "refs/blackbird/x", "refs/blackbird/y"


@pytest.fixture
def remote(tmp_path: Path) -> str:
    git(tmp_path, "init", "-q", "--bare", "remote.git")
    return f"file://{tmp_path}/remote.git"


def test_of_two_that_expect_nothing_the_second_is_refused_and_sets_nothing(repo: Path, remote: str) -> None:
    first = commit(repo, {"a": "1\n"})
    second = commit(repo, {"a": "2\n"})
    here = discover(repo, os.environ)
    push(here, remote, {REF: first}, {REF: ""})
    with pytest.raises(GitError, match=rf"^{remote}: "):
        push(here, remote, {REF: second, OTHER: second}, {REF: ""})
    assert list_refs(here, remote, "refs/blackbird/*") == {REF: first}
    push(here, remote, {REF: second}, {REF: first})
    fetch(here, remote, [REF])
    assert git(repo, "rev-parse", REF) == second
    push(here, remote, {REF: ""})
    assert list_refs(here, remote, "refs/blackbird/*") == {}


def test_an_error_says_what_ssh_said(repo: Path, tmp_path: Path) -> None:
    ssh = tmp_path / "ssh"
    ssh.write_text("#!/bin/sh\necho Host key verification failed. >&2\nexit 255\n")
    ssh.chmod(0o755)
    git(repo, "config", "core.sshCommand", str(ssh))
    said = (
        "ssh://me@example.org/x: Host key verification failed.; fatal: Could not read from remote repository."
    )
    with pytest.raises(GitError) as caught:
        list_refs(discover(repo, os.environ), "ssh://me:secret@example.org/x", "refs/*")
    assert caught.value.message == said


def test_nothing_that_git_starts_for_a_remote_can_ask_on_the_terminal(repo: Path, tmp_path: Path) -> None:
    ssh = tmp_path / "ssh"
    ssh.write_text(f"#!{sys.executable}\nimport os, sys\nsys.exit(f'session {{os.getsid(0)}}')\n")
    ssh.chmod(0o755)
    git(repo, "config", "core.sshCommand", str(ssh))
    with pytest.raises(GitError, match=r"session \d+; ") as caught:
        list_refs(discover(repo, os.environ), "ssh://example.org/x", "refs/*")
    assert f"session {os.getsid(0)};" not in caught.value.message


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://token@example.org/a@b", "https://example.org/a@b"),
        ("https://me:secret@example.org/a", "https://example.org/a"),
        ("ssh://me:secret@example.org:22/a", "ssh://me@example.org:22/a"),
        ("ssh://example.org/a", "ssh://example.org/a"),
        ("git@example.org:a", "git@example.org:a"),
        ("/some/where@else", "/some/where@else"),
    ],
)
def test_the_login_in_a_url_stays_here(url: str, shown: str) -> None:
    assert without_login(url) == shown


def test_a_remote_in_a_folder_has_an_absolute_path(repo: Path) -> None:
    git(repo, "remote", "add", "near", "../near.git")
    here = discover(repo, os.environ)
    assert remote_url(here, "near") == str(repo.parent / "near.git")
    assert remote_url(here, "git@example.org:x") == "git@example.org:x"
