"""Lines of code of any kind, also of such that no lexer can read."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_blackbird.controller.proof.lexed import Lexed, Use, used
from tests.support import examples

PATHS = st.sampled_from(
    ["a.py", "a.js", "a.sh", "a.go", "a.c", "a.html", "Makefile", "a.json", "a.unknown", "a"]
)
PIECES = st.sampled_from(
    [
        "def f(",
        ")",
        "{",
        "}",
        "x = 1",
        "'",
        '"""',
        "#",
        "/*",
        "*/",
        "\n",
        "\n\n",
        "  ",
        "\t",
        "\r",
        "\0",
        "é",
        "$(",
    ]
)
CONTENTS = st.one_of(
    st.binary(max_size=80), st.lists(PIECES, max_size=40).map(lambda parts: "".join(parts).encode())
)


@settings(max_examples=examples(200), deadline=None)
@given(path=PATHS, content=CONTENTS)
def test_any_file_has_lines_names_and_blocks(path: str, content: bytes) -> None:
    file = Lexed(path, content)
    count = len(content.split(b"\n"))
    assert len(file.lines) == count
    assert len(file.said(0, count)) <= count
    assert {name.text for name in file.names(0, count)} == file.all_names
    blocks = [*file.blocks(0, count)]
    assert [start for start, _ in blocks] == [0, *(start + length for start, length in blocks)][:-1]
    assert sum(length for _, length in blocks) == count
    start, length = file.trimmed(0, count)
    assert file.said(start, length) == file.said(0, count)


@pytest.mark.parametrize(
    ("path", "line", "names"),
    [
        ("a.py", "def f(x, *, y=None): z = x", "f:W x:P y:P z:W"),
        ("a.py", "  self.a = b(c, d=e)", "a:W"),
        ("a.py", "from a.b import c as d, e", "c:I d:I e:I"),
        ("a.py", "  for i in x: pass", "i:L"),
        ("a.js", "  run (a, b) { const c = a", "run:W a:P b:P c:L"),
        ("a.js", "describe('x', function () {", ""),
        ("a.go", "func (s *T) Do(a int) error {", "Do:W a:P"),
        ("a.go", "\tLimit int", "Limit:W"),
        ("a.c", "static int f(char *p) {", "f:W p:P"),
        ("a.rs", "fn f(a: u8) -> u8 { let b = a; b }", "f:W a:P b:W"),
        ("a.java", "  private int limit = 3;", "limit:W"),
        ("a.sh", "f() { local x=$1; }", "f:W x:W"),
    ],
)
def test_what_a_line_introduces(path: str, line: str, names: str) -> None:
    found = Lexed(path, line.encode()).names(0, 1)
    introduced = {f"{name.text}:{name.scope.name[0]}" for name in found if name.scope is not None}
    assert introduced == {*names.split()}


def test_what_is_introduced_before_is_not_used() -> None:
    file = Lexed("a.py", b"y = a.b(x, c=1)\nprint(y)\n")
    assert {*used(file.names(0, 2))} == {
        ("a", Use.PLAIN),
        ("b", Use.MEMBER),
        ("x", Use.PLAIN),
        ("c", Use.KEYWORD),
    }


def test_a_script_is_told_by_its_first_line() -> None:
    file = Lexed("run", b"#!/bin/sh\n# Why.\nf\n")
    assert file.said(1, 2) == [("f",)]
