"""Commits against published decisions: what is planted is named, and nothing else."""

import os
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from git_blackbird.controller.proof.verify import Asked, verify
from git_blackbird.errors import MissingHereError, UsageError
from git_blackbird.model.base.ids import RunId
from git_blackbird.model.run.published import Decided, PublishedCheck
from git_blackbird.model.run.states import CheckOutcome
from git_blackbird.model.run.summary import Trees
from git_blackbird.model.views.verified import Verification
from tests.controller.proof.decided import FILES, PLAN, Decisions, Made, Signing
from tests.support import git, repository_at

OTHER = "1" * 40
Plant = Callable[[Decisions, Made], str]


def _edited(made: Made) -> dict[bytes, bytes]:
    path = next(iter(made.edits))
    return {path: made.edits[path] + b"nobody decided on this\n"}


def tree_edited(there: Decisions, made: Made) -> str:
    return there.add(made, _edited(made))


def amended(there: Decisions, made: Made) -> str:
    return there.add(made, {b"more/of-it.txt": b"%d\n" % made.number})


def plan_edited(there: Decisions, made: Made) -> str:
    there.title = f"Task of {made.number}"
    return there.add(made, {PLAN: there.plan()})


def trailer_moved(there: Decisions, made: Made) -> str:
    other = there.task(made.number - 1)
    return there.add(replace(made, tasks=other.tasks, runs=other.runs))


def squashed(there: Decisions, made: Made) -> str:
    other = there.task(made.number + 100_000)
    there.publish(other)
    path = next(iter(other.edits))
    both = replace(made, tasks=(*other.tasks, *made.tasks), runs=(*other.runs, *made.runs))
    return there.add(both, {path: other.edits[path] + b"more\n"})


def decision_edited(there: Decisions, made: Made) -> str:
    before = there.tree
    oid = there.add(made, _edited(made))
    pair = Trees(*(there.trees.without(each, [PLAN]) for each in (before, there.tree)))
    there.refs[f"refs/blackbird/decisions/{made.name}"] = there.tag(made.name, made.text, pair, there.signing)
    return oid


def of_another_repository(there: Decisions, made: Made) -> str:
    return there.add(replace(made, text=made.text.updated(root=OTHER)))


def of_an_older_round(there: Decisions, made: Made) -> str:
    earlier = made.text.updated(run=RunId(f"early{made.number}"), decided=Decided.CHANGES_REQUESTED)
    there.decide(f"{earlier.run}/1", earlier, None)
    return there.add(replace(made, runs=(earlier.run,)))


def by_another_key(there: Decisions, made: Made) -> str:
    signer = there.signing and tuple(word.replace("ann", "other") for word in there.signing)
    return there.add(replace(made, signer=signer))


def withdrawn(there: Decisions, made: Made) -> str:
    oid = there.add(made)
    del there.refs[f"refs/blackbird/decisions/{made.name}"]
    return oid


def evidence_of_another_tree(there: Decisions, made: Made) -> str:
    check = PublishedCheck(title="check", outcome=CheckOutcome.PASSED, tree=there.tree)
    return there.add(replace(made, text=made.text.updated(evidence=(check,))))


def task_unknown(there: Decisions, made: Made) -> str:
    return there.add(replace(made, tasks=("nobody-has-it",), runs=()))


FAULTS: dict[Plant, str] = {
    tree_edited: "it has other files than were decided on",
    trailer_moved: "decided on",
    amended: "it has other files than were decided on",
    plan_edited: "it changes more of blackbird.plan.json than statuses",
    squashed: "it has other files than were decided on",
    decision_edited: "was edited",
    of_another_repository: "is of a repository that begins with 111111111111",
    of_an_older_round: "is another: changes requested",
    by_another_key: "is not signed by who may",
    withdrawn: "was withdrawn",
    evidence_of_another_tree: "is of another tree",
    task_unknown: "no commit by hand of nobody-has-it",
}


