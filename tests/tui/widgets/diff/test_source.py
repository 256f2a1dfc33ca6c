"""A diff that is read again: with more context, or without white space."""

import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from textual.pilot import Pilot

from git_blackbird.model.run.findings import MergedReview, MinorIssue
from git_blackbird.model.run.summary import Trees
from tests.controller.support import open_at
from tests.support import commit, git
from tests.tui.driver import PATIENCE_SECONDS
from tests.tui.widgets.diff.test_pane import Shown, press, under_cursor, watch

Session = Callable[[Shown, Pilot[None]], Awaitable[None]]
NUMBERS = [f"line {number}" for number in range(1, 101)]


def change_of(repo: Path, before: dict[str, str], after: dict[str, str]) -> Trees:
    """Commit files twice; return the trees."""
    trees = []
    for files in (before, after):
        commit(repo, files)
        trees.append(git(repo, "rev-parse", "HEAD^{tree}"))
    return Trees(*trees)


def watch_change(repo: Path, pair: Trees, session: Session, size: tuple[int, int] = (60, 24)) -> None:
    async def shown(app: Shown, pilot: Pilot[None]) -> None:
        app.pane.read(open_at(repo), pair)
        await wait(app, pilot, lambda: bool(app.pane.shown))
        await session(app, pilot)

    watch("", shown, size)


