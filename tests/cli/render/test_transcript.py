"""Steps as blocks of text: what a person reads in ``--stream``, ``--follow`` and ``--log``."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_blackbird.clean import clean
from git_blackbird.cli.render.transcript import ProgressLog, wrap
from git_blackbird.messages.display.quantities import render_spent
from git_blackbird.messages.document import line, plain, width_of
from git_blackbird.model.rules.spending import Spent
from git_blackbird.model.run.agent_io import Progress, ProgressKind
from git_blackbird.model.run.parts import Usage

EVIL = "\x1b]0;title\x07\x1b[31mred\x1b[0m\u202e\x07 \ud800 \x9b2K\r\n\x1b[2J end\x1b"


def usage(tokens: int) -> Usage:
    return Usage(input_tokens=tokens - 1, output_tokens=1)


def render_steps(*steps: Progress, columns: int | None = None) -> str:
    transcript = ProgressLog(colored=False)
    return "".join(transcript.render(step, columns) for step in steps)


def test_each_step_is_a_block_and_a_message_is_whole() -> None:
    assert render_steps(
        Progress(ProgressKind.SAYS, "I look first.\n\n    parse()\n- then I change it\n"),
        Progress(ProgressKind.READS, "src/parse.py"),
        Progress(ProgressKind.EDITS, "src/parse.py"),
        Progress(ProgressKind.RUNS, "pytest -q"),
        Progress(ProgressKind.TOOL, "Task look around"),
        Progress(ProgressKind.NOTE, "the session is compacted"),
        Progress(ProgressKind.PRINTS, "shown as it is printed"),
        Progress(ProgressKind.SPENDS, "", usage(10), 0.01),
        Progress(ProgressKind.SAYS, " \n"),
    ) == (
        "  says   I look first.\n"
        "\n"
        "             parse()\n"
        "         - then I change it\n"
        "  reads  src/parse.py\n"
        "  edits  src/parse.py\n"
        "  runs   pytest -q\n"
        "  uses   Task look around\n"
        "  note   the session is compacted\n"
    )


def test_figures_are_said_when_they_have_grown_much_and_at_the_end() -> None:
    transcript = ProgressLog(colored=False)
    told = [
        transcript.render(Progress(ProgressKind.READS, "a", usage(tokens), tokens / 1_000_000))
        for tokens in range(5_000, 100_000, 5_000)
    ]
    assert [index for index, block in enumerate(told) if "spent" in block] == [1, 4, 9, 16]
    assert told[4] == "  reads  a\n  spent  25.0k tokens, $0.03\n"
    assert transcript.render(Progress(ProgressKind.SPENDS, "", None, 0.2)) == "  spent  95.0k tokens, $0.20\n"
    assert transcript.finish(usage(100_000), None) == "  spent  100.0k tokens, $0.20\n"


def test_figures_that_were_said_last_are_not_said_again_and_belong_to_one_run() -> None:
    transcript = ProgressLog(colored=False)
    first = transcript.render(Progress(ProgressKind.SPENDS, "", usage(50_000), 0.5))
    assert first == "  spent  50.0k tokens, $0.50\n"
    assert transcript.finish(usage(50_000), 0.5) == ""
    assert transcript.finish(None, None) == ""
    assert transcript.render(Progress(ProgressKind.READS, "a", usage(10))) == "  reads  a\n"
    assert transcript.finish(None, 0.0) == "  spent  10 tokens\n"


def test_long_lines_are_folded_below_their_text() -> None:
    step = Progress(ProgressKind.SAYS, "one two three four five six seven eight nine ten")
    assert (
        render_steps(step, columns=35)
        == "  says   one two three four five\n         six seven eight nine ten\n"
    )
    assert render_steps(step, columns=12).count("\n") == 1


def test_only_what_is_not_the_agents_own_is_dim() -> None:
    transcript = ProgressLog(colored=True)
    step = Progress(ProgressKind.READS, "a.py", usage(20_000))
    assert transcript.render(step) == ("  \x1b[2mreads\x1b[0m  a.py\n\x1b[2m  spent  20.0k tokens\x1b[0m\n")
    assert transcript.remark("so it is") == "\x1b[2m  [so it is]\x1b[0m\n"


@pytest.mark.parametrize("kind", ProgressKind)
def test_nothing_in_a_step_steers_a_terminal(kind: ProgressKind) -> None:
    for columns in (None, 40):
        block = render_steps(Progress(kind, EVIL * 10), columns=columns)
        assert clean(block) == block
        assert block.encode().decode() == block


@pytest.mark.parametrize("kind", ProgressKind)
@pytest.mark.parametrize("char", ["x", "\u0301", "漢", "\n", "\x1b[31m"])
def test_a_step_is_bounded(kind: ProgressKind, char: str) -> None:
    assert len(render_steps(Progress(kind, char * 1_000_000), columns=80)) < 300_000


def test_a_message_that_is_cut_says_so() -> None:
    assert render_steps(Progress(ProgressKind.SAYS, "x" * 20_001)).endswith(
        "x\n         [1 more characters]\n"
    )


@given(st.text(alphabet="ab 漢\u0301\t.", max_size=200), st.integers(20, 60))
def test_folding_loses_nothing_but_spaces_and_fits(text: str, columns: int) -> None:
    parts = list(plain(wrap(line(text), columns)))
    assert "".join("".join(parts).split()) == "".join(text.split())
    assert all(width_of(part) <= columns for part in parts)


@pytest.mark.parametrize(
    ("spent", "text"),
    [
        (Spent(), ""),
        (Spent(input_tokens=999), "999 tokens"),
        (Spent(input_tokens=1_000), "1.0k tokens"),
        (Spent(input_tokens=999_999), "999.9k tokens"),
        (Spent(input_tokens=12_345_678, cost_usd=1.25), "12.3M tokens, $1.25"),
        (Spent(cost_usd=0.0004), "$0.0004"),
        (Spent(input_tokens=-5, cost_usd=-1.0), ""),
        (Spent(input_tokens=10**4000, cost_usd=1e300), "1000.0G tokens, $1000000000000.00"),
    ],
)
def test_figures_take_a_few_characters(spent: Spent, text: str) -> None:
    assert render_spent(spent) == text
