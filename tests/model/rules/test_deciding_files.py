"""Which files decide what a check says, and which edits of them say another thing."""

import json
from collections.abc import Mapping

import pytest

from git_blackbird.model.base.globs import matching
from git_blackbird.model.config.config import CheckConfig
from git_blackbird.model.rules.deciding_files import edited_programs

IS_TEST = matching(CheckConfig().test_globs)
PACKAGE = {"scripts": {"test": "sh ./ci/all.sh"}, "dependencies": {"a": "1"}, "version": "1"}
FILES = {
    "Makefile": "test:\n\t@./ci/all.sh\n",
    "run.sh": ". ./lib.sh\n./bin/app 2 | grep 4\n",
    "lib.sh": "check() {\n    grep -q $1 || exit 1\n}\n",
    "ci/all.sh": 'set -e\nHERE=$(dirname "$0")\nsh "$HERE/one.sh"\nsh ./tests/run.sh\n',
    "ci/one.sh": "./app.py\n",
    "tests/run.sh": "#!/bin/sh\n. ./app.sh\n[ $(double 2) = 4 ]\n",
    "app.sh": "double() {\n    echo $(($1 + $1))\n}\n",
    "app.py": "import sys\n",
    "bin/app": "#!/usr/bin/env bash\necho $(($1 * 2))\n",
    "web/package.json": json.dumps(PACKAGE),
    "web/ci/all.sh": "node run.js\nnode more.js\n",
    "pyproject.toml": "[project]\nname = 'a'\n[tool.pytest.ini_options]\naddopts = '-q'\n[tool.ruff]\n",
    "conftest.py": "import app\n",
}


def edited(command: str, files: Mapping[str, str | None]) -> tuple[str, ...]:
    after = {**FILES, **files}
    return edited_programs(files, command, FILES.get, after.get, IS_TEST)


@pytest.mark.parametrize(
    ("command", "path", "text"),
    [
        ("./run.sh", "run.sh", "exit 0\n"),
        ("./run.sh", "run.sh", None),
        ("cd ci && env A=1 nice sh all.sh", "ci/all.sh", "true\n"),
        ("timeout 5 sh -c './run.sh'", "run.sh", "true\n"),
        ("make -s test", "Makefile", "test:\n\ttrue\n"),
        ("make -s test", "GNUmakefile", "test:\n\ttrue\n"),
        ("make -C . test", "ci/all.sh", "exit 0\n"),
        ("make test", "ci/all.sh", "exit 0\n" + FILES["ci/all.sh"]),
        ("make test", "ci/one.sh", "./app.py || true\n"),
        ("make test", "tests/run.sh", "exit 0\n" + FILES["tests/run.sh"]),
        ("./run.sh", "lib.sh", "check() {\n    true\n}\n\n"),
        ("./run.sh", "lib.sh", "exit 0\n" + FILES["lib.sh"]),
        ("npm --prefix web test", "web/package.json", '{"scripts": {"test": "exit 0"}}'),
        ("npm --prefix web test", "web/package.json", "{"),
        ("cd web; npm test", "web/ci/all.sh", "node run.js\n"),
        ("pytest -q", "pyproject.toml", FILES["pyproject.toml"].replace("-q", "--deselect a")),
        ("pytest -q", "tox.ini", "[pytest]\naddopts = --deselect a\n"),
        ("pytest -q", "conftest.py", "import pytest\n"),
        ("pytest -q", "more/conftest.py", "import pytest\n"),
    ],
)
def test_an_edit_of_what_decides_is_known(command: str, path: str, text: str | None) -> None:
    assert edited(command, {path: text}) == (path,)


@pytest.mark.parametrize(
    ("command", "path", "text"),
    [
        ("./run.sh", "new.sh", "true\n"),
        ("./new.sh", "new.sh", "./app.py\n"),
        ("./run.sh", "Makefile", None),
        # What is tested may be another.
        ("./run.sh", "bin/app", FILES["bin/app"] + "exit 1\n"),
        ("./run.sh", "lib.sh", FILES["lib.sh"] + "more() {\n    exit 1\n}\n"),
        ("make test", "app.py", None),
        ("make test", "app.sh", "exit 0\n"),
        ("make test", "tests/run.sh", FILES["tests/run.sh"] + "[ $(double 3) = 6 ] || exit 1\n"),
        (
            "npm --prefix web test",
            "web/package.json",
            json.dumps({**PACKAGE, "version": "2", "dependencies": {}}),
        ),
        ("pytest -q", "web/package.json", "{}"),
        ("pytest -q", "pyproject.toml", FILES["pyproject.toml"] + "line-length = 110\n"),
        ("pytest -q", "setup.cfg", "[metadata]\nname = a\n"),
        ("", "run.sh", None),
    ],
)
def test_any_other_edit_is_not(command: str, path: str, text: str | None) -> None:
    assert edited(command, {path: text}) == ()
