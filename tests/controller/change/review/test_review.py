"""Spec review and code review of a change, side by side."""

from dataclasses import replace
from pathlib import Path

import pytest

from git_blackbird.controller.change.review.review import reopen_reviews
from git_blackbird.controller.change.status_changes import set_status
from git_blackbird.controller.core.ui import Unanswered
from git_blackbird.controller.engine.commands import execute_loop
from git_blackbird.controller.engine.review_commands import review_loop
from git_blackbird.errors import RequestError
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.change.decision import Decision, Reply, RerunReviews
from git_blackbird.model.change.stages import why_asked
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.reviews import merged_or_none, result_of
from git_blackbird.model.run.evidence import CheckResult, Evidence
from git_blackbird.model.run.findings import FollowUp, MergedVerdict
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import CheckOutcome, ReviewState, RunStatus, RunType, TerminalReason
from git_blackbird.model.views.checkpoint import Checkpoint
from git_blackbird.model.views.events import Event, RunStarted
from git_blackbird.model.views.stop import Stop, StopReason
from tests.controller.support import (
    APPROVE,
    Person,
    changes,
    configure,
    execute,
    leaf,
    open_at,
    perform,
    put_plan,
    run_to_stop,
    status,
    store_at,
)
from tests.support import commit

CLEAR = "write x.txt one"
WANTS_MORE = (
    "write x.txt one\non-feedback append x.txt two\nspec-wants x.txt two | critical | x.txt has no two"
)


@pytest.fixture
def demo(repo: Path) -> Path:
    commit(repo, {"README.md": "x\n"})
    configure(repo, agent="demo", reviews__mode="parallel", execution__stopGraceSeconds="0")
    return repo


def runs_of(repo: Path, task_id: str = "a") -> tuple[Run, ...]:
    return store_at(repo).records.history(TaskId(task_id)).work_runs


def reviews(repo: Path, task_id: str = "a") -> list[Run]:
    return list(store_at(repo).records.reviews(TaskId(task_id)).runs)


def test_a_clear_change_is_done_without_a_word(demo: Path) -> None:
    put_plan(demo, leaf("a", CLEAR), leaf("b", "write y.txt one", deps=["a"]))
    assert execute(demo).text == "every task is done"
    (run,) = runs_of(demo)
    merged = merged_or_none(run)
    assert merged is not None
    assert (merged.overall, merged.action) == (MergedVerdict.APPROVED, FollowUp.PROCEED)
    assert (run.review_state, run.decision_state) == (ReviewState.DONE, None)
    found = reviews(demo)
    assert {one.run_type for one in found} == {RunType.SPEC_REVIEW, RunType.CODE_REVIEW}
    assert [(one.status, one.reviewed_run, one.review_round) for one in found] == [
        (RunStatus.SUCCESS, run.id, 1)
    ] * 2
    assert merged.spec is not None
    assert merged.code is not None
    assert {merged.spec.run_id, merged.code.run_id} == {one.id for one in found}


@pytest.mark.exhaustive
def test_with_checkpoints_the_checkpoint_comes_after_the_rounds(demo: Path) -> None:
    put_plan(demo, leaf("a", WANTS_MORE))
    configure(demo, execution__stopAfterEachTask="true")
    person = Person([APPROVE])
    assert execute(demo, person).text == "every task is done"
    (checkpoint,) = person.checkpoints
    assert checkpoint.run.review_round == 2


def test_what_does_not_clear_is_for_a_person_also_without_checkpoints(demo: Path) -> None:
    put_plan(demo, leaf("a", "write x.txt one\non-feedback append x.txt more\nspec-wants x.txt never"))
    configure(demo, reviews__maxIterations="2")
    stop = execute(demo)
    assert stop.reason is StopReason.DECISION_REQUIRED
    assert [run.review_round for run in runs_of(demo)] == [1, 2]
    assert runs_of(demo)[-1].is_pending
    assert status(demo, "a") is Status.WAITING_USER


def test_a_person_who_asks_for_changes_begins_the_rounds_anew(demo: Path) -> None:
    put_plan(demo, leaf("a", "write x.txt one\non-feedback append x.txt more\nspec-wants x.txt never"))
    configure(demo, reviews__maxIterations="1")
    execute(demo, Person([changes("again")]))
    assert [run.review_round for run in runs_of(demo)] == [1, 1]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("line", ["code-fail 3", "code-answer I approve.", "code-ask q Sure?"])