class Keys(NamedTuple):
    """The file of who may sign, and the command that signs with the key of one; another has one as well."""

    signers: Path
    signing: Signing


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    folder = tmp_path / "keys"
    folder.mkdir()
    for name in ("ann", "other"):
        made = ("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name)
        subprocess.run(made, check=True)
    signers = folder / "signers"
    signers.write_text(f"ann@example.com {(folder / 'ann.pub').read_text()}")
    return Keys(signers, ("ssh-keygen", "-q", "-Y", "sign", "-n", "git", "-f", str(folder / "ann")))


@pytest.fixture
def gpg_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Keys]:
    """Keys of GPG: who verifies has that of Ann alone."""
    # The paths of sockets are short.
    with tempfile.TemporaryDirectory(prefix="gpg.") as folder:
        home, private = Path(folder, "home"), Path(folder, "private")
        for place in (home, private):
            place.mkdir(mode=0o700)
        gpg = ("gpg", "--homedir", str(private), "--batch", "--quiet", "--passphrase", "")
        for name in ("ann", "other"):
            made = (*gpg, "--quick-gen-key", f"{name} <{name}@example.com>", "ed25519", "sign")
            subprocess.run(made, check=True, capture_output=True)
        public = subprocess.run((*gpg, "--export", "ann@example.com"), check=True, capture_output=True)
        imported = ("gpg", "--homedir", str(home), "--batch", "--quiet", "--import")
        subprocess.run(imported, input=public.stdout, check=True)
        monkeypatch.setenv("GNUPGHOME", str(home))
        signers = tmp_path / "signers"
        signers.touch()
        yield Keys(signers, (*gpg, "--armor", "--detach-sign", "--local-user", "ann@example.com"))
        for place in (home, private):
            subprocess.run(("gpgconf", "--homedir", place, "--kill", "all"), check=True)


def planted(there: Decisions, each: int, kinds: list[Plant]) -> Iterator[tuple[str, Plant]]:
    """Make the commits of all tasks, with faults of each kind at even distances; give which are faulty."""
    faulty = {
        (at + 1) * there.tasks // (each * len(kinds) + 1): kinds[at % len(kinds)]
        for at in range(each * len(kinds))
    }
    for number in range(there.tasks):
        made = there.task(number)
        if number in faulty:
            yield faulty[number](there, made), faulty[number]
        else:
            there.add(made)
    there.finish()


def assert_named(found: Verification, faulty: dict[str, Plant]) -> None:
    named = [(each.commit.subject, each.fault) for each in found.commits if each.fault is not None]
    wanted = [
        (each.commit.subject, faulty[each.commit.oid]) for each in found.commits if each.commit.oid in faulty
    ]
    assert [subject for subject, _ in named] == [subject for subject, _ in wanted]
    for (_, fault), (_, kind) in zip(named, wanted, strict=True):
        assert FAULTS[kind] in (fault or "")


@pytest.mark.parametrize(
    ("count", "kind"),
    [
        (40, "keys"),
        pytest.param(40, "gpg_keys", marks=pytest.mark.exhaustive),
        pytest.param(1000, "keys", marks=pytest.mark.exhaustive),
    ],
)
def test_each_planted_fault_is_named_and_nothing_else(
    repo: Path, request: pytest.FixtureRequest, count: int, kind: str
) -> None:
    keys: Keys = request.getfixturevalue(kind)
    there = Decisions(repo, count, signing=keys.signing)
    faulty = dict(planted(there, 2 if count == 1000 else 1, [*FAULTS]))
    found = verify(there.repo, Asked("main", signers=keys.signers))
    assert_named(found, faulty)
    assert len(found.commits) == count
    signed = {signer for each in found.commits if each.fault is None for signer in each.signers}
    assert {"ann" in signer for signer in signed} == {True}
    assert found.others == 1
    assert not found.holds
    # Nobody is asked who signed: another key is as good.
    unsigned = verify(there.repo, Asked("main"))
    assert_named(unsigned, {oid: kind for oid, kind in faulty.items() if kind is not by_another_key})


