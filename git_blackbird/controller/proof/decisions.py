"""Publish decisions: what a record says of a change becomes a tag that any clone can be held against."""

from collections.abc import Iterator
from typing import Annotated, NamedTuple

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.errors import RequestError, UnusableError
from git_blackbird.git.change.changes import compose
from git_blackbird.git.core.process import revisions
from git_blackbird.git.core.repository import head
from git_blackbird.git.core.trees import OURS, TreeStore
from git_blackbird.git.proof.commits import roots_of
from git_blackbird.git.proof.decisions import read_decisions, write_decision
from git_blackbird.git.worktree.log import commit_of_run, commit_parts, find_commit, tree_of
from git_blackbird.model.base.record import masked
from git_blackbird.model.base.shown import Shown
from git_blackbird.model.change.change import contributions, ends_change
from git_blackbird.model.run.commits import undo_mark
from git_blackbird.model.run.history import History
from git_blackbird.model.run.published import (
    HOLDING,
    Decided,
    DecisionText,
    PublishedCheck,
    PublishedDecision,
)
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import APPROVALS, DecisionState, RunType, Verb
from git_blackbird.model.run.summary import Trees
from git_blackbird.storage.checks import load_check


class Wanted(NamedTuple):
    """A decision as records have it, and the trees that it is published with."""

    run: Run
    decided: Decided
    at: str
    trees: Trees | None = None
    evidence: tuple[PublishedCheck, ...] = ()


class Publication(NamedTuple):
    """What was published, and what could not be."""

    published: Annotated[tuple[str, ...], Shown("The names of the decisions that were published now.")]
    known: Annotated[int, Shown("How many decisions were published before.")]
    last: Annotated[tuple[str, ...], Shown("The tags of the last ones, for `verify --since`.")]
    left_out: Annotated[tuple[str, ...], Shown("What could not be published, each with the reason.")]


def publish_decisions(workspace: Workspace) -> Publication:
    """Publish every decision that is not published yet, each after those that are. Raises RequestError."""
    workspace.environment.forbid_agents("publish decisions")
    repo = workspace.repo
    tip = head(repo).commit
    if tip is None:
        raise RequestError("there is no commit yet, and a decision names the first one of its repository")
    root = roots_of(repo, tip)[-1]
    redactor = workspace.store.redactor()
    mask = str if redactor is None else redactor.mask_text
    chain, records = read_decisions(repo), workspace.store.records
    wanted: list[Wanted] = []
    left_out = []
    for history in map(records.history, records.tasks()):
        for run in history.work_runs:
            try:
                wanted.extend(_wanted(workspace, history, run, chain.by_run[run.id]))
            except (UnusableError, ValueError) as error:
                left_out.append(f"the decision on run {run.id} of {run.task_id}: {error}")
    last, names = chain.last, []
    for run, decided, at, trees, checks in sorted(wanted, key=lambda one: one.at):
        text = DecisionText(
            root=root,
            task=run.task_id,
            run=run.id,
            decided=decided,
            at=at,
            evidence=tuple(masked(each, mask) for each in checks),
            before=last,
        )
        chain.numbers[run.id] += 1
        decision = write_decision(repo, f"{run.id}/{chain.numbers[run.id]}", text, trees)
        names.append(decision.name)
        last = {decision.name: decision.tag}
    return Publication(tuple(names), len(chain.by_name), tuple(last.values()), tuple(left_out))


def _wanted(
    workspace: Workspace, history: History, run: Run, there: list[PublishedDecision]
) -> Iterator[Wanted]:
    """Yield what was decided on a run, in order, and is not published: its change, an undo, a redo."""
    decided = _decided(run)
    if decided is None:
        return
    at = run.landed_at or run.decision_resolved_at or run.completed_at or run.started_at
    is_known = (decided, at) in {(each.text.decided, each.text.at) for each in there}
    if decided not in HOLDING:
        if not is_known:
            yield Wanted(run, decided, at)
        return
    if not is_known:
        pair = _decided_trees(workspace, history, run)
        if pair is None or pair.is_empty:
            return
        yield _with_trees(workspace, run, decided, at, pair)
    undone, last = run.undone, there[-1].text.decided if there else decided
    if undone is None and not run.undos:
        return
    for verb, later in ((Verb.UNDO, Decided.UNDONE), (Verb.REDO, Decided.REDONE)):
        is_present = verb is (Verb.REDO if undone is None else undone.verb)
        commit = commit_of_run(workspace.repo, undo_mark(verb, run.id), run.start_commit)
        trees = None if commit is None else _trees_of(workspace, commit)
        known = {each.trees for each in there if each.text.decided is later}
        is_new = trees not in known if trees is not None else is_present and last is not later
        if is_new:
            ends = [each.at for each in run.undos] or [at]
            yield Wanted(run, later, max(at, undone.at if undone and is_present else ends[-1]), trees)


