"""Stories of tasks that work in worktrees of their own, and of how their changes land."""

import itertools
import os
import stat
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest

from git_blackbird.controller.change.decide.checkpoint import pending_checkpoint
from git_blackbird.controller.change.decide.record import record_decision
from git_blackbird.controller.change.export import create_task_branch
from git_blackbird.controller.change.land.landing import land, prepare_landing
from git_blackbird.controller.change.land.sent_back import block_landing
from git_blackbird.controller.change.move import Move
from git_blackbird.controller.change.status_changes import reset_task, set_status
from git_blackbird.controller.change.undo.undo import redo_task, undo_task
from git_blackbird.controller.engine.commands import ResumeRequest, restart_loop, resume_loop
from git_blackbird.controller.engine.review_commands import review_loop
from git_blackbird.controller.place.listing import PlaceState, list_places, prune_places
from git_blackbird.controller.queries.status import build_overview
from git_blackbird.errors import RequestError, UnusableError
from git_blackbird.git.change.merging import GitTooOldError
from git_blackbird.messages.display.checkpoint import GOES_BACK, render_checkpoint
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.change.decision import Decision
from git_blackbird.model.change.stages import Stage, stage_of
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.parts import Moving
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import CheckOutcome, DecisionState, LandingState, Requester, Verb
from git_blackbird.model.run.summary import ChangePart, Trees
from git_blackbird.model.views.checkpoint import Checkpoint
from git_blackbird.model.views.events import LandingEnded, Notice
from git_blackbird.model.views.stop import Stop, StopReason
from tests.controller.killing import run_killed
from tests.controller.support import (
    APPROVE,
    REJECT,
    Person,
    configure,
    execute,
    leaf,
    open_at,
    perform,
    put_plan,
    runs_of,
    status,
    store_at,
)
from tests.git.support import script
from tests.support import commit, git, write

LINES = "".join(f"line {number}\n" for number in range(1, 10))


@pytest.fixture
def demo(repo: Path) -> Path:
    """A repository in which the embedded agent works on each task in a worktree of its own."""
    commit(repo, {"a.txt": LINES, ".gitignore": ".blackbird\nblackbird.plan.json\nignored.txt\n"})
    configure(repo, agent="demo", execution__stopGraceSeconds="1", execution__worktrees="true")
    return repo


def by_command(repo: Path, command: str) -> None:
    configure(repo, agent="command", command__run=command)


def resume(repo: Path, task_id: str, person: Person, message: str) -> Stop:
    request = ResumeRequest(task_id, message)
    return perform(open_at(repo), person, lambda workspace, ui: resume_loop(workspace, ui, request))


def worktree(repo: Path, task_id: str) -> Path:
    return repo.parent / f"{repo.name}.worktrees" / task_id


def last(repo: Path, task_id: str) -> Run:
    return runs_of(repo, task_id)[-1]


def real_git() -> Path:
    return next(
        Path(folder, "git") for folder in os.environ["PATH"].split(":") if Path(folder, "git").exists()
    )


def landing_of(run: Run) -> LandingState | None:
    return None if run.landing is None else run.landing.state


def landings(person: Person) -> list[tuple[str, LandingState | None, tuple[str, ...]]]:
    ended = (event for event in person.events if isinstance(event, LandingEnded))
    return [(event.task_id, landing_of(event.run), event.reasons) for event in ended]


def pending(repo: Path, *prompts: str) -> None:
    """Let tasks a, b, … be worked on, each in its worktree, until a decision is due on each."""
    put_plan(repo, *(leaf(name, prompt) for name, prompt in zip("abc", prompts, strict=False)))
    configure(repo, execution__jobs="3", execution__stopAfterEachTask="true")
    execute(repo)
    configure(repo, execution__jobs="1")


def test_a_change_lands_beside_what_the_person_does_meanwhile(demo: Path) -> None:
    write(demo, {"mine.txt": "before\n"})
    pending(demo, "write new.txt hello\\n\ndelete a.txt\nappend mine.txt theirs")
    assert worktree(demo, "a").is_dir()
    assert (demo / "mine.txt").read_text() == "before\n"
    write(demo, {"other.txt": "staged\n"})
    git(demo, "add", "other.txt")
    index = git(demo, "ls-files", "-s")
    person = Person([APPROVE])
    stop = execute(demo, person)
    assert stop.reason is StopReason.COMPLETED
    assert landings(person) == [("a", LandingState.LANDED, ())]
    assert status(demo, "a") is Status.DONE
    assert (demo / "mine.txt").read_text() == "before\ntheirs\n"
    assert git(demo, "status", "--short") == " D a.txt\nA  other.txt\n?? mine.txt\n?? new.txt"
    assert git(demo, "ls-files", "-s") == index
    assert not worktree(demo, "a").parent.exists()
    assert git(demo, "worktree", "list", "--porcelain").count("worktree ") == 1


def test_until_it_is_approved_nothing_of_it_is_in_the_worktree(demo: Path) -> None:
    pending(demo, "write new.txt hello")
    assert git(demo, "status", "--short") == ""
    assert status(demo, "a") is Status.WAITING_USER
    record_decision(open_at(demo), "a", APPROVE)
    assert status(demo, "a") is Status.IN_PROGRESS
    assert git(demo, "status", "--short") == ""
    execute(demo)
    assert git(demo, "status", "--short") == "?? new.txt"


def test_both_edits_of_one_file_are_merged(demo: Path) -> None:
    by_command(demo, "sed -i 's/line 2$/theirs/' a.txt")
    pending(demo, "")
    write(demo, {"a.txt": LINES.replace("line 8", "mine")})
    execute(demo, Person([APPROVE]))
    assert (demo / "a.txt").read_text() == LINES.replace("line 8", "mine").replace("line 2", "theirs")


def test_a_renamed_file_takes_the_edit_along(demo: Path) -> None:
    by_command(demo, "git mv a.txt b.txt")
    pending(demo, "")
    write(demo, {"a.txt": LINES.replace("line 8", "mine")})
    execute(demo, Person([APPROVE]))
    assert not (demo / "a.txt").exists()
    assert (demo / "b.txt").read_text() == LINES.replace("line 8", "mine")


def test_links_and_modes_land(demo: Path) -> None:
    by_command(demo, "ln -s a.txt link; chmod +x a.txt; mkdir d; echo x >d/f")
    pending(demo, "")
    execute(demo, Person([APPROVE]))
    assert (demo / "link").readlink() == Path("a.txt")
    assert (demo / "a.txt").stat().st_mode & stat.S_IXUSR
    assert (demo / "d/f").read_text() == "x\n"


def test_line_ends_land_as_git_checks_them_out(demo: Path) -> None:
    commit(demo, {".gitattributes": "*.bat text eol=crlf\n", "x.bat": "one\r\ntwo\r\nthree\r\n"})
    by_command(demo, "printf 'ONE\\r\\ntwo\\r\\nthree\\r\\n' >x.bat")
    pending(demo, "")
    write(demo, {"x.bat": "one\r\ntwo\r\nTHREE\r\n"})
    git(demo, "config", "merge.renormalize", "true")
    execute(demo, Person([APPROVE]))
    assert (demo / "x.bat").read_bytes() in {b"ONE\r\ntwo\r\nTHREE\r\n", b"one\r\ntwo\r\nTHREE\r\n"}


