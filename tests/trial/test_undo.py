"""``undo`` takes exactly one task's change back out of the worktree, and ``redo`` brings it back."""

import json
import os
import time
from pathlib import Path

import pytest

from git_blackbird.model.base.system import tick_of
from tests.git.support import ODD
from tests.records import fact
from tests.support import commit, git, wait_until, write
from tests.trial.program import Trial

LINES = "".join(f"line {number}\n" for number in range(1, 21))


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {"old.txt": LINES, ".gitignore": ".blackbird\nblackbird.plan.json\n"}, "start")
    trial = Trial(repo)
    trial.plan({"a": (), "b": ("a",)})
    return trial


def work(trial: Trial, task: str, script: str) -> None:
    trial.command(script)
    trial.expect(0, "execute", "--no-input", task)


def approve_with_commit(trial: Trial, script: str) -> None:
    trial.configure({"execution.commit": "approved", "execution.stopAfterEachTask": "true"})
    trial.command(script)
    trial.expect(3, "execute", "--no-input")
    trial.expect(0, "decide", "a", "--approve")


def changed(trial: Trial) -> list[str]:
    return git(trial.repo, "status", "--porcelain", "-uall").splitlines()


def edit(trial: Trial, line: int, text: str) -> None:
    lines = (trial.repo / "old.txt").read_text().splitlines(keepends=True)
    lines[line - 1] = f"{text}\n"
    (trial.repo / "old.txt").write_text("".join(lines))


@pytest.mark.exhaustive
def test_what_was_taken_back_has_not_failed_and_redo_alone_names_it(trial: Trial) -> None:
    assert trial.expect(0, "redo") == "nothing was taken back that could be brought back\n"
    assert trial.expect(0, "undo") == "no task has changed anything that could be taken back\n"
    work(trial, "a", "echo a >new.txt")
    assert trial.expect(0, "undo") == "git blackbird undo a    # A\n"
    trial.expect(0, "undo", "a")
    assert trial.expect(0, "undo") == "no task has changed anything that could be taken back\n"
    assert trial.expect(0, "redo") == "git blackbird redo a    # A\n"
    listed = json.loads(trial.expect(0, "redo", "--json"))["data"]
    assert listed == {"tasks": [{"task": "a", "title": "A", "command": "git blackbird redo a"}]}
    counts, bar, *_ = trial.expect(0, "status").splitlines()
    assert (counts, set(bar)) == ("2 tasks: 1 taken back, 1 todo (0 ready)", set("[.]"))
    assert trial.expect(0, "list", "--status", "failed") == "a  TAKEN_BACK  A\n"
    assert "a     taken back  1" in trial.expect(0, "report")
    trial.expect(0, "report", "--html", "page.html")
    page = (trial.repo / "page.html").read_text()
    assert 'class="small todo">TAKEN_BACK</text>' in page
    assert "FAILED" not in page
    assert 'class="bar fail' not in page
    assert 'a<br>A<br>TAKEN#95;BACK"]:::todo' in trial.expect(0, "graph")
    (trial.repo / "page.html").unlink()
    trial.expect(0, "redo", "a")
    assert trial.expect(0, "redo") == "nothing was taken back that could be brought back\n"
    trial.command("exit 1")
    trial.run("execute", "--no-input", "b")
    assert "1 failed" in trial.expect(0, "status")


def test_what_cannot_come_back_is_refused_with_what_can(trial: Trial) -> None:
    assert "hint: git blackbird redo    #" in trial.expect(1, "redo", "a")
    work(trial, "a", "echo a >new.txt")
    assert "hint: git blackbird undo a    #" in trial.expect(1, "redo", "a")


def test_redo_alone_names_also_what_was_set_back_to_todo_since(trial: Trial) -> None:
    work(trial, "a", "echo a >new.txt")
    trial.expect(0, "undo", "a")
    trial.expect(0, "retry", "a")
    assert trial.expect(0, "redo") == "git blackbird redo a    # A\n"
    trial.expect(0, "redo", "a")
    assert changed(trial) == ["?? new.txt"]


