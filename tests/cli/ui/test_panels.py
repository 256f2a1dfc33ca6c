"""What stands in a frame on a terminal, at three widths: the checkpoint, and a question."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.golden_harness import GOLDEN
from tests.cli.terminal import CTRL_C, Terminal
from tests.controller.support import configure, leaf, put_plan
from tests.kept import assert_kept
from tests.support import commit

WIDE = "漢字かな交じり文の題名はとても長いので一行には収まりません, and it goes on in English."
PROMPT = (
    "write x.txt one line that is so long that it does not fit into the frame of a terminal of any width"
    f"\\ntwo\nsay {WIDE}\\nA second line.\non-feedback write x.txt three"
)
ASKS = f"ask tone Which tone is right for {WIDE} | friendly | formal"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("columns", [40, 80, 120])
@pytest.mark.parametrize(
    ("name", "prompt", "shown"), [("checkpoint", PROMPT, "5) View full diff"), ("question", ASKS, "friendly")]
)
def test_a_frame(repo: Path, name: str, prompt: str, shown: str, columns: int) -> None:
    commit(repo, {"README.md": "# A project\n"})
    configure(repo, agent="demo", execution__stopAfterEachTask="true")
    criteria = (WIDE, "x.txt has two lines.")
    put_plan(repo, replace(leaf("a", prompt), title=WIDE, acceptance_criteria=criteria))
    with Terminal(repo, "execute", environ={"COLUMNS": None}, rows=100, columns=columns) as terminal:
        terminal.wait_to_see(shown)
        frame = re.search(r"┏.*┛", terminal.text, re.DOTALL)
        terminal.type(CTRL_C)
        assert terminal.end() == 130
    assert frame is not None
    text = re.sub(r"\b[0-9a-f]{16}\b", "0" * 16, frame[0])
    assert_kept(GOLDEN / f"panel_{name}_{columns}.txt", text + "\n")