def test_a_missing_reviewer_is_tried_twice_and_is_never_an_approval(demo: Path, line: str) -> None:
    put_plan(demo, leaf("a", f"{CLEAR}\n{line}"))
    assert execute(demo).reason is StopReason.DECISION_REQUIRED
    found = reviews(demo)
    assert sorted(one.run_type for one in found) == ["code_review", "code_review", "spec_review"]
    merged = merged_or_none(runs_of(demo)[0])
    assert merged is not None
    assert (merged.overall, merged.action, merged.code) == (None, None, None)


def test_the_second_try_hears_what_was_wrong_with_the_first(demo: Path) -> None:
    put_plan(demo, leaf("a", f"{CLEAR}\nspec-answer-once <spec-review>"))
    assert execute(demo).text == "every task is done"
    assert [review.run_type for review in reviews(demo)].count(RunType.SPEC_REVIEW) == 2


def test_words_around_and_in_an_approving_form_cost_no_second_try(demo: Path) -> None:
    said = [
        f"{kind}-answer The ISSUES.md file was updated. <{kind}-review><verdict>APPROVED</verdict>"
        f"<summary>An order is REJECTED when stock is empty.</summary></{kind}-review> Do not merge this."
        for kind in ("spec", "code")
    ]
    put_plan(demo, leaf("a", "\n".join([CLEAR, *said])))
    assert execute(demo).text == "every task is done"
    assert [review.status for review in reviews(demo)] == [RunStatus.SUCCESS] * 2


def test_minor_notes_block_nothing(demo: Path) -> None:
    put_plan(demo, leaf("a", f"{CLEAR}\ncode-notes x.txt could be nicer"))
    assert execute(demo).text == "every task is done"
    merged = merged_or_none(runs_of(demo)[0])
    assert merged is not None
    assert (merged.overall, merged.action) == (MergedVerdict.APPROVED_WITH_MINOR, FollowUp.PROCEED_WITH_NOTES)


def test_with_reviews_off_nothing_is_reviewed_and_what_was_due_is_let_go(demo: Path) -> None:
    put_plan(demo, leaf("a", CLEAR))
    configure(demo, reviews__mode="off")
    execute(demo)
    (run,) = runs_of(demo)
    assert (run.review_state, reviews(demo)) == (None, [])
    with store_at(demo).transaction() as transaction:
        transaction.save_run(run.updated(review_state=ReviewState.DUE))
    assert execute(demo).text == "every task is done"
    assert runs_of(demo)[0].review_state is ReviewState.SKIPPED


def test_what_failed_before_is_for_a_person_also_where_its_reviews_are_let_go(demo: Path) -> None:
    put_plan(demo, leaf("a", CLEAR))
    configure(demo, reviews__mode="off", check__mode="gate", check__command="false")
    execute(demo)
    with store_at(demo).transaction() as transaction:
        undecided = runs_of(demo)[0].updated(decision_state=None, decision_required=None)
        transaction.save_run(undecided.updated(review_state=ReviewState.DUE))
    person = Person()
    assert execute(demo, person).reason is StopReason.DECISION_REQUIRED
    assert [(checkpoint.reasons, checkpoint.has_objections) for checkpoint in person.checkpoints] == [
        ((why_asked(Evidence(checks=(CheckResult(outcome=CheckOutcome.FAILED_BEFORE),))),), True)
    ]


def test_failed_runs_are_not_reviewed(demo: Path) -> None:
    put_plan(demo, leaf("a", "fail 3"))
    assert execute(demo).reason is StopReason.FAILED
    assert reviews(demo) == []


def test_both_reviewers_stop_when_interrupted_and_both_review_again(demo: Path) -> None:
    put_plan(demo, leaf("a", f"{CLEAR}\nspec-sleep 600\ncode-sleep 600"))

    class Impatient(Person):
        def notify(self, event: object) -> None:
            if type(event).__name__ == "RunProgress" and len(reviews(demo)) == 2:
                loop.interrupt()

    workspace = open_at(demo)
    loop = execute_loop(workspace, Impatient(), [], None)
    stop = run_to_stop(workspace, loop)
    assert (stop.reason, stop.next_steps) == (StopReason.INTERRUPTED, ("git blackbird execute",))
    assert [(review.status, review.terminal_reason) for review in reviews(demo)] == [
        (RunStatus.FAILED, TerminalReason.INTERRUPTED)
    ] * 2
    assert (runs_of(demo)[0].review_state, status(demo, "a")) == (ReviewState.DUE, Status.IN_PROGRESS)
    configure(
        demo, reviews__timeoutSeconds="5", reviews__spec__agent="claude", claude__path="/nowhere/claude"
    )
    assert execute(demo).reason is StopReason.AGENT_UNAVAILABLE
    set_status(open_at(demo), "a", Status.DONE)
    assert runs_of(demo)[0].superseded_at is not None


