"""The commit of exactly one change: what it holds, what refuses it, what it leaves alone."""

import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from git_blackbird.git.commit.create import (
    CommitRefusedError,
    CreatedCommit,
    IndexUpdateError,
    make_commit,
    update_index,
)
from git_blackbird.git.commit.plan import CommitPlan, plan_commit
from git_blackbird.git.worktree.log import commit_of_run, find_commit, reachable, read_commits
from git_blackbird.model.base.ids import RunId
from git_blackbird.model.run.commits import Commit, render_commit_message
from git_blackbird.model.run.summary import Trees
from tests.controller.support import leaf
from tests.git.support import change_after, found, listing, tree_of
from tests.support import commit, git, write

MESSAGE = "Say more\n\nBlackbird-Task: a\nBlackbird-Run: 0123456789abcdef\n"


def planned(repo: Path, pair: Trees) -> CommitPlan:
    return plan_commit(found(repo), pair, tree_of(repo))


def committed(repo: Path, pair: Trees) -> CreatedCommit:
    plan = planned(repo, pair)
    assert plan.obstacles == ()
    made = make_commit(found(repo), plan, MESSAGE)
    update_index(found(repo), plan.base_tree, made.tree)
    return made


def status(repo: Path) -> str:
    return git(repo, "status", "--porcelain")


def hook(repo: Path, name: str, script: str) -> None:
    path = Path(git(repo, "rev-parse", "--path-format=absolute", "--git-path", f"hooks/{name}"))
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.fixture
def based(repo: Path) -> tuple[Path, str]:
    """A repository with some files, and the snapshot from before the agent."""
    commit(repo, {"a.txt": "one\n", "b.txt": "one\n", "d/x.txt": "x\n", "run.sh": "true\n"})
    return repo, tree_of(repo)


def test_it_holds_the_change_and_nothing_of_the_users(based: tuple[Path, str]) -> None:
    repo, base = based
    write(repo, {"b.txt": "mine, staged\n", "mine.txt": "new, staged\n"})
    git(repo, "add", "b.txt", "mine.txt")
    write(repo, {"b.txt": "mine, not staged\n", "loose.txt": "untracked\n"})
    base = tree_of(repo)
    write(repo, {"a.txt": "two\n", "new/deep/file": "n\n", "not\udcff": "bytes\n"})
    (repo / "d/x.txt").unlink()
    (repo / "run.sh").chmod(0o755)
    (repo / "link").symlink_to("a.txt")
    before = git(repo, "rev-parse", "HEAD")
    made = committed(repo, change_after(repo, base))
    assert git(repo, "rev-parse", "HEAD", "HEAD^").split() == [made.oid, before]
    assert made.differs == ()
    assert listing(repo, "HEAD") == {
        "a.txt": "100644 two",
        "b.txt": "100644 one",
        "link": "120000 a.txt",
        "new/deep/file": "100644 n",
        "not\udcff": "100644 bytes",
        "run.sh": "100755 true",
    }
    assert status(repo) == "MM b.txt\nA  mine.txt\n?? loose.txt"
    assert git(repo, "diff-files", "--name-only") == "b.txt"
    assert git(repo, "log", "-1", "--format=%an <%ae>%n%B") == f"Ada <ada@example.com>\n{MESSAGE}"
    assert git(repo, "reflog", "-1", "--format=%gs") == "commit: Say more"


def test_the_first_commit_of_all(repo: Path) -> None:
    base = tree_of(repo)
    write(repo, {"a": "1\n", "mine": "2\n"})
    pair = change_after(repo, base)
    write(repo, {"mine-too": "3\n"})
    git(repo, "add", "mine-too")
    made = committed(repo, pair)
    assert git(repo, "log", "--format=%H %s") == f"{made.oid} Say more"
    assert status(repo) == "A  mine-too"


