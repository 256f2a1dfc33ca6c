"""What an agent leaves inside submodules of its worktree is kept, or the worktree stays."""

import shutil
from pathlib import Path

import pytest

from tests.controller.killing import kills
from tests.controller.support import execute
from tests.records import fact
from tests.support import commit, git
from tests.trial.program import Trial

ALLOWED = ("-c", "protocol.file.allow=always")
COMMIT = "git -c user.name=A -c user.email=a@example.com commit -q -a -m agent"
WAY_OUT = "then `git blackbird worktrees prune`"


@pytest.fixture
def trial(repo: Path, tmp_path: Path) -> Trial:
    """A repository with a submodule that has one itself, and whose upstream cannot be reached any more."""
    for name in ("deep", "inner"):
        made = tmp_path / name
        made.mkdir()
        git(made, "init", "-q", "-b", "main")
        commit(made, {"file": f"{name}\n"})
    git(tmp_path / "inner", *ALLOWED, "submodule", "add", "-q", str(tmp_path / "deep"), "deep")
    git(tmp_path / "inner", "commit", "-q", "-m", "deep")
    commit(repo, {".gitignore": ".blackbird\nblackbird.plan.json\n"}, "start")
    git(repo, *ALLOWED, "submodule", "add", "-q", str(tmp_path / "inner"), "vendor/x")
    git(repo, *ALLOWED, "submodule", "update", "-q", "--init", "--recursive")
    git(repo, "commit", "-q", "-m", "submodules")
    (tmp_path / "deep").rename(tmp_path / "deep away")
    (tmp_path / "inner").rename(tmp_path / "inner away")
    trial = Trial(repo)
    trial.plan({"a": ()})
    trial.configure({"execution.worktrees": "true"})
    return trial


def work(trial: Trial, script: str, code: int = 0) -> str:
    trial.command(script)
    return trial.expect(code, "execute", "--no-input", "--no-stop")


def place(trial: Trial) -> Path:
    return trial.repo.parent / f"{trial.repo.name}.worktrees" / "a"


def require_order(repo: Path) -> None:
    """Git finds nothing wrong, also once it has removed all that no reference holds."""
    for each in (repo, repo / ".git/modules/vendor/x"):
        git(each, "reflog", "expire", "--expire=now", "--all")
        git(each, "gc", "-q", "--prune=now")
        git(each, "fsck", "--strict", "--connectivity-only")


@pytest.mark.exhaustive
def test_a_worktree_has_the_submodules_that_its_user_has(trial: Trial) -> None:
    work(trial, "cat vendor/x/file vendor/x/deep/file >seen.txt; git -C vendor/x remote -v >>seen.txt")
    url = f"{trial.repo.parent}/inner"
    seen = f"inner\ndeep\norigin\t{url} (fetch)\norigin\t{url} (push)\n"
    assert (trial.repo / "seen.txt").read_text() == seen
    assert not place(trial).exists()
    assert git(trial.repo, "-C", "vendor/x", "for-each-ref", "refs/blackbird") == ""
    require_order(trial.repo)


@pytest.mark.exhaustive
def test_what_no_commit_has_keeps_the_worktree(trial: Trial) -> None:
    said = work(trial, "echo own >own.txt; echo edit >>vendor/x/file; echo new >vendor/x/deep/new")
    assert (trial.repo / "own.txt").exists()
    names = "vendor/x/deep/new, vendor/x/file"
    why = f"{place(trial)} stays: no commit of its submodule vendor/x has {names}; "
    assert f"the worktree of a was not removed: {why}commit it there or move it away, {WAY_OUT}\n" in said
    for options in (("--dry-run",), ()):
        assert why in trial.expect(0, "worktrees", "prune", *options)
    assert (place(trial) / "vendor/x/deep/new").read_text() == "new\n"
    git(place(trial) / "vendor/x/deep", "add", "new")
    git(place(trial) / "vendor/x/deep", "commit", "-q", "-m", "by hand")
    git(place(trial) / "vendor/x", "commit", "-q", "-a", "-m", "by hand")
    assert f"removed {place(trial)}: a, landed" in trial.expect(0, "worktrees", "prune")
    for submodule, file in (("vendor/x", "file"), ("vendor/x/deep", "new")):
        top = trial.repo / submodule
        (kept,) = git(top, "for-each-ref", "--format=%(refname)", "refs/blackbird").splitlines()
        assert git(top, "log", "--format=%s", "-1", f"{kept}^") == "by hand"
        assert git(top, "show", f"{kept}^:{file}").endswith("edit" if file == "file" else "new")
    require_order(trial.repo)


