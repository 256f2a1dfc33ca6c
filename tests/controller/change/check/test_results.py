"""The files of results in a checkout."""

from pathlib import Path

from git_blackbird.controller.change.check.results import read_results, remove_results
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
