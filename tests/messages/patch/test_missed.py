"""The marks of lines that no test ran, in a patch and in what git prints."""

import subprocess
from pathlib import Path

import pytest

from git_blackbird.cli.render.transcript import marked_diff
from git_blackbird.messages.patch.missed import missed_lines
from git_blackbird.messages.patch.parse import Patch
from git_blackbird.model.run.evidence import ChangeCoverage, MissedLines
from tests.support import commit, git


@pytest.fixture
def coverage(repo: Path) -> ChangeCoverage:
    """Lines 2, 3 and 7 of a file were run by no test; of these 7 is no line of the change."""
    commit(repo, {"a b.py": "1\n3\n\n5\n6\n7\n8\n", "gone.py": "1\n"}, "before")
    (repo / "gone.py").unlink()
    commit(repo, {"a b.py": "1\n+2\n-3\n\n5\n6\n7\n8\n", "other.py": "1\n2\n"}, "after")
    content = git(repo, "rev-parse", "HEAD:a b.py").strip()
    return ChangeCoverage(files=(MissedLines(path="a b.py", content=content, lines="2-3,7"),))


@pytest.mark.parametrize("options", [(), ("--abbrev=4", "-U0"), ("--full-index", "--no-prefix")])
@pytest.mark.parametrize("blank", ["true", "false"])
def test_marked_are_added_lines_of_that_content_alone(
    repo: Path, coverage: ChangeCoverage, options: tuple[str, ...], blank: str
) -> None:
    command = ("git", "-c", f"diff.suppressBlankEmpty={blank}", "diff", *options, "HEAD~", "HEAD")
    text = subprocess.run(command, cwd=repo, capture_output=True, text=True, check=True).stdout
    patch = Patch(text)
    assert [patch.lines[line] for line in sorted(missed_lines(patch, coverage))] == ["++2", "+-3"]
    painted = b"".join(marked_diff(iter([text.encode()]), {}, coverage)).decode().splitlines()
    assert painted[0] == "# marks 2 lines that no test ran"
    assert [row for row in painted[1:] if row[0] == "#"] == ["#++2", "#+-3"]
    assert "".join(f"{row[1:]}\n" for row in painted[1:]) == text


def test_a_file_that_has_another_content_has_no_marks(repo: Path, coverage: ChangeCoverage) -> None:
    commit(repo, {"a b.py": "1\n+2\n-3\n\n5\n6\n7\n8\n9\n"}, "later")
    assert missed_lines(Patch(git(repo, "diff", "HEAD~2", "HEAD")), coverage) == frozenset()
    assert missed_lines(Patch(git(repo, "diff", "HEAD~2", "HEAD")), None) == frozenset()
    plain = b" 1\n+2\n"
    assert b"".join(marked_diff(iter([plain]), {}, coverage)) == plain