BUMP = f"cd vendor/x/deep; echo agent >>file; {COMMIT}; cd ..; echo agent >>file; {COMMIT}; cd ../.."


@pytest.mark.sampled(1)
@pytest.mark.parametrize("mode", ["never", "approved"])
def test_a_commit_in_a_submodule_lands(trial: Trial, mode: str) -> None:
    trial.configure({"execution.commit": mode, "execution.stopAfterEachTask": "true"})
    before = git(trial.repo / "vendor/x", "rev-parse", "HEAD")
    trial.command(f"{BUMP}; echo own >own.txt; git add .; {COMMIT}")
    trial.expect(3, "execute", "--no-input")
    trial.approve("a")
    assert "landed a" in trial.expect(0, "execute", "--no-input")
    assert not place(trial).exists()
    landed = files(trial)
    assert landed == ["inner\nagent\n", "deep\nagent\n"]
    if mode == "approved":
        git(trial.repo, "submodule", "update", "-q", "--recursive")
        assert (files(trial), git(trial.repo, "status", "--porcelain")) == (landed, "")
    require_order(trial.repo)
    trial.expect(0, "undo", "a")
    assert files(trial) == ["inner\n", "deep\n"]
    assert git(trial.repo / "vendor/x", "rev-parse", "HEAD") == before
    git(trial.repo, "submodule", "update", "-q", "--recursive")
    assert (files(trial), git(trial.repo, "status", "--porcelain")) == (["inner\n", "deep\n"], "")
    trial.expect(0, "redo", "a")
    assert files(trial) == landed
    require_order(trial.repo)


@pytest.mark.exhaustive
@pytest.mark.parametrize("is_elsewhere", [True, False])
def test_a_check_has_the_submodules_as_the_change_has_them(trial: Trial, is_elsewhere: bool) -> None:
    seen = trial.repo.parent / "seen"
    check = f"cat vendor/x/file vendor/x/deep/file | tee -a {seen} | grep -v agent"
    trial.configure({"execution.worktrees": str(is_elsewhere).lower(), "check.command": f"! {check}"})
    work(trial, f"{BUMP}; echo own >own.txt", 3 if is_elsewhere else 0)
    assert verdict(trial) == "failed_before"
    changed, base = "inner\nagent\ndeep\nagent\n", "inner\ndeep\n"
    assert seen.read_text() == changed + base
    require_order(trial.repo)


def verdict(trial: Trial) -> object:
    check: dict[str, object] = fact(trial.records("a")[-1], "check")
    return check["outcome"]


def files(trial: Trial) -> list[str]:
    return [(trial.repo / name).read_text() for name in ("vendor/x/file", "vendor/x/deep/file")]


def move_mine(trial: Trial) -> str:
    """Let the user commit in the submodule; return that commit."""
    top = trial.repo / "vendor/x"
    git(top, "commit", "-q", "--allow-empty", "-m", "mine")
    return git(top, "rev-parse", "HEAD")


@pytest.mark.exhaustive
def test_a_submodule_that_its_user_moved_too_is_for_a_person(trial: Trial) -> None:
    trial.configure({"execution.stopAfterEachTask": "true"})
    trial.command(f"{BUMP}; echo own >own.txt")
    trial.expect(3, "execute", "--no-input")
    mine = move_mine(trial)
    trial.approve("a")
    why = "a has not landed: vendor/x: you have moved its submodule as well: merge its commit by hand; "
    assert why in trial.expect(3, "execute", "--no-input")
    assert git(trial.repo / "vendor/x", "rev-parse", "HEAD") == mine
    (kept,) = git(
        trial.repo / "vendor/x", "for-each-ref", "--format=%(objectname)", "refs/blackbird"
    ).splitlines()
    git(trial.repo / "vendor/x", "merge", "-q", "-m", "both", f"{kept}^")
    trial.approve("a", "--files", "own.txt")
    assert "landed a" in trial.expect(0, "execute", "--no-input")
    assert not place(trial).exists()
    assert files(trial)[0] == "inner\nagent\n"


@pytest.mark.exhaustive
def test_a_commit_on_top_of_a_submodule_that_was_moved_before_a_kill_stays(trial: Trial) -> None:
    trial.configure({"execution.stopAfterEachTask": "true"})
    trial.command(f"{BUMP}; for name in a b c; do echo own >$name; done")
    trial.expect(3, "execute", "--no-input")
    trial.approve("a")
    before, moved = git(trial.repo / "vendor/x", "rev-parse", "HEAD"), 0
    for at in kills(trial.repo, lambda: execute(trial.repo)):
        if git(trial.repo / "vendor/x", "rev-parse", "HEAD") != before:
            moved += 1
            mine = move_mine(trial)
            trial.expect(0, "execute", "--no-input")
            assert trial.statuses() == {"a": "done"}, at
            assert git(trial.repo / "vendor/x", "rev-parse", "HEAD") == mine, at
            assert all((trial.repo / name).exists() for name in "abc"), at
    assert moved