def test_later_edits_of_others_stay_and_what_is_taken_back_comes_back(trial: Trial) -> None:
    work(trial, "a", "sed -i 's/line 3$/a/' old.txt; echo a >new.txt; mkdir d; echo a >d/e")
    work(trial, "b", "sed -i 's/line 9$/b/' old.txt; echo b >other.txt")
    edit(trial, 15, "mine")
    (trial.repo / "new.txt").chmod(0o600)
    assert trial.expect(0, "undo", "a") == (
        "b depends on a and has run since\n"
        "took back the change of a: 3 files\n"
        " d/e     | 1 -\n"
        " new.txt | 1 -\n"
        " old.txt | 2 +-\n"
        " 3 files changed, 1 insertion(+), 3 deletions(-)\n"
        "to turn that round: git blackbird redo a\n"
    )
    text = LINES.replace("line 9\n", "b\n").replace("line 15\n", "mine\n")
    assert (trial.repo / "old.txt").read_text() == text
    assert changed(trial) == [" M old.txt", "?? other.txt"]
    assert not (trial.repo / "d").exists()
    assert trial.statuses() == {"a": "failed", "b": "done"}
    assert "  a  A: taken back\n" in trial.expect(0, "status")
    trial.expect(0, "redo", "a")
    assert (trial.repo / "old.txt").read_text() == text.replace("line 3\n", "a\n")
    assert changed(trial) == [" M old.txt", "?? d/e", "?? new.txt", "?? other.txt"]
    assert trial.statuses() == {"a": "done", "b": "done"}
    assert git(trial.repo, "diff", "--cached", "--name-only") == ""


def test_a_path_where_later_edits_overlap_is_named_and_left_alone(trial: Trial) -> None:
    work(trial, "a", "sed -i 's/line 3$/a/' old.txt; echo a >new.txt; echo a >third.txt")
    edit(trial, 3, "mine")
    write(trial.repo, {"new.txt": "a\nmine\n"})
    output = trial.expect(0, "undo", "a", "--dry-run")
    left = "  left as it is: {}: later edits overlap with it\n"
    assert output.endswith(left.format("new.txt") + left.format("old.txt"))
    assert (trial.repo / "third.txt").exists()
    assert trial.statuses()["a"] == "done"
    trial.expect(0, "undo", "a")
    assert (trial.repo / "old.txt").read_text() == LINES.replace("line 3\n", "mine\n")
    assert (trial.repo / "new.txt").read_text() == "a\nmine\n"
    assert changed(trial) == [" M old.txt", "?? new.txt"]


@pytest.mark.exhaustive
def test_each_of_several_runs_is_taken_back_though_another_task_worked_between(trial: Trial) -> None:
    work(trial, "a", "sed -i 's/line 3$/a/' old.txt")
    work(trial, "b", "sed -i 's/line 9$/b/' old.txt")
    trial.command("sed -i 's/^a$/a again/; s/line 18$/a/' old.txt")
    trial.expect(0, "resume", "a", "-m", "more", "--no-input")
    trial.expect(0, "undo", "a")
    assert (trial.repo / "old.txt").read_text() == LINES.replace("line 9\n", "b\n")


@pytest.mark.exhaustive
def test_what_others_build_on_is_left_and_goes_and_comes_with_them(trial: Trial) -> None:
    work(trial, "a", "seq 1 9 >lib; echo a >new.txt")
    work(trial, "b", "sed -i s/5/B/ lib")
    assert "left as it is: lib: the change of b builds on it\n" in trial.expect(0, "undo", "a")
    assert "  a  A: taken back, but for lib\n" in trial.expect(0, "status")
    assert "nothing of a can be taken back\n- lib: the change of b" in trial.expect(1, "undo", "a")
    assert "with it goes what `undo a` had to leave\n" in trial.expect(0, "undo", "b")
    assert changed(trial) == []
    assert "  a  A: taken back\n" in trial.expect(0, "status")
    said = trial.expect(1, "redo", "b")
    assert said.startswith(
        "error: nothing of b can be brought back\n- lib: it builds on the change of a, taken back before\n"
    )
    trial.expect(0, "redo", "a")
    assert changed(trial) == ["?? lib", "?? new.txt"]
    trial.expect(0, "redo", "b")
    assert trial.statuses() == {"a": "done", "b": "done"}
    assert (trial.repo / "lib").read_text() == "".join(
        f"{number}\n" for number in (1, 2, 3, 4, "B", 6, 7, 8, 9)
    )