def test_without_decisions_a_change_lands_at_the_end_of_its_run(demo: Path) -> None:
    put_plan(demo, leaf("a", "write x.txt one"), leaf("b", "append x.txt two", deps=["a"]))
    person = Person()
    assert execute(demo, person).reason is StopReason.COMPLETED
    assert [task_id for task_id, _, _ in landings(person)] == ["a", "b"]
    assert (demo / "x.txt").read_text() == "one\ntwo\n"


def test_agents_see_uncommitted_work_and_leave_the_plan_alone(demo: Path) -> None:
    write(demo, {"a.txt": "edited\n", "new.txt": "new\n"})
    by_command(demo, "cat a.txt new.txt >seen.txt; git status --short >>seen.txt; ! ls -a | grep plan")
    put_plan(demo, leaf("a"))
    execute(demo)
    assert (demo / "seen.txt").read_text() == "edited\nnew\n?? seen.txt\n"


def conflicting(repo: Path, on_feedback: str = "write x.txt both") -> None:
    """A change that is approved, and a file of the person's that it conflicts with."""
    pending(repo, f"write x.txt theirs\non-feedback {on_feedback}")
    write(repo, {"x.txt": "mine"})
    record_decision(open_at(repo), "a", APPROVE)


def test_a_conflict_goes_to_the_session_with_both_sides(demo: Path) -> None:
    by_command(
        demo,
        'if [ "$BLACKBIRD_RESUME" ]; then cat x.txt; git status --short; echo both >x.txt; '
        "else echo theirs >x.txt; fi",
    )
    conflicting(demo)
    person = Person([APPROVE])
    execute(demo, person)
    conflict = "it conflicts with your worktree in x.txt"
    assert landings(person) == [("a", LandingState.DUE, (conflict,)), ("a", LandingState.LANDED, ())]
    first, second = runs_of(demo, "a")
    assert (first.decision_state, first.requested_by) == (DecisionState.CHANGES_REQUESTED, "landing")
    assert second.provider_session_ref == first.provider_session_ref
    assert second.worktree_path == first.worktree_path
    seen = (second.stdout or "").splitlines()
    assert [line[:7] for line in seen] == ["<<<<<<<", "mine", "=======", "theirs", ">>>>>>>", "AA x.tx"]
    assert "x.txt" in (first.decision_feedback or "")
    assert (demo / "x.txt").read_text() == "both\n"
    checkpoint = person.checkpoints[0]
    assert checkpoint.pair is not None
    assert "-mine" in git(demo, "diff", *checkpoint.pair)


@pytest.mark.exhaustive
def test_a_merge_that_cannot_be_written_in_the_worktree_of_the_task_takes_nothing_back(demo: Path) -> None:
    """Else the person's own edit would seem to be undone by the change."""
    by_command(
        demo, 'if [ "$BLACKBIRD_RESUME" ]; then echo both >x.txt; else mkdir own.txt; echo theirs >x.txt; fi'
    )
    conflicting(demo)
    folder = worktree(demo, "a") / "own.txt"
    write(demo, {"own.txt": "mine\n"})
    write(folder, {"built.o": "ignored"})
    write(demo, {".git/info/exclude": "*.o\n"})
    with pytest.raises(UnusableError, match=r"own\.txt: a folder with other files is in its place") as told:
        execute(demo, Person([APPROVE]))
    assert told.value.hint is not None
    assert str(worktree(demo, "a")) in told.value.message
    folder.rename(demo.parent / "aside")
    assert execute(demo, Person([APPROVE])).reason is StopReason.COMPLETED
    assert (demo / "own.txt").read_text() == "mine\n"
    assert (demo / "x.txt").read_text() == "both\n"


