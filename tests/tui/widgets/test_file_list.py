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