@pytest.mark.exhaustive
def test_a_session_has_the_submodule_as_its_user_has_moved_it(trial: Trial) -> None:
    (trial.repo / "own.txt").write_text("mine\n")
    trial.configure({"execution.stopAfterEachTask": "true"})
    again = "git -C vendor/x rev-parse HEAD >own.txt"
    trial.command(f"if [ $BLACKBIRD_RESUME ]; then {again}; else echo agent >own.txt; fi")
    trial.expect(3, "execute", "--no-input")
    mine = move_mine(trial)
    (trial.repo / "own.txt").write_text("other\n")
    trial.approve("a")
    assert "it conflicts with your worktree in own.txt" in trial.expect(3, "execute", "--no-input")
    trial.approve("a")
    assert "landed a" in trial.expect(0, "execute", "--no-input")
    assert (trial.repo / "own.txt").read_text() == f"{mine}\n"
    assert git(trial.repo / "vendor/x", "rev-parse", "HEAD") == mine


@pytest.mark.exhaustive
@pytest.mark.parametrize("is_added", [True, False])
def test_a_session_has_the_submodules_that_its_user_has_by_then(trial: Trial, is_added: bool) -> None:
    (trial.repo / "own.txt").write_text("mine\n")
    trial.configure({"execution.stopAfterEachTask": "true"})
    again = "ls -A . vendor >../seen; cat more/file >>../seen; echo both >own.txt"
    trial.command(f"if [ $BLACKBIRD_RESUME ]; then {again}; else echo agent >own.txt; fi")
    trial.expect(3, "execute", "--no-input")
    if is_added:
        git(trial.repo, *ALLOWED, "submodule", "add", "-q", str(trial.repo.parent / "deep away"), "more")
        git(trial.repo, "commit", "-q", "-m", "more")
    else:
        git(trial.repo, "rm", "-q", "vendor/x")
        git(trial.repo, "commit", "-q", "-m", "less")
    (trial.repo / "own.txt").write_text("other\n")
    trial.approve("a")
    trial.expect(3, "execute", "--no-input")
    seen = (place(trial).parent / "seen").read_text().split()
    assert ("more" in seen, "deep" in seen, "x" in seen) == (is_added, is_added, is_added)
    trial.approve("a")
    assert "landed a" in trial.expect(0, "execute", "--no-input")
    assert (trial.repo / "own.txt").read_text() == "both\n"
    assert not place(trial).exists()


@pytest.mark.exhaustive
def test_stashes_and_commits_that_were_left_are_kept(trial: Trial) -> None:
    identity = "export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a"
    script = (
        f"{identity}; cd vendor/x; echo left >left; git add left; git commit -q -m left; "
        "git reset -q --hard HEAD~; echo stashed >file; git stash -q"
    )
    work(trial, script)
    assert not place(trial).exists()
    top = trial.repo / "vendor/x"
    subjects = git(top, "log", "--format=%s", "--glob=refs/blackbird", "--not", "HEAD").splitlines()
    assert {"left", f"WIP on (no branch): {git(top, 'log', '-1', '--format=%h deep')}"} <= set(subjects)


@pytest.mark.exhaustive
def test_commits_that_cannot_be_kept_keep_the_worktree(trial: Trial) -> None:
    git(trial.repo, "submodule", "deinit", "-q", "--all")
    (trial.repo / ".git/modules").rename(trial.repo.parent / "modules")
    url = trial.repo.parent / "inner away"
    script = (
        f"git -c submodule.vendor/x.url='{url}' -c protocol.file.allow=always submodule -q update --init; "
        "cd vendor/x; "
    )
    said = work(trial, f"{script}echo edit >file; {COMMIT}; cd ../..; git reset -q; echo own >own.txt", 3)
    assert "vendor/x" in said
    trial.expect(0, "decide", "a", "--reject")
    why = f"{place(trial)} stays: you have no repository of its submodule vendor/x for its commits; "
    way_out = f"`git submodule update --init` makes one, {WAY_OUT}"
    assert f"{why}{way_out}" in trial.expect(0, "worktrees", "prune")
    (trial.repo.parent / "modules").rename(trial.repo / ".git/modules")
    assert f"removed {place(trial)}" in trial.expect(0, "worktrees", "prune")
    assert git(
        trial.repo / ".git/modules/vendor/x", "log", "--format=%s", "--glob=refs/blackbird", "-2"
    ).endswith("agent")


