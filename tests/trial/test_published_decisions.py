"""Decisions are published, and any clone tells whether commits are what was decided on."""

import json
from pathlib import Path

import pytest

from tests.support import commit, git, write
from tests.trial.program import Trial

LINES = "".join(f"line {number}\n" for number in range(1, 41))
TOKEN = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
NAME = "refs/blackbird/decisions/"
SMIME = r"""#!/bin/sh
cat >/dev/null
case "$*" in
*--verify*) echo 'gpgsm: Good signature from "/CN=Ann"' >&2
    printf '\n[GNUPG:] GOODSIG 0123456789ABCDEF /CN=Ann\n[GNUPG:] TRUST_FULLY 0 shell\n' ;;
*)  printf '\n[GNUPG:] SIG_CREATED \n' >&2
    printf -- '-----BEGIN SIGNED MESSAGE-----\nabc\n-----END SIGNED MESSAGE-----\n' ;;
esac
"""


@pytest.fixture
def trial(repo: Path) -> Trial:
    """A repository whose approvals commit, with edits of its user's that are in no commit."""
    trial = Trial(repo)
    trial.init("--statuses", "lasting")
    trial.plan({"a": (), "b": (), "c": (), "d": (), "e": ()})
    commit(
        repo,
        {
            "lines.txt": LINES,
            "own.txt": "own\n",
            "blackbird.plan.json": (repo / "blackbird.plan.json").read_bytes(),
        },
    )
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "settings")
    trial.configure({"execution.commit": "approved", "check.command": f"true # {TOKEN}"})
    trial.expect(0, "config", "--project", "execution.stopAfterEachTask", "true")
    git(repo, "commit", "-q", "-a", "-m", "stop")
    write(repo, {"private.txt": "private\n", "own.txt": "own, edited\n"})
    return trial


def run(trial: Trial, task: str, line: int) -> str:
    trial.command(f"sed -i 's/^line {line}$/{task}/' lines.txt; echo {task} >{task}.txt")
    trial.expect(3, "execute", "--no-input", task)
    return str(trial.records(task)[-1]["id"])


