"""What the text of a shell command tells of it."""

import pytest

from git_blackbird.model.rules.shell_commands import can_only_succeed, started_files


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
        *("sh -c true", 'bash -ec "exit 0"', "(true)", "{ :; }", "cd . && true", "[ 1 ]", "test x"),
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
            'sh -c "pytest"',
            "[ $x ]",
            "{ pytest; }",
            "exit 0 1",
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
        ("sh -e ./run.sh test.txt", ["sh", "./run.sh"]),
        ("cd a && A=1 ci/all app.py; . ./env", ["cd", "ci/all", ".", "./env"]),
        ("python3 -m pytest tests/a.py", ["python3", "pytest"]),
        ("/usr/bin/node 'a b.js' | tee log", ["/usr/bin/node", "a", "a b.js", "tee"]),
        ("make -s test", ["Makefile", "makefile", "GNUmakefile"]),
        ("grep -r x README.md", ["grep"]),
        ("env A=1 ./test.sh && nice -n 5 timeout 5s sh b.sh", ["./test.sh", "sh", "b.sh"]),
        ("[ $(wc -l <log.txt) -ge 2 ] 2>&1 >out", ["[", "wc"]),
        (
            "sh -c './test.sh && make'",
            ["sh", "./test.sh", "Makefile", "makefile", "GNUmakefile", "./test.sh && make"],
        ),
        ("npm --prefix web test", ["package.json"]),
        ('sh "', []),
    ],
)
def test_the_files_that_a_command_starts(command: str, started: list[str]) -> None:
    assert [*started_files(command)] == started