@pytest.mark.exhaustive
def test_a_redo_of_a_part_is_told_as_that(trial: Trial) -> None:
    work(trial, "a", "sed -i 's/line 3$/a/' old.txt; echo a >new.txt")
    trial.expect(0, "undo", "a")
    edit(trial, 3, "mine")
    output = trial.expect(1, "redo", "a")
    assert "brought back the change of a: 1 file\n" in output
    assert "  left as it is: old.txt: later edits overlap with it\n" in output
    assert (
        "this is half done; once nothing is in the way, this completes it: git blackbird redo a\n" in output
    )
    status = trial.expect(0, "status")
    assert "  a  A: brought back, but for old.txt, unblocks 1 task\n      git blackbird redo a\n" in status
    assert "retry" not in status
    # What is there is taken back again, or the rest is brought back.
    trial.expect(0, "undo", "a")
    assert changed(trial) == [" M old.txt"]
    trial.expect(1, "redo", "a")
    edit_back = (trial.repo / "old.txt").read_text().replace("mine\n", "line 3\n")
    (trial.repo / "old.txt").write_text(edit_back)
    trial.expect(0, "redo", "a")
    assert (trial.repo / "old.txt").read_text() == LINES.replace("line 3\n", "a\n")
    assert trial.statuses()["a"] == "done"


def test_nothing_is_left_of_a_file_that_is_gone(trial: Trial) -> None:
    work(trial, "a", "sed -i 's/line 3$/a/' old.txt; echo a >new.txt")
    (trial.repo / "old.txt").unlink()
    assert "left as it is" not in trial.expect(0, "undo", "a")
    assert "  a  A: taken back, unblocks 1 task\n" in trial.expect(0, "status")


@pytest.mark.exhaustive
def test_records_that_do_not_tell_of_earlier_undos_are_enough(trial: Trial) -> None:
    trial.plan({"a": (), "b": ()})
    work(trial, "a", "sed -i 's/line 3$/a/' old.txt; echo a >new.txt")
    trial.expect(0, "undo", "a")
    work(trial, "b", "sed -i 's/line 9$/b/' old.txt")
    trial.expect(0, "redo", "a")
    (path,) = (trial.repo / ".git" / "blackbird" / "runs" / "a").glob("*.json")
    record = json.loads(path.read_text())
    assert len(record["blackbird"].pop("undos")) == 2
    path.write_text(json.dumps(record))
    trial.expect(0, "undo", "a")
    assert (trial.repo / "old.txt").read_text() == LINES.replace("line 9\n", "b\n")
    assert changed(trial) == [" M old.txt"]


@pytest.mark.exhaustive
def test_what_two_made_in_parallel_stays_until_both_are_taken_back(trial: Trial) -> None:
    trial.plan({"a": (), "b": ()})
    trial.configure({"execution.jobs": "2", "execution.worktrees": "true"})
    at = f"{trial.repo.parent}/at-"
    meet = f"touch {at}$BLACKBIRD_TASK_ID; until test -e {at}a -a -e {at}b; do :; done"
    trial.command(f"{meet}; sed -i '1i import re' old.txt; echo $BLACKBIRD_TASK_ID >$BLACKBIRD_TASK_ID.txt")
    trial.expect(0, "execute", "--no-input", "--no-stop")
    said = trial.expect(0, "undo", "a")
    assert "  left as it is: old.txt: the change of b made the same of it\n" in said
    assert changed(trial) == [" M old.txt", "?? b.txt"]
    trial.expect(0, "undo", "b")
    assert changed(trial) == []


