"""The files of results in a checkout."""

from pathlib import Path

import pytest

from git_blackbird.controller.change.check.results import read_results, remove_results
from git_blackbird.errors import UnusableError
from git_blackbird.model.run.evidence import CaseState


def test_a_test_that_is_named_by_its_file_has_the_same_name_in_each_checkout(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    for name in ("head", "base"):
        place = link / name
        (place / "out").mkdir(parents=True)
        for number, top in enumerate((place, place.resolve())):
            text = f'<testsuite><testcase classname="test" name="{top}/a.test.js"/></testsuite>'
            (place / "out" / f"{number}.xml").write_text(text)
        results = read_results(place, ["out/*.xml"])
        assert results is not None
        assert results.states == {"a.test.js": CaseState.PASSED}
        remove_results(place, ["**/1.xml", "out/0.x?l"])
        assert read_results(place, ["out/*.xml"]) is None


def test_globs_that_name_too_much_remove_no_file_but_reports(tmp_path: Path) -> None:
    tmp_path /= "copy"
    left = {"run.sh": "echo <x>\n", "app.py": "import app\n", "a/b.html": "<p>a<p>", "c.json": "{}"}
    reports = {
        "r.xml": "\ufeff<testsuite/>",
        "cov.xml": '<!DOCTYPE coverage SYSTEM "x.dtd"><coverage/>',
        "out/lcov.info": "TN:\nSF:app.js\nend_of_record\n",
        "cov.json": '{"files": {}}',
        "empty.xml": "",
    }
    for name, text in {**left, **reports}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "link.xml").symlink_to(tmp_path / "run.sh")
    remove_results(tmp_path, ["**"])
    assert [name for name in left if not (tmp_path / name).exists()] == []
    assert [
        name
        for name in (*reports, "link.xml")
        if (tmp_path / name).is_symlink() or (tmp_path / name).exists()
    ] == []
    with pytest.raises(UnusableError, match=r"in app\.py are no JUnit XML: syntax error"):
        read_results(tmp_path, ["**"])


def test_a_link_in_the_place_of_results_is_named_as_one(tmp_path: Path) -> None:
    (tmp_path / "r.xml").symlink_to("/etc/passwd")
    with pytest.raises(UnusableError, match=r"cannot be read: r\.xml: it is a symbolic link"):
        read_results(tmp_path, ["*.xml"])