def test_a_clone_holds_commits_against_decisions(trial: Trial, tmp_path: Path) -> None:
    repo = trial.repo
    runs = {}
    for number, task in enumerate("abc"):
        runs[task] = run(trial, task, 3 + 9 * number)
        trial.expect(0, "decide", task, *(("--reject", "--undo") if task == "b" else ("--approve",)))
    trial.expect(0, "undo", "c")
    assert "published 4 decisions" in trial.expect(0, "records", "publish")
    trial.expect(0, "redo", "c")
    trial.configure({"execution.worktrees": "true"})
    runs["d"] = run(trial, "d", 35)
    trial.expect(0, "decide", "d", "--approve")
    said = trial.expect(0, "records", "publish")
    assert "published 2 decisions; 4 were before" in said
    assert "published 0 decisions; 6 were before" in trial.expect(0, "records", "publish")

    # Nothing is published that is in no commit, nor a secret of a check's command.
    objects = git(repo, "rev-list", "--objects", f"--glob={NAME}*")
    assert git(repo, "hash-object", "private.txt") not in objects
    assert git(repo, "hash-object", "own.txt") not in objects
    names = git(repo, "for-each-ref", "--format=%(refname)", NAME).split()
    assert sorted(names) == sorted(
        [
            f"{NAME}{runs['a']}/1",
            f"{NAME}{runs['b']}/1",
            *(f"{NAME}{runs['c']}/{at}" for at in (1, 2, 3)),
            f"{NAME}{runs['d']}/1",
        ]
    )
    texts = [git(repo, "cat-file", "tag", name) for name in names]
    assert all(TOKEN not in text for text in texts)
    assert any("true # " in text for text in texts)

    git(tmp_path, "init", "-q", "--bare", "remote")
    git(repo, "remote", "add", "origin", str(tmp_path / "remote"))
    git(repo, "push", "-q", "origin", "HEAD:main")
    git(repo, "push", "-q", "origin", f"{NAME}*:{NAME}*")
    git(tmp_path, "clone", "-q", "-b", "main", str(tmp_path / "remote"), "clone")
    clone = Trial(tmp_path / "clone")
    said = clone.expect(2, "verify")
    assert f"hint: git fetch origin '{NAME}*:{NAME}*'" in said
    git(clone.repo, "fetch", "-q", "origin", f"{NAME}*:{NAME}*")
    found = json.loads(clone.expect(0, "verify", "--json"))["data"]
    assert [(each["subject"], each["fault"], each["hasEvidence"]) for each in found["commits"]] == [
        ("A", None, False),
        ("C", None, False),
        ('Undo "C"', None, False),
        ('Redo "C"', None, False),
        ("D", None, False),
    ]
    # No worktree is needed.
    bare = Trial(tmp_path / "remote")
    git(bare.repo, "symbolic-ref", "HEAD", "refs/heads/main")
    assert "\n5 commits as decided, " in bare.expect(0, "verify")
    assert bare.expect(0, "records", "publish").startswith("published 0 decisions; 6 were before\n")
    assert "this is a bare repository" in bare.expect(128, "verify", "--check")
    assert "there is no check to run" in clone.expect(2, "verify", "--check")
    page = clone.expect(0, "verify", "--page", "HEAD~1..HEAD")
    said, _, rest = page.partition("\n")
    assert said.startswith("**Verified: yes** (1 commit as decided, 1 of them checked on other files; ")
    assert said.endswith("; no signatures were asked for)")
    before, last = git(clone.repo, "rev-parse", "HEAD~1", "HEAD").split()
    assert f"\ngit blackbird verify {before}..{last}\n" in rest

    # What is amended afterwards is not what was decided on.
    write(clone.repo, {"evil.txt": "evil\n"})
    git(clone.repo, "add", "evil.txt")
    git(clone.repo, "commit", "-q", "--amend", "--no-edit")
    said = clone.expect(1, "verify", "HEAD~1..HEAD")
    oid = git(clone.repo, "rev-parse", "HEAD")[:12]
    assert f"{oid} D: it has other files than were decided on\n  evil.txt\n" in said


def test_evidence_counts_once_the_check_has_passed_on_the_new_files(trial: Trial, tmp_path: Path) -> None:
    repo = trial.repo
    (repo / "private.txt").unlink()
    git(repo, "checkout", "-q", "own.txt")
    run(trial, "a", 3)
    trial.expect(0, "decide", "a", "--approve")
    trial.expect(0, "records", "publish")
    assert (
        trial.expect(0, "verify").splitlines()[-1]
        == "1 commit as decided; 3 others; no signatures were asked for"
    )
    git(repo, "checkout", "-q", "-b", "other", "HEAD~1")
    commit(repo, {"other.txt": "other\n"})
    git(repo, "cherry-pick", "main")
    said = trial.expect(0, "verify", "main..HEAD")
    assert "check exit 0, on other files\n1 commit as decided, 1 of them checked on other files" in said
    trial.configure({"check.command": f"echo ran >>{tmp_path}/ran; test -f other.txt"})
    for _ in range(2):
        found = json.loads(trial.expect(0, "verify", "--check", "--json", "main..HEAD").splitlines()[-1])[
            "data"
        ]
        assert [each["hasEvidence"] for each in found["commits"]] == [True]
    assert (tmp_path / "ran").read_text() == "ran\n"
    trial.configure({"check.command": "test ! -f other.txt"})
    oid = git(repo, "rev-parse", "HEAD")[:12]
    said = trial.expect(1, "verify", "--check", "main..HEAD")
    assert f"{oid} A: its check failed: exit 1\n" in said


