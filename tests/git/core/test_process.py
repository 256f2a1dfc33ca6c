import os
import subprocess
import sys
from pathlib import Path

import pytest

from git_blackbird.errors import ExitCode, UnusableError
from git_blackbird.git.core.output import Completed
from git_blackbird.git.core.process import GitError, GitTimeoutError, _collected, run_git
from git_blackbird.git.core.repository import LOCAL_VARIABLES, without_git_env
from git_blackbird.git.core.user_programs import run_user_program
from tests.git.support import escaping
from tests.support import git


def test_the_variables_of_a_repository_are_those_git_names(repo: Path) -> None:
    named = set(git(repo, "rev-parse", "--local-env-vars").split())
    assert named <= set(LOCAL_VARIABLES)
    environ = dict.fromkeys(named, "x") | {"HOME": "/h", "GIT_AUTHOR_NAME": "Ada"}
    assert without_git_env(environ) == {"HOME": "/h", "GIT_AUTHOR_NAME": "Ada"}


def test_bytes_go_in_and_come_out(repo: Path) -> None:
    data = os.urandom(3_000_000)
    written = run_git(["hash-object", "-w", "--stdin"], cwd=repo, environ=os.environ, stdin=data)
    read = run_git(["cat-file", "blob", written.out.decode().strip()], cwd=repo, environ=os.environ)
    assert (read.code, read.out == data, read.err) == (0, True, b"")


def test_a_failure_is_told_in_gits_words(repo: Path) -> None:
    with pytest.raises(GitError) as caught:
        run_git(["-c", "a.b=c", "cat-file", "-p", "nowhere"], cwd=repo, environ=os.environ)
    assert caught.value.message == "Not a valid object name nowhere"
    assert caught.value.code == 128
    assert caught.value.stderr == b"fatal: Not a valid object name nowhere\n"
    assert caught.value.command == ("-c", "a.b=c", "cat-file", "-p", "nowhere")
    assert caught.value.exit_code is ExitCode.UNUSABLE


def test_a_failure_without_words_names_command_and_status(repo: Path) -> None:
    with pytest.raises(GitError, match=r"^git config ended with status 1$"):
        run_git(["-c", "a.b=c", "config", "no.key"], cwd=repo, environ=os.environ)


def test_a_failure_is_an_answer_where_it_was_asked_for(repo: Path) -> None:
    completed = run_git(["symbolic-ref", "-q", "refs/x"], cwd=repo, environ=os.environ, check=False)
    assert completed.code == 1


def test_git_speaks_english_and_takes_no_optional_locks(repo: Path) -> None:
    alias = "alias.show-environment=!echo $LC_ALL $GIT_OPTIONAL_LOCKS $GIT_TERMINAL_PROMPT"
    environ = {**os.environ, "LC_ALL": "de_DE.UTF-8"}
    assert run_git(["-c", alias, "show-environment"], cwd=repo, environ=environ).out == b"C 0 0\n"