class Editing(Person):
    """Approves, and edits a file first."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    async def decide(self, checkpoint: Checkpoint) -> Decision | None:
        self._path.write_text(f"edit {len(self.checkpoints)}\n")
        self.checkpoints.append(checkpoint)
        return APPROVE if len(self.checkpoints) < 3 else None


@pytest.mark.exhaustive
def test_a_conflict_with_an_edit_made_meanwhile_is_no_round(demo: Path) -> None:
    conflicting(demo)
    configure(demo, landing__maxRounds="1")
    person = Editing(demo / "x.txt")
    assert execute(demo, person).reason is StopReason.DECISION_REQUIRED
    assert [state for _, state, _ in landings(person)] == [LandingState.DUE] * 3
    assert last(demo, "a").is_pending
    assert stage_of(last(demo, "a")) is Stage.DECIDING
    assert (demo / "x.txt").read_text() == "edit 2\n"
    assert len(runs_of(demo, "a")) == 4


@pytest.mark.exhaustive
def test_what_a_landing_said_of_one_worktree_is_not_said_of_the_next(demo: Path) -> None:
    by_command(demo, 'cat; [ "$BLACKBIRD_RESUME" ] || echo theirs >x.txt')
    conflicting(demo)
    configure(demo, landing__maxRounds="1")
    execute(demo, Person([APPROVE, REJECT]))
    remarks = "move it to where it belongs"
    assert remarks in (last(demo, "a").stdout or "")
    reset_task(open_at(demo), "a")
    execute(demo, Person())
    assert len(runs_of(demo, "a")) == 3
    assert remarks not in (last(demo, "a").stdout or "")


def test_no_round_means_a_person_at_once(demo: Path) -> None:
    conflicting(demo)
    configure(demo, landing__maxRounds="0")
    person = Person()
    stop = execute(demo, person)
    assert stop.reason is StopReason.DECISION_REQUIRED
    ((_, state, reasons),) = landings(person)
    assert state is LandingState.BLOCKED
    assert reasons == (
        (
            "it conflicts with your worktree in x.txt; sent back 0 of 0 times (landing.maxRounds); "
            "resolve it in its worktree (`git blackbird worktrees open a` says where), and approve"
        ),
    )
    assert person.checkpoints[0].reasons == (f"it has not landed: {reasons[0]}",)
    assert (demo / "x.txt").read_text() == "mine"
    (demo / "x.txt").unlink()
    execute(demo, Person([APPROVE]))
    assert (demo / "x.txt").read_text() == "theirs\n"
    assert status(demo, "a") is Status.DONE


@pytest.mark.exhaustive
def test_a_change_that_cannot_land_is_reviewed_again_and_then_decided_on(demo: Path) -> None:
    conflicting(demo)
    configure(demo, landing__maxRounds="0")
    execute(demo)
    assert stage_of(last(demo, "a")) is Stage.BLOCKED
    person = Person([APPROVE])
    stop = perform(open_at(demo), person, lambda workspace, ui: review_loop(workspace, ui, "a"))
    assert [checkpoint.merged is not None for checkpoint in person.checkpoints] == [True, True]
    # It was approved, and still conflicts.
    assert (stop.reason, stage_of(last(demo, "a"))) == (StopReason.DECISION_REQUIRED, Stage.BLOCKED)
    assert (demo / "x.txt").read_text() == "mine"


def test_the_check_runs_on_the_merged_files(demo: Path) -> None:
    configure(demo, check__command="! { [ -e x.txt ] && [ -e y.txt ]; }", landing__maxRounds="1")
    pending(demo, "write x.txt one\non-feedback delete x.txt\non-feedback write z.txt three")
    write(demo, {"y.txt": "mine\n"})
    person = Person([APPROVE, APPROVE])
    execute(demo, person)
    failing = "the check fails on the merged files"
    assert landings(person) == [("a", LandingState.DUE, (failing,)), ("a", LandingState.LANDED, ())]
    first, second = runs_of(demo, "a")
    assert first.landing_evidence is not None
    assert first.landing_evidence.outcome is CheckOutcome.FAILED
    assert "merged" in (first.decision_feedback or "")
    assert second.worktree_base != first.worktree_base
    assert git(demo, "status", "--short") == "?? y.txt\n?? z.txt"


def test_a_person_may_land_what_the_check_refuses(demo: Path) -> None:
    configure(demo, check__command="! { [ -e x.txt ] && [ -e y.txt ]; }", landing__maxRounds="0")
    pending(demo, "write x.txt one")
    write(demo, {"y.txt": "mine\n"})
    person = Person([APPROVE, APPROVE])
    execute(demo, person)
    assert [state for _, state, _ in landings(person)] == [LandingState.BLOCKED, LandingState.LANDED]
    assert git(demo, "status", "--short") == "?? x.txt\n?? y.txt"


def test_an_edit_while_the_check_runs_is_merged_as_well(demo: Path) -> None:
    edit = f"[ ! -e {demo}/go ] || {{ rm {demo}/go; sed -i 's/line 8$/mine/' {demo}/a.txt; }}"
    by_command(demo, "sed -i 's/line 2$/theirs/' a.txt")
    pending(demo, "")
    configure(demo, check__command=edit)
    write(demo, {"go": ""})
    execute(demo, Person([APPROVE]))
    assert (demo / "a.txt").read_text() == LINES.replace("line 8", "mine").replace("line 2", "theirs")


def test_a_file_that_git_ignores_is_not_overwritten(demo: Path) -> None:
    by_command(demo, "echo theirs >ignored.txt; git add -f ignored.txt")
    pending(demo, "")
    write(demo, {"ignored.txt": "mine\n"})
    person = Person([APPROVE])
    execute(demo, person)
    ((_, state, (reason,)),) = landings(person)
    assert state is LandingState.BLOCKED
    assert reason.startswith("ignored.txt: a file that git ignores")
    assert (demo / "ignored.txt").read_text() == "mine\n"


@pytest.mark.exhaustive
def test_an_approval_commits_what_has_landed(demo: Path) -> None:
    configure(demo, execution__commit="approved")
    pending(demo, "write x.txt one\\n")
    write(demo, {"a.txt": "edited\n", "staged.txt": "staged\n"})
    git(demo, "add", "staged.txt")
    execute(demo, Person([APPROVE]))
    assert git(demo, "show", "--format=%s %(trailers:key=Blackbird-Task,separator=%x2C)", "--stat=80").split(
        "\n"
    ) == [
        "Task a Blackbird-Task: a",
        "",
        " x.txt | 1 +",
        " 1 file changed, 1 insertion(+)",
    ]
    assert git(demo, "status", "--short") == " M a.txt\nA  staged.txt"
    assert last(demo, "a").commits == (git(demo, "rev-parse", "HEAD"),)


def test_what_cannot_be_committed_does_not_land(demo: Path) -> None:
    configure(demo, execution__commit="approved")
    by_command(demo, "sed -i 's/line 2$/theirs/' a.txt")
    pending(demo, "")
    write(demo, {"a.txt": LINES.replace("line 8", "mine")})
    person = Person([APPROVE])
    execute(demo, person)
    ((_, state, (reason,)),) = landings(person)
    assert state is LandingState.BLOCKED
    assert reason.startswith("its change cannot be committed; a.txt: ")
    git(demo, "commit", "-qam", "mine")
    execute(demo, Person([APPROVE]))
    assert status(demo, "a") is Status.DONE
    assert git(demo, "status", "--short") == ""


@pytest.mark.sampled(1)
@pytest.mark.parametrize("then", ["commit it", "accept it as it is", "take it back"])
def test_what_a_hook_keeps_from_its_commit_waits_for_a_person(demo: Path, then: str) -> None:
    configure(demo, execution__commit="approved")
    pending(demo, "write x.txt one")
    put_plan(demo, *open_at(demo).plan_state().plan.tasks.values(), leaf("b", deps=("a",)))
    hook = script(demo / ".git/hooks/pre-commit", "echo no; exit 1")
    record_decision(open_at(demo), "a", APPROVE)
    # It is there, and nothing that depends on it starts.
    stop = execute(demo)
    assert stop.reason is StopReason.DECISION_REQUIRED
    assert any(step.startswith("git blackbird decide a --reject --undo ") for step in stop.next_steps)
    assert (status(demo, "a"), status(demo, "b")) == (Status.WAITING_USER, Status.TODO)
    assert (demo / "x.txt").read_text() == "one\n"
    (owed,) = build_overview(open_at(demo)).due
    assert owed.why == (
        "it is not committed: git did not commit its change: no; "
        "`git blackbird decide a --approve` tries again"
    )
    assert runs_of(demo, "a")[-1].hook_output == "no"
    hook.unlink()
    if then == "commit it":
        record_decision(open_at(demo), "a", APPROVE)
        assert git(demo, "log", "-1", "--format=%s") == "Task a"
    elif then == "accept it as it is":
        record_decision(open_at(demo), "a", APPROVE._replace(without_commit=True))
        assert git(demo, "log", "-1", "--format=%s") != "Task a"
    else:
        record_decision(open_at(demo), "a", REJECT._replace(undoes=True))
        undo_task(open_at(demo), "a")
    assert status(demo, "a") is (Status.FAILED if then == "take it back" else Status.DONE)
    assert (demo / "x.txt").exists() is (then != "take it back")


@pytest.mark.exhaustive
def test_reviewers_look_at_the_change_where_it_was_made(demo: Path) -> None:
    configure(demo, reviews__mode="parallel")
    prompt = "write x.txt one\nspec-wants x.txt two | important\non-feedback append x.txt two"
    put_plan(demo, leaf("a", prompt))
    assert execute(demo).reason is StopReason.COMPLETED
    first, second = runs_of(demo, "a")
    assert (first.requested_by, landing_of(first), landing_of(second)) == (
        Requester.REVIEWERS,
        LandingState.DUE,
        LandingState.LANDED,
    )
    assert (demo / "x.txt").read_text() == "one\ntwo\n"


def test_a_task_that_is_done_goes_on_in_a_new_worktree_at_the_same_place(demo: Path) -> None:
    put_plan(demo, leaf("a", "write x.txt one\non-feedback append x.txt two"))
    execute(demo)
    write(demo, {"x.txt": "one\nmine\n"})
    resume(demo, "a", Person(), "more")
    first, second = runs_of(demo, "a")
    assert (second.worktree_path, second.has_landed) == (first.worktree_path, True)
    assert (demo / "x.txt").read_text() == "one\nmine\ntwo\n"


def test_a_removed_worktree_is_made_again_with_its_files(demo: Path) -> None:
    pending(demo, "write x.txt one\non-feedback append y.txt two")
    git(demo, "worktree", "remove", "--force", str(worktree(demo, "a")))
    configure(demo, execution__stopAfterEachTask="false")
    resume(demo, "a", Person([APPROVE]), "more")
    assert git(demo, "status", "--short") == "?? x.txt\n?? y.txt"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("is_in_part", [False, True])
def test_a_checkout_that_was_cut_off_is_made_again_and_taken_for_no_edit(
    demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_in_part: bool
) -> None:
    pending(demo, "write x.txt one\non-feedback append y.txt two")
    git(demo, "worktree", "remove", "--force", str(worktree(demo, "a")))
    configure(demo, execution__stopAfterEachTask="false")
    (tmp_path / "bin").mkdir()
    git_itself = real_git()
    in_part = (
        f'old=$({git_itself} rev-parse HEAD); {git_itself} "$@"; rm .gitignore; '
        f"{git_itself} update-ref --no-deref HEAD $old; "
    )
    killing = script(
        tmp_path / "bin/git",
        f'case " $* " in *" reset "*) rm "$0"; {in_part * is_in_part}kill -9 $PPID; exit ;; esac\n'
        f'exec {git_itself} "$@"',
    )
    monkeypatch.setenv("PATH", f"{killing.parent}:{os.environ['PATH']}")
    assert run_killed(lambda: resume(demo, "a", Person(), "more"), sys.maxsize)
    assert sorted(os.listdir(worktree(demo, "a"))) == [".git", *(["a.txt"] * is_in_part)]
    assert execute(demo, Person([APPROVE])).reason is StopReason.COMPLETED
    assert git(demo, "status", "--short") == "?? x.txt\n?? y.txt"
    assert git(demo, "for-each-ref", "refs/blackbird/worktrees") == ""


@pytest.mark.exhaustive
def test_a_worktree_that_cannot_be_made_whole_again_is_made_again(demo: Path) -> None:
    pending(demo, "write x.txt one\non-feedback append y.txt two")
    git(demo, "worktree", "remove", "--force", str(worktree(demo, "a")))
    configure(demo, execution__stopAfterEachTask="false")
    place = worktree(demo, "a")
    hook = "mkdir -p x.txt && touch x.txt/other"
    git(demo, "config", "filter.late.smudge", f"{hook}; cat")
    write(demo, {".git/info/attributes": "a.txt filter=late\n"})
    with pytest.raises(UnusableError, match=r"x\.txt: a folder with other files is in its place"):
        resume(demo, "a", Person(), "more")
    assert (place / "a.txt").exists()
    (demo / ".git/info/attributes").unlink()
    assert execute(demo, Person([APPROVE])).reason is StopReason.COMPLETED
    assert git(demo, "status", "--short") == "?? x.txt\n?? y.txt"


@pytest.mark.exhaustive
def test_a_restart_begins_anew_and_keeps_what_was_there(demo: Path) -> None:
    by_command(demo, "echo $BLACKBIRD_RUN_ID >x.txt; git add x.txt; git commit -qm own; echo y >y.txt")
    pending(demo, "")
    given_up = last(demo, "a")
    write(demo, {"mine.txt": "mine\n"})
    write(worktree(demo, "a"), {"by hand.txt": "kept\n"})
    stray = git(worktree(demo, "a"), "rev-parse", "HEAD")
    reset_task(open_at(demo), "a")
    configure(demo, execution__stopAfterEachTask="false")
    execute(demo)
    assert (demo / "x.txt").read_text() == f"{last(demo, 'a').id}\n"
    assert git(demo, "show", f"refs/blackbird/runs/{given_up.id}:head/y.txt") == "y"
    references = git(demo, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    (kept,) = (line.split()[0] for line in references if line.startswith("refs/blackbird/worktrees/"))
    assert git(demo, "show", f"{kept}:head/by hand.txt") == "kept"
    commits = [line.split()[0] for line in references if line.startswith("refs/blackbird/commits/")]
    assert any(stray in git(demo, "rev-parse", f"{name}^@").splitlines() for name in commits)


def test_a_restart_has_a_worktree_again_whatever_the_configuration_says_now(demo: Path) -> None:
    pending(demo, "write x.txt one")
    configure(demo, execution__worktrees="false", execution__stopAfterEachTask="false")
    perform(open_at(demo), Person(), lambda workspace, ui: restart_loop(workspace, ui, "a", None))
    assert [run.worktree_path for run in runs_of(demo, "a")] == [str(worktree(demo, "a"))] * 2
    assert git(demo, "status", "--short") == "?? x.txt"


def test_undo_takes_back_what_has_landed_and_redo_brings_it_back(demo: Path) -> None:
    by_command(demo, "sed -i 's/line 2$/theirs/' a.txt")
    pending(demo, "")
    write(demo, {"a.txt": LINES.replace("line 8", "mine")})
    execute(demo, Person([APPROVE]))
    landed = (demo / "a.txt").read_text()
    undo_task(open_at(demo), "a")
    assert (demo / "a.txt").read_text() == LINES.replace("line 8", "mine")
    redo_task(open_at(demo), "a")
    assert (demo / "a.txt").read_text() == landed


def test_a_change_that_has_not_landed_cannot_be_undone(demo: Path) -> None:
    pending(demo, "write x.txt one")
    result = record_decision(open_at(demo), "a", REJECT)
    assert result.undo == ()
    with pytest.raises(RequestError, match="a has changed nothing that could be taken back"):
        undo_task(open_at(demo), "a")


def test_an_old_git_is_refused_in_one_line(
    demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    old = script(
        tmp_path / "bin/git",
        f'for word; do [ "$word" != merge-tree ] || exit 129; done\nexec {real_git()} "$@"',
    )
    monkeypatch.setenv("PATH", f"{old.parent}:{os.environ['PATH']}")
    put_plan(demo, leaf("a", "write x.txt one"))
    with pytest.raises(
        GitTooOldError, match="this needs git merge-tree --stdin, which git has from version 2"
    ):
        execute(demo)
    assert runs_of(demo, "a") == ()
    configure(demo, execution__worktrees="false")
    assert execute(demo).reason is StopReason.COMPLETED


@pytest.mark.parametrize(
    ("folder", "what"), [("inside", "the worktree itself"), (".git/x", "the git directory")]
)
def test_a_worktree_does_not_lie_where_agents_cannot_work(demo: Path, folder: str, what: str) -> None:
    configure(demo, worktree__dir=folder)
    put_plan(demo, leaf("a", "write x.txt one"))
    with pytest.raises(UnusableError, match=f"inside {what}"):
        execute(demo)


def test_what_is_in_the_place_of_a_worktree_stays_and_the_task_gets_another(demo: Path) -> None:
    write(worktree(demo, "a"), {"precious.txt": "mine\n"})
    put_plan(demo, leaf("a", "write x.txt one"))
    execute(demo)
    assert (worktree(demo, "a") / "precious.txt").read_text() == "mine\n"
    assert last(demo, "a").worktree_path == f"{worktree(demo, 'a')}.2"
    assert status(demo, "a") is Status.DONE


def test_a_task_that_status_calls_ready_starts_though_its_old_worktree_has_to_stay(demo: Path) -> None:
    by_command(demo, "git init -q lib; date >lib/only-here; echo x >x.txt")
    put_plan(demo, leaf("a"))
    rejecting = Person(decisions=[REJECT])
    configure(demo, execution__stopAfterEachTask="true")
    execute(demo, rejecting)
    reset_task(open_at(demo), TaskId("a"))
    by_command(demo, "echo x >x.txt")
    assert [item.task.id for item in build_overview(open_at(demo)).ready] == ["a"]
    person = Person(decisions=[APPROVE])
    execute(demo, person)
    (said,) = (text for text in person.notices() if "gets another worktree" in text)
    assert said.startswith(f"a gets another worktree: {worktree(demo, 'a')} stays: ")
    assert said.endswith("; `git blackbird worktrees prune` tries again to remove that")
    assert "lib" in said
    assert (worktree(demo, "a") / "lib/only-here").exists()
    assert status(demo, "a") is Status.DONE
    assert last(demo, "a").worktree_path == f"{worktree(demo, 'a')}.2"
    (place,) = list_places(open_at(demo))
    assert (place.path, place.state) == (worktree(demo, "a"), PlaceState.GIVEN_UP)
    (worktree(demo, "a") / "lib").rename(demo.parent / "lib")
    assert [each.reason for each in prune_places(open_at(demo), dry_run=False)] == [None]
    assert not worktree(demo, "a").parent.exists()


@pytest.mark.parametrize("words", ["", "no key here"])
def test_a_filter_that_fails_is_named_with_its_words_and_leaves_no_worktree(demo: Path, words: str) -> None:
    fails = script(demo.parent / "fails", f"{f'echo {words} >&2' if words else ':'}; exit 1")
    commit(demo, {".gitattributes": "*.bin filter=locked\n", "a.bin": "1\n"})
    git(demo, "config", "filter.locked.required", "true")
    git(demo, "config", "filter.locked.clean", "cat")
    git(demo, "config", "filter.locked.smudge", str(fails))
    put_plan(demo, leaf("a", "write x.txt one"))
    for _ in range(2):
        with pytest.raises(UnusableError) as raised:
            execute(demo)
        what = f"{f'{words}; ' if words else ''}a.bin: smudge filter locked failed"
        assert raised.value.message == f"the files of a cannot be checked out in its worktree: {what}"
        assert raised.value.hint == "`git blackbird execute --jobs 1 --no-worktrees` works on it in place"
        assert list_places(open_at(demo)) == []
    configure(demo, execution__worktrees="false")
    execute(demo)
    assert (demo / "x.txt").exists()


def test_a_filter_that_has_its_keys_in_the_git_directory_finds_them(demo: Path) -> None:
    """As git-crypt does, which looks into that of the linked worktree alone."""
    read = 'cat "$(git rev-parse --git-dir)/git-crypt/keys/default" >/dev/null && cat'
    commit(demo, {".gitattributes": "*.bin filter=git-crypt\n", "a.bin": "1\n"})
    write(demo / ".git/git-crypt/keys", {"default": "key"})
    git(demo, "config", "filter.git-crypt.required", "true")
    for way in ("clean", "smudge"):
        git(demo, "config", f"filter.git-crypt.{way}", read)
    put_plan(demo, leaf("a", "append a.bin two"))
    execute(demo)
    assert (demo / "a.bin").read_text() == "1\ntwo\n"
    assert (demo / ".git/git-crypt/keys/default").read_text() == "key"


def test_another_place_may_be_chosen(demo: Path, tmp_path: Path) -> None:
    configure(demo, worktree__dir=str(tmp_path / "elsewhere"), execution__stopAfterEachTask="true")
    put_plan(demo, leaf("a", "write x.txt one"))
    execute(demo)
    assert last(demo, "a").worktree_path == str(tmp_path / "elsewhere/a")


def test_a_snapshot_that_failed_is_taken_before_the_change_lands(demo: Path) -> None:
    by_command(demo, 'echo x >x.txt; cd "$(git rev-parse --git-dir)"; mv index kept; mkdir index')
    pending(demo, "")
    run = last(demo, "a")
    assert run.head_tree is None
    assert run.review_summary is not None
    assert run.review_summary.minimal is not None
    with pytest.raises(UnusableError, match="what a changed is not known"):
        execute(demo, Person([APPROVE]))
    private = Path(git(worktree(demo, "a"), "rev-parse", "--git-dir"))
    (private / "index").rmdir()
    (private / "kept").rename(private / "index")
    person = Person([APPROVE])
    assert execute(demo, person).reason is StopReason.COMPLETED
    # It is shown before it lands.
    assert [checkpoint.summary.files for checkpoint in person.checkpoints] == [("x.txt",)]
    assert git(demo, "status", "--short") == "?? x.txt"


@pytest.mark.exhaustive
def test_what_has_conflict_markers_does_not_land(demo: Path) -> None:
    resolve = "[ -e ../../tried ] && echo both >x.txt; touch ../../tried"
    by_command(demo, f'if [ "$BLACKBIRD_RESUME" ]; then {resolve}; else echo theirs >x.txt; fi')
    pending(demo, "")
    write(demo, {"x.txt": "mine\n"})
    person = Person([APPROVE, APPROVE, APPROVE])
    assert execute(demo, person).reason is StopReason.COMPLETED
    assert [reasons for _, _, reasons in landings(person)] == [
        ("it conflicts with your worktree in x.txt",),
        ("the conflict in x.txt is not resolved",),
        (),
    ]
    assert (demo / "x.txt").read_text() == "both\n"
    second = person.checkpoints[1]
    assert second.run.notes == (second.conflict,) == ("the conflict in x.txt is not resolved",)
    assert second.preselected is None
    assert [checkpoint.offers()[0].description for checkpoint in person.checkpoints[:2]] == [
        "approves it and lands it",
        "approves it; it lands if no conflict is left in it",
    ]
    # The panel says what an approval leads to, and so does the decision.
    shown = "\n".join(line.text for line in render_checkpoint(second))
    assert f"{second.conflict}; approved as it is, the change goes back to its session" in shown
    goes_back = f"{second.conflict}: {GOES_BACK}"
    assert [event.text for event in person.events if isinstance(event, Notice)].count(goes_back) == 1


@pytest.mark.exhaustive
def test_a_conflict_that_is_never_resolved_is_for_a_person(demo: Path) -> None:
    by_command(demo, '[ "$BLACKBIRD_RESUME" ] || { echo theirs >x.txt; echo own >own.txt; }')
    pending(demo, "")
    write(demo, {"x.txt": "mine\n"})
    record_decision(open_at(demo), "a", APPROVE)
    configure(demo, execution__stopAfterEachTask="false")
    person = Person([APPROVE, APPROVE])
    assert execute(demo, person).reason is StopReason.DECISION_REQUIRED
    assert landings(person)[-1][1] is LandingState.BLOCKED
    # An edit of one's own file resolves nothing; the rest can land without it.
    write(demo, {"x.txt": "both\n"})
    with pytest.raises(RequestError, match="a is not approved: the conflict in x"):
        record_decision(open_at(demo), "a", APPROVE)
    record_decision(open_at(demo), "a", APPROVE._replace(only=(ChangePart("own.txt"),)))
    assert execute(demo).reason is StopReason.COMPLETED
    assert git(demo, "status", "--short") == "?? own.txt\n?? x.txt"
    assert (demo / "x.txt").read_text() == "both\n"


def test_a_person_resolves_a_conflict_in_the_worktree_of_the_task(demo: Path) -> None:
    by_command(demo, "echo theirs >x.txt; echo own >own.txt")
    pending(demo, "")
    write(demo, {"x.txt": "mine\n"})
    record_decision(open_at(demo), "a", APPROVE)
    configure(demo, landing__maxRounds="0")
    execute(demo)
    there = worktree(demo, "a")
    marked = (there / "x.txt").read_text().splitlines()
    assert [line[:7] for line in marked] == ["<<<<<<<", "mine", "=======", "theirs", ">>>>>>>"]
    assert git(there, "status", "--short") == "AA x.txt\n?? own.txt"
    # Approved untouched it would conflict again, also with another edit of the person's own file.
    write(demo, {"x.txt": "mine, again\n"})
    person = Person([APPROVE])
    execute(demo, person)
    assert landing_of(last(demo, "a")) is LandingState.BLOCKED
    assert person.checkpoints[-1].edited == ()
    with pytest.raises(RequestError, match="a is not approved: the conflict in x"):
        record_decision(open_at(demo), "a", APPROVE)
    write(demo, {"x.txt": "mine\n"})
    write(there, {"x.txt": "\n".join([*marked[1:], "more", ""])})
    with pytest.raises(RequestError, match="a is not approved: the conflict in x"):
        record_decision(open_at(demo), "a", APPROVE)
    write(there, {"x.txt": "both\n", "by hand.txt": "mine too\n"})
    person = Person([APPROVE])
    assert execute(demo, person).reason is StopReason.COMPLETED
    assert (person.checkpoints[0].edited, person.checkpoints[0].conflict) == (("by hand.txt", "x.txt"), None)
    assert (demo / "x.txt").read_text() == "both\n"
    assert git(demo, "status", "--short") == '?? "by hand.txt"\n?? own.txt\n?? x.txt'
    undo_task(open_at(demo), "a")
    assert (demo / "x.txt").read_text() == "mine\n"
    redo_task(open_at(demo), "a")
    assert (demo / "x.txt").read_text() == "both\n"


@pytest.mark.exhaustive
def test_a_conflict_without_markers_is_resolved_by_git_add(demo: Path) -> None:
    by_command(demo, "printf 'theirs\\0' >x.bin")
    pending(demo, "")
    write(demo, {"x.bin": "mine\0"})
    record_decision(open_at(demo), "a", APPROVE)
    configure(demo, landing__maxRounds="0")
    execute(demo)
    there = worktree(demo, "a")
    git(there, "checkout", "--theirs", "x.bin")
    assert record_decision(open_at(demo), "a", APPROVE).remarks == (
        "with what was edited in its worktree after the run: x.bin",
    )
    assert execute(demo).reason is StopReason.COMPLETED
    assert (demo / "x.bin").read_text() == "theirs\0"


def test_what_a_person_edits_in_the_worktree_of_a_task_is_approved_with_it(demo: Path) -> None:
    pending(demo, "write x.txt one", "write y.txt two\nwrite z.txt three")
    write(worktree(demo, "a"), {"x.txt": "better"})
    write(worktree(demo, "b"), {"z.txt": "better"})
    # By name: either may have ended first.
    assert pending_checkpoint(open_at(demo), "a").edited == ("x.txt",)
    record_decision(open_at(demo), "a", APPROVE)
    result = record_decision(open_at(demo), "b", APPROVE._replace(only=(ChangePart("z.txt"),)))
    assert result.remarks == (
        "with what was edited in its worktree after the run: z.txt",
        f"left out, run {last(demo, 'b').id} keeps it: y.txt",
    )
    execute(demo)
    assert git(demo, "status", "--short") == "?? x.txt\n?? z.txt"
    assert [(demo / name).read_text() for name in ("x.txt", "z.txt")] == ["better", "better"]
    assert git(demo, "show", f"refs/blackbird/runs/{last(demo, 'b').id}:head/y.txt") == "two"
    undo_task(open_at(demo), "b")
    assert git(demo, "status", "--short") == "?? x.txt"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("fails", ["always", "merged"])
def test_who_approves_in_spite_of_a_red_check_is_not_asked_again(demo: Path, fails: str) -> None:
    command = {"always": "false", "merged": "! { [ -e x.txt ] && [ -e y.txt ]; }"}[fails]
    configure(demo, check__command=command)
    pending(demo, "write x.txt one\non-feedback write z.txt two")
    write(demo, {"y.txt": "mine\n"})
    person = Person([APPROVE] * 4)
    assert execute(demo, person).reason is StopReason.COMPLETED
    assert len(person.checkpoints) == (1 if fails == "always" else 2)
    assert (demo / "x.txt").exists()


def test_a_check_that_failed_before_is_for_a_person(demo: Path) -> None:
    configure(demo, check__command="[ ! -e y.txt ]")
    put_plan(demo, leaf("a", "write x.txt one"))
    write(demo, {"y.txt": "mine\n"})
    person = Person([APPROVE])
    assert execute(demo, person).reason is StopReason.COMPLETED
    assert [reasons for _, _, reasons in landings(person)] == [
        ("the check fails without the change as well, so it does not say whether the change is good",),
        (),
    ]


@pytest.mark.exhaustive
def test_who_accepts_a_red_base_does_not_accept_what_fails_once_that_is_mended(demo: Path) -> None:
    configure(demo, check__command="[ -e mended.txt ] && [ ! -e x.txt ]")
    pending(demo, "write x.txt one\non-feedback delete x.txt\non-feedback write y.txt two")
    assert last(demo, "a").evidence is not None
    record_decision(open_at(demo), "a", APPROVE)
    write(demo, {"mended.txt": ""})
    person = Person([APPROVE])
    assert execute(demo, person).reason is StopReason.COMPLETED
    assert landings(person) == [
        ("a", LandingState.DUE, ("the check fails on the merged files",)),
        ("a", LandingState.LANDED, ()),
    ]
    assert git(demo, "status", "--short") == "?? mended.txt\n?? y.txt"


def test_what_landed_in_part_is_not_given_up(demo: Path) -> None:
    pending(demo, "write x.txt one\nwrite y.txt two")
    record_decision(open_at(demo), "a", APPROVE)
    # As after a system that refused the second file.
    begin(demo)
    write(demo, {"x.txt": "one\n"})
    with pytest.raises(RequestError, match="the landing of a was interrupted"):
        reset_task(open_at(demo), "a")
    with pytest.raises(RequestError, match="the landing of a was interrupted"):
        set_status(open_at(demo), "a", Status.SKIPPED)
    execute(demo)
    assert git(demo, "status", "--short") == "?? x.txt\n?? y.txt"
    undo_task(open_at(demo), "a")
    assert git(demo, "status", "--short") == ""


def land_in_part(repo: Path) -> None:
    """Leave things as after a system that refused the second file."""
    pending(repo, "write x.txt one\nwrite y.txt two")
    record_decision(open_at(repo), "a", APPROVE)
    begin(repo)
    write(repo, {"x.txt": "one\n"})


def begin(repo: Path) -> Run:
    """Note that the landing has begun, as before its first file is written."""
    run = last(repo, "a")
    landing = prepare_landing(open_at(repo), run)
    with store_at(repo).transaction() as transaction:
        transaction.save_run(run.beginning(Moving(verb=Verb.LAND, trees=landing.pair), run.started_at))
    return last(repo, "a")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("is_rejected", [False, True])
def test_what_landed_in_part_is_taken_out_and_brought_back_whole(demo: Path, is_rejected: bool) -> None:
    land_in_part(demo)
    if is_rejected:
        block_landing(open_at(demo), last(demo, "a"), "it cannot be written")
        with pytest.raises(RequestError, match="the landing of a was interrupted"):
            record_decision(open_at(demo), "a", REJECT)
        record_decision(open_at(demo), "a", REJECT._replace(undoes=True))
    undo_task(open_at(demo), "a")
    assert git(demo, "status", "--short") == ""
    assert status(demo, "a") is Status.FAILED
    assert create_task_branch(open_at(demo), "a", "kept").summary.files == ("x.txt", "y.txt")
    assert execute(demo).reason is StopReason.COMPLETED
    assert git(demo, "status", "--short") == ""
    redo_task(open_at(demo), "a")
    assert git(demo, "status", "--short") == "?? x.txt\n?? y.txt"


@pytest.mark.exhaustive
def test_an_undo_that_was_killed_is_shown_and_completed_by_execute(demo: Path) -> None:
    commit(demo, {"b.txt": LINES})
    put_plan(demo, leaf("a", "append a.txt more\nappend b.txt more"))
    execute(demo)
    for act, label, left in ((undo_task, "half taken back", 0), (redo_task, "half brought back", 2)):
        killed = (at for at in itertools.count(1) if run_killed(partial(act, open_at(demo), "a"), at))
        assert any(last(demo, "a").moving is not None for _ in killed)
        assert [item.words for item in build_overview(open_at(demo)).due] == [label]
        assert execute(demo).reason is StopReason.COMPLETED
        assert len(git(demo, "status", "--short").splitlines()) == left
        assert last(demo, "a").moving is None


@pytest.mark.parametrize(
    ("there", "reason"),
    [
        ("ignored.txt", "a file that git ignores"),
        ("ignored.txt/inside.txt", "a folder with files that git ignores"),
    ],
)
def test_what_is_in_the_way_is_found_before_the_first_file_is_written(
    demo: Path, there: str, reason: str
) -> None:
    target = "ignored.txt" if "/" in there else "ignored.txt/new.txt"
    by_command(demo, f"mkdir -p $(dirname {target}); echo theirs >{target}; echo a >a.new; git add -f .")
    pending(demo, "")
    write(demo, {there: "mine\n"})
    person = Person([APPROVE])
    execute(demo, person)
    assert landing_of(last(demo, "a")) is LandingState.BLOCKED
    ((_, _, (text,)),) = landings(person)
    assert text.startswith(f"{target}: {reason}")
    assert (demo / there).read_text() == "mine\n"
    assert not (demo / "a.new").exists()
    record_decision(open_at(demo), "a", APPROVE._replace(only=(ChangePart("a.new"),)))
    assert execute(demo).reason is StopReason.COMPLETED
    assert (demo / "a.new").read_text() == "a\n"
    record_decision(open_at(demo), "a", REJECT._replace(undoes=True))
    undo_task(open_at(demo), "a")
    assert not (demo / "a.new").exists()


def test_folders_without_files_are_in_nobodys_way(demo: Path) -> None:
    by_command(demo, "echo theirs >new; mkdir -p d; echo theirs >d/new")
    pending(demo, "")
    for name in ("new/one/two", "new/other", "d/new/one"):
        (demo / name).mkdir(parents=True)
    execute(demo, Person([APPROVE]))
    assert [(demo / name).read_text() for name in ("new", "d/new")] == ["theirs\n"] * 2
    (demo / "new").unlink()
    (demo / "new/one").mkdir(parents=True)
    assert [each.path for each in undo_task(open_at(demo), "a").kept] == []
    assert git(demo, "status", "--short") == ""


@pytest.mark.exhaustive
def test_what_could_not_be_committed_is_committed_by_another_approval(demo: Path) -> None:
    configure(demo, execution__commit="approved")
    pending(demo, "write x.txt one")
    hook = script(demo / ".git/hooks/pre-commit", "echo no; exit 1")
    execute(demo, Person([APPROVE]))
    hook.unlink()
    record_decision(open_at(demo), "a", APPROVE)
    assert git(demo, "log", "-1", "--format=%s") == "Task a"
    assert git(demo, "status", "--short") == ""


def test_what_builds_on_what_could_not_be_committed_waits_for_that(demo: Path) -> None:
    configure(demo, execution__commit="approved")
    put_plan(demo, leaf("a", "write x.txt one"), leaf("b", "append x.txt two", deps=["a"]))
    configure(demo, execution__stopAfterEachTask="true")
    hook = script(demo / ".git/hooks/pre-commit", "echo no; exit 1")
    execute(demo, Person([APPROVE]))
    hook.unlink()
    configure(demo, execution__commit="never")
    record_decision(open_at(demo), "a", APPROVE)
    configure(demo, execution__commit="approved")
    person = Person([APPROVE])
    execute(demo, person)
    ((_, state, (reason,)),) = landings(person)
    assert state is LandingState.BLOCKED
    assert reason == (
        "its change cannot be committed; x.txt: this file had uncommitted edits, or HEAD has moved; a has "
        "landed and is not committed: commit a first (`git blackbird decide a --approve`)"
    )
    record_decision(open_at(demo), "a", APPROVE)
    assert last(demo, "a").landing_reason is None
    execute(demo, Person([APPROVE]))
    assert git(demo, "log", "-2", "--format=%s") == "Task b\nTask a"
    assert git(demo, "status", "--short") == ""


@pytest.mark.exhaustive
def test_what_could_not_be_written_at_first_is_committed_with_the_rest(demo: Path) -> None:
    configure(demo, execution__commit="approved")
    pending(demo, "write d/y.txt one\nwrite x.txt two\nwrite z.txt three")
    in_the_way = demo / "d"
    landing = prepare_landing(open_at(demo), last(demo, "a"))
    record_decision(open_at(demo), "a", APPROVE)
    in_the_way.symlink_to("nowhere")
    state = open_at(demo).plan_state()
    with pytest.raises(UnusableError) as caught:
        land(open_at(demo), state, state.plan.tasks[TaskId("a")], last(demo, "a"), landing)
    assert caught.value.message == (
        "the change of a has not landed in full: d/y.txt: a symbolic link leads elsewhere; "
        "2 paths after that left for another time"
    )
    in_the_way.unlink()
    execute(demo, Person([]))
    assert status(demo, "a") is Status.DONE
    assert git(demo, "show", "--format=", "--name-only") == "d/y.txt\nx.txt\nz.txt"
    assert git(demo, "status", "--short") == ""


def test_every_conflict_is_named_until_it_is_resolved(demo: Path) -> None:
    commit(demo, {"g.txt": LINES, "x.bin": "\0"})
    (demo / "link").symlink_to("a.txt")
    git(demo, "add", "link")
    git(demo, "commit", "-qm", "link")
    theirs = "sed -i 's/line 2$/theirs/' a.txt g.txt; printf 'theirs\\0' >x.bin; echo theirs >top"
    by_command(demo, f'[ "$BLACKBIRD_RESUME" ] || {{ {theirs}; ln -sf theirs link; }}')
    pending(demo, "")
    write(demo, {"a.txt": LINES.replace("line 2", "mine"), "x.bin": "mine\0", "top/file": "mine\n"})
    (demo / "g.txt").unlink()
    (demo / "link").unlink()
    (demo / "link").symlink_to("mine")
    person = Person([APPROVE, APPROVE, APPROVE])
    assert execute(demo, person).reason is StopReason.DECISION_REQUIRED
    there = worktree(demo, "a")
    (junk,) = [path.name for path in there.glob("top~*")]
    names = f"a.txt, g.txt, link, {junk}, x.bin"
    *sent, (_, state, (reason,)) = landings(person)
    assert [reasons for _, _, reasons in sent] == [
        (f"it conflicts with your worktree in {names}",),
        (f"the conflict in {names} is not resolved",),
    ]
    assert state is LandingState.BLOCKED
    assert reason.startswith(f"the conflict in {names} is not resolved; sent back 2 of 2 times")
    assert {checkpoint.conflict for checkpoint in person.checkpoints[1:]} == {
        f"the conflict in {names} is not resolved"
    }
    write(there, {"a.txt": LINES.replace("line 2", "both")})
    git(there, "add", "x.bin", junk)
    with pytest.raises(RequestError, match=f"^a is not approved: the conflict in g.txt, link, {junk} is not"):
        record_decision(open_at(demo), "a", APPROVE)
    (there / junk).rename(there / "top.txt")
    git(there, "add", "g.txt", "link")
    record_decision(open_at(demo), "a", APPROVE)
    assert execute(demo).reason is StopReason.COMPLETED
    assert git(demo, "status", "--short") == " M a.txt\n M g.txt\n M link\n M x.bin\n?? top.txt\n?? top/"
    assert (demo / "a.txt").read_text() == LINES.replace("line 2", "both")


def cut_off(demo: Path, *, edited: Mapping[str, str]) -> Trees:
    """Approve a change of two files that is to be committed, let its landing be cut off, and edit then."""
    commit(demo, {"x.txt": LINES, "y.txt": LINES})
    configure(demo, execution__commit="approved")
    by_command(demo, "sed -i 's/line 2$/theirs/' x.txt y.txt")
    pending(demo, "")
    record_decision(open_at(demo), "a", APPROVE)
    run = begin(demo)
    assert run.moving is not None
    journal = Move(Verb.LAND, open_at(demo), run, ()).journal
    journal.open()
    (demo / "x.txt").write_text(THEIRS)
    journal.note_written(b"x.txt")
    write(demo, edited)
    return run.moving.trees


THEIRS = LINES.replace("line 2", "theirs")


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "edited",
    [
        {},
        {"x.txt": THEIRS.replace("theirs", "mine")},
        {"x.txt": THEIRS.replace("line 8", "mine"), "y.txt": LINES.replace("line 8", "mine")},
        {"z.txt": "mine\n"},
    ],
)
def test_a_landing_that_was_cut_off_goes_on_as_a_whole(demo: Path, edited: Mapping[str, str]) -> None:
    pair = cut_off(demo, edited=edited)
    before = git(demo, "rev-parse", "HEAD")
    assert execute(demo).reason is StopReason.COMPLETED
    assert git(demo, "diff", "--name-only", before, "HEAD").split() == ["x.txt", "y.txt"]
    assert git(demo, "diff", "HEAD", pair.head, "--", "x.txt", "y.txt") == ""
    names = {line[3:] for line in git(demo, "status", "--porcelain", "-uall").splitlines()}
    assert names == {*edited}
    for name, text in edited.items():
        assert (demo / name).read_text() == text.replace("line 2\n", "theirs\n")
    # It is taken back as a whole, too, and the edits stay.
    undone = undo_task(open_at(demo), "a")
    overlaps = [name for name, text in edited.items() if "theirs" not in text and "line 2" not in text]
    assert [kept.path for kept in undone.kept] == [name for name in overlaps if name == "x.txt"]
    assert (demo / "y.txt").read_text() == edited.get("y.txt", LINES)


def test_a_landing_that_was_cut_off_and_cannot_go_on_is_taken_back(demo: Path) -> None:
    """Then it is a conflict as any: the edits are in the user's worktree, and nothing of the change is."""
    mine = LINES.replace("line 2", "mine")
    cut_off(demo, edited={"x.txt": THEIRS.replace("line 8", "mine"), "y.txt": mine})
    person = Person()
    execute(demo, person)
    assert landings(person)[0] == ("a", LandingState.DUE, ("it conflicts with your worktree in y.txt",))
    assert (demo / "x.txt").read_text() == LINES.replace("line 8", "mine")
    assert (demo / "y.txt").read_text() == mine


