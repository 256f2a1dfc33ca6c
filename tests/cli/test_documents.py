"""The documents say what the program does: commands, options, keys, exit codes."""

import os
import re
import shutil
import subprocess
from itertools import groupby
from pathlib import Path

import pytest

from git_blackbird import __version__
from git_blackbird.errors import ExitCode
from git_blackbird.model.change.stages import TABLE, Band, Due
from tests import documents
from tests.cli.syntax.names import NAMES
from tests.kept import assert_kept

ROOT = Path(__file__).resolve().parents[2]
MANUAL = ROOT / "man/git-blackbird.1"
DOCS = ROOT / "docs"
DESIGN = (DOCS / "design.md").read_text()
COMMON = {"--json", "--no-input", "-h", "--help"}


@pytest.mark.parametrize("path", documents.paths(), ids=lambda path: path.name)
def test_the_documents_have_what_is_declared(path: Path) -> None:
    assert_kept(path, documents.written(path))


@pytest.mark.parametrize("path", documents.paths(), ids=lambda path: path.name)
def test_each_mark_in_a_document_is_of_a_part(path: Path) -> None:
    marks = re.findall(r"^(?:<!--|\.\\\") (.+): begin", path.read_text(), flags=re.MULTILINE)
    assert sorted(marks) == sorted(part.name for part in documents.of_document(path))


def test_the_pages_are_short() -> None:
    assert sum(len(page.read_bytes()) for page in DOCS.glob("*.md")) < 200_000


def test_less_than_a_thousand_lines_of_the_manual_are_generated() -> None:
    assert sum(part.make().count("\n") for part in documents.of_document(MANUAL)) < 1_000


def test_the_documents_say_what_each_exit_code_means() -> None:
    assert documents.meanings().keys() == set(ExitCode)


def test_the_versions_agree() -> None:
    assert f'"git-blackbird {__version__}"' in MANUAL.read_text()
    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.skipif(shutil.which("mandoc") is None, reason="mandoc is not installed")
