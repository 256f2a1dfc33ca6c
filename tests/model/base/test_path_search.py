"""Paths named by ``@``: which are offered, and how they are written."""

import re
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_blackbird.clean import clean
from git_blackbird.model.base.path_search import MAX_SHOWN, MENTION, PathIndex, mention, mentioned

_ESCAPE = re.compile(r"\\([0-7]{3}|.)")
_LETTERS = {"n": "\n", "t": "\t"}
FILE_NAMES = st.binary(min_size=1).map(lambda data: data.replace(b"\0", b"").decode(errors="surrogateescape"))


def unquoted(written: str) -> bytes:
    """Read a path that is quoted as in C, as a program would that is told of it."""
    if not written.startswith('"'):
        return written.encode(errors="surrogateescape")

    def byte(match: re.Match[str]) -> str:
        told = match[1]
        return (
            chr(int(told, 8) + 0xDC00)
            if told.isdigit() and int(told, 8) > 127
            else (chr(int(told, 8)) if told.isdigit() else _LETTERS.get(told, told))
        )

    return _ESCAPE.sub(byte, written[1:-1]).encode(errors="surrogateescape")


def matching(paths: Iterable[str], wanted: str) -> list[str]:
    return [path for lot in PathIndex(paths).matching(wanted) for path in lot]


def test_the_likeliest_come_first() -> None:
    paths = ["docs/overview.md", "lib/v-i-e-w.py", "src/View.py", "view/a.py", "viewer.txt", "z.py"]
    assert list(PathIndex(paths).matching("view")) == [
        ["src/View.py", "viewer.txt", "view/a.py", "docs/overview.md"],
        ["lib/v-i-e-w.py"],
    ]
    assert list(PathIndex(paths).matching("zzz")) == [[]]


@given(st.lists(st.text("ab/.B", min_size=1), unique=True, max_size=19), st.text("ab/.B"))
def test_where_few_hold_it_all_are_found_that_do_or_have_its_letters(paths: list[str], wanted: str) -> None:
    letters = re.compile(".*".join(map(re.escape, wanted.casefold())))
    assert sorted(matching(paths, wanted)) == sorted(
        mention(path)
        for path in paths
        if wanted.casefold() in f"/{path.casefold()}" or letters.search(path.casefold())
    )


def test_what_is_offered_is_bounded() -> None:
    many = [f"file{number}" for number in range(10_000)]
    assert len(matching(many, "file")) == len(matching(many, "")) == len(matching(many, "f9")) == MAX_SHOWN


@pytest.mark.parametrize(
    ("path", "written"),
    [
        ("src/é.py", "src/é.py"),
        ("a b", '"a b"'),
        ('q"\\', '"q\\"\\\\"'),
        ("a\nb", '"a\\nb"'),
        ("\x1b[2J", '"\\033[2J"'),
        ("caf\udce9", '"caf\\351"'),
        ("\u202egpj", '"\\342\\200\\256gpj"'),
    ],
)
def test_a_path_is_written_so_that_it_means_the_file(path: str, written: str) -> None:
    assert mention(path) == written
    assert matching([path], path[:1]) == [written]


@given(FILE_NAMES)
def test_whatever_a_file_is_called_it_is_harmless_and_meant(path: str) -> None:
    written = mention(path)
    assert clean(written) == written
    assert "\n" not in written
    assert unquoted(written) == path.encode(errors="surrogateescape")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("See @src/a.py, (@b.py:12-14) and mail@host.", ["src/a.py"]),
        ("@a:3: fix\n> @quoted\n  @b/", ["a", "b/"]),
        ('Read @"a b.txt".', ['"a b.txt"']),
        ("@ @, @", []),
    ],
)
def test_what_a_text_names_ends_before_what_follows(text: str, names: list[str]) -> None:
    assert list(mentioned(text)) == names


@pytest.mark.parametrize(
    ("line", "named"),
    [("see @src/a", "src/a"), ('@"my fi', '"my fi'), ("mail@host", None), ('@"a b" and', None)],
)
def test_what_is_being_named_may_hold_spaces_once_it_is_quoted(line: str, named: str | None) -> None:
    found = MENTION.search(line)
    assert (None if found is None else found[1]) == named