async def wait(app: Shown, pilot: Pilot[None], holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < deadline, "\n".join(app.lines)
        await pilot.pause(0.02)


async def see(app: Shown, pilot: Pilot[None], *texts: str) -> None:
    await wait(app, pilot, lambda: all(any(text in line for line in app.lines) for text in texts))


def test_context_grows_around_the_cursor_up_to_the_whole_file_and_back(repo: Path) -> None:
    changed = [*NUMBERS[:49], "here", *NUMBERS[50:]]
    before = {"a.txt": "\n".join(NUMBERS), "b.txt": "\n".join(NUMBERS)}
    pair = change_of(repo, before, dict.fromkeys(before, "\n".join(changed)))

    async def session(app: Shown, pilot: Pilot[None]) -> None:
        await press(app, pilot, *["j"] * 6)
        assert under_cursor(app).split() == [">", "50", "+", "here"]
        await press(app, pilot, "r")
        await see(app, pilot, "10 lines of context", "line 46", "line 60")
        # The cursor is on the same line in the same place; the other file is as it was.
        assert app.lines[6].split() == [">", "50", "+", "here"]
        assert [hunk.old for file in app.pane.shown for hunk in file.hunks] == [40, 47]
        await press(app, pilot, "r", "r")
        await see(app, pilot, "the whole file")
        await press(app, pilot, "r")
        await see(app, pilot, "this is the whole file; R shows less")
        await press(app, pilot, "g", "j", "j")
        assert under_cursor(app).split() == [">", "1", "line", "1"]
        # A line that is no longer shown leaves the cursor at its file.
        await press(app, pilot, "R", "R", "R")
        await see(app, pilot, "3 lines of context", "@@ -47,7 +47,7 @@")
        assert under_cursor(app).startswith(">▾ a.txt")
        await press(app, pilot, "R")
        await see(app, pilot, "there is no less; r shows more")

    watch_change(repo, pair, session)


def test_context_of_a_file_that_became_a_link_and_of_a_renamed_one(repo: Path) -> None:
    lines = "".join(f"{number}\n" for number in range(60))
    commit(repo, {"a": lines, "old": lines})
    base = git(repo, "rev-parse", "HEAD^{tree}")
    for name in ("a", "old"):
        (repo / name).unlink()
    (repo / "a").symlink_to("new")
    (repo / "new").write_text(lines.replace("30\n", "thirty\n"))
    git(repo, "add", "--all")
    pair = Trees(base, git(repo, "write-tree"))

    async def session(app: Shown, pilot: Pilot[None]) -> None:
        def shown() -> list[tuple[str, str]]:
            return [(file.path, file.word) for file in app.pane.shown]

        before = shown()
        assert before == [("a", "deleted"), ("a", "added"), ("new", "renamed")]
        await press(app, pilot, "G", "r")
        await see(app, pilot, "10 lines of context")
        assert app.pane.shown[-1].hunks[0].old == 21
        await press(app, pilot, "g", "]", "r", "r")
        await see(app, pilot, "40 lines of context")
        assert shown() == before

    watch_change(repo, pair, session)


def test_a_diff_that_is_a_text_has_no_more_context() -> None:
    async def session(app: Shown, pilot: Pilot[None]) -> None:
        await press(app, pilot, "r")
        assert app.lines[-1] == " this diff cannot be read in another way"

    watch("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", session, (60, 12))


def test_white_space_is_ignored_and_what_that_hides_is_counted(repo: Path) -> None:
    before = {"a.py": "if x:\n  y\n  z\n", "b.py": "one\ntwo\n", "c.py": "same\n"}
    after = {"a.py": "if x:\n    y\n    zz\n", "b.py": "one \n\ttwo\n", "c.py": "other\n"}

    async def session(app: Shown, pilot: Pilot[None]) -> None:
        await press(app, pilot, "]", "]", "j", "j", "j")
        assert under_cursor(app).split() == [">", "1", "+", "other"]
        await press(app, pilot, "W")
        await see(app, pilot, "white space is ignored (W), which hides 1 file and 6 lines")
        assert under_cursor(app).split() == [">", "1", "+", "other"]
        assert [file.path for file in app.pane.shown] == ["a.py", "c.py"]
        assert [file.path for file in app.pane.whole.files] == ["a.py", "b.py", "c.py"]
        await press(app, pilot, "g", "r")
        await see(app, pilot, "10 lines of context")
        assert [file.additions for file in app.pane.shown] == [1, 1]
        await press(app, pilot, "W")
        await wait(app, pilot, lambda: len(app.pane.shown) == 3)
        assert not any("ignored" in line for line in app.lines)

    watch_change(repo, change_of(repo, before, after), session)


def test_a_change_of_white_space_alone_is_named(repo: Path) -> None:
    async def session(app: Shown, pilot: Pilot[None]) -> None:
        await press(app, pilot, "W")
        await see(app, pilot, "white space is ignored (W), which hides 1 file and 2 lines")
        assert not app.pane.shown
        await press(app, pilot, "W")
        await see(app, pilot, "a.py")

    watch_change(repo, change_of(repo, {"a.py": "x\n"}, {"a.py": " x\n"}), session)


def test_line_endings_are_said_once_and_not_at_each_line(repo: Path) -> None:
    git(repo, "config", "core.autocrlf", "false")
    before = {"a.txt": "one\r\ntwo\r\nthree\r\n", "b.txt": "one\n", "c.txt": "one\r\n", "d.txt": "one\n"}
    after = {
        "a.txt": "one\ntwo\nthree",
        "b.txt": "one\r\ntwo\r\n",
        "c.txt": "one\r\ntwo\r\n",
        "d.txt": "1\n2\r\n",
    }

    async def session(app: Shown, pilot: Pilot[None]) -> None:
        del pilot
        assert [line.strip() for line in app.lines if line.strip()][1:] == ENDINGS

    watch_change(repo, change_of(repo, before, after), session, (60, 40))


ENDINGS = [
    "line endings changed: CRLF to LF",
    "@@ -1,3 +1,3 @@",
    "1 - one",
    "2 - two",
    "3 - three",
    "1 + one",
    "2 + two",
    "3 + three",
    "no newline at the end of the file",
    "▾ b.txt  +2 -1  modified",
    "line endings changed: LF to CRLF",
    "@@ -1 +1,2 @@",
    "1 - one",
    "1 + one",
    "2 + two",
    "▾ c.txt  +1 -0  modified",
    "lines end with CRLF",
    "@@ -1 +1,2 @@",
    "1   one",
    "2 + two",
    "▾ d.txt  +2 -1  modified",
    "some lines end with CRLF",
    "@@ -1 +1,2 @@",
    "1 - one",
    "1 + 1",
    "2 + 2^M",
]


def test_generated_files_are_folded_counted_and_show_findings(repo: Path) -> None:
    lines = "".join(f"{number}\n" for number in range(50))
    attributes = "/made/** linguist-generated\nnpm/package-lock.json -linguist-generated\n"
    before = {".gitattributes": attributes, "a.txt": "one\n"}
    paths = ("a.txt", "made/api.py", "npm/package-lock.json", "uv.lock")
    pair = change_of(repo, before, dict.fromkeys(paths, lines))
    # What the worktree says now does not count.
    (repo / ".gitattributes").write_text("")
    note = MinorIssue(description="too new", file="uv.lock", line=20)

    async def session(app: Shown, pilot: Pilot[None]) -> None:
        app.pane.annotate(None, MergedReview(minor=(note,)))
        await see(app, pilot, "2 generated files folded (z unfolds one, Z all)")
        await press(app, pilot, "G")
        assert [line.strip(" >") for line in app.lines[-2:]] == [
            "▸ uv.lock  +50 -0  added",
            "\u2503 reviewer, minor: too new",
        ]
        assert [file.path for file in app.pane.shown] == list(paths)
        await press(app, pilot, "z")
        await see(app, pilot, "1 generated file folded", "@@ -0,0 +1,50 @@")
        await press(app, pilot, "W", "[", "[", "[")
        await see(app, pilot, "▸ made/api.py", "1 generated file folded")

    watch_change(repo, pair, session, (80, 24))


def test_moved_blocks_are_dim_and_counted(repo: Path) -> None:
    block = [f"    def step_{number}(self) -> None:" for number in range(4)]
    short = ["a = 1", "b = 2", "c = 3"]
    before = {"a.py": "\n".join(["# a", *block, "# z", *short, "end\n"]), "b.py": "# b\n"}
    after = {"a.py": "# a\n# z\nend\n", "b.py": "\n".join(["# b", *block, "new", *short, "last\n"])}

    async def session(app: Shown, pilot: Pilot[None]) -> None:
        await see(app, pilot, "8 moved lines are dim")
        dim = [text for text, is_dim in texts_of(app) if is_dim]
        assert dim == [*block, *block]
        await press(app, pilot, "W")
        await see(app, pilot, "white space is ignored", "8 moved lines are dim")

    watch_change(repo, change_of(repo, before, after), session, (100, 40))


def texts_of(app: Shown) -> list[tuple[str, bool]]:
    """Return the texts of lines in view, and whether they are dim."""
    view = app.pane.view
    strips = [strip for _, strip in view._visible_strips()]
    return [
        (segment.text.rstrip(), bool(segment.style and segment.style.dim))
        for strip in strips
        for segment in strip
        if len(segment.text.strip()) > 12 and "@@" not in segment.text
    ]
