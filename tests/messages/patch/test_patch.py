"""What is read from patches that git made, and the rows that show them."""

import re
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from git_blackbird.messages.patch.layout import Layout, RowKind, SideBySide
from git_blackbird.messages.patch.parse import NO_NEWLINE, FilePatch, Patch
from git_blackbird.messages.patch.text import changed_spans, display_text
from tests.support import git

CONTENTS = st.lists(
    st.sampled_from(
        [
            "",
            "a",
            "b",
            "-",
            "+",
            "--- x",
            "+++ b/y",
            "@@ -1 +1 @@",
            "diff --git a/x b/x",
            "\\",
            "\r",
            "\t日本",
        ]
    ),
    max_size=12,
)


def between(repo: Path) -> Patch:
    """Commit what is staged, and return the patch of that commit."""
    git(repo, "commit", "-qm", "next")
    text = git(repo, "-c", "core.quotePath=false", "diff", "--no-color", "-M", "-C", "HEAD~", "HEAD")
    return Patch(text + "\n")


def told(file: FilePatch) -> tuple[str, str | None, str, tuple[str, ...], int, int]:
    return file.path, file.old_path, file.word, file.facts, file.additions, file.deletions


def test_whatever_happened_to_a_file_is_said_in_words(repo: Path) -> None:
    many = "".join(f"{number}\n" for number in range(30))
    for name, text in {
        "moved": many,
        "mode": "x\n",
        "gone": "-- a\n",
        "edited": "one\ntwo",
        "to copy": many[::-1],
    }.items():
        (repo / name).write_text(text)
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "first")
    (repo / "moved").rename(repo / "new place ü")
    (repo / "mode").chmod(0o755)
    (repo / "gone").unlink()
    (repo / "edited").write_text("one\nthree")
    (repo / "to copy").write_text(many[::-1] + "more\n")
    (repo / "a copy").write_text(many[::-1])
    (repo / "binary").write_bytes(b"\0\1")
    (repo / "empty file").write_text("")
    (repo / 'ta\tb"').write_text("++ b\n")
    (repo / "link").symlink_to("edited")
    git(repo, "add", "-A")
    git(repo, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    patch = between(repo)

    assert sorted(map(told, patch.files)) == [
        ("a copy", "to copy", "copied", ("copied from to copy, 100% the same",), 0, 0),
        ("binary", None, "added, binary", ("a binary file: its content is not shown",), 0, 0),
        ("edited", None, "modified", (), 1, 1),
        ("empty file", None, "added", ("an empty file",), 0, 0),
        ("gone", None, "deleted", (), 0, 1),
        ("link", None, "added", ("added as a symbolic link (mode 120000)",), 1, 0),
        (
            "mode",
            None,
            "mode changed",
            ("mode 100644 -> 100755: a file, now an executable file",),
            0,
            0,
        ),
        ("new place ü", "moved", "renamed", ("renamed from moved, 100% the same",), 0, 0),
        ("sub", None, "submodule added", ("added as a submodule (mode 160000)",), 1, 0),
        ('ta\tb"', None, "added", (), 1, 0),
        ("to copy", None, "modified", (), 1, 1),
    ]


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(old=CONTENTS, new=CONTENTS, ends=st.booleans())
def test_every_line_is_reached_and_has_its_numbers(
    tmp_path: Path, old: list[str], new: list[str], ends: bool
) -> None:
    sides = [tmp_path / "old", tmp_path / "new"]
    for side, lines in zip(sides, (old, new), strict=True):
        side.write_bytes("\n".join(lines).encode() + b"\n" * ends)
    command = ["git", "diff", "--no-index", "--no-color", "-U1", "old", "new"]
    patch = Patch(subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).stdout.decode())
    contents = [side.read_bytes().decode().split("\n") for side in sides]
    body = [line for file in patch.files for line in range(file.body, file.end)]

    for line in body:
        numbers = patch.numbers(line)
        for number, content in zip(numbers, contents, strict=True):
            assert number is None or content[number - 1] == patch.lines[line][1:]
        if numbers.new is not None:
            assert patch.line_of(patch.files[0], numbers.new) == line
        if numbers.old is not None:
            assert patch.line_of(patch.files[0], numbers.old, is_old=True) == line
        is_numberless = patch.lines[line].startswith("@@ ") and not any(numbers)
        assert any(numbers) or is_numberless or patch.marks[line] == NO_NEWLINE
        changed_spans(patch, line)
    notes = dict.fromkeys(body[::3], 2)
    for side_by_side in (None, SideBySide(patch)):
        layout = Layout(patch, notes=notes, side_by_side=side_by_side)
        rows = [layout[index] for index in range(len(layout))]
        shown = {line for row in rows if row.kind is RowKind.LINES for line in (row.left, row.right)}
        assert shown - {-1} == set(body)
        assert sum(row.kind is RowKind.NOTE for row in rows) == sum(notes.values())
        assert all(line in layout[layout.row_of(line)][2:4] for line in body)
        folded = Layout(patch, frozenset({0}), notes, side_by_side=side_by_side)
        # The notes of a folded file stand below its head.
        assert len(folded) == len(patch.files) + sum(notes.values())
        assert all(folded.row_of(line) == 0 for line in body)


def test_lines_that_replace_each_other_stand_side_by_side() -> None:
    patch = Patch(
        "diff --git a/x b/x\n--- a/x\n+++ b/x\n"
        "@@ -1,3 +1,4 @@\n a\n-b\n-c\n+B\n+C\n+D\n"
        "\\ No newline at end of file\n"
    )
    layout = Layout(patch, side_by_side=SideBySide(patch))
    rows = [layout[index] for index in range(1, len(layout))]
    assert [(row.left, row.right) for row in rows] == [(3, 3), (4, 4), (5, 7), (6, 8), (-1, 9), (-1, 10)]


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("total = one + two", "total = one - two", (["+"], ["-"])),
        ("alpha", "something else", ([], [])),
        ("x = 1", "x = 10", (["1"], ["10"])),
        ("a " * 200 + "end", "a " * 200 + "END", (["end"], ["END"])),
    ],
)
def test_what_changed_within_a_line(old: str, new: str, parts: tuple[list[str], list[str]]) -> None:
    patch = Patch(f"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-{old}\n+{new}\n")
    found = tuple([patch.lines[line][1:][a:b] for a, b in changed_spans(patch, line)] for line in (4, 5))
    assert found == parts


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\x1b[31m\x07", "a       b^[[31m^G"),
        ("ends\r", "ends^M"),
        ("I ❤️ 👩‍💻", "I ❤ 👩💻"),
        ("in\u200dvisible", "in\ufffdvisible"),
        ("x" * 4_010, "x" * 4_000 + "... (10 more characters)"),
    ],
)
def test_what_a_terminal_is_given(text: str, shown: str) -> None:
    assert display_text(text) == shown


def test_a_large_patch_is_indexed_at_once() -> None:
    files = (
        f"diff --git a/f{index} b/f{index}\nindex 1..2 100644\n--- a/f{index}\n+++ b/f{index}\n"
        "@@ -1,3 +1,3 @@\n one\n-two\n+three\n"
        for index in range(20_000)
    )
    text = "".join(files)
    started = time.process_time()
    patch = Patch(text)
    layout = Layout(patch)
    assert time.process_time() - started < 10
    assert len(patch.files) == 20_000
    assert len(layout) == 20_000 * 5
    assert re.fullmatch("f19999", patch.files[layout[len(layout) - 1].file].path)
