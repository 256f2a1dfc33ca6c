"""What the text of a shell command tells of it."""

import pytest

from git_blackbird.model.rules.shell_commands import can_only_succeed, edited_programs, started_files
from git_blackbird.model.run.summary import FileChange, FileStatus


@pytest.mark.parametrize(
    "command",
    [
        "true",
        ":",
        "echo ok",
        "echo ok && true",
        "exit 0",
        "make test || true",
        "pytest; true",
        "pytest\ntrue",
    ],
)
def test_a_command_that_can_only_succeed_is_known(command: str) -> None:
    assert can_only_succeed(command)


@pytest.mark.parametrize(
    "command",
    [
        *(
            "pytest -q",
            "exit 1",
            "echo a && pytest",
            "echo ok; ./run",
            "pytest; exit",
            "sh -c true",
            "",
            'echo "',
        ),
        *("set -e; pytest; true", "pytest | tee log", "true && pytest"),
    ],
)
def test_of_any_other_it_is_not(command: str) -> None:
    assert not can_only_succeed(command)


@pytest.mark.parametrize(
    ("command", "started"),
    [
        ("sh -e ./run.sh test.txt", ["sh", "run.sh"]),
        ("cd a && A=1 ci/all app.py; . ./env", ["cd", "ci/all", ".", "env"]),
        ("python3 -m pytest tests/a.py", ["python3", "pytest"]),
        ("/usr/bin/node 'a b.js' | tee log", ["/usr/bin/node", "a b.js", "tee"]),
        ("make -s test", ["Makefile", "makefile", "GNUmakefile"]),
        ("grep -r x README.md", ["grep"]),
        ("env A=1 ./test.sh && nice -n 5 timeout 5s sh b.sh", ["test.sh", "sh", "b.sh"]),
        ("[ $(wc -l <log.txt) -ge 2 ] 2>&1 >out", ["[", "wc"]),
        ('sh "', []),
    ],
)
def test_the_files_that_a_command_starts(command: str, started: list[str]) -> None:
    assert [*started_files(command)] == started


def test_what_a_command_runs_is_named_where_a_change_edits_it() -> None:
    changes = [
        FileChange(status=FileStatus.MODIFIED, path="run.sh"),
        FileChange(status=FileStatus.ADDED, path="new.sh"),
        FileChange(status=FileStatus.RENAMED, path="x", old_path="ci/a b.sh"),
    ]
    assert edited_programs(changes, "sh ./run.sh && 'ci/a b.sh' && ./new.sh") == ("run.sh", "ci/a b.sh")
    assert edited_programs(changes, None) == ()
    added = [
        FileChange(status=FileStatus.ADDED, path=path) for path in ("GNUmakefile", "a/conftest.py", "b.py")
    ]
    assert edited_programs(added, "make test") == ("GNUmakefile", "a/conftest.py")
    assert edited_programs(added, "pytest -q") == ("a/conftest.py",)