@pytest.mark.exhaustive
def test_a_run_that_added_nothing_to_what_changes_were_requested_of_comes_back_with_it(trial: Trial) -> None:
    trial.configure({"execution.stopAfterEachTask": "true"})
    trial.command("[ -e new.txt ] || echo a >new.txt")
    trial.expect(3, "execute", "--no-input", "a")
    trial.expect(0, "decide", "a", "--request-changes", "-m", "Again.")
    trial.expect(3, "execute", "--no-input", "a")
    trial.expect(0, "decide", "a", "--approve")
    trial.expect(0, "undo", "a")
    assert changed(trial) == []
    trial.expect(0, "redo", "a")
    assert changed(trial) == ["?? new.txt"]


def test_where_all_of_it_has_to_be_left_the_task_stays_as_it_is(trial: Trial) -> None:
    work(trial, "a", "sed -i 's/line 3$/a/' old.txt")
    edit(trial, 3, "mine")
    output = trial.expect(1, "undo", "a")
    assert output.startswith(
        "error: nothing of a can be taken back\n- old.txt: later edits overlap with it\n"
    )
    assert trial.statuses()["a"] == "done"


def test_one_that_was_cut_off_is_completed_and_brought_back_in_full(trial: Trial) -> None:
    work(trial, "a", "sed -i 's/line 3$/a/' old.txt; echo a >new.txt")
    trial.expect(0, "undo", "a")
    # As if it had been killed before it was recorded; then a file that it had taken back is edited.
    (path,) = (trial.repo / ".git" / "blackbird" / "runs" / "a").glob("*.json")
    record = json.loads(path.read_text())
    undone = record["blackbird"].pop("undone")
    record["blackbird"]["undoing"] = {"verb": "undo", "trees": undone["trees"]}
    path.write_text(json.dumps(record))
    edit(trial, 15, "mine")
    trial.expect(0, "undo", "a")
    trial.expect(0, "redo", "a")
    text = LINES.replace("line 3\n", "a\n").replace("line 15\n", "mine\n")
    assert ((trial.repo / "old.txt").read_text(), (trial.repo / "new.txt").read_text()) == (text, "a\n")


def test_one_that_could_not_write_a_file_is_half_done_until_execute_completes_it(trial: Trial) -> None:
    commit(trial.repo, {".gitattributes": "old.txt filter=late\n"})
    flag, late = trial.repo.parent / "flag", f"sed -i 's/line 15$/mine/' {trial.repo}/old.txt"
    trial.configure({"execution.stopAfterEachTask": "false"})
    git(trial.repo, "config", "filter.late.smudge", f"if rm {flag} 2>/dev/null; then {late}; fi; cat")
    work(trial, "a", "sed -i 's/line 3$/a/' old.txt; echo a >new.txt")
    flag.touch()
    output = trial.expect(1, "undo", "a")
    assert "left as it is: old.txt: it was edited at the same moment\nthis is half done; " in output
    assert "this completes it: git blackbird undo a\n" in output
    status = trial.expect(0, "status")
    assert "a  A: half taken back: new.txt, old.txt left as it is\n      git blackbird execute\n" in status
    trial.expect(0, "execute", "--no-input")
    assert (trial.repo / "old.txt").read_text() == LINES.replace("line 15\n", "mine\n")
    assert "half " not in trial.expect(0, "status")
    git(trial.repo, "checkout", "-q", "old.txt")
    flag.touch()
    assert "this completes it: git blackbird redo a\n" in trial.expect(1, "redo", "a")
    status = trial.expect(0, "status")
    assert "half brought back: old.txt left as it is\n" in status
    assert "a  A: half brought back: old.txt left as it is\n" in status
    trial.expect(0, "redo", "a")
    text = LINES.replace("line 3\n", "a\n").replace("line 15\n", "mine\n")
    assert ((trial.repo / "old.txt").read_text(), (trial.repo / "new.txt").read_text()) == (text, "a\n")


