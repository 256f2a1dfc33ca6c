"""The marks of lines that no test ran, or nothing notices, in a patch and in what git prints."""

import subprocess
from pathlib import Path

import pytest

from git_blackbird.cli.render.transcript import marked_diff
from git_blackbird.git.change.changes import diff_text
from git_blackbird.git.change.parts import only_hunks
from git_blackbird.messages.patch.marks import marked_lines, marks_words
from git_blackbird.messages.patch.parse import Patch
from git_blackbird.model.run.evidence import ChangeCoverage, Evidence, MissedLines
from git_blackbird.model.run.proof import Hunk, HunkVerdict, Proof, ProvenPart
from git_blackbird.model.run.summary import Trees
from tests.git.support import found
from tests.support import commit, git


@pytest.fixture
def coverage(repo: Path) -> Evidence:
    """Lines 2, 3 and 7 of a file were run by no test; of these 7 is no line of the change."""
    commit(repo, {"a b.py": "1\n3\n\n5\n6\n7\n8\n", "gone.py": "1\n"}, "before")
    (repo / "gone.py").unlink()
    commit(repo, {"a b.py": "1\n+2\n-3\n\n5\n6\n7\n8\n", "other.py": "1\n2\n"}, "after")
    content = git(repo, "rev-parse", "HEAD:a b.py").strip()
    missed = MissedLines(path="a b.py", content=content, lines="2-3,7")
    return Evidence(coverage=ChangeCoverage(files=(missed,)))


@pytest.mark.parametrize("options", [(), ("--abbrev=4", "-U0"), ("--full-index", "--no-prefix")])
@pytest.mark.parametrize("blank", ["true", "false"])
def test_marked_are_added_lines_of_that_content_alone(
    repo: Path, coverage: Evidence, options: tuple[str, ...], blank: str
) -> None:
    command = ("git", "-c", f"diff.suppressBlankEmpty={blank}", "diff", *options, "HEAD~", "HEAD")
    text = subprocess.run(command, cwd=repo, capture_output=True, text=True, check=True).stdout
    patch = Patch(text)
    assert [patch.lines[line] for line in sorted(marked_lines(patch, coverage))] == ["++2", "+-3"]
    painted = b"".join(marked_diff(iter([text.encode()]), {}, coverage)).decode().splitlines()
    assert painted[0] == "# marks 2 lines that no test ran"
    assert [row for row in painted[1:] if row[0] == "#"] == ["#++2", "#+-3"]
    assert "".join(f"{row[1:]}\n" for row in painted[1:]) == text


def test_a_file_that_has_another_content_has_no_marks(repo: Path, coverage: Evidence) -> None:
    commit(repo, {"a b.py": "1\n+2\n-3\n\n5\n6\n7\n8\n9\n"}, "later")
    assert marked_lines(Patch(git(repo, "diff", "HEAD~2", "HEAD")), coverage) == {}
    assert marked_lines(Patch(git(repo, "diff", "HEAD~2", "HEAD")), None) == {}
    plain = b" 1\n+2\n"
    assert b"".join(marked_diff(iter([plain]), {}, coverage)) == plain


def test_what_nothing_notices_is_marked_and_comes_first(repo: Path) -> None:
    lines = [f"{number}\n" for number in range(40)]
    commit(repo, {"a.py": "".join(lines), "b.py": "1\n2\n3\n"}, "before")
    commit(
        repo,
        {"a.py": "".join([*lines[:10], "new\n", *lines[10:30], *lines[31:]]), "b.py": "1\n3\n4\n"},
        "after",
    )
    before, content = (
        {name: git(repo, "rev-parse", f"{each}:{name}") for name in ("a.py", "b.py")}
        for each in ("HEAD~", "HEAD")
    )
    places = {
        "noticed": ("a.py", 10, 0, 10, 1),
        "unnoticed": ("a.py", 30, 1, 31, 0),
        "open": ("b.py", 1, 1, 1, 0),
    }
    parts = tuple(
        ProvenPart(
            hunks=(
                Hunk(
                    path=path,
                    content=content[path],
                    before=before[path],
                    old=old,
                    old_count=count,
                    new=new,
                    new_count=added,
                ),
            ),
            verdict=HunkVerdict(verdict),
        )
        for verdict, (path, old, count, new, added) in places.items()
    )
    proof, text = Proof.of(parts), git(repo, "diff", "HEAD~", "HEAD")
    pair = Trees(*git(repo, "rev-parse", "HEAD~^{tree}", "HEAD^{tree}").split())
    evidence = Evidence(proof=proof)
    hunks = (hunk for part in proof.unproven for hunk in part.hunks)
    unproven = diff_text(found(repo), only_hunks(found(repo), pair, hunks)).decode()
    marks = marked_lines(Patch(text), evidence)
    assert [Patch(text).lines[line] for line in marks] == ["-30"]
    assert marks_words(marks) == "? marks 1 line that nothing notices"
    rows = b"".join(marked_diff(iter([text.encode()]), {}, evidence, lambda: unproven)).decode().splitlines()
    first, rest = rows[1 : rows.index("? marks 1 line that nothing notices")], rows[-len(text.splitlines()) :]
    assert rows[0] == "noticed: 1 of 3 hunks, 1 by nothing, 1 open; first what is not:"
    assert [row[1:] for row in rest] == text.splitlines()
    assert unproven.splitlines() == first
    assert [row for row in first if row[0] in "+-" and row[:3] not in {"+++", "---"}] == ["-30", "-2"]
    assert " 4" in first
    git(repo, "apply", "--reverse", "-", stdin=unproven.encode())
    assert (repo / "a.py").read_text() == "".join([*lines[:10], "new\n", *lines[10:]])
    assert (repo / "b.py").read_text() == "1\n2\n3\n4\n"
