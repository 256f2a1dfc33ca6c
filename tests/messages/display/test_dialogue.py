"""What each choice of a decision leads to, and what an agent's question is asked with."""

import pytest

from git_blackbird.messages.display.dialogue import (
    UNDECIDED,
    Confirm,
    Say,
    ShowDiff,
    Unsent,
    WriteReason,
    WriteRequest,
    answers_to,
    next_step,
    offers_of,
    own_words,
    question_title,
)
from git_blackbird.messages.document import Style, plain, styled
from git_blackbird.model.base.ids import ObjectId, TaskId
from git_blackbird.model.change.decision import APPROVES, SPECS, Decision, RerunReviews, Retry, parse_choice
from git_blackbird.model.run.findings import FollowUp, MergedReview, ReviewerSummary
from git_blackbird.model.run.parts import Question
from git_blackbird.model.run.states import Choice, DecisionState, ReviewerVerdict
from git_blackbird.model.run.summary import Outside, Summary, Trees
from git_blackbird.model.views.checkpoint import Checkpoint, OtherBranch, SinceRequest
from tests.controller.support import leaf
from tests.records import STAMP, run_of

TREES, SINCE = Trees(ObjectId("1" * 40), ObjectId("2" * 40)), Trees(ObjectId("3" * 40), ObjectId("2" * 40))
FACTS = {
    "id": "0" * 16,
    "task_id": "a",
    "started_at": STAMP,
    "status": "success",
    "decision_state": "pending",
}
SHOWN = Checkpoint(
    leaf("a"), run_of(**FACTS), Summary(), TREES, Outside(), is_in_worktree=True, follows=TaskId("b")
)
REQUESTED = SHOWN._replace(since_request=SinceRequest("Again.", Summary(), SINCE))
NOTHING = Unsent()
APPROVE = Decision(DecisionState.APPROVED_CONTINUE)
WHY = "Why is a rejected? (Enter alone gives no reason)"


def with_run(**facts: object) -> Checkpoint:
    return SHOWN._replace(run=run_of(**{**FACTS, **facts}))


FAILED = with_run(status="failed")
IN_PART = with_run(landing="blocked", landing_reason="A file.", moving="land", worktree="/w")
NOT_COMMITTED = with_run(landing="landed", worktree="/w")


@pytest.mark.parametrize(
    ("shown", "digits"),
    [
        (SHOWN, "123459"),
        (SHOWN._replace(is_in_worktree=False), "12345"),
        (REQUESTED, "1234589"),
        (FAILED, " 1234569"),
        (IN_PART, "1259"),
        (NOT_COMMITTED, "1590"),
    ],
)
def test_what_is_offered_where(shown: Checkpoint, digits: str) -> None:
    offers = offers_of(shown)
    assert "".join(" " if offer.digit is None else str(offer.digit) for offer in offers) == digits
    assert (UNDECIDED in offers) is (shown.preselected is None)


DIGITS = {
    Choice.APPROVE_CONTINUE: 1,
    Choice.APPROVE_QUIT: 2,
    Choice.REQUEST_CHANGES: 3,
    Choice.REJECT: 4,
    Choice.VIEW_DIFF: 5,
    Choice.RETRY: 6,
    Choice.REVIEW_AGAIN: 7,
    Choice.VIEW_SINCE_REQUEST: 8,
    Choice.REJECT_AND_UNDO: 9,
    Choice.ACCEPT_WITHOUT_COMMIT: 0,
}
CLEARED = MergedReview(
    action=FollowUp.PROCEED,
    spec=ReviewerSummary(verdict=ReviewerVerdict.APPROVED),
    code=ReviewerSummary(verdict=ReviewerVerdict.APPROVED),
)
OF_RUN: tuple[dict[str, object], ...] = (
    {},
    {"status": "failed"},
    {"error": "it ended with status 1"},
    {"check": {"outcome": "failed"}},
    {"check": {"outcome": "failed_before"}},
    {"landing": "blocked", "landing_reason": "A file.", "moving": "land", "worktree": "/w"},
    {"landing": "landed", "worktree": "/w"},
)
OF_CHANGE: tuple[dict[str, object], ...] = (
    {},
    {"pair": None},
    {"summary": Summary(cut=("files: 25 of 40 are shown",))},
    {"is_shown": False},
    {"conflict": "a.txt has conflicts"},
)
OF_REVIEWS: tuple[dict[str, object], ...] = (
    {},
    {"reasons": ("nothing was changed",)},
    {"merged": CLEARED, "reasons": ("the change was reviewed",)},
    {"merged": MergedReview(), "reasons": ("a review is missing",)},
    {"merged": CLEARED.model_copy(update={"action": FollowUp.FIX_AND_REREVIEW})},
)