@pytest.mark.exhaustive
def test_a_landing_that_was_cut_off_and_cannot_be_taken_back_says_what_is_there(demo: Path) -> None:
    mine, on_top = LINES.replace("line 2", "mine"), THEIRS.replace("theirs", "mine")
    cut_off(demo, edited={"x.txt": on_top, "y.txt": mine})
    # A rejection alone would leave a part behind: it is refused, and asked for again.
    person = Person([REJECT])
    assert execute(demo, person).reason is StopReason.DECISION_REQUIRED
    ((_, state, (reason,)),) = landings(person)
    assert state is LandingState.BLOCKED
    assert reason.startswith("it conflicts with your worktree in y.txt; a change that is there in part")
    checkpoint, _ = person.checkpoints
    assert checkpoint.reasons == (f"it has landed in part: {reason}",)
    assert [spec.digit for spec in checkpoint.offers()] == [1, 5, 9]
    assert (demo / "x.txt").read_text() == on_top
    assert (demo / "y.txt").read_text() == mine
    # A review by hand leaves it to the person, who cannot put the decision off for another.
    perform(open_at(demo), Person(), lambda workspace, ui: review_loop(workspace, ui, "a"))
    assert last(demo, "a").is_pending
    assert pending_checkpoint(open_at(demo), "a").merged is not None
    assert [spec.digit for spec in pending_checkpoint(open_at(demo), "a").offers()] == [1, 5, 9]
    # Nothing else begins with it.
    put_plan(demo, *open_at(demo).plan_state().plan.tasks.values(), leaf("b", "write b.new x"))
    with pytest.raises(RequestError, match="the change of a is in part in your worktree, and waits for"):
        execute(demo, None, "b")
    configure(demo, execution__jobs="2")
    assert execute(demo).reason is StopReason.DECISION_REQUIRED
    assert runs_of(demo, "b") == ()
    record_decision(open_at(demo), "a", REJECT._replace(undoes=True))
    execute(demo)
    assert len(runs_of(demo, "b")) == 1


