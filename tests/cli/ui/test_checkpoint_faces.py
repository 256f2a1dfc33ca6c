"""What a person or a program sees of a decision: each face has every line that another one has."""

import asyncio
import re
from dataclasses import replace
from pathlib import Path

import pytest

from git_blackbird.cli.ui.display import LiveDisplay
from git_blackbird.cli.ui.json import JsonUI
from git_blackbird.cli.ui.plain import PlainUI
from git_blackbird.cli.ui.writer import Writer
from git_blackbird.messages.display.checkpoint import (
    TITLE,
    checkpoint_facts,
    fit_checkpoint,
    render_overview,
)
from git_blackbird.model.base.ids import ObjectId, RunId, TaskId
from git_blackbird.model.base.next_steps import ShellLine
from git_blackbird.model.change.change import Asked, Told
from git_blackbird.model.run.evidence import ChangeCoverage, CheckResult, Evidence, MissedLines, RedGreen
from git_blackbird.model.run.findings import (
    Finding,
    MergedReview,
    ReviewResult,
    Severity,
    Source,
    merge,
)
from git_blackbird.model.run.parts import Question, RemoteProcess, ReviewComment, Ruling, Side
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import CheckOutcome, DecisionState, ReviewerVerdict, RunStatus, RunType
from git_blackbird.model.run.summary import (
    EditedTest,
    FileChange,
    FileStatus,
    InterleavedEdit,
    Outside,
    OutsideChange,
    OutsideMove,
    SkippedPath,
    Snippet,
    Subject,
    SubmoduleChange,
    Summary,
    SwitchedBranch,
    Totals,
    Trees,
)
from git_blackbird.model.views.checkpoint import (
    Checkpoint,
    CommentOutcome,
    CommitPreview,
    OtherBranch,
    SinceRequest,
    WorkElsewhere,
)
from tests.controller.support import STAMP, leaf, open_at

A, B = (ObjectId(letter * 40) for letter in "ab")
SESSION = "session"
MARK = re.compile(r"mark\w+")
"""A word that stands for one thing that is known of the change."""
NO_LINES = {
    "options",  # of the command, for the next steps
    "request_blocked_reason",  # said at the choice
    "suggested_request",  # begins the text of a request
    "is_in_worktree",
    "was_merged",
    "max_rounds",
    "is_shown",
    "follows",  # these shape the choices
    "pair",  # the diff itself, and in --json
}
NUMBERS = {"runs": 7001, "round_number": 7002, "cost_usd": 7003.0, "behind": 7004, "unblocks": 7005}
BESIDE_THE_DIFF = {"markfile", "marksnippet", "markcut"}
"""What a screen need not say, which has the whole diff beside the lines."""
TEXTS_OF_THE_TASK = {"markdescription", "markprompt", "marktasknote"}
"""What lines on a terminal leave to ``show``, and so does ``--json``."""
ASKED = "markasked"
"""What was requested: a program has it in what was done since."""


def _summary(path: str) -> Summary:
    return Summary(
        changes=(FileChange(status=FileStatus.ADDED, path=path, additions=1),),
        files=(path,),
        totals=Totals(files=1, additions=1),
    )