@pytest.mark.parametrize("of_run", OF_RUN)
@pytest.mark.parametrize("of_change", OF_CHANGE)
@pytest.mark.parametrize("of_reviews", OF_REVIEWS)
def test_a_digit_has_one_meaning_and_an_approval_is_preselected_only_where_all_is_well(
    of_run: dict[str, object], of_change: dict[str, object], of_reviews: dict[str, object]
) -> None:
    """The list is that of the line mode, the prompts and the screen."""
    run = with_run(**of_run).run
    shown = REQUESTED._replace(run=run, **of_change, **of_reviews)  # type: ignore[arg-type]
    offers = offers_of(shown)
    assert {offer.choice: offer.digit for offer in offers if offer.choice}.items() <= DIGITS.items()
    assert all(parse_choice(str(digit), SPECS.values()) is choice for choice, digit in DIGITS.items())
    speaks_against = {"status", "error", "check"} & of_run.keys()
    is_cleared = of_reviews in (OF_REVIEWS[0], OF_REVIEWS[2])
    is_well = not speaks_against and not of_change and is_cleared
    assert offers[0].choice is (Choice.APPROVE_CONTINUE if is_well else None)


@pytest.mark.parametrize(
    ("shown", "labels"),
    [
        (SHOWN, ("Approve and continue with b", "Approve and stop")),
        (SHOWN._replace(follows=None), ("Approve",)),
        (FAILED, ("Accept as it is and continue with b", "Accept as it is and stop")),
        (FAILED._replace(follows=None), ("Accept as it is",)),
    ],
)
def test_to_continue_is_offered_where_something_follows(shown: Checkpoint, labels: tuple[str, ...]) -> None:
    approvals = [offer.label for offer in offers_of(shown) if offer.choice in APPROVES]
    assert tuple(approvals) == labels
    for text in ("1", "approve and CONTINUE"):
        assert parse_choice(text, SHOWN.offers()) is Choice.APPROVE_CONTINUE
    for text in ("1", "2", "approve", "approve and continue", "approve and stop", "approve and quit"):
        assert parse_choice(text, SHOWN._replace(follows=None).offers()) is Choice.APPROVE_CONTINUE


def test_what_reads_otherwise() -> None:
    assert [offer.label for offer in offers_of(NOT_COMMITTED)][:1] == ["Commit again"]
    assert offers_of(FAILED)[1].label == "Accept as it is and continue with b"
    blocked = SHOWN._replace(request_blocked_reason="no session")
    assert [offer.blocked_reason for offer in offers_of(blocked)][2] == "no session"


@pytest.mark.parametrize(
    ("choice", "step"),
    [
        (Choice.APPROVE_CONTINUE, APPROVE),
        (Choice.APPROVE_QUIT, Decision(DecisionState.APPROVED_QUIT)),
        (Choice.REQUEST_CHANGES, WriteRequest(None, "", "")),
        (Choice.REJECT, WriteReason(Decision(DecisionState.REJECTED), WHY)),
        (Choice.VIEW_DIFF, ShowDiff(TREES)),
        (Choice.RETRY, Retry()),
        (Choice.REVIEW_AGAIN, RerunReviews()),
        (Choice.VIEW_SINCE_REQUEST, Say("no diff can be shown: there is no pair of snapshots to compare")),
        (Choice.REJECT_AND_UNDO, WriteReason(Decision(DecisionState.REJECTED, undoes=True), WHY)),
        (Choice.ACCEPT_WITHOUT_COMMIT, APPROVE._replace(without_commit=True)),
    ],
)
def test_where_a_choice_leads(choice: Choice, step: object) -> None:
    assert next_step(SHOWN, choice, NOTHING) == step