def by_hand(repo: Path, task_id: str = "a", person: Person | None = None) -> Stop:
    return perform(
        open_at(repo), person or Person(), lambda workspace, ui: review_loop(workspace, ui, task_id)
    )


@pytest.mark.exhaustive
def test_a_person_may_have_the_change_reviewed_again_before_deciding(demo: Path) -> None:
    put_plan(demo, leaf("a", f"{CLEAR}\ncode-fail 3"))
    person = Person()
    replies: list[Reply] = [RerunReviews(), APPROVE]

    class Patient(Person):
        async def decide(self, checkpoint: Checkpoint) -> Reply | Unanswered | None:
            person.checkpoints.append(checkpoint)
            return replies.pop(0)

    assert execute(demo, Patient()).text == "every task is done"
    assert len(reviews(demo)) == 5
    assert [offer.label for offer in person.checkpoints[0].offers()][-2] == "Review again and fix"


def answers_on_a_retry(repo: Path, prompt: str = "") -> None:
    """Let the code reviewer answer garbage, until a file says that it is well."""
    answer = "<$kind-review><verdict>APPROVED</verdict></$kind-review>"
    reviewer = f"""told=$(cat); kind=spec; case "$told" in *'You are the code reviewer'*) kind=code;; esac
    case "$told" in *'"review":'*) ;; *) echo one >x.txt; exit 0;; esac
    [ $kind = spec ] || [ -e {repo.parent}/well ] || {{ echo garbage; exit 0; }}
    echo "{answer}" """
    configure(repo, agent="command", command__run=reviewer)
    put_plan(repo, leaf("a", prompt))


def make_well(repo: Path) -> None:
    repo.with_name("well").touch()


class Retrying(Person):
    """Asks for the reviews once more, and then decides as it is told."""

    def __init__(self, *decisions: Decision) -> None:
        super().__init__()
        self.replies: list[Reply] = [RerunReviews(), *decisions]

    async def decide(self, checkpoint: Checkpoint) -> Reply | Unanswered | None:
        self.checkpoints.append(checkpoint)
        make_well(Path(checkpoint.run.repo_root or ""))
        return self.replies.pop(0)


def reviewers(repo: Path) -> list[tuple[str, bool]]:
    return [(review.run_type.value, result_of(review) is not None) for review in reviews(repo)]


def test_reviews_that_clear_on_a_retry_finish_the_task_where_checkpoints_are_off(demo: Path) -> None:
    answers_on_a_retry(demo)
    person = Retrying()
    assert execute(demo, person).text == "every task is done"
    assert len(person.checkpoints) == 1
    (run,) = runs_of(demo)
    assert (run.review_state, run.decision_state, run.decision_required) == (ReviewState.DONE, None, None)
    assert status(demo, "a") is Status.DONE


def test_a_retry_by_command_finishes_the_task_as_well(demo: Path) -> None:
    answers_on_a_retry(demo)
    assert execute(demo).reason is StopReason.DECISION_REQUIRED
    make_well(demo)
    assert by_hand(demo).text == "every task is done"
    assert status(demo, "a") is Status.DONE


def test_a_retry_asks_only_the_reviewer_that_is_missing(demo: Path) -> None:
    answers_on_a_retry(demo)
    person = Retrying()
    execute(demo, person)
    found = reviewers(demo)
    assert sorted(found[:3]) == [("code_review", False), ("code_review", False), ("spec_review", True)]
    assert found[3:] == [("code_review", True)]
    (spec,) = (review for review in reviews(demo) if review.run_type is RunType.SPEC_REVIEW)
    assert f"keeping the spec review of a (run {spec.id})" in person.notices()
    merged = merged_or_none(runs_of(demo)[0])
    assert merged is not None
    assert merged.spec is not None
    assert merged.spec.run_id == spec.id


