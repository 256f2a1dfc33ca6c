"""The parts of the faces that need no terminal: text, cleaning, completing, writing."""

import asyncio
import itertools
import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from git_blackbird.clean import clean
from git_blackbird.cli.json_values import encode
from git_blackbird.cli.printed.events import shown_event
from git_blackbird.cli.ui.agent_printer import AgentPrinter
from git_blackbird.cli.ui.prompts import PathCompleter
from git_blackbird.cli.ui.writer import MAX_BACKLOG, Writer
from git_blackbird.controller.queries.diff import full_diff, paths_of
from git_blackbird.messages.display.checkpoint import render_checkpoint
from git_blackbird.messages.display.events import render_event
from git_blackbird.messages.display.format import render_path
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.base.sanitize import StreamSanitizer
from git_blackbird.model.change.change import Asked
from git_blackbird.model.run.agent_io import Progress, ProgressKind
from git_blackbird.model.run.parts import Usage
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import DecisionState, RunStatus, RunType, TerminalReason
from git_blackbird.model.run.summary import (
    FileChange,
    FileStatus,
    InterleavedEdit,
    Outside,
    SkippedPath,
    Snippet,
    Summary,
    Totals,
    Trees,
)
from git_blackbird.model.views.checkpoint import Checkpoint, SinceRequest
from git_blackbird.model.views.events import (
    Decided,
    Event,
    Level,
    Notice,
    RunEnded,
    RunOutput,
    RunPlaced,
    RunProgress,
    RunStarted,
)
from tests.controller.support import STAMP, leaf, open_at
from tests.support import commit, git, write

RUN = Run(
    id=RunId("0" * 16),
    task_id=TaskId("a"),
    provider="claude",
    started_at=STAMP,
    status=RunStatus.SUCCESS,
    decision_state=DecisionState.PENDING,
)
EVIL = "\x1b]0;title\x07\x1b[31mred\x1b[0m\u202e"


def checkpoint(run: Run, summary: Summary, **fields: object) -> Checkpoint:
    fields = {"outside": Outside(), **fields}
    return Checkpoint(task=leaf("a"), run=run, summary=summary, pair=None, **fields)  # type: ignore[arg-type]


def lines(shown: Checkpoint) -> str:
    return "\n".join(line.text for line in render_checkpoint(shown))


def test_a_checkpoint_says_everything_there_is_to_say() -> None:
    summary = Summary(
        files=("b.py",),
        diffstat=" b.py | 3 ++-\n 5 files changed",
        snippets=(Snippet(file="b.py", snippet="@@ -1 +1 @@\n-old\n+new\n same"),),
        changes=(
            FileChange(status=FileStatus.MODIFIED, path="b.py", additions=2, deletions=1),
            FileChange(status=FileStatus.RENAMED, path="new name", old_path="old\nname", additions=1),
            FileChange(status=FileStatus.ADDED, path="picture.png", binary=True),
            FileChange(status=FileStatus.MODIFIED, path="run.sh", old_mode="100644", new_mode="100755"),
            FileChange(status=FileStatus.DELETED, path="gone", deletions=3),
        ),
        totals=Totals(files=30, additions=300, deletions=4),
        cut=("files: 5 of 30 files are shown",),
        left_out=(SkippedPath(path="big.bin", reason="larger than 50 MB"),),
        between=(InterleavedEdit(path="b.py", task="z", run="1" * 16),),
    )
    run = RUN.updated(status=RunStatus.FAILED, error="exit status 7").updated(
        final_text="one\ntwo\nthree\nfour\nfive",
        plan_edits=("task x was added",),
        notes=("1 process(es) the agent left behind were stopped",),
    )
    shown = checkpoint(run, summary, moved=("b.py",), runs=3, cost_usd=0.034)
    assert lines(shown) == EVERYTHING