@pytest.mark.exhaustive
def test_an_untracked_repository_keeps_the_worktree(trial: Trial) -> None:
    said = work(trial, "echo own >own.txt; git init -q sub; echo new >sub/new")
    why = f"{place(trial)} stays: the git repository in sub would go with it; "
    assert f"the worktree of a was not removed: {why}" in said
    assert (place(trial) / "sub/new").exists()


@pytest.mark.exhaustive
def test_a_repository_that_was_added_keeps_the_worktree(trial: Trial) -> None:
    script = f"git init -q sub; cd sub; echo new >new; git add new; {COMMIT}; cd ..; git add sub"
    said = work(trial, f"echo own >own.txt; {script}", 3)
    assert "a has not landed: sub: it is or was a repository of its own: bring its commit over" in said
    trial.approve("a", "--files", "own.txt")
    said = trial.expect(0, "execute", "--no-input", "--no-stop")
    why = f"{place(trial)} stays: the git repository in sub would go with it; "
    assert f"was not removed: {why}move it away (" in said
    assert f"{WAY_OUT}\n" in said
    assert (place(trial) / "sub/new").exists()


def test_nothing_runs_that_an_agent_has_configured(trial: Trial) -> None:
    ran = trial.repo.parent / "ran"
    keys = (
        *("core.fsmonitor", "core.sshCommand", "core.alternateRefsCommand", "uploadpack.packObjectsHook"),
        *(
            "filter.own.clean",
            "filter.own.smudge",
            "filter.process",
            "diff.own.textconv",
            "diff.external",
        ),
    )
    configure = "".join(f"git config {key} 'touch {ran}; cat'; " for key in keys)
    script = (
        "git init -q own; for it in vendor/x own; do cd $it; echo '* filter=own diff=own' >.gitattributes; "
        f"echo edit >>file; git add .; {COMMIT}; {configure} echo again >>file; cd $OLDPWD; done; git add own"
    )
    work(trial, script, 3)
    (record,) = trial.records("a")
    assert "submodule vendor/x: new commits, modified content (file)\n" in trial.expect(
        0, "runs", "a", record["id"]
    )
    trial.expect(0, "decide", "a", "--reject")
    assert "the git repository in own would go" in trial.expect(0, "worktrees", "prune")
    git(place(trial), "-c", "core.fsmonitor=false", "update-index", "--force-remove", "own")
    (place(trial) / "own").rename(trial.repo.parent / "own")
    assert "no commit of its submodule vendor/x has vendor/x/file" in trial.expect(0, "worktrees", "prune")
    (place(trial) / "vendor/x/file").write_text("inner\nedit\n")
    assert f"removed {place(trial)}" in trial.expect(0, "worktrees", "prune")
    assert not ran.exists()


def test_what_is_written_where_no_submodule_is_checked_out_keeps_the_worktree(trial: Trial) -> None:
    git(trial.repo, "submodule", "deinit", "-q", "--all")
    work(trial, "echo own >own.txt; echo new >vendor/x/new")
    why = f"{place(trial)} stays: no commit of its submodule vendor/x has vendor/x/new; "
    assert why in trial.expect(0, "worktrees", "prune")


def test_a_submodule_that_was_removed_keeps_nothing(trial: Trial) -> None:
    work(trial, "rm -r vendor/x; mkdir vendor/x; echo own >own.txt")
    assert (trial.repo / "own.txt").exists()
    assert not place(trial).exists()


@pytest.mark.exhaustive
def test_a_worktree_that_was_removed_is_made_again_with_its_submodules(trial: Trial) -> None:
    trial.configure({"execution.stopAfterEachTask": "true"})
    trial.command(f"if [ $BLACKBIRD_RESUME ]; then cp vendor/x/file own.txt; else {BUMP}; fi")
    trial.expect(3, "execute", "--no-input")
    shutil.rmtree(place(trial))
    trial.expect(0, "decide", "a", "--request-changes", "-m", "again")
    trial.expect(3, "execute", "--no-input")
    assert (place(trial) / "own.txt").read_text() == "inner\nagent\n"
    trial.approve("a")
    assert "landed a" in trial.expect(0, "execute", "--no-input")
    assert files(trial) == ["inner\nagent\n", "deep\nagent\n"]