SUMMARY = _summary("markfile").model_copy(
    update={
        "snippets": (Snippet(file="markfile", snippet="+marksnippet"),),
        "cut": ("markcut",),
        "left_out": (SkippedPath(path="markleftout", reason="markwhyleftout"),),
        "between": (InterleavedEdit(path="markbetween", task="markother", run="1" * 16),),
        "head_moves": (
            OutsideMove(old=A, new=B, text="markmoved", paths=("markmovedpath",)),
            OutsideMove(old=A, new=B, text="markincluded", in_change=True),
        ),
        "submodules": (SubmoduleChange(path="marksubmodule", content=True, files=("markbelow",)),),
        "switched": SwitchedBranch(branch="markswitched", since=A, unmerged=("markunmerged",)),
        "takes_back": ("marktakesback",),
    }
)
FINDING = Finding(
    source=Source.SPEC,
    type="bug",
    severity=Severity.CRITICAL,
    description="markfinding",
    file="markfindingfile",
    fix="markfix",
)
MERGED: MergedReview = merge(
    ReviewResult(source=Source.SPEC, verdict=ReviewerVerdict.ISSUES, findings=(FINDING,)),
    ReviewResult(source=Source.CODE, verdict=ReviewerVerdict.APPROVED),
)
QUESTION = Question(id="markquestion", prompt="markasks?", options=("markoption",))
COMMENT = ReviewComment(path="markcommented", side=Side.NEW, start=1, end=1, text="markcomment")
RUN = Run(
    id=RunId("0" * 16),
    task_id=TaskId("a"),
    provider="markagent",
    process=RemoteProcess(worker="markworker"),
    started_at=STAMP,
    run_type=RunType.EXECUTE,
    status=RunStatus.FAILED,
    decision_state=DecisionState.PENDING,
    error="markerror",
    final_text="markanswer",
    evidence=Evidence(
        checks=(
            CheckResult(
                outcome=CheckOutcome.FAILED,
                command="make",
                exit_code=1,
                output="markcheck",
                restored=("markrestored",),
            ),
        ),
        edited_tests=(EditedTest(status=FileStatus.DELETED, path="marktest"),),
        edited_programs=("markprogram",),
        red_green=RedGreen(
            red=("markred",), green=("markgreen",), unloaded=("markunloaded",), reason="markmissing"
        ),
        coverage=ChangeCoverage(
            lines=9,
            missed=1,
            files=(MissedLines(path="markmissed", content=A, lines="1"),),
            absent=("markabsent",),
            fault="markfault",
        ),
    ),
    hook_output="markhook",
    plan_edits=("markplan",),
    config_edits=("markconfig",),
    notes=("marknote",),
    masked_secrets={"marksecret": 1},
)
EVERYTHING = Checkpoint(
    task=replace(
        leaf("a"),
        title="marktitle",
        description="markdescription",
        prompt="markprompt",
        notes="marktasknote",
        acceptance_criteria=("markcriterion",),
    ),
    run=RUN,
    summary=SUMMARY,
    pair=Trees(A, B),
    outside=Outside(
        paths=("markoutside",),
        seen=(OutsideChange(subject=Subject.BRANCH, name="markseen", before=A, after=B),),
    ),
    moved=("markdiffers",),
    commit=CommitPreview(paths=1, branch="main", obstacles=("markobstacle",)),
    merged=MERGED,
    reasons=("markreason",),
    since_request=SinceRequest(
        ASKED, _summary("marksince"), Trees(A, B), (CommentOutcome(COMMENT, is_taken_up=True),)
    ),
    other_branch=OtherBranch("markbranch", "markhead"),
    edited=("markedited",),
    edited_tests=(
        EditedTest(status=FileStatus.RENAMED, path="marknew", old_path="marktest", weaker=("markweaker",)),
    ),
    conflict="markconflict",
    both_added=_summary("markbothadded"),
    worktree="/markworktree",
    asked=Asked(ASKED),
    told=(Told("marktold", is_late=False, is_sent=True),),
    rulings=(Ruling(question=QUESTION, told="decide", decision="markdecision", reason="markwhy"),),
    work_elsewhere=WorkElsewhere("markelsewhere", ShellLine("git merge")),
    **NUMBERS,  # type: ignore[arg-type]
)


@pytest.fixture
def faces(repo: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What each face says of a decision of which everything is known."""
    monkeypatch.setenv("COLUMNS", "200")
    writer = Writer()
    asyncio.run(PlainUI(open_at(repo), writer, asks=True, wants_output=False).decide(EVERYTHING))
    writer.close()
    said = {"plain": capfd.readouterr().out}
    display = LiveDisplay(colored=True)
    display.show_panel(TITLE, fit_checkpoint(EVERYTHING, 10_000, display.height)[0])
    display.close()
    said["terminal"] = capfd.readouterr().out
    writer = Writer()
    asyncio.run(JsonUI(writer, wants_output=False).decide(EVERYTHING))
    writer.close()
    said["--json"] = capfd.readouterr().out
    overview = (*checkpoint_facts(EVERYTHING), *(line.text for line in render_overview(EVERYTHING)))
    said["screen"] = "\n".join(overview)
    return said


def test_everything_that_is_known_of_a_change_is_said_by_each_face(faces: dict[str, str]) -> None:
    marks = {face: {*MARK.findall(text)} for face, text in faces.items()}
    known = set(MARK.findall(repr(EVERYTHING)))
    assert known - marks["plain"] == TEXTS_OF_THE_TASK
    assert marks["terminal"] == marks["plain"]
    assert marks["screen"] ^ marks["plain"] == BESIDE_THE_DIFF | TEXTS_OF_THE_TASK
    assert marks["--json"] == marks["plain"]
    for number in NUMBERS.values():
        assert all(str(number)[:4] in text for text in faces.values()), number


def test_what_all_runs_cost_does_not_stand_beside_the_time_of_the_last() -> None:
    assert not any("7003" in fact for fact in checkpoint_facts(EVERYTHING))
    assert any("7003" in line.text for line in render_overview(EVERYTHING))


def test_nothing_of_a_checkpoint_is_missing_in_that_example() -> None:
    """A field that is added to a checkpoint belongs into the example above, or is no line."""
    defaults = Checkpoint._field_defaults
    unset = {name for name, value in EVERYTHING._asdict().items() if defaults.get(name, ...) == value}
    assert unset == NO_LINES - {"pair"}