def test_on_a_detached_head_and_in_a_linked_worktree(based: tuple[Path, str], tmp_path: Path) -> None:
    repo, _ = based
    other = tmp_path / "other tree"
    git(repo, "worktree", "add", "-q", "--detach", str(other))
    base = tree_of(other)
    write(other, {"a.txt": "two\n"})
    made = committed(other, change_after(other, base))
    assert git(other, "rev-parse", "HEAD") == made.oid
    assert git(repo, "log", "--format=%s", "main") == "a commit"
    assert (status(other), status(repo)) == ("", "")


def test_what_the_agent_committed_itself_is_left_out(based: tuple[Path, str]) -> None:
    repo, base = based
    write(repo, {"a.txt": "two\n", "b.txt": "two\n"})
    pair = change_after(repo, base)
    git(repo, "commit", "-q", "-m", "its own", "a.txt")
    write(repo, {"a.txt": "mine by now\n"})
    committed(repo, pair)
    assert git(repo, "diff-tree", "-r", "--no-commit-id", "--name-only", "HEAD") == "b.txt"
    assert status(repo) == " M a.txt"
    assert planned(repo, pair).edits == {}


def test_what_the_user_staged_of_the_change_is_no_obstacle(based: tuple[Path, str]) -> None:
    repo, base = based
    write(repo, {"a.txt": "two\n", "new.txt": "n\n", "empty": ""})
    pair = change_after(repo, base)
    git(repo, "add", "a.txt", "empty")
    git(repo, "add", "-N", "new.txt")
    committed(repo, pair)
    assert status(repo) == ""


def test_a_file_becomes_a_folder_and_a_folder_a_file(based: tuple[Path, str]) -> None:
    repo, base = based
    (repo / "a.txt").unlink()
    (repo / "d/x.txt").unlink()
    (repo / "d").rmdir()
    write(repo, {"a.txt/inside": "i\n", "d": "file\n"})
    committed(repo, change_after(repo, base))
    assert set(listing(repo, "HEAD")) == {"a.txt/inside", "b.txt", "d", "run.sh"}
    assert status(repo) == ""


def test_content_goes_through_no_filter_twice(repo: Path) -> None:
    git(repo, "config", "filter.shout.clean", "tr a-z A-Z")
    git(repo, "config", "filter.shout.smudge", "tr A-Z a-z")
    commit(
        repo, {".gitattributes": "*.txt text eol=crlf\n*.up filter=shout\n", "a.txt": "1\r\n", "b.up": "b\n"}
    )
    base = tree_of(repo)
    write(repo, {"a.txt": "1\r\n2\r\n", "b.up": "changed\n"})
    committed(repo, change_after(repo, base))
    assert git(repo, "cat-file", "blob", "HEAD:a.txt") == "1\n2"
    assert git(repo, "cat-file", "blob", "HEAD:b.up") == "CHANGED"
    assert status(repo) == ""


def test_each_overlap_is_named_with_its_reason(based: tuple[Path, str]) -> None:
    repo, _ = based
    write(repo, {"b.txt": "edited before the run\n"})
    base = tree_of(repo)
    write(repo, {"a.txt": "two\n", "b.txt": "and by the agent\n", "d/x.txt": "y\n", "run.sh": "false\n"})
    write(repo, {"new": "1\n", "ok": "1\n"})
    pair = change_after(repo, base)
    write(repo, {"a.txt": "edited after\n", "d/x.txt": "staged\n", "new": "2\n"})
    git(repo, "add", "d/x.txt", "new")
    write(repo, {"d/x.txt": "y\n", "new": "1\n"})
    git(repo, "update-index", "--assume-unchanged", "run.sh")
    before = git(repo, "rev-parse", "HEAD"), status(repo)
    taken_away = "git update-index --no-assume-unchanged run.sh"
    assert planned(repo, pair).obstacles == (
        "a.txt: it was edited after the run, by hand or by another task",
        "b.txt: this file had uncommitted edits, or HEAD has moved",
        "d/x.txt: other content is staged for it",
        "new: other content is staged for it",
        f"run.sh: it is marked as assume-unchanged; to clear that: {taken_away}",
    )
    assert (git(repo, "rev-parse", "HEAD"), status(repo)) == before