def test_commits_by_hand_and_sent_back_rounds(trial: Trial) -> None:
    repo = trial.repo
    trial.expect(0, "hooks", "install")
    commit(repo, {"hand.txt": "by hand\n"}, "By hand\n\nBlackbird-Task: a\nBlackbird-Task: c")
    git(repo, "commit", "-q", "--allow-empty", "-m", "x")
    trial.expect(0, "status")
    early = run(trial, "b", 3)
    trial.expect(0, "decide", "b", "--request-changes", "-m", "more")
    trial.expect(0, "records", "publish")
    assert (
        trial.expect(0, "verify").splitlines()[-1]
        == "1 commit as decided; 4 others; no signatures were asked for"
    )
    # A commit of what was sent back.
    git(repo, "add", "b.txt", "lines.txt")
    git(repo, "commit", "-q", "--no-verify", "-m", f"B\n\nBlackbird-Task: b\nBlackbird-Run: {early}")
    assert f"B: the last decision on run {early} is another: changes requested" in trial.expect(1, "verify")


def test_what_was_taken_back_without_a_commit_does_not_hold(trial: Trial) -> None:
    run(trial, "a", 3)
    trial.expect(0, "decide", "a", "--approve", "--no-commit")
    trial.expect(0, "records", "publish")
    trial.expect(0, "branch", "a")
    assert "1 commit as decided" in trial.expect(0, "verify", "HEAD..blackbird/a")
    for verb, code, said in (("undo", 1, "is another: undone"), ("redo", 0, "1 commit as decided")):
        trial.expect(0, verb, "a")
        trial.expect(0, "records", "publish")
        assert said in trial.expect(code, "verify", "HEAD..blackbird/a")
    assert "published 0 decisions; 3 were before" in trial.expect(0, "records", "publish")


def test_what_landed_unasked_has_the_evidence_of_the_merged_files(repo: Path) -> None:
    trial = Trial(repo)
    trial.init()
    trial.plan({"a": (), "b": ()})
    commit(repo, {"lines.txt": LINES, ".gitignore": ".blackbird\nblackbird.plan.json\n"})
    trial.configure({"execution.commit": "checked", "check.command": "true", "execution.worktrees": "true"})
    trial.command('echo "$BLACKBIRD_TASK_ID" >"$BLACKBIRD_TASK_ID.txt"')
    trial.expect(0, "execute", "--no-input", "--jobs", "2")
    trial.expect(0, "records", "publish")
    found = json.loads(trial.expect(0, "verify", "--json"))["data"]
    said = {(each["decisions"][0]["text"]["decided"], each["hasEvidence"]) for each in found["commits"]}
    assert said == {("accepted", True)}
    assert len(found["commits"]) == 2


def test_what_git_did_not_sign_is_not_published_and_no_name_is_in_the_way(
    trial: Trial, tmp_path: Path
) -> None:
    repo = trial.repo
    made = run(trial, "a", 3)
    trial.expect(0, "decide", "a", "--approve")
    git(repo, "update-ref", f"{NAME}{made}/1", "HEAD")
    for key, value in {
        "gpg.format": "ssh",
        "tag.gpgSign": "true",
        "user.signingKey": "/nowhere/key.pub",
    }.items():
        git(repo, "config", key, value)
    # Some versions of git end with 0, and a tag without a signature.
    assert "on a: error: " in trial.expect(1, "records", "publish").replace("fatal: ", "error: ")
    refs = ("for-each-ref", "--format=%(refname)", NAME, "refs/tags")
    assert git(repo, *refs) == f"{NAME}{made}/1"
    git(repo, "config", "tag.gpgSign", "false")
    assert "published 1 decision; 0 were before" in trial.expect(0, "records", "publish")
    assert git(repo, *refs).split() == [f"{NAME}{made}/1", f"{NAME}{made}/2"]
    assert "1 commit as decided" in trial.expect(0, "verify")
    # Signed with a certificate.
    signer = tmp_path / "smime"
    signer.write_text(SMIME)
    signer.chmod(0o755)
    for key, value in {"gpg.format": "x509", "gpg.x509.program": str(signer), "tag.gpgSign": "true"}.items():
        git(repo, "config", key, value)
    git(repo, "update-ref", "-d", f"{NAME}{made}/2")
    assert "published 1 decision; 0 were before" in trial.expect(0, "records", "publish")
    (tmp_path / "signers").touch()
    signers = str(tmp_path / "signers")
    (found,) = json.loads(trial.expect(0, "verify", "--signers", signers, "--json"))["data"]["commits"]
    assert found["signers"] == ["/CN=Ann"]