def test_files_that_were_ignored_before_the_run_are_no_part_of_its_change(trial: Trial) -> None:
    write(trial.repo, {".gitignore": ".blackbird\nblackbird.plan.json\n.env\n", ".env": "secret\n"})
    git(trial.repo, "commit", "-q", "-a", "-m", "ignore it")
    written = (trial.repo / ".env").stat().st_ctime_ns
    wait_until(lambda: time.time_ns() > written + 2 * tick_of(written))
    work(trial, "a", "sed -i /.env/d .gitignore; echo a >new.txt; echo a >.env.sample")
    files = trial.records("a")[0]["review_summary"]["files"]
    assert files == [".gitignore", ".env.sample", "new.txt"]
    trial.expect(0, "undo", "a")
    assert (trial.repo / ".env").read_text() == "secret\n"
    assert changed(trial) == []


@pytest.mark.exhaustive
def test_a_refusing_hook_is_named_and_the_commit_is_made_by_repeating_it(trial: Trial) -> None:
    approve_with_commit(trial, "sed -i 's/line 3$/a/' old.txt; echo a >new.txt")
    hook = trial.repo / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho not today >&2\nexit 1\n")
    hook.chmod(0o755)
    output = trial.expect(0, "undo", "a")
    assert "warning: this is in the worktree only, not committed: not today" in output
    assert trial.statuses()["a"] == "failed"
    hook.unlink()
    assert "committed as" in trial.expect(0, "undo", "a")
    assert changed(trial) == []
    trial.expect(0, "redo", "a")
    assert changed(trial) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("complete", ["undo a", "execute --no-input"])
def test_the_index_follows_once_git_has_let_go_of_it(trial: Trial, complete: str) -> None:
    approve_with_commit(trial, "sed -i 's/line 3$/a/' old.txt; echo a >new.txt")
    lock = trial.repo / ".git/index.lock"
    lock.touch()
    why = f"another git process is running here: {lock} exists"
    output = trial.expect(1, "undo", "a")
    assert f"warning: the index was not updated for the commit: {why}\n" in output
    assert (
        "this is half done; once nothing is in the way, this completes it: git blackbird undo a\n" in output
    )
    assert "the undo of a is half done" in trial.expect(1, "execute", "--no-input")
    lock.unlink()
    trial.run(*complete.split())
    assert changed(trial) == []
    trial.expect(0, "redo", "a")
    assert changed(trial) == []


@pytest.mark.exhaustive
def test_redo_commits_only_what_a_commit_took_back(trial: Trial) -> None:
    work(trial, "a", "sed -i 's/line 3$/a/' old.txt; git commit -q -a -m agent; echo a >new.txt")
    trial.expect(0, "undo", "a")
    assert changed(trial) == []
    trial.expect(0, "redo", "a")
    assert git(trial.repo, "show", "--format=%s", "--name-only", "HEAD").split() == ["Redo", '"A"', "old.txt"]
    assert changed(trial) == ["?? new.txt"]


@pytest.mark.exhaustive
def test_twice_is_an_error_that_names_redo_and_so_is_redo_of_nothing(trial: Trial) -> None:
    work(trial, "a", "echo a >new.txt")
    assert "error: nothing of a was taken back\n" in trial.expect(1, "redo", "a")
    trial.expect(0, "undo", "a")
    assert trial.expect(1, "undo", "a") == (
        "error: a has changed nothing that could be taken back\n"
        "hint: git blackbird redo a    # brings back what was taken back\n"
    )
    trial.command("echo again >new.txt")
    trial.expect(0, "restart", "a", "--no-input")
    assert "a has run again since" in trial.expect(1, "redo", "a")
    trial.expect(0, "undo", "a")
    assert changed(trial) == []


