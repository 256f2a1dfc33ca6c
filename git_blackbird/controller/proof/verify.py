"""Hold commits against published decisions, with git alone: no record of ours is read.

Everything that is read may be anybody's. What is wrong with a commit is a sentence, and the first that holds
is said.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice, product
from pathlib import Path
from typing import NamedTuple

from git_blackbird.errors import MissingHereError, UsageError
from git_blackbird.git.core.process import operands
from git_blackbird.git.core.repository import Repository, other_worktrees
from git_blackbird.git.proof.commits import (
    WHOLE,
    Attempt,
    Comparison,
    clean_merges,
    commits_of,
    cut_off,
    fetch_of,
    lacking_nothing,
    resolve_range,
    roots_of,
    scratch_repository,
)
from git_blackbird.git.proof.decisions import check_signature, read_decisions
from git_blackbird.model.base.ids import object_id_fault
from git_blackbird.model.base.next_steps import TaskCommand
from git_blackbird.model.run.published import (
    DECISION_REFS,
    HOLDING,
    SHARED_REFS,
    Chain,
    Decided,
    PublishedDecision,
)
from git_blackbird.model.run.states import Verb
from git_blackbird.model.views.verified import RangeCommit, Verification, VerifiedCommit

_TURNED = {f"{Verb.UNDO}-": Decided.UNDONE, f"{Verb.REDO}-": Decided.REDONE}
_AGAINST = frozenset({Decided.CHANGES_REQUESTED, Decided.REJECTED, Decided.UNDONE})
_MOST_WAYS = 20
_Way = tuple[PublishedDecision, ...]


class Asked(NamedTuple):
    """What is asked of ``verify``: which commits, who may sign, and which decision must be there."""

    commits: str = "HEAD"
    signers: Path | None = None
    since: str | None = None
    is_strict: bool = False


def verify(repo: Repository, asked: Asked) -> Verification:
    """Hold the commits of a range against the decisions that their messages name.

    Raises MissingHereError where this clone lacks something, UsageError where who may sign could come with
    the commits, UnusableError.
    """
    if asked.since is not None and (fault := object_id_fault(asked.since)):
        raise UsageError(f"--since {asked.since}: {fault}", hint=f"git for-each-ref {DECISION_REFS}")
    resolved = resolve_range(repo, asked.commits)
    listed, count = commits_of(repo, resolved, with_all=asked.is_strict)
    with lacking_nothing(repo), scratch_repository(repo) as scratch:
        plain = clean_merges(scratch, listed)
        judged = [
            commit for commit in listed if commit.oid not in plain and (commit.is_marked or asked.is_strict)
        ]
        marked = [commit for commit in judged if commit.is_marked]
        chain = read_decisions(repo)
        if marked and not chain.by_name and not chain.unread:
            own = TaskCommand("records publish", remark="where the decisions were made")
            ways = (*fetch_of(repo, SHARED_REFS), own)
            raise MissingHereError("no decisions are published in this clone", hint=ways)
        signers = _signers(repo, asked.signers)
        is_signed = signers is not None
        roots = _roots(repo, marked[-1].oid, chain, asked.since, is_signed=is_signed) if marked else set()
        judge = _Judge(repo, chain, signers, roots)
        comparison = Comparison(scratch)
        verified = {each.commit: each for each in judge.all(comparison, marked)}
        bare = [commit for commit in judged if not commit.is_marked and len(commit.parents) < 2]
        alike = comparison.find_alike(bare, [*chain.by_name.values()])
    broken = tuple(fault for faults in chain.faults.values() for fault in faults)
    rolled_back = None if asked.since is None else next(iter(broken), None)
    if asked.since not in {None, *(each.tag for each in chain.by_name.values())}:
        rolled_back = f"the decision {asked.since} is not among those here: they were rolled back"
    return Verification(
        resolved,
        tuple(verified.get(each) or _unmarked(each, alike.get(each.oid)) for each in judged),
        count - len(judged),
        is_signed,
        broken,
        rolled_back,
    )


def _roots(repo: Repository, tip: str, chain: Chain, since: str | None, *, is_signed: bool) -> set[str]:
    """Return the first commits of this repository, by which decisions say that they are of it.

    Where a shallow clone does not have them, the decision ``since`` tells; else, unless decisions are signed,
    what all of them say. Raises MissingHereError.
    """
    roots = {*roots_of(repo, tip)}
    cut = roots & cut_off(repo)
    if not cut:
        return roots
    pinned = [each for each in chain.by_name.values() if each.tag == since]
    told = {each.text.root for each in (pinned if pinned or is_signed else chain.by_name.values())}
    if len(told) != 1:
        text = "this clone is shallow: it lacks the first commit, by which decisions name their repository"
        raise MissingHereError(text, hint=fetch_of(repo, WHOLE))
    return roots - cut | told


def _unmarked(commit: RangeCommit, alike: PublishedDecision | None) -> VerifiedCommit:
    fault = "it names neither a task nor a run"
    if alike is not None:
        fault += f", and has what was decided on in run {alike.text.run} of {alike.text.task}"
    return VerifiedCommit(commit, fault)


def _signers(repo: Repository, given: Path | None) -> Path | None:
    """Return the file of who may sign, if there is one. Raises UsageError for one in a worktree of these."""
    path = given
    if path is None:
        key = ("config", "--type=path", "--get", *operands("gpg.ssh.allowedSignersFile"))
        configured = repo.git(*key, check=False).answer_if_any()
        path = Path(configured) if configured else None
    if path is None:
        return None
    path = Path(os.path.normpath(repo.top / path))
    tops = [*([] if repo.is_bare else [repo.top]), *(other.top for other in other_worktrees(repo))]
    if any(path.is_relative_to(top) or path.resolve().is_relative_to(top.resolve()) for top in tops):
        text = f"who may sign is said by {path}, which is in a worktree: a commit could add a key"
        raise UsageError(
            text, hint="take it from a commit that you trust: git show COMMIT:FILE >/tmp/signers"
        )
    if given is not None and (path.is_dir() or not path.exists()):
        raise UsageError(f"{path} is no file of who may sign")
    return path


@dataclass(frozen=True)
class _Judge:
    """Judges commits; what needs merging is merged for all at once."""

    repo: Repository
    chain: Chain
    signers: Path | None
    roots: set[str]
    _signed: dict[str, tuple[str | None, str]] = field(default_factory=dict)

    def all(self, comparison: Comparison, marked: Sequence[RangeCommit]) -> Iterator[VerifiedCommit]:
        attempts = [Attempt(commit, way, fault) for commit in marked for way, fault in self._ways(commit)]
        comparison.compare(attempts)
        for commit, grouped in groupby(attempts, key=lambda each: each.commit):
            tried = [*grouped]
            best = next((each for each in tried if each.fault is None), tried[-1])
            signers = (self._signed.get(each.tag, ("", ""))[0] for each in best.decisions)
            evidence = tuple(check for each in best.decisions for check in each.text.evidence)
            yield VerifiedCommit(
                commit,
                best.fault,
                best.paths,
                best.decisions,
                tuple(filter(None, signers)),
                evidence,
                has_evidence=best.is_same_tree and bool(evidence) and all(check.tree for check in evidence),
            )

    def _ways(self, commit: RangeCommit) -> list[tuple[_Way, str | None]]:
        """Return the decisions that a commit can stand on, in one way or several, each with its fault.

        There is at least one; those without a fault come last.
        """
        if len(commit.parents) > 1:
            return [((), "it is a merge, and has more than git makes of its parents")]
        each_name: list[list[PublishedDecision]] = []
        look = self._on_run if commit.runs else self._by_hand
        for name in commit.runs or commit.tasks:
            found, fault = look(name)
            if fault is not None:
                return [(tuple(found), fault)]
            each_name.append(found)
        ways = [
            tuple(sorted(way, key=lambda each: (each.text.at, each.number)))
            for way in islice(product(*each_name), _MOST_WAYS)
        ]
        judged = ((way, self._fault(commit, way)) for way in ways)
        return sorted(judged, key=lambda one: one[1] is None)

    def _by_hand(self, task: str) -> tuple[list[PublishedDecision], str | None]:
        """Return the commits by hand of a task, or why there are none."""
        made = (each for each in self.chain.by_name.values() if each.text.task == task and each.trees)
        found = [each for each in made if each.text.decided is Decided.BY_HAND]
        return found, None if found else f"no commit by hand of {task} is among the decisions here"

    def _on_run(self, mark: str) -> tuple[list[PublishedDecision], str | None]:
        """Return the decisions that a commit with this mark can stand on, or why there are none."""
        turned = next((which for prefix, which in _TURNED.items() if mark.startswith(prefix)), None)
        run = mark if turned is None else mark.partition("-")[2]
        there = self.chain.by_run.get(run, [])
        if faults := self.chain.faults.get(run):
            return there[-1:], faults[0]
        if not there:
            if unread := self.chain.unread.get(run):
                return [], f"the decision {unread[-1]} is here, and cannot be read"
            return [], f"no decision on run {run} is published here"
        last, wanted = there[-1], HOLDING if turned is None else {turned}
        if turned is None and last.text.decided in _AGAINST and last.trees is None:
            return [last], f"the last decision on run {run} is another: {last.text.decided.words}"
        found = [each for each in there if each.text.decided in wanted and each.trees is not None]
        if not found:
            return [last], f"no decision on run {run} leads to such a commit"
        return found[-1:] if turned is None else found, None

    def _fault(self, commit: RangeCommit, decisions: _Way) -> str | None:
        """Return what is wrong with decisions, whatever the commit changes."""
        for each in decisions:
            text, why = each.text, self._refused(each)
            others = {check.tree for check in text.evidence} - {None, each.trees and each.trees.head}
            if text.root not in self.roots:
                return f"the decision {each.name} is of a repository that begins with {text.root[:12]}"
            if commit.tasks and text.task not in commit.tasks:
                return f"the decision {each.name} is on the task {text.task}"
            if others:
                return f"the evidence of the decision {each.name} is of another tree"
            if why is not None:
                return f"the decision {each.name} is not signed by who may: {why}"
        lacking = {*commit.tasks} - {each.text.task for each in decisions}
        return f"no decision on the task {min(lacking)} is named" if lacking else None

    def _refused(self, decision: PublishedDecision) -> str | None:
        """Return why the signature of a decision does not count; None where none is asked for."""
        if self.signers is None:
            return None
        if not decision.is_signed:
            return "it has no signature"
        if decision.tag not in self._signed:
            self._signed[decision.tag] = check_signature(self.repo, decision.tag, self.signers)
        return self._signed[decision.tag][1] or None