def test_what_the_change_would_push_aside_is_named(based: tuple[Path, str]) -> None:
    repo, _ = based
    (repo / "a.txt").unlink()
    base = tree_of(repo)
    write(repo, {"a.txt/inside": "i\n", "there/inside": "i\n", "f": "file\n"})
    pair = change_after(repo, base)
    blob = git(repo, "hash-object", "-w", "--stdin", stdin=b"staged\n")
    git(repo, "update-index", "--add", "--cacheinfo", f"100644,{blob},there")
    git(repo, "update-index", "--add", "--cacheinfo", f"100644,{blob},f/below")
    assert planned(repo, pair).obstacles == (
        "a.txt: HEAD has it, and it conflicts with a path of the change",
        "f/below: the index has it, and it conflicts with a path of the change",
        "there: the index has it, and it conflicts with a path of the change",
    )


def test_a_repository_inside_is_not_committed(based: tuple[Path, str]) -> None:
    repo, base = based
    inner = repo / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    commit(inner, {"x": "1"})
    head = git(inner, "rev-parse", "HEAD")
    with_it = Trees(base, git(repo, "mktree", stdin=f"160000 commit {head}\tinner\n".encode()))
    assert "inner: it is or was a separate repository" in planned(repo, with_it).obstacles


def test_a_sparse_checkout_keeps_what_it_leaves_away(based: tuple[Path, str]) -> None:
    repo, _ = based
    git(repo, "sparse-checkout", "set", "--no-cone", "/a.txt", "/b.txt")
    base = tree_of(repo)
    write(repo, {"a.txt": "two\n", "elsewhere/new": "n\n"})
    hook(repo, "pre-commit", "git status --porcelain >seen-by-hook")
    committed(repo, change_after(repo, base))
    assert (repo / "seen-by-hook").read_text() == "M  a.txt\nA  elsewhere/new\n?? seen-by-hook\n"
    assert set(listing(repo, "HEAD")) == {"a.txt", "b.txt", "d/x.txt", "elsewhere/new", "run.sh"}
    tags = git(repo, "ls-files", "-t").splitlines()
    assert tags == ["H a.txt", "H b.txt", "S d/x.txt", "H elsewhere/new", "S run.sh"]
    assert status(repo) == "?? seen-by-hook"


def test_a_split_index_stays_one(based: tuple[Path, str]) -> None:
    repo, _ = based
    git(repo, "config", "core.splitIndex", "true")
    git(repo, "update-index", "--split-index")
    base = tree_of(repo)
    write(repo, {"a.txt": "two\n", "n": "1\n"})
    committed(repo, change_after(repo, base))
    assert git(repo, "fsck", "--no-dangling") == ""
    assert (status(repo), git(repo, "ls-files", "n")) == ("", "n")


def operations(repo: Path) -> dict[str, list[str]]:
    return {
        "a merge is in progress": ["merge", "-q", "other"],
        "a cherry-pick is in progress": ["cherry-pick", "other"],
        "a revert is in progress": ["revert", "--no-edit", "HEAD~1"],
        "a rebase is in progress": ["rebase", "-q", "other"],
        "a squash merge waits for its commit": ["merge", "-q", "--squash", "other^"],
        "a prepared message waits for its commit": ["cherry-pick", "-n", "other^"],
        "a bisect is in progress": ["bisect", "start", "HEAD", "HEAD~1"],
    }


@pytest.mark.sampled(3)
@pytest.mark.parametrize("said", sorted(operations(Path())))
def test_nothing_is_committed_in_the_middle_of_something(based: tuple[Path, str], said: str) -> None:
    repo, _ = based
    git(repo, "checkout", "-q", "-b", "other")
    commit(repo, {"harmless": "1\n"})
    commit(repo, {"b.txt": "theirs\n"})
    git(repo, "checkout", "-q", "main")
    commit(repo, {"b.txt": "ours\n"})
    commit(repo, {"b.txt": "ours again\n"})
    os.spawnlp(os.P_WAIT, "git", "git", "-C", str(repo), *operations(repo)[said])
    base = tree_of(repo)
    write(repo, {"a.txt": "two\n"})
    obstacles = planned(repo, change_after(repo, base)).obstacles
    conflict = ("b.txt: it is in conflict",) if git(repo, "ls-files", "-u") else ()
    assert obstacles == (said, *conflict)


