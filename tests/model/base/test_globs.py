"""Which paths a glob of the configuration names."""

import pytest

from git_blackbird.model.base.globs import matching, names_nothing


@pytest.mark.parametrize(
    ("glob", "matched", "others"),
    [
        ("report.xml", ["report.xml"], ["out/report.xml", "reportxxml"]),
        ("out/*.xml", ["out/a.xml", "out/.xml"], ["out/b/a.xml", "a.xml"]),
        ("**/TEST-*.xml", ["TEST-a.xml", "a/b/TEST-.xml"], ["a/NO-TEST-a.xml"]),
        ("tests/**", ["tests/a", "tests/a/b\nc"], ["tests", "a/tests/b"]),
        ("tests/", ["tests", "tests/a", "tests/a/b"], ["tests.py", "a/tests/b"]),
        ("./a/../t*", ["tests", "tests/a", "t/a/b"], ["a/t"]),
        ("a?c[1]", ["abc[1]"], ["a/c[1]", "abc1"]),
    ],
)
def test_a_glob_names_paths(glob: str, matched: list[str], others: list[str]) -> None:
    found = matching([glob, "else"])
    assert [path for path in (*matched, *others) if found.fullmatch(path)] == matched
    assert found.fullmatch("else")
    assert not matching([]).fullmatch("a")


def test_a_glob_that_can_match_nothing_is_known() -> None:
    nothing = ["/tmp/x/*.xml", "../*.xml", "a/../../b.xml", "..", ".", "", "//x"]
    assert all(map(names_nothing, nothing))
    assert not any(map(names_nothing, ["**", "a/../b", "./a", ".a", "..a", "...", "*"]))
