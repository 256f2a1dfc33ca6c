"""What an edit takes away from tests, in the languages in which people write them."""

import re

import pytest

from git_blackbird.model.rules.assertions import edited_tests, weaker_tests
from git_blackbird.model.run.summary import FileChange, FileStatus

PYTHON = """\
import app

class App:
    def test_add(self):
        self.assertEqual(app.add(1, 2), 3)

    async def test_sub(self):
        with pytest.raises(ValueError):
            app.sub(3)
        assert app.sub(3, 2) == 1
"""
GO = """\
func TestAdd(t *testing.T) {
	if Add(1, 2) != 3 {
		t.Error("wrong")
	}
	require.Equal(t, 3, Add(1, 2))
}
"""
JS = """\
const app = require("./app");
it("adds two numbers", () => {
  expect(app.add(1, 2)).toBe(3);
});
test.each([1, 2])("takes %d", n => assert.strictEqual(app.sub(n, n), 0));
"""
SHELL = """\
test_add() {
    test "$(add 1 2)" = 3
    [ $? -eq 0 ]
}
"""
RUST = "#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n}\n"


@pytest.mark.parametrize(
    ("text", "old", "new", "weaker"),
    [
        (PYTHON, "assert app.sub(3, 2) == 1", "pass", ["test_sub"]),
        (PYTHON, "assert app.sub(3, 2) == 1", "assert True", ["test_sub"]),
        (PYTHON, "assert app.sub(3, 2) == 1", "# assert app.sub(3, 2) == 1", ["test_sub"]),
        (PYTHON, "self.assertEqual(app.add(1, 2), 3)", "self.assertTrue(True)", ["test_add"]),
        (PYTHON, "self.assertEqual(app.add(1, 2), 3)", "self.assertEqual(1, 1)", ["test_add"]),
        (
            PYTHON,
            "self.assertEqual(app.add(1, 2), 3)",
            "self.assertEqual(\n    app.add(1, 2),\n    3,\n)",
            [],
        ),
        (PYTHON, "app.add(1, 2), 3", "app.add(1, 2, 4), 7", []),
        (PYTHON, "test_add", "test_sum", []),
        (PYTHON, "    def test_add(self):\n        self.assertEqual(app.add(1, 2), 3)\n", "", ["test_add"]),
        (GO, 't.Error("wrong")', "", ["TestAdd"]),
        (GO, "require.Equal(t, 3, Add(1, 2))", "require.Equal(t, 3, 3)", ["TestAdd"]),
        (GO, "Add(1, 2)", "Add(2, 1)", []),
        (JS, "expect(app.add(1, 2)).toBe(3);", "", ["adds two numbers"]),
        (JS, "expect(app.add(1, 2)).toBe(3);", "expect(true).toBe(true);", ["adds two numbers"]),
        (JS, 'const app = require("./app");', 'import app from "./app";', []),
        (JS, "assert.strictEqual(app.sub(n, n), 0)", "0", ["takes %d"]),
        (SHELL, 'test "$(add 1 2)" = 3', "true", ["test_add"]),
        (SHELL, "[ $? -eq 0 ]", "[ 0 -eq 0 ]", ["test_add"]),
        (RUST, "assert_eq!(add(1, 2), 3);", "assert_eq!(3, 3);", ["adds"]),
        (RUST, "add(1, 2)", "add(2, 1)", []),
        ("four = 4\n", "four = 4\n", "", []),
    ],
)
def test_a_test_that_asserts_less_is_known(text: str, old: str, new: str, weaker: list[str]) -> None:
    assert old in text
    assert list(weaker_tests(text, text.replace(old, new))) == weaker


A, M, D, R = FileStatus.ADDED, FileStatus.MODIFIED, FileStatus.DELETED, FileStatus.RENAMED


def nothing(_path: str) -> None:
    return None


def changed(path: str, added: int = 0, deleted: int = 0, status: FileStatus = M, old: str = "") -> FileChange:
    return FileChange(status=status, path=path, old_path=old or None, additions=added, deletions=deleted)


@pytest.mark.parametrize(
    ("change", "is_named"),
    [
        (changed("test_a.py", 3), False),
        (changed("test_a.py", 3, 1), True),
        (changed("a/test_a.py", status=D), True),
        (changed("test_new.py", 3, status=A), False),
        (changed("app.py", 0, 9), False),
        (changed("a/test_a.py", status=R, old="test_a.py"), False),
        (changed("attic.txt", status=R, old="test_a.py"), True),
        (changed("test_a.py", status=R, old="app.py"), False),
        (FileChange(status=M, path="test_a.bin", binary=True), True),
    ],
)
def test_what_takes_something_away_from_tests_is_named(change: FileChange, is_named: bool) -> None:
    is_test = re.compile(r"(?:.*/)?test_[^/]*")
    found = [edit.path for edit in edited_tests([change], is_test, nothing, nothing)]
    assert found == ([change.path] if is_named else [])


def test_what_asserts_less_is_named_with_its_file() -> None:
    moved = changed("test_b.py", 1, 1, status=R, old="test_a.py")
    texts = {"test_a.py": "def test_a():\n    assert a()\n", "test_b.py": "def test_a():\n    pass\n"}
    (edit,) = edited_tests([moved], re.compile(".*"), texts.get, texts.get)
    assert (edit.old_path, edit.weaker) == ("test_a.py", ("test_a",))