def test_a_hook_that_fails_leaves_everything_as_it_was(based: tuple[Path, str]) -> None:
    repo, base = based
    write(repo, {"a.txt": "two\n", "new": "n\n"})
    pair = change_after(repo, base)
    hook(repo, "pre-commit", "seq 30; echo 'a.txt: bad style' >&2; exit 1")
    before = git(repo, "rev-parse", "HEAD"), git(repo, "ls-files", "-s", "-v"), status(repo)
    with pytest.raises(CommitRefusedError) as refused:
        committed(repo, pair)
    lines = refused.value.message.splitlines()
    assert (lines[0], lines[-1], len(lines)) == ("(11 lines before)", "a.txt: bad style", 21)
    assert (git(repo, "rev-parse", "HEAD"), git(repo, "ls-files", "-s", "-v"), status(repo)) == before
    assert not list((repo / ".git/blackbird").glob("commit.*"))


def test_a_hook_that_says_nothing_is_still_named(based: tuple[Path, str]) -> None:
    repo, base = based
    write(repo, {"a.txt": "two\n"})
    hook(repo, "commit-msg", "exit 3")
    with pytest.raises(
        CommitRefusedError, match=r"^a hook, or git itself, ended with status 1 and said noth"
    ):
        committed(repo, change_after(repo, base))


def test_a_git_that_is_killed_says_by_what(based: tuple[Path, str]) -> None:
    repo, base = based
    write(repo, {"a.txt": "two\n"})
    hook(repo, "pre-commit", "echo working; kill -TERM $PPID")
    with pytest.raises(CommitRefusedError) as refused:
        committed(repo, change_after(repo, base))
    assert refused.value.message == "working\ngit was ended by signal 15"
    assert not list((repo / ".git").glob("*.lock"))


def test_a_hook_that_changes_the_commit_is_told_of(based: tuple[Path, str]) -> None:
    repo, base = based
    write(repo, {"a.txt": "two\n", "new": "n\n", "b.txt": "two\n"})
    pair = change_after(repo, base)
    hook(repo, "pre-commit", "echo three >a.txt; echo v2 >version; git add a.txt version")
    made = committed(repo, pair)
    assert made.differs == ("a.txt", "version")
    assert status(repo) == ""