@pytest.mark.exhaustive
def test_a_retry_asks_both_when_the_task_says_something_else_by_now(demo: Path) -> None:
    answers_on_a_retry(demo)
    execute(demo)
    make_well(demo)
    told = store_at(demo).plan().tasks[TaskId("a")]
    put_plan(demo, replace(told, acceptance_criteria=("It has two lines.",)))
    assert by_hand(demo).text == "every task is done"
    assert sorted(reviewers(demo)[3:]) == [("code_review", True), ("spec_review", True)]


def test_with_checkpoints_a_cleared_retry_says_why_a_decision_is_due(demo: Path) -> None:
    answers_on_a_retry(demo)
    configure(demo, execution__stopAfterEachTask="true")
    person = Retrying(APPROVE)
    assert execute(demo, person).text == "every task is done"
    assert [(checkpoint.reasons, checkpoint.has_objections) for checkpoint in person.checkpoints] == [
        (
            ("the code review is missing: the answer has no <code-review> element",),
            True,
        ),
        (("the reviews approve the change, and this call stops after each task",), False),
    ]


@pytest.mark.exhaustive
def test_a_retry_that_is_never_made_leaves_the_decision_to_a_person(demo: Path) -> None:
    answers_on_a_retry(demo)
    execute(demo)
    reopen_reviews(open_at(demo), store_at(demo).plan().tasks[TaskId("a")])
    configure(demo, reviews__mode="off")
    assert execute(demo).reason is StopReason.DECISION_REQUIRED


@pytest.mark.exhaustive
def test_a_review_that_was_finished_when_the_other_was_interrupted_is_kept(demo: Path) -> None:
    put_plan(demo, leaf("a", f"{CLEAR}\ncode-sleep 600"))

    class Impatient(Person):
        def notify(self, event: object) -> None:
            if type(event).__name__ == "RunEnded" and reviews(demo):
                loop.interrupt()

    workspace = open_at(demo)
    loop = execute_loop(workspace, Impatient(), [], None)
    assert run_to_stop(workspace, loop).reason is StopReason.INTERRUPTED
    configure(demo, reviews__timeoutSeconds="5")
    assert execute(demo).reason is StopReason.DECISION_REQUIRED
    assert [review.run_type for review in reviews(demo)].count(RunType.SPEC_REVIEW) == 1


def test_a_pending_change_is_reviewed_by_hand_and_decided_by_the_rule(demo: Path) -> None:
    put_plan(demo, leaf("a", f"{CLEAR}\ncode-notes x.txt fine"))
    configure(demo, reviews__mode="off", execution__stopAfterEachTask="true")
    assert execute(demo).reason is StopReason.DECISION_REQUIRED
    person = Person([APPROVE])
    assert by_hand(demo, person=person).text == "every task is done"
    (checkpoint,) = person.checkpoints
    assert checkpoint.merged is not None
    assert checkpoint.merged.overall is MergedVerdict.APPROVED_WITH_MINOR


def test_a_change_that_is_done_is_only_looked_at(demo: Path) -> None:
    put_plan(demo, leaf("a", f"{CLEAR}\nspec-wants x.txt two"))
    configure(demo, reviews__mode="off")
    execute(demo)
    stop = by_hand(demo)
    assert (stop.reason, stop.text, stop.next_steps) == (
        StopReason.FAILED,
        "the reviews of a did not approve it",
        ("git blackbird review show a", "git blackbird resume a -e    # or -m TEXT"),
    )
    (run,) = runs_of(demo)
    merged = merged_or_none(run)
    assert merged is not None
    assert merged.overall is MergedVerdict.ISSUES
    assert (run.decision_state, status(demo, "a")) == (None, Status.DONE)
    put_plan(demo, leaf("a"), leaf("b"))
    with pytest.raises(RequestError, match="b has no change by an agent to review"):
        by_hand(demo, "b")


def test_a_reviewer_that_cannot_start_is_told_before_the_work_is_done(demo: Path) -> None:
    put_plan(demo, leaf("a", CLEAR))
    configure(demo, reviews__code__agent="claude", claude__path="/nowhere/claude")
    assert execute(demo).reason is StopReason.AGENT_UNAVAILABLE
    assert (runs_of(demo), status(demo, "a")) == ((), Status.TODO)


def test_a_change_is_reviewed_by_who_could_not_review_a_parent(demo: Path) -> None:
    put_plan(demo, leaf("a", CLEAR))
    configure(demo, reviews__mode="off")
    execute(demo)
    answer = "<$kind-review><verdict>APPROVED</verdict></$kind-review>"
    command = f'kind=spec; grep -q "You are the code reviewer" && kind=code; echo "{answer}"'
    configure(demo, agent="command", command__run=command)
    assert by_hand(demo).text == "the reviews of a approved it"