def test_a_request_says_what_is_sent_with_it_and_becomes_a_decision() -> None:
    assert next_step(REQUESTED, Choice.VIEW_SINCE_REQUEST, NOTHING) == ShowDiff(SINCE)
    step = next_step(REQUESTED, Choice.REQUEST_CHANGES, NOTHING)
    assert isinstance(step, WriteRequest)
    assert step.remark.startswith("What you requested before is sent again with this")
    assert step.reply(" Say two.\n") == Decision(DecisionState.CHANGES_REQUESTED, " Say two.\n")
    blocked = SHOWN._replace(request_blocked_reason="no session")
    assert next_step(blocked, Choice.REQUEST_CHANGES, NOTHING) == Say("not possible: no session")


def test_an_approval_on_another_branch_is_confirmed() -> None:
    shown = SHOWN._replace(other_branch=OtherBranch("main", "side"))
    step = next_step(shown, Choice.APPROVE_CONTINUE, NOTHING)
    assert isinstance(step, Confirm)
    assert [*plain(step.remarks)] == ["Careful: the run worked on the branch main; now HEAD is on side."]
    assert step.then == APPROVE._replace(branch_confirmed=True)
    assert not isinstance(next_step(shown, Choice.REJECT, NOTHING), Confirm)


@pytest.mark.parametrize(
    ("unsent", "remark", "yes"),
    [
        (Unsent(has_request=True), "Careful: a change request is not sent; 3 sends it.", "Drop it"),
        (Unsent(comments=1), "Careful: 1 comment is not sent; 3 sends it.", "Drop it"),
        (
            Unsent(has_request=True, comments=2),
            "Careful: a change request and 2 comments are not sent; 3 sends them.",
            "Drop them",
        ),
    ],
)
def test_what_is_not_sent_is_dropped_only_where_that_is_confirmed(
    unsent: Unsent, remark: str, yes: str
) -> None:
    shown = SHOWN._replace(other_branch=OtherBranch("main", "side"))
    step = next_step(shown, Choice.APPROVE_CONTINUE, unsent)
    then = next_step(shown, Choice.APPROVE_CONTINUE, NOTHING)
    remarks, drop = (styled(remark, Style.WARNING),), f"{yes}: approve and continue with b"
    assert step == Confirm(remarks, f"{yes}?", drop, then=then)  # type: ignore[arg-type]
    assert next_step(shown, Choice.VIEW_DIFF, unsent) == ShowDiff(TREES)
    assert isinstance(next_step(shown, Choice.REQUEST_CHANGES, unsent), WriteRequest)
    blocked = next_step(SHOWN._replace(request_blocked_reason="gone"), Choice.REJECT, unsent)
    assert isinstance(blocked, Confirm)
    assert "; 3" not in blocked.remarks[0].text


def test_a_question_has_its_options_and_another_answer() -> None:
    listed = Question(id="tongue", prompt="Which?", options=("English", "Deu\x1b[1mtsch"))
    assert [tuple(offer) for offer in answers_to(listed)] == [
        ("English", "English"),
        ("Deu\x1b[1mtsch", "Deutsch"),
        (None, "Other..."),
    ]
    assert answers_to(Question(id="name", prompt="Which?")) == ()
    assert (own_words(listed, "English"), own_words(listed, "Latin")) == ("", "Latin")
    assert (question_title(TaskId("a"), (1, 1)), question_title(TaskId("a"), (2, 3))) == (
        "a asks",
        "a asks (2 of 3)",
    )