def _with_trees(workspace: Workspace, run: Run, decided: Decided, at: str, pair: Trees) -> Wanted:
    public, is_whole = _public_trees(workspace, run, pair)
    evidence = run.landing_evidence or run.evidence
    published = []
    for check in () if evidence is None else evidence.checks:
        said, is_on_head = check, check.tree == pair.head
        tests = None if check.tests is None else check.tests.ran
        if not is_on_head and check.part is None:
            # A landing records what its check said only where somebody has to act on it.
            kept = load_check(workspace.paths, check.updated(tree=pair.head, coverage=None))
            if kept is not None:
                said, is_on_head = kept.result, True
                tests = None if kept.tests is None else len(kept.tests.states)
        tree = public.head if is_on_head and is_whole else None
        published.append(PublishedCheck.of(said, tests, tree))
    return Wanted(run, decided, at, public, tuple(published))


def _decided(run: Run) -> Decided | None:
    """Return what was decided on a run; None while that is open, or where it came to nothing."""
    if run.run_type is RunType.MANUAL:
        return Decided.BY_HAND
    if run.decision_state in APPROVALS:
        return Decided.APPROVED
    if run.decision_state is DecisionState.REJECTED:
        return Decided.REJECTED
    if run.decision_state is DecisionState.CHANGES_REQUESTED:
        return Decided.CHANGES_REQUESTED
    return Decided.ACCEPTED if run.decision_state is None and ends_change(run) else None


def _decided_trees(workspace: Workspace, history: History, run: Run) -> Trees | None:
    """Return the change that was decided on: as it landed, else as it was shown, else as its runs made it."""
    if run.has_landed and not run.is_in_place:
        return run.landing_pair
    if run.shown is not None:
        return run.shown
    own = history.work_runs
    end = own.index(run)
    begin = next((at + 1 for at in range(end - 1, -1, -1) if ends_change(own[at])), 0)
    parts = contributions(own[begin : end + 1])
    return compose(workspace.repo, parts) if parts else None


def _public_trees(workspace: Workspace, run: Run, pair: Trees) -> tuple[Trees, bool]:
    """Return a change on top of a commit, and whether that has all the files which the change has in the end.

    What is in no commit, and in no path of the change, is nobody's business elsewhere.
    """
    trees = TreeStore(workspace.repo)
    ends = [{path: trees.entry(side, path) for path in trees.changed_paths(*pair)} for side in pair]
    found = []
    for below in _trees_below(workspace, run, trees):
        found.append(Trees(*(trees.edited(below, end) for end in ends)))
        if found[-1].head == pair.head:
            return found[-1], True
    return found[0], False


def _trees_below(workspace: Workspace, run: Run, trees: TreeStore) -> Iterator[str]:
    """Yield the trees of the commits in HEAD that the change may be made on, the likeliest first."""
    repo = workspace.repo
    made = (commit for commit in reversed(run.commits) if find_commit(repo, commit) is not None)
    parents = (parent for commit in made for parent in commit_parts(repo, commit)[1][:1])
    for commit in dict.fromkeys(
        filter(None, (*parents, run.end_commit, run.start_commit, head(repo).commit))
    ):
        # A commit that a worktree began with has what its user did not commit.
        if repo.git("merge-base", "--is-ancestor", *revisions(commit, "HEAD"), check=False).code == 0:
            yield trees.without(tree_of(repo, commit), OURS)


def _trees_of(workspace: Workspace, commit: str) -> Trees:
    """Return what a commit changes, without our files."""
    trees = TreeStore(workspace.repo)
    tree, parents = commit_parts(workspace.repo, commit)
    before = trees.save({}) if not parents else commit_parts(workspace.repo, parents[0])[0]
    return Trees(*(trees.without(each, OURS) for each in (before, tree)))