EVERYTHING = """\
Task: a - Task a
Run status: failed (exit status 7)
Run 0000000000000000, claude, 3 runs together, cost $0.03
Agent says:
  (1 line before)
  two
  three
  four
  five
Review summary:
  Files:
    M b.py  +2 -1
    R "old\\nname" -> new name  +1 -0
    A picture.png  binary
    M run.sh  +0 -0 (mode 100644 -> 100755)
    D gone  +0 -3
    together: 30 files, +300 -4
  Snippets:
    b.py
      @@ -1 +1 @@
      -old
      +new
       same
Not all is shown:
  files: 5 of 30 files are shown
The worktree no longer matches the change in:
  b.py
Left out of the snapshot:
  big.bin (larger than 50 MB)
Also touched by another task in between:
  b.py by run 1111111111111111 of z
Edited in the plan during the run; this counts once you approve:
  task x was added
Notes:
  1 process(es) the agent left behind were stopped"""


def test_a_checkpoint_without_a_change_says_none() -> None:
    assert lines(checkpoint(RUN, Summary(minimal="git took longer than 60 seconds"))) == (
        "Task: a - Task a\nRun status: success\nRun 0000000000000000, claude\nReview summary:\n"
        "  this summary is minimal: git took longer than 60 seconds\n"
        "  Files:\n    (none)\n  Snippets:\n    (none)"
    )


def test_a_record_of_the_go_program_shows_plain_names() -> None:
    assert "  Files:\n    a.py\n    b.py\n  Snippets:" in lines(
        checkpoint(RUN, Summary(files=("a.py", "b.py")))
    )
    stat = " a.py | 3 ++-\n b.py | 1 +\n 2 files changed, 3 insertions(+), 1 deletion(-)\n"
    assert (
        "  Files:\n    a.py | 3 ++-\n    b.py | 1 +\n    2 files changed, 3 insertions(+), 1 deletion(-)\n"
    ) in lines(checkpoint(RUN, Summary(files=("a.py", "b.py"), diffstat=stat)))


def test_criteria_and_a_long_request_are_bounded() -> None:
    task = replace(leaf("a"), acceptance_criteria=tuple(f"Criterion {number}." for number in range(23)))
    text = "\n".join(map(str, range(20)))
    since = SinceRequest(text, Summary(minimal="tree dddd is gone"), None)
    shown = lines(checkpoint(RUN, Summary())._replace(task=task, since_request=since, asked=Asked(text)))
    assert "Acceptance criteria:\n  - Criterion 0.\n" in shown
    assert "  - Criterion 19.\n  (3 more: git blackbird show a)\nRun status" in shown
    assert "\n  > 11\n  (8 more lines)\nChanged since the request:\n  not known: tree dddd is gone\n" in shown


def test_many_warnings_are_bounded() -> None:
    shown = lines(checkpoint(RUN, Summary(), moved=tuple(f"f{number}" for number in range(40))))
    assert shown.endswith("  f9\n  and 30 more")


def test_nothing_in_a_checkpoint_steers_the_terminal() -> None:
    summary = Summary(
        files=(EVIL,),
        diffstat=EVIL,
        snippets=(Snippet(file=EVIL, snippet=EVIL),),
        changes=(FileChange(status=FileStatus.ADDED, path=EVIL, old_path=EVIL),),
        cut=(EVIL,),
        left_out=(SkippedPath(path=EVIL, reason=EVIL),),
        minimal=EVIL,
    )
    run = RUN.updated(provider=EVIL, error=EVIL).updated(final_text=EVIL, plan_edits=(EVIL,), notes=(EVIL,))
    shown = lines(checkpoint(run, summary, moved=(EVIL,)))
    assert clean(shown) == shown


