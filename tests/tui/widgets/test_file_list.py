"""The list of files beside a diff."""

import asyncio

from textual.app import App, ComposeResult

from git_blackbird.messages.patch.parse import Patch
from git_blackbird.tui.widgets.file_list import FileList, ReviewMarks

PATCH = """\
diff --git a/app.py b/app.py
index 1..2 100644
--- a/app.py
+++ b/app.py
@@ -1 +1,2 @@
 one
+two
diff --git a/logo.png b/logo.png
index 3..4 100644
Binary files a/logo.png and b/logo.png differ
diff --git a/run.sh b/run.sh
old mode 100644
new mode 100755
"""


class ListApp(App[None]):
    def compose(self) -> ComposeResult:
        yield FileList(ReviewMarks(), id="files")


def test_a_file_without_lines_says_what_it_is_instead_of_their_number() -> None:
    app = ListApp()

    async def session() -> None:
        async with app.run_test() as pilot:
            files = app.query_one(FileList)
            files.show(Patch(PATCH).files)
            await pilot.pause()
            shown = [str(option.prompt).split() for option in files.options]
            assert shown == [
                ["Overview"],
                ["M", "app.py", "+1", "-0"],
                ["M", "logo.png", "binary"],
                ["M", "run.sh", "mode"],
            ]
            ends = {len(str(option.prompt)) for option in files.options[1:]}
            assert len(ends) == 1

    asyncio.run(session())


# What governs other files comes first.
PATHS = ("src/.gitignore", "README.md", "src/api/a.py", "src/api/b.py", "src/main.py", "tests/c.py")
TREE = "".join(
    f"diff --git a/{path} b/{path}\nindex 1..2 100644\n"
    f"--- a/{path}\n+++ b/{path}\n@@ -1 +1,2 @@\n one\n+two\n"
    for path in PATHS
)


def test_folders_fold_with_what_is_known_of_their_files() -> None:
    app = ListApp()

    def shown() -> list[str]:
        files = app.query_one(FileList)
        return [" ".join(str(option.prompt).split()) for option in files.options[1:]]

    async def session() -> None:
        async with app.run_test() as pilot:
            files = app.query_one(FileList)
            patch = Patch(TREE)
            files.show(patch.files)
            files.show_findings(["src/api/b.py"])
            files.follow(patch.files[2])
            await pilot.press("z")
            folded = [
                "M src/.gitignore +1 -0",
                "M README.md +1 -0",
                "!▸ src/api/ 2 files +2 -0",
                "M src/main.py +1 -0",
                "M tests/c.py +1 -0",
            ]
            assert shown() == folded
            assert (files.folder, files.current) == ("src/api/", None)
            await pilot.press("down", "up", "z")
            assert (len(shown()), files.current) == (6, patch.files[2])
            await pilot.press("Z")
            assert shown() == ["!▸ src/ 4 files +4 -0", "M README.md +1 -0", "▸ tests/ 1 file +1 -0"]
            await pilot.press("Z")
            assert files.current == patch.files[0]
            await pilot.press("Z")
            files.follow(patch.files[5])
            assert files.folder == "tests/"
            files.find("api/b", 0)
            assert (len(shown()), files.current) == (6, patch.files[3])

    asyncio.run(session())


BINARY = """\
diff --git a/new.png b/new.png
new file mode 100644
index 0..2
Binary files /dev/null and b/new.png differ
diff --git a/old.png b/old.png
deleted file mode 100644
index 3..0
Binary files a/old.png and /dev/null differ
diff --git a/there.png b/here.png
similarity index 90%
rename from there.png
rename to here.png
index 4..5 100644
Binary files a/there.png and b/here.png differ
diff --git a/lib b/lib
new file mode 160000
index 0..6
--- /dev/null
+++ b/lib
@@ -0,0 +1 @@
+Subproject commit 6
"""


def test_files_without_lines_have_the_letters_of_what_happened_to_them() -> None:
    app = ListApp()

    async def session() -> None:
        async with app.run_test() as pilot:
            files = app.query_one(FileList)
            files.show(Patch(BINARY).files)
            await pilot.pause()
            shown = [str(option.prompt).split()[:2] for option in files.options[1:]]
            assert shown == [["A", "new.png"], ["D", "old.png"], ["R", "here.png"], ["A", "lib"]]

    asyncio.run(session())


def test_a_folder_shows_the_marks_of_all_its_files() -> None:
    marks, files = ReviewMarks(), Patch(TREE).files
    a, b = files[2:4]
    assert marks.mark(a, b) == " "
    assert marks.toggle_read([a])
    assert marks.mark(a, b) == " "
    assert marks.toggle_read([a, b])
    assert marks.mark(a, b) == "✓"
    assert not marks.toggle_read([a, b])
    marks.toggle_left_out([b])
    assert (marks.mark(a, b), marks.mark(a), marks.mark(b)) == ("◐", " ", "✗")
    marks.toggle_left_out([a, b])
    assert marks.mark(a, b) == "✗"
    marks.toggle_left_out([a, b])
    assert marks.left_out == set()