def test_the_manual_has_no_fault() -> None:
    completed = subprocess.run(
        ["mandoc", "-T", "lint", "-W", "warning", ROOT / "man/git-blackbird.1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert completed.stdout + completed.stderr == ""


@pytest.mark.skipif(shutil.which("man") is None, reason="man is not installed")
def test_the_manual_renders_without_a_warning() -> None:
    command = ["man", "--warnings=w", "-l", str(ROOT / "man/git-blackbird.1")]
    environ = {**os.environ, "MANWIDTH": "80"}
    completed = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    if "option" in completed.stderr:
        pytest.skip("this man is not man-db")
    assert completed.stderr == ""
    assert "GIT-BLACKBIRD(1)" in completed.stdout
    assert re.findall(r"^.*\w[-\N{HYPHEN}]$", completed.stdout, flags=re.MULTILINE) == []


def test_the_manual_has_its_examples_first() -> None:
    assert MANUAL.read_text().index(".SH EXAMPLES") < MANUAL.read_text().index(".SH COMMANDS")


OF_OTHER_PROGRAMS = {
    *("--git", "--mirror", "--check", "--version", "--session-id", "--session", "--resume"),
    "--end-of-options",
    *("--setting-sources", "--allowedTools", "--max-budget-usd", "--full-auto", "--ours", "--theirs"),
    *(
        "--host",
        "--port",
        "--bind",
        "--chdir",
        "--dev",
        "--die-with-parent",
        "--env",
        "--interactive",
        "--name",
    ),
    *("--proc", "--rm", "--ro-bind", "--tmpfs", "--tty", "--unshare-pid", "--user", "--userns", "--volume"),
    *("--api-key", "--token", "--workdir"),
}
DOCUMENTS = sorted(str(path.relative_to(ROOT)) for path in (*ROOT.glob("*.md"), *DOCS.glob("*.md")))


def anchors(document: Path) -> set[str]:
    """The fragments that links to the headings of a page use."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_somewhere(name: str) -> None:
    document = ROOT / name
    for link in re.findall(r"\]\(([^)]+)\)", document.read_text()):
        path, _, anchor = link.partition("#")
        target = document.parent / path if path else document
        assert "://" in link or target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("name", DOCUMENTS)
def test_options_in_the_documents_exist(name: str) -> None:
    options = (option for name in NAMES for option in documents.options_of(name))
    typed = (word for option in options for word in (*option.opts, *option.secondary_opts))
    known = COMMON.union(OF_OTHER_PROGRAMS, typed)
    assert set(re.findall(r"(?<![\w-])--[a-z][a-zA-Z-]+", (ROOT / name).read_text())) <= known


def test_deviations_are_one_table_with_a_line_each() -> None:
    _, table = (DOCS / "deviations.md").read_text().split("\n| area | here | ")
    rows = table.splitlines()[2:]
    assert [row for row in rows if len(row) > 250 or row.count(" | ") != 2] == []
    areas = [row.split(" | ")[0] for row in rows]
    assert [area for area, _ in groupby(areas)] == list(dict.fromkeys(areas))


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "docs/design.md"])
def test_files_that_are_named_for_engineers_exist(name: str) -> None:
    """A path begins at the top, or in a package; a file is named alone near one in the same line or row."""
    tops = [ROOT, ROOT / "git_blackbird"]
    tops += [sub for top in _packages(tops[-1]) for sub in (top, *_packages(top))]
    lost = []
    for line in (ROOT / name).read_text().splitlines():
        named = re.findall(r"`(\w[\w./-]*/[\w.-]*|\w+\.(?:py|md))`", line)
        paths = {path: [top / path for top in tops if (top / path).exists()] for path in named if "/" in path}
        folders = {at if at.is_dir() else at.parent for places in paths.values() for at in places}
        near = {*tops[:2], *folders, *(each for at in folders for each in (at.parent, *at.iterdir()))}
        lost += [path for path, places in paths.items() if "NAME" not in path and not places]
        lost += [file for file in named if "/" not in file and not any((top / file).exists() for top in near)]
    assert lost == []


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "docs/design.md"])
def test_names_in_code_that_are_named_for_engineers_exist(name: str) -> None:
    files = (path for top in ("git_blackbird", "tests") for path in (ROOT / top).rglob("*.py"))
    code = "\n".join(path.read_text() for path in (*files, ROOT / "pyproject.toml"))
    quoted = re.findall(r"`((?:[A-Za-z]\w*\.)*[A-Za-z]\w*)(?:\([\w, ]*\))?`", (ROOT / name).read_text())
    named = {word for names in quoted for word in names.split(".") if "NAME" not in word}
    assert named - set(re.findall(r"\w+", code)) == set()


def test_the_guide_has_every_package() -> None:
    """Sub-packages are in the rows of their packages; where a package has none, it is in the first table."""
    guide = (ROOT / "CONTRIBUTING.md").read_text()
    packages, subpackages = guide.partition("### Sub-packages")[::2]
    package = ROOT / "git_blackbird"
    assert [top.name for top in _packages(package) if f"| `{top.name}/` |" not in packages] == []
    rows = re.split(r"^\| `(\w+)/` ", subpackages.partition("### Words")[0], flags=re.MULTILINE)
    named = {
        top: set(re.findall(r"`(\w+)/`", text)) for top, text in zip(rows[1::2], rows[2::2], strict=True)
    }
    lost = {
        f"{top.name}/{sub.name}"
        for top in _packages(package)
        for sub in _packages(top)
        if sub.name not in named.get(top.name, ())
    }
    assert lost == set()


def _packages(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if (path / "__init__.py").exists()]


def test_the_design_has_every_stage_and_what_follows_from_it() -> None:
    cells = [re.split(r" *\| *", line)[1:-1] for line in DESIGN.splitlines() if line.startswith("| `")]
    rows = {stage.strip("`"): tuple(rest) for stage, _, *rest in cells}
    assert rows == {
        stage: (f"`{row.status}`", f"`{row.due}`" if row.due else "") for stage, row in TABLE.items()
    }


def test_the_design_has_every_kind_of_what_is_due_in_its_order() -> None:
    queue = DESIGN.partition("## The queue")[2].partition("\n## ")[0]
    bands = [re.findall(r"`(\w+)`", line) for line in queue.splitlines() if line.startswith("| ")][1:]
    assert bands == [[due for due in Due if due.band is band] for band in Band]
