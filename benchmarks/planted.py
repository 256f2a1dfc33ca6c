"""Public projects with blocks of lines that their tests notice, or do not, when they are gone."""

import getpass
import json
import shlex
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple


class Block(NamedTuple):
    """Lines of a file, and whether a test fails without them."""

    path: str
    first: int
    last: int
    is_noticed: bool

    @property
    def lines(self) -> range:
        return range(self.first, self.last + 1)

    def __str__(self) -> str:
        return f"{self.path}:{self.first}-{self.last}"


@dataclass(frozen=True)
class Project:
    """A project at one version: where its files are from, what its tests need, and its blocks.

    ``command`` names the folders ``{tools}``, where ``install`` put what it needs, and ``{benchmarks}``.
    ``coverage`` is by test.
    """

    name: str
    fetch: Callable[[Path, Path], None]
    install: Callable[[Path], None]
    command: str
    tested: tuple[Block, ...]
    untested: tuple[Block, ...]
    results: str = ""
    coverage: str = ""
    environ: Mapping[str, str] = field(default_factory=dict)

    @property
    def blocks(self) -> tuple[Block, ...]:
        return (*self.tested, *self.untested)

    @staticmethod
    def without(files: Path, blocks: Iterable[Block]) -> Mapping[str, str]:
        """Return the texts of files without blocks of them."""
        gone: dict[str, set[int]] = {}
        for block in blocks:
            gone.setdefault(block.path, set()).update(block.lines)
        texts = {}
        for path, numbers in gone.items():
            lines = (files / path).read_text().splitlines(keepends=True)
            texts[path] = "".join(line for number, line in enumerate(lines, 1) if number not in numbers)
        return texts


def _blocks(text: str, *, is_noticed: bool) -> tuple[Block, ...]:
    """Read ``PATH FIRST-LAST FIRST-LAST`` from each line of a text."""
    found = []
    for line in text.split("\n"):
        path, *ranges = line.split() or [""]
        for each in ranges:
            first, _, last = each.partition("-")
            found.append(Block(path, int(first), int(last or first), is_noticed))
    return tuple(found)


def _python_package(name: str, version: str) -> Callable[[Path, Path], None]:
    def fetch(folder: Path, files: Path) -> None:
        asked = [f"{name}=={version}", "-d", str(folder)]
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", name]
        subprocess.run([*pip, *asked], check=True)
        _unpack(next(folder.glob("*.tar.gz")), files)

    return fetch


def _debian_source(name: str, version: str) -> Callable[[Path, Path], None]:
    """Return what takes the upstream files of a Debian package; ``version`` is one of Debian's."""

    def fetch(folder: Path, files: Path) -> None:
        folder.mkdir(parents=True)
        (folder / "sources.list").write_text(
            "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] "
            "http://deb.debian.org/debian bookworm main\n"
        )
        places = {
            "Dir::Etc::SourceList": folder / "sources.list",
            "Dir::Etc::SourceParts": "/dev/null",
            "Dir::State::Lists": folder / "lists",
            "Dir::Cache": folder / "cache",
        }
        (folder / "lists" / "partial").mkdir(parents=True)
        apt = ["apt-get", "-qq", *(f"-o{key}={place}" for key, place in places.items())]
        subprocess.run([*apt, "update"], cwd=folder, check=True)
        asked = ["source", "--download-only", "--tar-only", f"{name}={version}"]
        subprocess.run([*apt, *asked], cwd=folder, check=True)
        _unpack(next(folder.glob("*.orig.tar.*")), files)

    return fetch


def _unpack(archive: Path, files: Path) -> None:
    with tarfile.open(archive) as opened:
        opened.extractall(archive.parent / "unpacked", filter="data")
    (top,) = (archive.parent / "unpacked").iterdir()
    shutil.move(top, files)


def _python_tools(*packages: str) -> Callable[[Path], None]:
    def install(tools: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", str(tools)], check=True)
        subprocess.run([str(tools / "bin" / "pip"), "install", "-q", *packages], check=True)

    return install


def _node_tools(*packages: str) -> Callable[[Path], None]:
    def install(tools: Path) -> None:
        tools.mkdir()
        npm = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(tools)]
        subprocess.run([*npm, *packages], check=True)

    return install


def _no_tools(tools: Path) -> None:
    tools.mkdir()


