"""A change request that is written in an editor, below the lines of the diff."""

import sys
from pathlib import Path

import pytest

from tests.records import fact
from tests.support import commit
from tests.trial.program import Trial

EDITOR = """\
import pathlib, sys
path = pathlib.Path(sys.argv[1])
text = path.read_text()
pathlib.Path("{copy}").write_text(text)
path.write_text(text.replace({old!r}, {new!r}, 1))
"""


class Editor:
    """An editor that replaces a text of the file, and keeps what it was given."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._script = folder / "editor.py"
        self._copy = folder / "seen"
        monkeypatch.setenv("GIT_EDITOR", f"{sys.executable} {self._script}")

    def replaces(self, old: str, new: str) -> None:
        self._script.write_text(EDITOR.format(copy=self._copy, old=old, new=new))

    @property
    def seen(self) -> str:
        return self._copy.read_text()


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Editor:
    return Editor(tmp_path, monkeypatch)


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {"old.txt": "old\n", ".gitignore": ".blackbird\nblackbird.plan.json\n"}, "start")
    trial = Trial(repo)
    trial.plan({"a": ()})
    trial.configure({"execution.stopAfterEachTask": "true"})
    trial.command("printf '> one\\r\\ntwo\\n' >a.txt")
    trial.expect(3, "execute", "--no-input")
    return trial


def test_comments_are_written_below_the_lines_of_the_diff(trial: Trial, editor: Editor) -> None:
    decide = ("decide", "a", "--request-changes", "--edit")
    editor.replaces("nothing", "")
    assert "error: the request is empty: nothing was done" in trial.expect(1, *decide)
    assert "+++ b/a.txt\n@@ -0,0 +1,2 @@\n+> one\n+two\n" in editor.seen.replace("\r", "")

    editor.replaces("+two\n", "+two\n> in \x1b[31mwords\nand more\n")
    refused = trial.expect(1, *decide)
    assert "error: the review is not understood: line " in refused
    assert "is no line of the diff here, nor a comment, which begins with >: and more" in refused
    assert "hint: understood before: a text of 0 lines, 1 comment: a.txt:2" in refused
    assert trial.records("a")[0]["decision_state"] == "pending"

    editor.replaces("and more\n", "> and more\n")
    assert "Understood: a text of 0 lines, 1 comment: a.txt:2." in trial.expect(0, *decide)
    (record,) = trial.records("a")
    assert record["decision_feedback"] == "a.txt:2\n> +two\nin \x1b[31mwords\nand more"
    assert fact(record, "comments") == [
        {
            "path": "a.txt",
            "side": "new",
            "start": 2,
            "end": 2,
            "quoted": "+two",
            "text": "in \x1b[31mwords\nand more",
        }
    ]
    assert not list((trial.repo / ".git/blackbird").rglob("review-*"))