def test_a_grandchild_that_keeps_the_pipes_is_not_waited_for(repo: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    alias = f"alias.leave=!(read line <'{gate}') & echo gone"
    completed = run_git(["-c", alias, "leave"], cwd=repo, environ=os.environ)
    gate.write_text("now\n")
    assert (completed.code, completed.out) == (0, b"gone\n")


def test_when_the_time_is_up_the_whole_group_is_killed(repo: Path, tmp_path: Path) -> None:
    held = tmp_path / "held"
    os.mkfifo(held)
    reader = os.open(held, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(reader, True)
    alias = f"alias.stay=!sh -c 'exec 9>\"{held}\"; echo up >&9; sleep 600 & sleep 600'"
    with pytest.raises(GitTimeoutError, match=r"^git stay was still running after 1 s$") as caught:
        run_git(["-c", alias, "stay"], cwd=repo, environ=os.environ, timeout=1)
    with os.fdopen(reader, "rb") as stream:
        # Reading ends: nobody of the group holds the pipe any more, if it came to that in time.
        assert stream.read() in {b"", b"up\n"}
    assert caught.value.code == -9


def test_a_descendant_that_left_the_group_cannot_hang_us(repo: Path, tmp_path: Path) -> None:
    alias = f"alias.escape=!{escaping(tmp_path)}& sleep 600"
    with pytest.raises(GitTimeoutError):
        run_git(["-c", alias, "escape"], cwd=repo, environ=os.environ, timeout=1)
    (tmp_path / "release").touch()


def test_ctrl_c_at_the_moment_when_git_starts_leaves_no_process(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    held, program = tmp_path / "held", tmp_path / "bin" / "git"
    os.mkfifo(held)
    program.write_text(f"#!/bin/sh\nexec 9<>'{held}'\nkill -INT $PPID\nexec sleep 600\n")
    program.chmod(0o755)
    environ = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}
    for _ in range(20):
        with pytest.raises(KeyboardInterrupt):
            run_git(["status"], cwd=tmp_path, environ=environ)
        with pytest.raises(OSError, match="No such device"):
            # There is no reader of the pipe any more.
            os.open(held, os.O_WRONLY | os.O_NONBLOCK)


def test_git_missing_is_a_clear_128(repo: Path, tmp_path: Path) -> None:
    environ = {**os.environ, "PATH": str(tmp_path / "nothing")}
    with pytest.raises(UnusableError) as caught:
        run_git(["version"], cwd=repo, environ=environ)
    assert caught.value.message == "cannot start git: No such file or directory"
    assert caught.value.hint == "install git 2.31 or newer, or put it on PATH"


def test_a_directory_that_is_gone_is_not_a_missing_git(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    with pytest.raises(UnusableError) as caught:
        run_git(["version"], cwd=gone, environ=os.environ)
    assert caught.value.message == f"cannot work in {gone}: No such file or directory"


def test_importing_the_rooms_fast_part_is_cheap() -> None:
    code = (
        "import sys; import git_blackbird.git.core.config, git_blackbird.git.core.repository;"
        "print([m for m in ('asyncio', 'pygit2', 'pydantic') if m in sys.modules])"
    )
    completed = run_git(
        ["-c", f"alias.python=!'{sys.executable}' -c \"{code}\"", "python"],
        cwd=Path(__file__).parents[3],
        environ=os.environ,
    )
    assert completed.out == b"[]\n"


def started(script: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        ["sh", "-c", script], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def test_nothing_is_lost_of_a_process_that_closed_its_pipes_before_it_ended(tmp_path: Path) -> None:
    held = tmp_path / "held"
    os.mkfifo(held)
    with started(f"echo out; echo err >&2; exec >&- 2>&-; read _ <'{held}'") as process:
        with pytest.raises(subprocess.TimeoutExpired):
            process.communicate(timeout=0.1)
        held.write_text("\n")
        process.wait()
        assert _collected(process) == Completed(0, b"out\n", b"err\n")


def test_nothing_is_lost_of_a_process_whose_pipes_others_keep() -> None:
    size = 60_000
    with started(f"head -c {size} /dev/zero; echo err >&2; sleep 60 & echo $! >&2") as process:
        process.wait()
        done = _collected(process)
        word, number = done.err.split()
        os.kill(int(number), 9)
    assert (len(done.out), word) == (size, b"err")


def test_what_is_the_users_runs_in_their_environment_and_group(repo: Path) -> None:
    script = (
        "!echo $LC_ALL ${GIT_OPTIONAL_LOCKS-no} ${GIT_TERMINAL_PROMPT-no}; ps -o pgid= -p $$; cat; exit 3"
    )
    environ = {**os.environ, "LC_ALL": "de_AT.UTF-8", "GIT_TERMINAL_PROMPT": "1"}
    completed = run_user_program(["git", "-c", f"alias.x={script}", "x"], cwd=repo, environ=environ)
    words, group = completed.out.decode().splitlines()
    assert (completed.code, words, int(group)) == (3, "de_AT.UTF-8 no 1", os.getpgrp())