_CLICK = Project(
    name="python",
    fetch=_python_package("click", "8.1.7"),
    install=_python_tools("pytest<9", "pytest-cov"),
    command=(
        "PYTHONPATH=src {tools}/bin/python -B -m pytest -q -p no:cacheprovider --junitxml=report.xml "
        "--cov=click --cov-context=test --cov-report= && "
        "{tools}/bin/coverage json -q --show-contexts -o coverage.json"
    ),
    results="report.xml",
    coverage="coverage.json",
    tested=_blocks(
        """
        src/click/_termui_impl.py 86-87 175-176 253 319
        src/click/termui.py 575-576
        src/click/core.py 60-61 758 1656-1657 2402-2403
        src/click/testing.py 148-149 315 399-400
        src/click/types.py 683
        src/click/shell_completion.py 584-586 590-592
        """,
        is_noticed=True,
    ),
    untested=_blocks(
        """
        src/click/_termui_impl.py 419-420 588-589
        src/click/parser.py 143
        src/click/decorators.py 392-393
        src/click/shell_completion.py 520-521
        """,
        is_noticed=False,
    ),
)
_PFLAG = Project(
    name="go",
    fetch=_debian_source("golang-github-spf13-pflag", "1.0.6~git20210604-d5e0c0615ace-1"),
    install=_no_tools,
    command="gotestsum --junitfile report.xml -- -vet=off && python3 {benchmarks}/go_lcov.py lcov.info",
    results="report.xml",
    coverage="lcov.info",
    tested=_blocks(
        """
        flag.go 617-619 873-875 1100-1104
        bool_slice.go 115-117
        duration_slice.go 95-97
        float32_slice.go 101-103
        float64_slice.go 95-97
        int_slice.go 87-89
        int32_slice.go 101-103
        int64_slice.go 95-97
        ipnet_slice.go 66-68
        string_array.go 33-35
        string_slice.go 38
        string_to_int.go 58
        string_to_string.go 56
        """,
        is_noticed=True,
    ),
    untested=_blocks(
        """
        flag.go 604 622-624
        bool_slice.go 51
        ip_slice.go 52
        string_to_int.go 78-80
        """,
        is_noticed=False,
    ),
)
_JEST = {
    "testEnvironment": "node",
    "transform": {},
    "testMatch": [
        "<rootDir>/tests/argument.{choices,variadic}.test.js",
        "<rootDir>/tests/command.{addHelpText,alias,default,error,helpOption,hook,nested}.test.js",
        "<rootDir>/tests/command.{positionalOptions,showSuggestionAfterError,unknownCommand,usage}.test.js",
        "<rootDir>/tests/help.{commandTerm,padWidth,sortOptions,suggestion,visibleOptions,wrap}.test.js",
        "<rootDir>/tests/options.{choices,conflicts,env,implies,mandatory}.test.js",
        "<rootDir>/tests/options.{optsWithGlobals,variadic,version}.test.js",
    ],
}
_COMMANDER = Project(
    name="javascript",
    fetch=_debian_source("node-commander", "9.4.1-1"),
    install=_node_tools("jest@29", "jest-junit@16"),
    command=(
        "JEST_JUNIT_OUTPUT_FILE=report.xml {tools}/node_modules/.bin/jest -i --rootDir . "
        f"--config {shlex.quote(json.dumps(_JEST).replace('{', '{{').replace('}', '}}'))} "
        "--reporters {tools}/node_modules/jest-junit"
    ),
    results="report.xml",
    tested=_blocks(
        """
        lib/argument.js 38-41 105-107
        lib/command.js 403-406 738-740 1153-1156 1180-1182 1334-1336 1365-1367 1422-1425
        lib/help.js 71-79
        lib/option.js 162-164 182-184
        lib/suggestSimilar.js 38-40 61-64 87-89
        """,
        is_noticed=True,
    ),
    untested=_blocks(
        """
        lib/command.js 585-587 754-756 1082-1084
        lib/help.js 92-96 258-260
        """,
        is_noticed=False,
    ),
)
_SHELL_TESTS = " ".join(
    f"tests/test_{name}.sh"
    for name in (
        *("derive_workon_home", "expandpath", "hook_dir", "lazy", "lazy_extending", "lazy_loaded"),
        *("log_file", "run_hook", "support", "virtualenvwrapper"),
    )
)
_VIRTUALENVWRAPPER = Project(
    name="shell",
    fetch=_python_package("virtualenvwrapper", "6.1.1"),
    install=_python_tools("virtualenvwrapper==6.1.1", "setuptools"),
    command=f"bash tests/run_tests {{tools}} {_SHELL_TESTS}",
    environ={"HOME": str(Path.home()), "USER": getpass.getuser(), "SHELL": "/bin/bash"},
    tested=_blocks(
        """
        virtualenvwrapper.sh 77 132 151-154 158-161 167-174 212 228 239 250 311-315 319
        virtualenvwrapper_lazy.sh 6-9 25 37 57
        """,
        is_noticed=True,
    ),
    untested=_blocks("virtualenvwrapper.sh 188-191 214-218 243-248 329-333 357-361", is_noticed=False),
)
_ALL = (_CLICK, _PFLAG, _COMMANDER, _VIRTUALENVWRAPPER)
PROJECTS: Mapping[str, Project] = {project.name: project for project in _ALL}