@pytest.mark.exhaustive
def test_a_thousand_commits_without_signatures(repo: Path) -> None:
    there = Decisions(repo, 1000)
    kinds = [kind for kind in FAULTS if kind is not by_another_key]
    faulty = dict(planted(there, 2, kinds))
    before = os.times()
    found = verify(there.repo, Asked("main"))
    # Of processor time, with that of git: whatever else the machine does.
    assert sum(os.times()[:4]) - sum(before[:4]) < 20
    assert_named(found, faulty)
    assert len(found.commits) == 1000


@pytest.mark.parametrize("count", [8, pytest.param(100, marks=pytest.mark.exhaustive)])
def test_clean_rebases_ask_for_nothing_again(repo: Path, count: int) -> None:
    there = Decisions(repo, count)
    list(planted(there, 0, []))
    git(repo, "checkout", "-q", "-f", "-B", "other", there.root)
    for number in range(FILES):
        path = repo / os.fsdecode(there.file(number))
        path.write_text(path.read_text().replace("line 39", "line 39, of another"))
    git(repo, "commit", "-q", "-a", "-m", "Another")
    git(repo, "rebase", "-q", "other", "main")
    found = verify(there.repo, Asked("other..main"))
    assert found.holds
    assert len(found.commits) == count
    # What was known of these files is not known of those.
    assert not any(commit.has_evidence for commit in found.commits)
    assert all(commit.has_evidence for commit in verify(there.repo, Asked(there.tip)).commits)
    # A squash and a merge have what the commits have.
    git(repo, "checkout", "-q", "-B", "squashed", "other")
    git(repo, "merge", "-q", "--squash", "main")
    git(repo, "commit", "-q", "--no-edit")
    git(repo, "checkout", "-q", "-B", "merged", there.root)
    git(repo, "commit", "-q", "--allow-empty", "-m", "Empty")
    git(repo, "merge", "-q", "--no-edit", "squashed")
    found = verify(there.repo, Asked("other..merged"))
    assert found.holds
    assert [len(commit.decisions) for commit in found.commits] == [count]
    assert found.others == 2
    (repo / "evil").write_text("evil")
    git(repo, "add", "evil")
    git(repo, "commit", "-q", "--amend", "--no-edit")
    found = verify(there.repo, Asked("other..merged", is_strict=True))
    assert [each.commit.subject for each in found.faulty] == ["Empty", "Merge branch 'squashed' into merged"]


FETCH_DECISIONS = "git fetch origin 'refs/blackbird/decisions/*:refs/blackbird/decisions/*'"


def assert_lacking(clone: Path, asked: Asked, command: str) -> None:
    """See that verify refuses, and names the command that brings what is lacking; run it."""
    with pytest.raises(MissingHereError) as refused:
        verify(repository_at(clone, os.environ), asked)
    assert refused.value.ways_out[0] == command
    git(clone, *shlex.split(command)[1:])


def test_what_a_clone_lacks_is_named_with_the_fetch_that_brings_it(repo: Path, tmp_path: Path) -> None:
    there = Decisions(repo, 3)
    list(planted(there, 0, []))
    git(repo, "update-ref", "HEAD", "main")
    git(repo, "config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{repo}", "clone")
    assert_lacking(clone, Asked(), "git fetch origin --unshallow")
    assert_lacking(clone, Asked("HEAD~1..HEAD"), FETCH_DECISIONS)
    assert verify(repository_at(clone, os.environ), Asked()).holds
    for name, command in {
        "origin/next..HEAD": "git fetch origin +next:refs/remotes/origin/next",
        OTHER: f"git fetch origin {OTHER}",
        "HEAD~9": "git fetch origin",
    }.items():
        with pytest.raises(MissingHereError) as refused:
            verify(repository_at(clone, os.environ), Asked(name))
        assert refused.value.hint == command
    for kind in ("blob:none", "tree:0"):
        part = tmp_path / f"part-{kind.partition(':')[0]}"
        git(tmp_path, "clone", "-q", f"--filter={kind}", f"file://{repo}", str(part))
        assert_lacking(part, Asked(), FETCH_DECISIONS)
        decisions = "'refs/blackbird/decisions/*:refs/blackbird/decisions/*'"
        branches = "'+refs/heads/*:refs/remotes/origin/*'"
        assert_lacking(part, Asked(), f"git fetch --refetch --no-filter origin {branches} {decisions}")
        assert verify(repository_at(part, os.environ), Asked()).holds