def test_hooks_have_the_users_environment_and_see_only_the_change(
    based: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    repo, _ = based
    write(repo, {"b.txt": "staged\n"})
    git(repo, "add", "b.txt")
    base = tree_of(repo)
    write(repo, {"a.txt": "two\n"})
    pair = change_after(repo, base)
    monkeypatch.setenv("LC_ALL", "de_AT.UTF-8")
    hook(
        repo,
        "pre-commit",
        "{ git diff --cached --name-only; echo $LC_ALL ${GIT_DIR-no} ${GIT_OPTIONAL_LOCKS-no}; cat; } >seen",
    )
    hook(repo, "commit-msg", 'echo "Reviewed-by: Bo" >>"$1"')
    committed(repo, pair)
    assert (repo / "seen").read_text() == "a.txt\nde_AT.UTF-8 no no\n"
    assert git(repo, "log", "-1", "--format=%(trailers:key=Reviewed-by,valueonly)").strip() == "Bo"
    assert status(repo) == "M  b.txt\n?? seen"


def test_signing_applies_and_a_signature_that_fails_refuses(based: tuple[Path, str], tmp_path: Path) -> None:
    repo, base = based
    write(repo, {"a.txt": "two\n"})
    pair = change_after(repo, base)
    signer = tmp_path / "signer"
    signer.write_text("#!/bin/sh\necho 'no secret key' >&2\nexit 1\n")
    signer.chmod(0o755)
    git(repo, "config", "commit.gpgSign", "true")
    git(repo, "config", "gpg.program", str(signer))
    with pytest.raises(CommitRefusedError, match="gpg failed to sign the data"):
        committed(repo, pair)
    signer.write_text(
        "#!/bin/sh\ncat >/dev/null\nprintf '\\n[GNUPG:] SIG_CREATED \\n' >&2\n"
        "echo '-----BEGIN PGP SIGNATURE-----'\necho '-----END PGP SIGNATURE-----'\n"
    )
    committed(repo, pair)
    assert "gpgsig -----BEGIN PGP SIGNATURE-----" in git(repo, "cat-file", "commit", "HEAD")


def test_a_repository_given_by_name_is_committed_to(
    based: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo, _ = based
    (repo / ".git").rename(tmp_path / "elsewhere.git")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere.git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(repo))
    base = tree_of(repo)
    write(repo, {"a.txt": "two\n"})
    committed(repo, change_after(repo, base))
    assert (status(repo), git(repo, "log", "-1", "--format=%s")) == ("", "Say more")


def test_a_commit_that_someone_makes_at_the_same_moment_is_not_undone(based: tuple[Path, str]) -> None:
    repo, base = based
    write(repo, {"a.txt": "two\n"})
    plan = planned(repo, change_after(repo, base))
    theirs = commit(repo, {"theirs": "1\n"})
    with pytest.raises(CommitRefusedError, match="someone else committed here at the same moment"):
        make_commit(found(repo), plan, MESSAGE)
    assert git(repo, "rev-parse", "HEAD") == theirs
    assert status(repo) == " M a.txt"


def test_a_commit_that_someone_makes_while_hooks_run_refuses(based: tuple[Path, str]) -> None:
    repo, base = based
    write(repo, {"a.txt": "two\n"})
    plan = planned(repo, change_after(repo, base))
    hook(repo, "pre-commit", "env -u GIT_INDEX_FILE git commit -q --no-verify --allow-empty -m theirs")
    with pytest.raises(CommitRefusedError, match="cannot lock ref 'HEAD'"):
        make_commit(found(repo), plan, MESSAGE)
    assert git(repo, "log", "-1", "--format=%s") == "theirs"


def test_what_is_staged_while_the_commit_is_made_stays(based: tuple[Path, str]) -> None:
    repo, base = based
    write(repo, {"a.txt": "two\n", "new": "n\n"})
    plan = planned(repo, change_after(repo, base))
    made = make_commit(found(repo), plan, MESSAGE)
    write(repo, {"a.txt": "three\n"})
    git(repo, "add", "a.txt")
    update_index(found(repo), plan.base_tree, made.tree)
    assert status(repo) == "M  a.txt"


def test_the_index_is_not_moved_over_what_could_not_stay(based: tuple[Path, str]) -> None:
    repo, base = based
    write(repo, {"new/inside": "n\n"})
    plan = planned(repo, change_after(repo, base))
    made = make_commit(found(repo), plan, MESSAGE)
    blob = git(repo, "hash-object", "-w", "--stdin", stdin=b"staged\n")
    git(repo, "update-index", "--add", "--cacheinfo", f"100644,{blob},new")
    before = git(repo, "ls-files", "-s")
    with pytest.raises(IndexUpdateError, match="the index cannot hold new beside the change"):
        update_index(found(repo), plan.base_tree, made.tree)
    assert git(repo, "ls-files", "-s") == before


def test_the_permissions_and_the_lock_of_the_index_are_gits(based: tuple[Path, str]) -> None:
    repo, base = based
    write(repo, {"a.txt": "two\n"})
    index = repo / ".git/index"
    mode = stat.S_IMODE(index.stat().st_mode)
    committed(repo, change_after(repo, base))
    assert stat.S_IMODE(index.stat().st_mode) == mode
    assert not (repo / ".git/index.lock").exists()


def test_titles_are_one_line_and_keep_their_signs(based: tuple[Path, str]) -> None:
    repo, base = based
    git(repo, "config", "commit.cleanup", "strip")
    git(repo, "config", "i18n.commitEncoding", "ISO-8859-1")
    task = leaf("ä#1 x")
    titled = replace(task, title=" # Größe:\nfix\x1b[31m it \n")
    write(repo, {"a.txt": "two\n"})
    plan = planned(repo, change_after(repo, base))
    make_commit(found(repo), plan, render_commit_message(titled, RunId("0123456789abcdef")))
    read = read_commits(found(repo), [git(repo, "rev-parse", "HEAD")])
    assert list(read.values()) == [
        Commit(git(repo, "rev-parse", "HEAD"), "# Größe: fix it", ("ä#1 x",), ("0123456789abcdef",))
    ]


def test_commits_are_read_as_far_as_they_are_there(repo: Path) -> None:
    first = commit(repo, {"a": "1"}, "one\nand\n\nBlackbird-Task: x\nBlackbird-Task: y\n")
    second = commit(repo, {"a": "2"}, "Blackbird-Task: no trailer")
    read = read_commits(found(repo), [second, "12" * 20, first])
    assert list(read.values()) == [
        Commit(second, "Blackbird-Task: no trailer"),
        Commit(first, "one and", ("x", "y")),
    ]
    assert read_commits(found(repo), []) == {}


def test_names_are_what_git_takes_them_for(repo: Path) -> None:
    first = commit(repo, {"a": "1"}, "the first")
    commit(repo, {"a": "2"})
    git(repo, "tag", "-a", "-m", "t", "v1", first)
    named = [find_commit(found(repo), name) for name in ("v1", "HEAD~1", ":/first", first[:9], "main@{1}")]
    assert named == [first] * 5
    none = ("", "--all", "HEAD:a", "nope", "a\nb", "^HEAD", "HEAD^!")
    assert [find_commit(found(repo), name) for name in none] == [None] * 7


def test_the_commit_of_a_run_is_found_by_its_trailer_alone(repo: Path) -> None:
    run = "0123456789abcdef"
    first = commit(repo, {"a": "1"}, f"one\n\nBlackbird-Run: {run}\n")
    quoting = commit(repo, {"a": "2"}, f"Revert\n\nBlackbird-Run: {run}\n\nwas wrong\n")
    assert commit_of_run(found(repo), run, None) == first
    assert commit_of_run(found(repo), run, "12" * 20) == first
    assert commit_of_run(found(repo), run, first) is None
    assert commit_of_run(found(repo), "ff" * 8, None) is None
    assert quoting == git(repo, "rev-parse", "HEAD")


def test_nothing_is_found_before_the_first_commit(repo: Path) -> None:
    assert commit_of_run(found(repo), "ff" * 8, None) is None
    assert find_commit(found(repo), "HEAD") is None
    base = tree_of(repo)
    plan = planned(repo, Trees(base, base))
    assert (plan.head.commit, plan.edits, plan.tree) == (None, {}, base)


def test_what_a_branch_a_tag_or_another_worktree_has_is_in_history(repo: Path, tmp_path: Path) -> None:
    kept = commit(repo, {"a": "1"})
    git(repo, "worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    elsewhere = commit(tmp_path / "linked", {"b": "1"})
    amended = commit(repo, {"c": "1"})
    git(repo, "commit", "-q", "--amend", "-m", "another")
    tagged = commit(repo, {"d": "1"})
    git(repo, "tag", "one")
    git(repo, "reset", "-q", "--hard", "HEAD~1")
    git(repo, "update-ref", "refs/blackbird/runs/x", amended)
    everything = [kept, elsewhere, amended, tagged, git(repo, "rev-parse", "HEAD")]
    assert reachable(found(repo), everything) == {*everything} - {amended}
    assert reachable(found(repo), []) == frozenset()