def test_a_choice_that_cannot_be_made_says_why() -> None:
    shown = checkpoint(RUN, Summary(), request_blocked_reason="no session")
    obstacles = [shown.blocked_reason(offer.choice) for offer in shown.offers()]
    assert obstacles == [None, "no session", None, "there is no pair of snapshots to compare"]
    assert [shown.is_possible(offer.choice) for offer in shown.offers()] == [True, False, True, False]


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("plain", "plain"),
        ("é ü", "é ü"),
        ("a\nb", '"a\\nb"'),
        ("\x1b[2J", '"\\u001b[2J"'),
        ("\u202e", '"\\u202e"'),
    ],
)
def test_paths_are_one_harmless_line(path: str, shown: str) -> None:
    assert render_path(path) == shown


REVIEW = RUN.updated(run_type=RunType.REVIEW)
FAILING = REVIEW.updated(
    parent_review_passed=False,
    parent_review_resume_task_ids=(TaskId("b"), TaskId("c")),
    parent_review_feedback=f"Too\n  short.{EVIL} {'x' * 300}",
)
CHANGED = Summary(totals=Totals(files=3, additions=12, deletions=4), files=("x", "y", "z"))


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (RunStarted(TaskId("a"), "T", RUN.id, "claude", None, 1), f"starting a (run {RUN.id}, claude)"),
        (RunStarted(TaskId("a"), "T", RUN.id, "claude", RUN.id, 1), f"resuming a (run {RUN.id}, claude)"),
        (RunPlaced(TaskId("a"), RUN.id, "rack"), "a is worked on by rack"),
        (
            RunEnded(
                RUN.updated(review_summary=CHANGED).updated(cost_usd=0.031),
                "T",
                41.9,
            ),
            "completed a: 3 files, +12 -4, $0.03, 41s",
        ),
        (
            RunEnded(RUN.updated(review_summary=Summary()), "T", 3725),
            "completed a: no changes, 1h02m",
        ),
        (
            RunEnded(RUN.updated(status=RunStatus.FAILED, error="exit status 7"), "T", 65),
            "failed a: exit status 7",
        ),
        (
            RunEnded(RUN.updated(status=RunStatus.WAITING_USER), "T", 1),
            "a is waiting for user input",
        ),
        (RunEnded(RUN.updated(status=RunStatus.PAUSED), "T", 1), "a is paused"),
        (
            RunEnded(
                RUN.updated(status=RunStatus.PAUSED).updated(terminal_reason=TerminalReason.WALL_LIMIT),
                "T",
                1,
            ),
            "a is paused: it reached its time limit",
        ),
        (
            RunEnded(
                RUN.updated(status=RunStatus.PAUSED).updated(terminal_reason=TerminalReason.IDLE_LIMIT),
                "T",
                1,
            ),
            "a is paused: it printed nothing for too long",
        ),
        (
            RunEnded(
                RUN.updated(status=RunStatus.PAUSED, error="slow down").updated(
                    terminal_reason=TerminalReason.IDLE_LIMIT
                ),
                "T",
                1,
            ),
            "a is paused: it printed nothing for too long: slow down",
        ),
        (
            Decided(TaskId("a"), RUN.id, DecisionState.REJECTED, elsewhere=False),
            "Rejected a. Your files were left as they are.",
        ),
        (
            Decided(TaskId("a"), RUN.id, DecisionState.CHANGES_REQUESTED, elsewhere=True),
            "a: changes requested from another terminal",
        ),
        (
            RunStarted(TaskId("a"), "T", RUN.id, "claude", None, 1, RunType.REVIEW),
            f"running parent review for a (run {RUN.id}, claude)",
        ),
        (
            RunEnded(
                REVIEW.updated(parent_review_passed=True).updated(cost_usd=0.5),
                "T",
                3,
            ),
            "parent review passed for a: $0.50, 3s",
        ),
        (
            RunEnded(FAILING, "T", 3),
            f"parent review failed for a\nresume tasks: b, c\nfeedback: Too short.red\ufffd {'x' * 163}...",
        ),
        (
            RunEnded(REVIEW.updated(status=RunStatus.FAILED, error=f"it asked{EVIL}"), "T", 3),
            "no verdict on a: it askedred\ufffd",
        ),
        (RunEnded(REVIEW, "T", 3), "no verdict on a: it gave no verdict"),
        (
            RunEnded(
                REVIEW.updated(error="logged out").updated(superseded_at=STAMP, superseded_by="unavailable"),
                "T",
                3,
            ),
            "could not review a: logged out",
        ),
        (
            RunEnded(FAILING.updated(superseded_at=STAMP, superseded_by="plan-changed"), "T", 3),
            "the review of a does not count: the work it reviewed has changed since",
        ),
        (Notice(Level.WARNING, "odd", ("do this", "or that")), "warning: odd\nhint: do this\nhint: or that"),
        (Notice(Level.INFO, "so it is"), "so it is"),
    ],
)
def test_every_event_is_a_line(event: Event, text: str) -> None:
    assert render_event(event) == text