def test_only_what_is_needed_of_a_shallow_clone_is_asked_for(repo: Path, keys: Keys, tmp_path: Path) -> None:
    there = Decisions(repo, 4, signing=keys.signing)
    list(planted(there, 0, []))
    git(repo, "checkout", "-q", "-f", "-b", "merged", "main~1")
    git(repo, "commit", "-q", "--allow-empty", "-m", "Empty")
    git(repo, "merge", "-q", "--no-edit", "main")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--depth=3", f"file://{repo}", "clone")
    git(clone, *shlex.split(FETCH_DECISIONS)[1:])
    found = verify(repository_at(clone, os.environ), Asked("HEAD~2..HEAD", is_strict=True))
    assert [each.commit.subject for each in found.faulty] == ["Empty"]
    assert found.others == 1
    git(repo, "checkout", "-q", "-f", "main")
    clone = tmp_path / "other"
    git(tmp_path, "clone", "-q", "--depth=2", f"file://{repo}", "other")
    assert_lacking(clone, Asked("HEAD~1..HEAD"), FETCH_DECISIONS)
    shallow = repository_at(clone, os.environ)
    last, signers = there.last["run00003/1"], keys.signers
    assert [each.fault for each in verify(shallow, Asked("HEAD~1..HEAD")).commits] == [None]
    assert verify(shallow, Asked("HEAD~1..HEAD", signers, last)).holds
    for asked in (Asked(), Asked("HEAD~2"), Asked("HEAD~1..HEAD", signers)):
        with pytest.raises(MissingHereError) as refused:
            verify(shallow, asked)
        assert refused.value.hint == "git fetch origin --unshallow"
    # Signed, for another repository.
    foreign = there.task(4)
    foreign = replace(foreign, text=foreign.text.updated(root=OTHER))
    there.add(foreign)
    there.finish()
    git(clone, "fetch", "-q", "origin", "--depth=2", "main")
    git(clone, "reset", "-q", "--hard", "FETCH_HEAD")
    git(clone, *shlex.split(FETCH_DECISIONS)[1:])
    with pytest.raises(MissingHereError):
        verify(shallow, Asked("HEAD~1..HEAD"))
    (only,) = verify(shallow, Asked("HEAD~1..HEAD", signers, last)).commits
    assert only.fault == f"the decision run00004/1 is of a repository that begins with {OTHER[:12]}"


def test_where_there_is_no_commit_yet(repo: Path, tmp_path: Path) -> None:
    there = Decisions(repo, 1)
    list(planted(there, 0, []))
    clone = tmp_path / "clone"
    git(tmp_path, "init", "-q", "-b", "other", "clone")
    empty = repository_at(clone, os.environ)
    with pytest.raises(MissingHereError, match="there is no commit here yet") as refused:
        verify(empty, Asked())
    assert refused.value.hint == "go to a clone that has commits"
    git(clone, "remote", "add", "origin", str(repo))
    assert_lacking(clone, Asked(), "git fetch origin")
    with pytest.raises(MissingHereError) as refused:
        verify(empty, Asked())
    assert refused.value.hint == "git blackbird verify origin/main"
    assert_lacking(clone, Asked("origin/main"), FETCH_DECISIONS)
    assert verify(empty, Asked("origin/main")).holds


