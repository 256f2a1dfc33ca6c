"""What an edit of a file takes away from the tests in it, as far as the words of the languages tell."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from git_blackbird.model.rules.deciding_files import Read
from git_blackbird.model.run.evidence import MOST_NAMED
from git_blackbird.model.run.summary import EditedTest, FileChange, FileStatus

# Where a test begins, and its name: in Python, Go, Rust, Java, JavaScript and shell.
_BEGINS = re.compile(
    r"""\s*(?:
        (?:async\s+)?def\s+(?P<python>test\w*)
      | func\s+(?:\([^)]*\)\s*)?(?P<go>Test\w*)
      | (?:pub\s+)?(?:async\s+)?fn\s+(?P<rust>\w+)
      | (?:public\s+)?void\s+(?P<java>\w+)\s*\(
      | (?:it|test|specify|scenario)\b[.\w]*(?:\([^"'`]*\))?\(\s*(?P<quote>["'`])(?P<script>.*?)(?P=quote)
      | (?P<shell>test\w*)\s*\(\)
    )""",
    re.VERBOSE,
)
_ASSERTS = re.compile(
    r"(?:assert|expect|should|verify|raises|throws|panic)\w*|\brequire\.\w+|(?-i:\bREQUIRE\w*)"
    r"|\bt\.(?:Error|Fatal|Fail)\w*|\bfail\w*|(?:^|(?<=[;&|]))\s*(?:test|\[)\s",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"\s*(?:#|//|/?\*|--)")
_WORD = re.compile(r"(?<![\w.$])[\w$?]+")
_CONSTANT = re.compile(r"true|false|none|null|nil|undefined|\d\w*", re.IGNORECASE)
_LONGEST_LINE = 500
_OF_NOBODY = frozenset({"self", "this", "t", "is", "eq"})


def edited_tests(
    changes: Iterable[FileChange], is_test: re.Pattern[str], before: Read, after: Read
) -> Iterator[EditedTest]:
    """Yield the files of tests, by what their paths match, from which a change takes something away."""
    for change in changes:
        path = change.old_path or change.path
        is_away = change.status is FileStatus.DELETED or is_test.fullmatch(change.path) is None
        is_other = change.deletions > 0 or (change.binary and change.status is not FileStatus.ADDED)
        if is_test.fullmatch(path) and (is_away or is_other):
            weaker = () if is_away else weaker_tests(before(path) or "", after(change.path) or "")
            yield EditedTest(**dict(change), weaker=weaker)


def weaker_tests(before: str, after: str) -> tuple[str, ...]:
    """Return the tests of a file that assert less after an edit, by name; "" for code outside of tests.

    One that is gone is one of them where all together assert less.
    """
    was, now = _assertions(before), _assertions(after)
    is_less = now.total() < was.total()
    found = (test for test in was if now[test] < was[test] and (is_less or test in now))
    return tuple(found)[:MOST_NAMED]


def _assertions(text: str) -> Counter[str]:
    """Count the lines of each test that assert something, in the order of the tests."""
    counts, name = Counter[str](), ""
    for line in (line[:_LONGEST_LINE] for line in text.splitlines()):
        if (begins := _BEGINS.match(line)) is not None:
            names = begins.groupdict()
            del names["quote"]
            name = next(filter(None, names.values()), "")
        counts[name] += _asserts(line)
    return counts


def _asserts(line: str) -> bool:
    """Whether a line asserts something: not in a comment, and not that a constant is one."""
    if _COMMENT.match(line) or (found := _ASSERTS.search(line)) is None:
        return False
    rest = _WORD.findall(line[: found.start()] + line[found.end() :])
    about = [word for word in rest if word not in _OF_NOBODY and _ASSERTS.search(word) is None]
    return not about or not all(map(_CONSTANT.fullmatch, about))