PIECES = st.lists(
    st.sampled_from(
        [
            b"\x1b",
            b"[31m",
            b"]0;x",
            b"\x07",
            b"\\",
            b"P",
            b"\r",
            b"\n",
            b"\xc3",
            b"\xa9",
            b"text",
            b"\x9b",
            b"\x00",
        ]
    ),
    max_size=30,
)


@given(PIECES, st.lists(st.integers(0, 120), max_size=8))
def test_cleaning_is_the_same_however_output_is_cut(pieces: list[bytes], cuts: list[int]) -> None:
    data = b"".join(pieces)
    ends = sorted({0, len(data), *(min(cut, len(data)) for cut in cuts)})
    whole, cut_up = StreamSanitizer(), StreamSanitizer()
    expected = whole.feed(data) + whole.finish()
    shown = "".join(cut_up.feed(data[start:end]) for start, end in itertools.pairwise(ends))
    shown += cut_up.finish()
    assert shown == expected
    assert clean(shown) == shown
    assert not shown or shown.endswith("\n")


def test_a_sequence_that_never_ends_is_not_held_for_ever() -> None:
    stream = StreamSanitizer()
    shown = "".join(stream.feed(b"\x1b]0;" + b"x" * 5000) for _ in range(3))
    assert len(shown) > 5000
    assert "\x1b" not in shown


def test_completing_offers_the_best_paths_first(repo: Path) -> None:
    commit(repo, {"src/view.py": "", "view/a.py": "", "docs/overview.md": ""})
    write(
        repo,
        {"viewer.txt": "", ".gitignore": "*.log\n", "view.log": "", ".blackbird/runs/x": "", "b\x1b.py": ""},
    )
    load = len
    loads: list[int] = []

    def paths() -> list[str]:
        loads.append(load(loads))
        return paths_of(open_at(repo))

    completer = PathCompleter(paths)

    def offered(text: str) -> list[str]:
        return [one.text for one in completer.get_completions(Document(text), CompleteEvent())]

    assert offered("no mention") == []
    assert offered("mail@view") == []
    assert offered("see @View") == ["src/view.py", "viewer.txt", "view/a.py", "docs/overview.md"]
    everything = [".gitignore", '"b\\033.py"', "docs/overview.md", "src/view.py", "view/a.py", "viewer.txt"]
    assert offered("@") == everything
    assert offered("@none") == []
    assert len(loads) == 1


def test_the_full_diff_is_text(repo: Path) -> None:
    commit(repo, {"a": "one\n"})
    base = git(repo, "rev-parse", "HEAD^{tree}")
    commit(repo, {"a": b"\xff\n"})
    shown = full_diff(open_at(repo), Trees(base, git(repo, "rev-parse", "HEAD^{tree}")))
    assert shown.endswith("-one\n+\ufffd\n")


def test_a_writer_writes_all_in_order(capfd: pytest.CaptureFixture[str]) -> None:
    writer = Writer()
    for number in range(500):
        writer.put(f"{number}\n")
    asyncio.run(writer.drained())
    assert capfd.readouterr().out == "".join(f"{number}\n" for number in range(500))
    writer.close()