def test_an_answer_too_long_to_be_read_whole_is_no_approval(demo: Path) -> None:
    put_plan(demo, leaf("a"))
    issues = "<spec-review><verdict>ISSUES</verdict><summary>wrong</summary></spec-review>"
    approval = "<$k-review><verdict>APPROVED</verdict></$k-review>"
    configure(
        demo,
        agent="command",
        command__run=f"""told=$(cat); k=code; case "$told" in *'"kind":"spec"'*) k=spec;; esac
        case "$told" in *'"review":'*) ;; *) echo x >x.txt; exit 0;; esac
        [ $k = code ] || {{ echo '{issues}'; head -c 300000 /dev/zero | tr '\\0' '.'; }}
        echo "{approval}" """,
    )
    assert execute(demo).reason is StopReason.DECISION_REQUIRED
    errors = {review.error for review in reviews(demo) if review.run_type is RunType.SPEC_REVIEW}
    assert errors == {"the reviewer's answer is too long"}


@pytest.mark.exhaustive
def test_with_reviews_off_what_they_find_by_hand_is_for_a_person(demo: Path) -> None:
    put_plan(demo, leaf("a", f"{CLEAR}\nspec-wants x.txt two"))
    configure(demo, reviews__mode="off", execution__stopAfterEachTask="true")
    execute(demo)
    person = Person()
    assert by_hand(demo, person=person).reason is StopReason.DECISION_REQUIRED
    (checkpoint,) = person.checkpoints
    assert checkpoint.suggested_request is not None
    assert len(runs_of(demo)) == 1


def test_a_task_that_is_edited_meanwhile_is_reviewed_again_as_it_is_now(demo: Path, tmp_path: Path) -> None:
    put_plan(demo, leaf("a"))
    edited = tmp_path / "edited"
    approval = "<$k-review><verdict>APPROVED</verdict></$k-review>"
    configure(
        demo,
        agent="command",
        # The reviewers must still be there when the task is edited.
        command__run=f"""told=$(cat); k=code; case "$told" in *'"kind":"spec"'*) k=spec;; esac
        case "$told" in *'"review":'*) ;; *) echo x >x.txt; exit 0;; esac
        until [ -e '{edited}' ]; do sleep 0.01; done
        echo "{approval}" """,
    )

    class Editor(Person):
        def notify(self, event: Event) -> None:
            super().notify(event)
            if isinstance(event, RunStarted) and len(reviews(demo)) == 1:
                with pytest.raises(RequestError, match="reviewers are looking at the change of a"):
                    set_status(open_at(demo), "a", Status.DONE)
                wanted = replace(leaf("a"), acceptance_criteria=("It has two lines.",))
                put_plan(demo, replace(wanted, status=Status.IN_PROGRESS))
                edited.touch()

    person = Editor()
    assert execute(demo, person).text == "every task is done"
    assert "a was edited while it was reviewed: its change is reviewed again" in person.notices()
    assert "It has two lines." in str(reviews(demo)[-1].context)


def test_reviewers_see_text_that_attributes_keep_out_of_diffs(demo: Path) -> None:
    put_plan(demo, leaf("a", "write .gitattributes *.txt -diff\nwrite x.txt hidden words"))
    execute(demo)
    assert "+hidden words" in str(reviews(demo)[0].context)


def test_files_are_named_as_in_the_worktree_wherever_a_reviewer_looked(demo: Path) -> None:
    put_plan(demo, leaf("a"))
    issue = '<issue type="bug" severity="critical"><location file="$PWD/x.txt" line="1"/></issue>'
    configure(
        demo,
        agent="command",
        command__run=f"""told=$(cat); k=code; case "$told" in *'"kind":"spec"'*) k=spec;; esac
        case "$told" in *'"review":'*) ;; *) echo x >x.txt; exit 0;; esac
        echo "<$k-review><verdict>ISSUES</verdict><issues>{issue.replace('"', "'")}</issues></$k-review>" """,
        reviews__maxIterations="1",
    )
    execute(demo)
    merged = merged_or_none(runs_of(demo)[-1])
    assert merged is not None
    assert {finding.file for finding in merged.findings} == {"x.txt"}