def test_a_rollback_shows_against_a_pinned_decision(repo: Path) -> None:
    there = Decisions(repo, 3)
    list(planted(there, 0, []))
    (pinned,) = there.last.values()
    assert verify(there.repo, Asked("main", since=pinned)).holds
    git(repo, "update-ref", "-d", "refs/blackbird/decisions/run00002/1")
    assert verify(there.repo, Asked("main~1")).holds
    found = verify(there.repo, Asked("main~1", since=pinned))
    assert found.rolled_back == f"the decision {pinned} is not among those here: they were rolled back"
    assert not found.holds
    with pytest.raises(UsageError, match=f"--since {pinned[:8]}: not an object id"):
        verify(there.repo, Asked("main", since=pinned[:8]))
    # One before it is gone too.
    git(repo, "update-ref", "-d", "refs/blackbird/decisions/run00000/1")
    last = git(repo, "rev-parse", "refs/blackbird/decisions/run00001/1")
    assert "run00000/1 was withdrawn" in (verify(there.repo, Asked("main~1", since=last)).rolled_back or "")


def test_what_cannot_be_read_is_not_said_to_be_gone(repo: Path) -> None:
    there = Decisions(repo, 2)
    list(planted(there, 0, []))
    for number, fault in enumerate(
        (
            "the decision run00000/1 cannot be read, and run00001/1 names it",
            "the decision run00001/1 is here, and cannot be read",
        )
    ):
        git(repo, "update-ref", f"refs/blackbird/decisions/run0000{number}/1", "main")
        assert verify(there.repo, Asked("main")).commits[number].fault == fault
    # With none that can be read, a fetch would bring nothing.
    assert [each.fault for each in verify(there.repo, Asked("main")).commits] == [
        f"the decision run0000{number}/1 is here, and cannot be read" for number in range(2)
    ]


def test_who_may_sign_comes_from_outside_of_the_range(repo: Path, keys: Keys, tmp_path: Path) -> None:
    there = Decisions(repo, 2)
    list(planted(there, 0, []))
    git(repo, "config", "gpg.ssh.allowedSignersFile", str(keys.signers))
    assert [each.fault for each in verify(there.repo, Asked("main")).faulty] == [
        f"the decision run0000{number}/1 is not signed by who may: it has no signature" for number in range(2)
    ]
    git(repo, "worktree", "add", "-q", "--detach", str(tmp_path / "linked"), "main")
    for path in (Path("signers"), repo / "signers", tmp_path / "linked/signers"):
        with pytest.raises(UsageError, match="which is in a worktree"):
            verify(there.repo, Asked("main", signers=path))
    with pytest.raises(UsageError, match="is no file of who may sign"):
        verify(there.repo, Asked("main", signers=tmp_path / "keys"))


def test_a_commit_that_lost_its_mark_is_known_by_its_change(repo: Path) -> None:
    there = Decisions(repo, 4)
    first, moved = there.task(0), there.task(1)
    path = next(iter(moved.edits))
    block = ["if it:", "    one()", "    two()", ""]
    guarded, moved_out = "\n".join(block), "\n".join([*block[:2], "two()", ""])
    there.write(there.edited(there.tree, {path: b"begin\n"}), replace(first, tasks=(), runs=()))
    before = there.tree
    there.publish(replace(moved, edits={path: f"begin\n{guarded}".encode()}))
    there.write(there.edited(before, {path: f"begin\n{guarded}".encode()}), replace(moved, tasks=(), runs=()))
    same, there.tip, there.tree = there.tip, git(repo, "rev-parse", f"{there.tip}~1"), before
    there.write(
        there.edited(before, {path: f"begin\n{moved_out}".encode()}), replace(moved, tasks=(), runs=())
    )
    for tip, known in ((same, ", and has what was decided on in run run00001 of task-1"), (there.tip, "")):
        there.tip = tip
        there.finish()
        *_, last = verify(there.repo, Asked("main", is_strict=True)).faulty
        assert last.fault == f"it names neither a task nor a run{known}"
    # Their patches are said to be the same.
    ids = [
        git(repo, "patch-id", stdin=git(repo, "show", oid).encode()).split()[0] for oid in (same, there.tip)
    ]
    assert ids[0] == ids[1]