def test_an_approval_without_a_commit_lands_without_one(demo: Path) -> None:
    configure(demo, execution__commit="approved")
    pending(demo, "write x.txt one")
    before = git(demo, "rev-parse", "HEAD")
    record_decision(open_at(demo), "a", APPROVE._replace(without_commit=True))
    execute(demo)
    assert (status(demo, "a"), (demo / "x.txt").read_text()) == (Status.DONE, "one\n")
    assert git(demo, "rev-parse", "HEAD") == before


@pytest.mark.exhaustive
def test_a_landing_commits_on_another_branch_only_if_a_person_says_so(demo: Path) -> None:
    configure(demo, execution__commit="approved")
    pending(demo, "write x.txt one")
    began = git(demo, "branch", "--show-current")
    git(demo, "switch", "-qc", "other")
    other = "a is not approved: its commit would go to another branch: the run worked on the branch"
    with pytest.raises(RequestError, match=f"^{other} {began}; now HEAD is on other$"):
        record_decision(open_at(demo), "a", APPROVE)
    git(demo, "switch", "-q", began)
    record_decision(open_at(demo), "a", APPROVE)
    git(demo, "switch", "-q", "other")
    person = Person()
    assert execute(demo, person).reason is StopReason.DECISION_REQUIRED
    ((_, state, (reason,)),) = landings(person)
    assert state is LandingState.BLOCKED
    assert reason == (
        f"its commit would go to another branch: it was approved on {began}; now HEAD is on other; "
        f"`git switch {began}` and approve again, or commit here: "
        "`git blackbird decide a --approve --any-branch`"
    )
    assert (person.checkpoints[0].other_branch or ("",))[0] == began
    assert git(demo, "status", "--short") == ""
    record_decision(open_at(demo), "a", APPROVE._replace(branch_confirmed=True))
    assert execute(demo).reason is StopReason.COMPLETED
    assert git(demo, "log", "-1", "--format=%s", "other") == "Task a"


@pytest.mark.parametrize(("named", "other"), [("a.txt", "b.txt"), ("b.txt", "a.txt")])
def test_who_approves_one_half_of_a_rename_is_told(demo: Path, named: str, other: str) -> None:
    by_command(demo, "git mv a.txt b.txt")
    pending(demo, "")
    kept = f"left out, run {last(demo, 'a').id} keeps it: {other}"
    assert record_decision(open_at(demo), "a", APPROVE._replace(only=(ChangePart(named),))).remarks == (
        f"{kept}, the other half of a rename: {named} is approved",
    )
