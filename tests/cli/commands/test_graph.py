"""``graph``: the plan as Mermaid, DOT and SVG, with states in words, and opened in the browser."""

import json
import re
from pathlib import Path

import pytest
from defusedxml import ElementTree

from git_blackbird.model.plan.status import Status
from tests.cli.plans import task
from tests.cli.terminal import Terminal
from tests.controller.support import put_plan
from tests.trial.program import Trial

HOSTILE = '</title><script>1</script> "]; end -->\\'
MERMAID = r"""flowchart LR
  t1["a<br>Task a<br>DONE"]:::done
  t2["b<br>#60;/title#62;#60;script#62;1#60;/script#62; #34;#93;#59; end --#62;#92;<br>IN#95;PROGRESS"]:::run
  t3["c<br>Task c<br>BLOCKED"]:::todo
  t1 --> t2
  t2 --> t3
"""


@pytest.fixture
def trial(repo: Path) -> Trial:
    put_plan(
        repo,
        task("a", status=Status.DONE),
        task("b", HOSTILE, deps=("a",), status=Status.IN_PROGRESS),
        task("c", deps=("a", "b")),
    )
    return Trial(repo)


def test_tasks_have_their_states_in_words_and_colours(trial: Trial) -> None:
    drawn = trial.expect(0, "graph")
    assert drawn.startswith(MERMAID)
    assert "\n  classDef done stroke:#1a7f37,stroke-width:2px\n" in drawn
    dot = trial.expect(0, "graph", "--format", "dot").splitlines()
    assert dot[3] == '  t1 [label="a\\nTask a\\nDONE", color="#1a7f37"];'
    assert dot[4] == (
        r'  t2 [label="b\n</title><script>1</script> \"]; end -->\\\nIN_PROGRESS", color="#0969da"];'
    )
    assert dot[6:] == ["  t1 -> t2;", "  t2 -> t3;", "}"]
    said = json.loads(trial.expect(0, "graph", "--json"))["data"]
    assert said == {"form": "mermaid", "text": drawn, "place": None}


def test_an_svg_is_a_file_of_its_own(trial: Trial) -> None:
    drawn = ElementTree.fromstring(trial.expect(0, "graph", "--format", "svg"))
    name = "{http://www.w3.org/2000/svg}"
    assert drawn.tag == f"{name}svg"
    assert drawn.find(f"{name}script") is None
    texts = [element.text for element in drawn.iter(f"{name}text")]
    assert texts[:4] == ["a", "Task a", "DONE", "\N{CHECK MARK}"]
    assert "IN_PROGRESS" in texts
    style = drawn.findtext(f"{name}style") or ""
    assert set(re.findall(r"var\((--\w+)\)", style)) <= set(re.findall(r"(--\w+):", style))


def test_a_large_plan_is_drawn_whole(repo: Path) -> None:
    put_plan(repo, *(task(f"t{number}", deps=(f"t{number - 1}",) if number else ()) for number in range(500)))
    trial = Trial(repo)
    assert trial.expect(0, "graph").count("-->") == 499
    assert trial.expect(0, "graph", "--format", "svg").count("<g>") == 500


def test_the_browser_is_opened_or_where_the_picture_is_is_said(trial: Trial) -> None:
    place = trial.repo / ".git/blackbird/plan.svg"
    assert trial.expect(0, "graph", "--open") == f"{place}\n"
    assert place.read_text().startswith("<svg ")
    assert "--format asks for dot" in trial.expect(2, "graph", "--open", "--format", "dot")
    browser = trial.repo.parent / "browser"
    browser.write_text('#!/bin/sh\necho "$1" >"$0.seen"\n')
    browser.chmod(0o755)
    with Terminal(trial.repo, "graph", "--open", environ={"BROWSER": f"{browser} %s"}) as terminal:
        assert terminal.end() == 0
    assert (trial.repo.parent / "browser.seen").read_text() == f"{place.as_uri()}\n"