def test_a_writer_drops_what_may_be_dropped_and_says_so(capfd: pytest.CaptureFixture[str]) -> None:
    writer = Writer()
    gate = threading.Event()

    def wait() -> None:
        gate.wait(30)

    writer.perform(wait)
    writer.put_droppable("x" * (MAX_BACKLOG + 1))
    writer.put_droppable("lost")
    writer.drop(6)
    writer.put("kept\n")
    gate.set()
    asyncio.run(writer.drained())
    writer.put_droppable("again\n")
    writer.close()
    shown = capfd.readouterr().out
    assert shown.removeprefix("x" * (MAX_BACKLOG + 1)) == (
        "kept\n\n[10 bytes are not shown: the screen could not keep up]\nagain\n"
    )


def test_what_was_not_read_is_said_before_what_was(capfd: pytest.CaptureFixture[str]) -> None:
    writer = Writer()
    shown = AgentPrinter(writer, colored=False)
    shown.show(RunOutput(TaskId("a"), RUN.id, b"first\n"))
    shown.show(RunOutput(TaskId("a"), RUN.id, b"later\n", skipped=5_000_000))
    writer.close()
    assert capfd.readouterr().out == (
        "first\n\n[5000000 bytes are not shown: the screen could not keep up]\nlater\n"
    )


def test_steps_are_dropped_as_what_is_printed_and_that_is_said(capfd: pytest.CaptureFixture[str]) -> None:
    writer = Writer()
    shown = AgentPrinter(writer, colored=False)
    gate = threading.Event()

    def wait() -> None:
        gate.wait(30)

    writer.perform(wait)
    writer.put("x" * (MAX_BACKLOG + 1))
    shown.follow(Progress(ProgressKind.READS, "lost"))
    shown.show(RunOutput(TaskId("a"), RUN.id, b"an event stream", is_plain=False))
    gate.set()
    asyncio.run(writer.drained())
    shown.follow(Progress(ProgressKind.READS, "seen", Usage(input_tokens=10)))
    shown.finish(RUN.updated(usage=Usage(input_tokens=20, output_tokens=1)))
    writer.close()
    assert capfd.readouterr().out.lstrip("x") == (
        "\n[14 bytes are not shown: the screen could not keep up]\n  reads  seen\n  spent  21 tokens\n"
    )


def test_a_json_step_tells_what_was_spent() -> None:
    step = Progress(ProgressKind.SPENDS, "", Usage(input_tokens=10, output_tokens=2, cached_tokens=4), 0.5)
    name, shown = shown_event(RunProgress(TaskId("a"), RUN.id, step))
    assert name == "progress"
    assert encode(shown) == {
        "task": "a",
        "run": RUN.id,
        "kind": "spends",
        "text": "",
        "usage": {"input_tokens": 10, "output_tokens": 2, "cached_tokens": 4},
        "costUsd": 0.5,
    }


def test_what_goes_wrong_in_a_writer_is_told_at_its_end(capfd: pytest.CaptureFixture[str]) -> None:
    writer = Writer()

    def fail() -> None:
        raise ZeroDivisionError

    writer.perform(fail)
    writer.put("still shown\n")
    with pytest.raises(ZeroDivisionError):
        writer.close()
    assert capfd.readouterr().out == "still shown\n"


def test_a_writer_goes_on_where_writing_would_block() -> None:
    read_end, write_end = os.pipe()
    saved = os.dup(1)
    os.dup2(write_end, 1)
    os.set_blocking(1, False)
    try:
        writer = Writer()
        writer.put("x" * 1_000_000)
        closing = threading.Thread(target=writer.close)
        closing.start()
        got = 0
        while got < 1_000_000:
            got += len(os.read(read_end, 65536))
        closing.join(30)
        assert not closing.is_alive()
    finally:
        os.dup2(saved, 1)
        for descriptor in (read_end, write_end, saved):
            os.close(descriptor)