def test_commits_of_the_change_are_taken_back_by_a_commit(trial: Trial) -> None:
    approve_with_commit(trial, "sed -i 's/line 3$/a/' old.txt; echo a >new.txt")
    before = git(trial.repo, "rev-parse", "HEAD")
    commit(trial.repo, {"mine.txt": "mine\n"}, "mine")
    write(trial.repo, {"staged.txt": "staged\n"})
    git(trial.repo, "add", "staged.txt")
    output = trial.expect(0, "undo", "a")
    made = git(trial.repo, "rev-parse", "HEAD")
    assert f"committed as {made[:12]}\n" in output
    assert git(trial.repo, "diff", "--stat", f"{before}^", made).splitlines()[-1].startswith(" 1 file")
    assert git(trial.repo, "log", "-1", "--format=%s%n%(trailers)").splitlines() == [
        'Undo "A"',
        "Blackbird-Task: a",
        f"Blackbird-Run: undo-{trial.records('a')[-1]['id']}",
    ]
    assert changed(trial) == ["A  staged.txt"]
    trial.expect(0, "redo", "a")
    assert git(trial.repo, "log", "-1", "--format=%s") == 'Redo "A"'
    assert (trial.repo / "new.txt").read_text() == "a\n"
    assert changed(trial) == ["A  staged.txt"]


@pytest.mark.exhaustive
def test_what_cannot_be_committed_is_in_the_worktree_and_said(trial: Trial) -> None:
    approve_with_commit(trial, "sed -i 's/line 3$/a/' old.txt")
    edit(trial, 15, "mine")
    output = trial.expect(0, "undo", "a")
    assert (
        "warning: this is in the worktree only, not committed: old.txt: this file had uncommitted" in output
    )
    assert (trial.repo / "old.txt").read_text() == LINES.replace("line 15\n", "mine\n")


def test_links_modes_and_odd_names(trial: Trial, tmp_path: Path) -> None:
    write(trial.repo, {"plain": "x\n", "gone": "g\n", "folder/file": "f\n"})
    (trial.repo / "link").symlink_to("plain")
    git(trial.repo, "add", "-A")
    git(trial.repo, "commit", "-q", "-m", "more")
    (tmp_path / "names").write_bytes(b"\0".join(os.fsencode(name) for name in ODD))
    script = (
        f"xargs -0 -a {tmp_path}/names -I NAME sh -c 'echo agent >\"$1\"' sh NAME; chmod +x plain; rm gone;"
        " ln -sfn gone link; rm -r folder; echo file >folder"
    )
    work(trial, "a", script)
    assert len(changed(trial)) > len(ODD)
    trial.expect(0, "undo", "a")
    assert changed(trial) == []
    trial.expect(0, "redo", "a")
    assert len(changed(trial)) > len(ODD)
    assert ((trial.repo / "link").readlink(), os.access(trial.repo / "plain", os.X_OK)) == (
        Path("gone"),
        True,
    )
    assert (trial.repo / "folder").read_text() == "file\n"


@pytest.mark.exhaustive
def test_its_own_commits_are_nobodys_work_on_the_task(trial: Trial) -> None:
    trial.expect(0, "hooks", "install")
    approve_with_commit(trial, "echo a >new.txt")
    trial.expect(0, "undo", "a")
    record = trial.records("a")[-1]
    said = git(trial.repo, "log", "-1", "--format=%(trailers:key=Blackbird-Run,valueonly)")
    assert said.strip() == f"undo-{record['id']}"
    assert fact(record, "undo_commit") == git(trial.repo, "rev-parse", "HEAD")
    assert record["id"] in trial.expect(0, "show", "--commit", "HEAD")
    trial.expect(0, "retry", "a")
    git(trial.repo, "commit", "-q", "--amend", "--no-edit", "--date=2001-01-01T00:00:00Z")
    assert trial.statuses()["a"] == "todo"
    assert len(trial.records("a")) == 1
    assert record["id"] in trial.expect(0, "show", "--commit", "HEAD")
