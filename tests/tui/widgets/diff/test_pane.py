"""A diff on the screen: what its keys do, in terminals of several sizes."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from textual.app import ComposeResult
from textual.pilot import Pilot

import git_blackbird.tui.app
from git_blackbird.messages.patch.parse import FilePatch
from git_blackbird.model.run.evidence import ChangeCoverage, Evidence, MissedLines
from git_blackbird.model.run.findings import (
    Finding,
    FindingGroup,
    MergedReview,
    MinorIssue,
    Severity,
    Source,
)
from git_blackbird.tui.themes import ThemedApp
from git_blackbird.tui.widgets.diff.pane import DiffPane

STYLES = Path(git_blackbird.tui.app.__file__).with_name("app.tcss")
SCROLL_BAR = " ▁▂▃▄▅▆▇█"
PATCH = """\
diff --git a/src/app.py b/src/app.py
index 1..2 100644
--- a/src/app.py
+++ b/src/app.py
@@ -1,4 +1,4 @@
 import os
-total = one + two
+total = one - two
 # 日本語 ❤️
 end
@@ -40,3 +40,4 @@ def late():
     a
+    b = "some text"
     c
     d
diff --git a/logo.png b/logo.png
new file mode 100644
index 0..3
Binary files /dev/null and b/logo.png differ
diff --git a/old b/run.sh
old mode 100644
new mode 100755
similarity index 90%
rename from old
rename to run.sh
index 4..5
--- a/old
+++ b/run.sh
@@ -1 +1 @@
-echo \x1b[31mred
+echo total\r
\\ No newline at end of file
"""


class Shown(ThemedApp):
    CSS_PATH = STYLES

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text
        self.files: list[FilePatch | None] = []

    def compose(self) -> ComposeResult:
        yield DiffPane(id="diff")

    def on_mount(self) -> None:
        self.animation_level = "none"
        self.pane.show(self._text)
        self.pane.view.focus()

    def on_diff_pane_file_changed(self, event: DiffPane.FileChanged) -> None:
        self.files.append(event.file)

    @property
    def pane(self) -> DiffPane:
        return self.query_one(DiffPane)

    @property
    def lines(self) -> list[str]:
        width, height = self.size
        strips = self.screen._compositor.render_strips()
        return [strip.text[:width].rstrip(SCROLL_BAR) for strip in strips[:height]]


def watch(text: str, session: Callable[[Shown, Pilot[None]], Awaitable[None]], size: tuple[int, int]) -> None:
    async def run() -> None:
        app = Shown(text)
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await session(app, pilot)

    asyncio.run(run())


async def press(app: Shown, pilot: Pilot[None], *keys: str) -> list[str]:
    await pilot.press(*keys)
    await pilot.pause()
    return app.lines


def under_cursor(app: Shown) -> str:
    return next((line for line in app.lines if line.startswith(">")), "")


TOP = """\
>▾ src/app.py  +2 -1  modified
    @@ -1,4 +1,4 @@
   1   import os
   2 - total = one + two
   2 + total = one - two
   3   # 日本語 ❤
   4   end
    @@ -40,3 +40,4 @@ def late():
  40       a
  41 +     b = "some text"
  42       c
  43       d"""
BLANK = " " * 69
SPLIT = f"""\
   2 - total = one + two                                             │   2 + total = one - two
   3   # 日本語 ❤                                                    │   3   # 日本語 ❤
   4   end                                                           │   4   end
    @@ -40,3 +40,4 @@ def late():
  40       a                                                         │  40       a
                                                                     │  41 +     b = "some text"
  41       c                                                         │  42       c
  42       d                                                         │  43       d
 ▾ logo.png  added, binary
    a binary file: its content is not shown
 ▾ run.sh  +1 -1  renamed
    renamed from old, 90% the same
    mode 100644 -> 100755: a file, now an executable file
    @@ -1 +1 @@
   1 - echo ^[[31mred                                                │   1 + echo total^M
{BLANK}│       no newline at the end of the file"""


def test_movement_by_lines_hunks_and_files_and_folding() -> None:
    async def session(app: Shown, pilot: Pilot[None]) -> None:
        assert "\n".join(app.lines).split() == TOP.split()
        await press(app, pilot, "j", "down", "j")
        assert under_cursor(app) == ">  2 - total = one + two"
        await press(app, pilot, "n")
        assert under_cursor(app).startswith(">   @@ -40,3 +40,4 @@")
        assert app.lines[0].startswith(" ▾ src/app.py")
        await press(app, pilot, "n")
        assert under_cursor(app) == ">   @@ -1 +1 @@"
        await press(app, pilot, "n")
        assert app.lines[-1] == " the last hunk"
        await press(app, pilot, "N", "N")
        assert under_cursor(app).startswith(">   @@ -1,4 +1,4 @@")
        await press(app, pilot, "]")
        assert under_cursor(app).startswith(">▾ logo.png  added, binary")
        await press(app, pilot, "]", "j", "[")
        assert under_cursor(app).startswith(">▾ run.sh  +1 -1  renamed")
        # The cursor leaves the sign of a fold to be seen; enter folds as well, at a header alone.
        await press(app, pilot, "[", "[", "z")
        assert [line.split()[:2] for line in app.lines[:2]] == [[">▸", "src/app.py"], ["▾", "logo.png"]]
        await press(app, pilot, "enter", "j", "enter", "k", "enter", "z", "Z")
        assert [line[:2] for line in app.lines[:4]] == [">▸", " ▸", " ▸", ""]
        await press(app, pilot, "n")
        assert under_cursor(app).startswith(">   @@ -1,4")
        await press(app, pilot, "Z", "G")
        assert under_cursor(app) == ">      no newline at the end of the file"
        assert app.pane.go_to_file("logo.png")
        assert not app.pane.go_to_file("nowhere")
        await pilot.pause()
        assert [file and file.path for file in app.files] == [
            *(
                "src/app.py",
                "run.sh",
                "src/app.py",
                "logo.png",
                "run.sh",
                "logo.png",
                "src/app.py",
                "run.sh",
                "logo.png",
            )
        ]
        assert [file.path for file in app.pane.shown] == ["src/app.py", "logo.png", "run.sh"]

    watch(PATCH, session, (60, 12))


def test_side_by_side_needs_room() -> None:
    async def session(app: Shown, pilot: Pilot[None]) -> None:
        lines = await press(app, pilot, "s")
        assert "\n".join(lines[3:19]) == SPLIT
        await pilot.resize_terminal(139, 24)
        await pilot.pause()
        assert app.lines[3] == "   2     - total = one + two"
        await press(app, pilot, "s", "s")
        assert app.lines[-1] == " side by side needs 140 columns; this terminal has 139"

    watch(PATCH, session, (140, 24))


def test_the_search_counts_and_goes_on() -> None:
    async def session(app: Shown, pilot: Pilot[None]) -> None:
        def at() -> tuple[str, str]:
            return under_cursor(app), app.lines[-1]

        await press(app, pilot, "Z", "/", *"total", "enter")
        counts = "(2 added, 1 removed): total"
        assert at() == (">  2 - total = one + two", f" match 1 of 3 {counts}")
        await press(app, pilot, "enter", "f3")
        assert at() == (">  1 + echo total^M", f" match 3 of 3 {counts}")
        await press(app, pilot, "enter", "backspace", "backspace")
        assert at() == (">  2 + total = one - two", f" match 2 of 3 {counts}")
        await press(app, pilot, "escape", "/", "ctrl+u", *"Total", "enter")
        assert app.lines[-1] == " no line and no file name has Total"
        # Names of files are found as well, at their headers.
        await press(app, pilot, "escape", "/", "ctrl+u", *"p", "enter")
        assert at() == (">▸ logo.png  added, binary", " match 3 of 3 (1 unchanged, 2 in file names): p")
        await press(app, pilot, "enter")
        assert under_cursor(app) == ">▾ src/app.py  +2 -1  modified"

    watch(PATCH, session, (60, 12))


def test_long_lines_scroll_beside_their_numbers_or_are_wrapped() -> None:
    long = "word " * 50 + "\u65e5" * 30 + "!"
    patch = (
        f"diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1,2 @@\n+{long}\n+last\n"
    )

    async def session(app: Shown, pilot: Pilot[None]) -> None:
        await press(app, pilot, "j", "j", *["right"] * 35)
        assert app.lines[2].startswith(">  1 + ")
        assert app.lines[2].endswith("日!")
        # Both that are cut at the left say so.
        assert [line[:8] for line in app.lines[2:4]] == [">  1 + …", "   2 + …"]
        await press(app, pilot, "w", "w")
        assert app.lines[2].startswith(">  1 + word word")
        # A line that is cut says so; one that is wrapped is cut between words.
        assert app.lines[2] == ">  1 + word word word word word word w…"
        await press(app, pilot, "w")
        assert app.lines[1] == ">  1 + word word word word word word"
        seen = set(app.lines)
        for _ in range(14):
            seen |= set(await press(app, pilot, "j"))
        assert under_cursor(app) == ">  2 + last"
        assert any(line.endswith("日!") for line in seen)
        await press(app, pilot, *["k"] * 14)
        assert under_cursor(app).startswith(">▾ x")

    watch(patch, session, (40, 10))


def test_findings_stand_under_their_lines() -> None:
    bug = Finding(
        source=Source.CODE,
        type="bug",
        severity=Severity.IMPORTANT,
        description="It must \x1b[31madd the two numbers, as the task says in so many words",
        file="src/app.py",
        line=2,
        fix="use +",
    )
    elsewhere = MinorIssue(description="nowhere", file="src/app.py", line=30)
    note = MinorIssue(description="old name", file="run.sh", line=1)
    groups = (FindingGroup(findings=(bug,), priority=1),)

    async def session(app: Shown, pilot: Pilot[None]) -> None:
        app.pane.annotate(None, MergedReview(groups=groups, minor=(elsewhere, note)))
        await pilot.pause()
        # What has no line in the diff stands at the head of its file, folded or not.
        assert app.lines[1] == "    \u2503 line 30, not in this diff: reviewer, minor: nowhere"
        assert app.lines[5:10] == FOUND.splitlines()
        await press(app, pilot, "{")
        assert app.lines[-1] == " the first comment or finding"
        await press(app, pilot, "Z", "Z", "G")
        assert any(line.endswith("reviewer, minor: old name") for line in app.lines)
        await press(app, pilot, "}")
        assert app.lines[-1] == " none after this; { goes to the one before"
        await press(app, pilot, "{", "}")
        assert app.lines[-1] == " the last comment or finding"
        await press(app, pilot, "c", "v")
        assert under_cursor(app).startswith(">")

    watch(PATCH, session, (60, 24))


FOUND = """\
   2 + total = one - two
    \u2503 code reviewer, important: It must add the two
    \u2503 numbers, as the task says in so many words
    \u2503 fix: use +
   3   # 日本語 ❤"""


def test_a_huge_patch_is_shown_at_once() -> None:
    lines = "".join(f"+line {number}\n" for number in range(600_000))
    header = (
        "diff --git a/x.py b/x.py\nnew file mode 100644\n--- /dev/null\n+++ b/x.py\n@@ -0,0 +1,600000 @@\n"
    )

    async def session(app: Shown, pilot: Pilot[None]) -> None:
        await press(app, pilot, "G")
        assert under_cursor(app) == ">600000 + line 599999"

    started = time.process_time()
    watch(header + lines, session, (60, 12))
    assert time.process_time() - started < 20


def test_lines_that_no_test_ran_have_a_mark_in_the_gutter() -> None:
    missed = (MissedLines(path="src/app.py", content="2" * 40, lines="2-3,41"),)

    coverage = ChangeCoverage(lines=2, missed=2, files=missed)

    async def session(app: Shown, pilot: Pilot[None]) -> None:
        app.pane.annotate(None, None, evidence=Evidence(coverage=coverage))
        for keys in ((), ("w",)):
            marked = [line for line in await press(app, pilot, *keys) if "#+" in line]
            assert [line.split() for line in marked] == [
                ["2#+", "total", "=", "one", "-", "two"],
                ["41#+", "b", "=", '"some', 'text"'],
            ]
        await press(app, pilot, "W")
        assert len(app.pane.view.marks) == 2
        app.pane.annotate(None, None)
        await pilot.pause()
        assert not app.pane.view.marks

    watch(PATCH, session, (80, 20))
