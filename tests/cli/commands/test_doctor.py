"""``doctor`` names what is broken and mends it, or prints the command; it changes nothing else."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from git_blackbird.agents.claude.agent import ClaudeAgent
from git_blackbird.controller.core.workspace import hold_controller
from git_blackbird.git.hooks.script import _checksum
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.storage.notes import PendingApproval, save_pending_approval
from tests.cli.commands.history import bring_history
from tests.controller.support import open_at, store_at
from tests.records import place_of
from tests.support import Prepared, commit, git, wait_until, write
from tests.trial.program import Trial

STALE_RUN = "0195000000000000"


@pytest.fixture
def trial(repo: Path, prepared: Prepared) -> Trial:
    return bring_history(repo, prepared)


def record(trial: Trial, task: str) -> Path:
    """The latest record of a task."""
    return max(trial.repo.glob(f".git/blackbird/runs/{task}/*.json"))


def change_record(trial: Trial, task: str, fact: str, value: object) -> None:
    path = record(trial, task)
    whole = json.loads(path.read_bytes())
    *folders, last = place_of(fact)
    part = whole
    for name in folders:
        part = part.setdefault(name, {})
    part[last] = value
    path.write_text(json.dumps(whole))


def plan_file(trial: Trial) -> Path:
    return trial.repo / "blackbird.plan.json"


def break_project_settings(trial: Trial) -> None:
    (trial.repo / ".blackbird/config.json").write_text('{"schemaVersion": 1,')


def misspell_a_key(trial: Trial) -> None:
    (trial.repo / ".blackbird/config.json").write_text('{"schemaVersion": 1, "execution": {"jbos": 2}}')


def break_a_setting(trial: Trial) -> None:
    trial.configure({"execution.jobs": "many"})


def break_git_settings(trial: Trial) -> None:
    with (trial.repo / ".git/config").open("a") as config:
        config.write("[broken\n")


def call_it_bare(trial: Trial) -> None:
    trial.repo.joinpath("added").touch()
    git(trial.repo, "add", "added")
    git(trial.repo, "config", "core.bare", "true")


def send_git_elsewhere(trial: Trial) -> None:
    git(trial.repo, "config", "core.worktree", str(trial.repo.parent / "elsewhere"))


def break_plan(trial: Trial) -> None:
    plan_file(trial).write_text("<<<<<<< ours\n")


def make_a_cycle(trial: Trial) -> None:
    trial.plan({"a": ("b",), "b": ("a",), "c": ()})


def remove_plan(trial: Trial) -> None:
    plan_file(trial).unlink()


def break_record(trial: Trial) -> None:
    record(trial, "b").write_text("{")


def make_record_of_a_later_version(trial: Trial) -> None:
    change_record(trial, "b", "landing", "teleported")


def break_feedback(trial: Trial) -> None:
    folder = trial.repo / ".git/blackbird/parent-review-feedback"
    folder.mkdir()
    (folder / "b.json").write_text("{}")


def lose_an_object(trial: Trial) -> None:
    blob = git(trial.repo, "rev-parse", f"refs/blackbird/runs/{record(trial, 'b').stem}:head/b.txt")
    (trial.repo / ".git/objects" / blob[:2] / blob[2:]).unlink()


def damage_an_object(trial: Trial) -> None:
    """Leave a file of a task that is done empty, as a crash does."""
    blob = git(trial.repo, "rev-parse", f"refs/blackbird/runs/{record(trial, 'a').stem}:head/a.txt")
    path = trial.repo / ".git/objects" / blob[:2] / blob[2:]
    path.unlink()
    path.touch()


def damage_a_folder(trial: Trial) -> None:
    run = record(trial, "b").stem
    tree = git(trial.repo, "rev-parse", f"refs/blackbird/runs/{run}:head")
    path = trial.repo / ".git/objects" / tree[:2] / tree[2:]
    path.chmod(0o600)
    path.write_bytes(path.read_bytes()[:-4] + bytes(4))


def bring_a_newer_run(trial: Trial) -> None:
    whole = json.loads(record(trial, "b").read_bytes())
    whole |= {"id": "feedfeedfeedfeed", "startedAt": "2099-01-01T00:00:00Z"}
    whole.pop("blackbird")
    (trial.repo / ".blackbird/runs/b/feedfeedfeedfeed.json").write_text(json.dumps(whole))


def remove_a_copy(trial: Trial) -> None:
    (trial.repo / f".blackbird/runs/b/{record(trial, 'b').name}").unlink()


def decide_in_a_copy(trial: Trial) -> None:
    copy = trial.repo / f".blackbird/runs/b/{record(trial, 'b').name}"
    whole = json.loads(copy.read_bytes())
    copy.write_text(json.dumps(whole | {"decision_state": "approved_continue"}))


def kill_the_controller(trial: Trial) -> None:
    """Leave an agent at work without its controller, and its temporary folder."""
    trial.command("echo begun; sleep 600")
    program = trial.start("execute", "c", "--no-input")
    wait_until(lambda: any(path.read_text() for path in trial.repo.glob(".git/blackbird/streams/c.*.stdout")))
    program.send_signal(signal.SIGKILL)
    program.wait()
    for stream in filter(None, (program.stdin, program.stdout)):
        stream.close()


def kill_all(trial: Trial) -> None:
    kill_the_controller(trial)
    process = json.loads(record(trial, "c").read_bytes())["blackbird"]["process"]
    os.killpg(process["pid"], signal.SIGKILL)
    wait_until(lambda: not is_alive(process["pid"]))


def is_alive(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rsplit(")", 1)[1].split()[0] != "Z"


def interrupt_a_landing(trial: Trial) -> None:
    change_record(trial, "b", "moving", "undo")
    change_record(trial, "b", "decision_state", "rejected")
    pair = f"refs/blackbird/runs/{record(trial, 'b').stem}"
    trees = {end: git(trial.repo, "rev-parse", f"{pair}:{end}") for end in ("base", "head")}
    whole = json.loads(record(trial, "b").read_bytes())
    whole["blackbird"]["moving"] = {"verb": "undo", "trees": trees}
    record(trial, "b").write_text(json.dumps(whole))


def interrupt_an_approval(trial: Trial) -> None:
    tree = git(trial.repo, "rev-parse", "HEAD^{tree}")
    note = PendingApproval(task_id=TaskId("a"), run_id=RunId(record(trial, "a").stem), base_tree=tree)
    save_pending_approval(store_at(trial.repo).paths, note)


def work_in_worktree(trial: Trial) -> Path:
    trial.expect(3, "execute", "c", "--worktrees", "--no-input")
    return trial.repo.parent / "repo.worktrees/c"


def leave_a_worktree(trial: Trial) -> None:
    work_in_worktree(trial)
    trial.expect(0, "decide", "c", "--reject")


def remove_a_worktree(trial: Trial) -> None:
    folder = work_in_worktree(trial)
    trial.expect(0, "decide", "c", "--reject")
    shutil.rmtree(folder)


def lose_the_worktree_of_a_decision(trial: Trial) -> None:
    shutil.rmtree(work_in_worktree(trial))
    git(trial.repo, "worktree", "prune")


def lose_records(trial: Trial) -> None:
    work_in_worktree(trial)
    shutil.rmtree(trial.repo / ".git/blackbird/runs")


def lose_records_and_copies(trial: Trial) -> None:
    lose_records(trial)
    shutil.rmtree(trial.repo / ".blackbird/runs")


def move_a_worktree(trial: Trial) -> None:
    (work_in_worktree(trial) / ".git").write_text("gitdir: /nowhere\n")


def copy_the_repository(trial: Trial) -> None:
    work_in_worktree(trial)
    trial.repo = shutil.copytree(trial.repo, trial.repo.parent / "copy", symlinks=True)


def lose_a_worktree_to_a_copy(trial: Trial) -> None:
    work_in_worktree(trial)
    git(shutil.copytree(trial.repo, trial.repo.parent / "copy", symlinks=True), "worktree", "repair")


def leave_a_reference(trial: Trial) -> None:
    git(trial.repo, "update-ref", f"refs/blackbird/runs/{STALE_RUN}", "HEAD^{tree}")


def cut_a_reference(trial: Trial) -> None:
    (trial.repo / f".git/refs/blackbird/runs/{record(trial, 'b').stem}").write_text("")


def drop_a_reference(trial: Trial) -> None:
    git(trial.repo, "update-ref", "-d", f"refs/blackbird/runs/{record(trial, 'a').stem}")


def leave_a_temporary_folder(trial: Trial) -> None:
    folder = Path(tempfile.mkdtemp(prefix="git-blackbird-"))
    mark = trial.repo / ".git/blackbird/scratch" / folder.name
    mark.parent.mkdir(exist_ok=True)
    mark.touch()


def lock_index(trial: Trial) -> None:
    (trial.repo / ".git/index.lock").touch()


def lock_a_branch(trial: Trial) -> None:
    (trial.repo / ".git/refs/heads/main.lock").touch()


def leave_our_index_lock(trial: Trial) -> None:
    folder = trial.repo / ".git/blackbird/next.killed"
    folder.mkdir()
    shutil.copy(trial.repo / ".git/index", folder / "index")
    os.link(folder / "index", trial.repo / ".git/index.lock")


def put_a_file_for_a_folder(trial: Trial) -> None:
    shutil.rmtree(trial.repo / ".blackbird/runs")
    (trial.repo / ".blackbird/runs").write_text("a file\n")


def link_a_folder(trial: Trial) -> None:
    trial.repo.joinpath(".blackbird/tmp").rename(trial.repo.parent / "elsewhere")
    trial.repo.joinpath(".blackbird/tmp").symlink_to(trial.repo.parent / "elsewhere")


def write_protect(trial: Trial) -> None:
    (trial.repo / ".git/blackbird").chmod(0o500)


def close_a_record(trial: Trial) -> None:
    record(trial, "b").chmod(0)


def hook(trial: Trial) -> Path:
    return trial.repo / ".git/hooks/post-commit"


def age_the_hook(trial: Trial) -> None:
    whole = hook(trial).read_text()
    body, _, _ = whole.rpartition("# sum: ")
    body = body.replace("\npython=", "\npython=/old", 1)
    hook(trial).write_text(f"{body}# sum: {_checksum(body)}\n")


def edit_the_hook(trial: Trial) -> None:
    with hook(trial).open("a") as script:
        script.write("echo mine\n")


def disable_the_hook(trial: Trial) -> None:
    hook(trial).chmod(0o644)


def change_the_merge_driver(trial: Trial) -> None:
    git(trial.repo, "config", "merge.blackbird-plan.driver", "/nonexistent/python merge_plan.py %O %A %B")


def halve_the_merge_driver(trial: Trial) -> None:
    (trial.repo / ".git/info/attributes").unlink()


def lose_the_agent(trial: Trial) -> None:
    trial.configure({"agent": "claude"})


def lose_the_wrapper(trial: Trial) -> None:
    trial.configure({"execution.wrapper": "nosuchprog --"})


@dataclass(frozen=True)
class Case:
    """A broken state, what is said of it, and what ends it: ``--fix``, or its first command."""

    break_it: Callable[[Trial], object]
    subject: str
    what: str
    mend: str | None = None
    command: str | None = None
    is_cured: bool = False


CASES = (
    Case(break_project_settings, "configuration", "config.json"),
    Case(misspell_a_key, "configuration", "jbos"),
    Case(break_a_setting, "configuration", "execution.jobs"),
    Case(break_git_settings, "repository", "bad config line"),
    Case(call_it_bare, "repository", "core.bare", command="git config core.bare false", is_cured=True),
    Case(send_git_elsewhere, "repository", "core.worktree", command="git config --unset", is_cured=True),
    Case(break_plan, "plan", "conflict"),
    Case(make_a_cycle, "plan", "cycle"),
    Case(remove_plan, "plan", "plan file not found"),
    Case(break_record, "records", " of b cannot be used: ", command="mv -i", is_cured=True),
    Case(make_record_of_a_later_version, "records", "landing", command="mv -i", is_cured=True),
    Case(break_feedback, "records", "feedback for", command="mv -i", is_cured=True),
    Case(lose_an_object, "objects", "1 git object gone", command="git fsck"),
    Case(damage_an_object, "objects", " of a: 1 git object gone", command="git fsck"),
    Case(damage_a_folder, "objects", "of b: 1 git object gone", command="git blackbird retry b"),
    Case(bring_a_newer_run, "records", "does not count here: 1 run", command="git blackbird adopt"),
    Case(remove_a_copy, "records", "1 record without a copy", mend="copies"),
    Case(decide_in_a_copy, "records", "does not count here: 1 decision", command="git blackbird adopt"),
    Case(kill_the_controller, "runs", "is still at work", mend="recovery"),
    Case(kill_all, "runs", "is gone", mend="recovery"),
    Case(interrupt_a_landing, "runs", "was interrupted", command="git blackbird execute"),
    Case(interrupt_an_approval, "runs", "the approval of a was interrupted", mend="recovery"),
    Case(leave_a_temporary_folder, "runs", "temporary folder", mend="recovery"),
    Case(lose_records, "records", "/c/", command="mkdir -p", is_cured=True),
    Case(lose_records_and_copies, "records", "c is waiting user, but", command="git blackbird retry c"),
    Case(leave_a_worktree, "worktrees", "given up", mend="worktrees"),
    Case(remove_a_worktree, "worktrees", "given up", mend="worktrees"),
    Case(lose_the_worktree_of_a_decision, "worktrees", "worktree of c is gone", mend="worktrees"),
    Case(move_a_worktree, "worktrees", "not as git made it", command="git worktree repair", is_cured=True),
    Case(copy_the_repository, "worktrees", "another repository, ", command="rm -r", is_cured=True),
    Case(lose_a_worktree_to_a_copy, "worktrees", "copy/.git", command="git worktree repair", is_cured=True),
    Case(leave_a_reference, "references", "1 reference", command="git blackbird prune", is_cured=True),
    Case(cut_a_reference, "references", "names no object", mend="references"),
    Case(drop_a_reference, "references", "no reference keeps", mend="references"),
    Case(lock_index, "git", "index is locked", command="rm ", is_cured=True),
    Case(lock_a_branch, "git", "refs/heads/main is locked", command="rm ", is_cured=True),
    Case(leave_our_index_lock, "git", "index is locked", mend="index_lock"),
    Case(put_a_file_for_a_folder, "folders", "place of a folder", command="mv -i", is_cured=True),
    Case(link_a_folder, "folders", "place of a folder", command="mv -i", is_cured=True),
    Case(age_the_hook, "hooks", "another installation", mend="hooks"),
    Case(edit_the_hook, "hooks", "edited", command="git blackbird hooks status"),
    Case(disable_the_hook, "hooks", "not executable", mend="hooks"),
    Case(change_the_merge_driver, "hooks", "merge driver: it was changed", mend="hooks"),
    Case(halve_the_merge_driver, "hooks", "merge driver", mend="hooks"),
    Case(lose_the_agent, "agents", "cannot find the program 'claude'"),
    Case(lose_the_wrapper, "agents", "'nosuchprog'", command="git blackbird config execution.wrapper"),
    *(
        pytest.param(case, marks=pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root"))
        for case in (
            Case(write_protect, "folders", "cannot be read and written", command="chmod", is_cured=True),
            Case(close_a_record, "records", "permission denied", command="chmod", is_cured=True),
        )
    ),
)


def name_of(case: object) -> str:
    return case.break_it.__name__ if isinstance(case, Case) else ""


def examine(trial: Trial, *options: str) -> dict[str, Any]:
    code, said = trial.run("doctor", "--json", "--no-input", *options)
    *_, last = said.splitlines()
    data: dict[str, Any] = json.loads(last)["data"]
    assert code == bool(data["findings"]), said
    return data


def files_below(top: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(top.rglob("*")):
        if path.is_symlink() or path.is_file():
            content = bytes(path.readlink()) if path.is_symlink() else path.read_bytes()
            yield str(path.relative_to(top)), content


def everything(trial: Trial) -> dict[str, bytes]:
    return dict(files_below(trial.repo.parent))


OURS = (
    *(".blackbird/", ".git/blackbird/", ".git/objects/", ".git/worktrees/", ".git/index.lock"),
    *(".git/refs/blackbird/", ".git/logs/", ".git/hooks/", ".git/config", ".git/info/attributes"),
)


def of_the_user(trial: Trial) -> dict[str, bytes]:
    """The files of the user's worktree and of git, but for those that the program makes for itself.

    Of the plan all but the statuses, which follow from the records.
    """
    found = {name: data for name, data in files_below(trial.repo) if not name.startswith(OURS)}
    plan = found.get("blackbird.plan.json", b"")
    return found | {"blackbird.plan.json": re.sub(rb'"(status|updatedAt)": "[^"]*"', b"", plan)}


def of_records(trial: Trial) -> set[str]:
    """The records, and the references of runs."""
    return {
        name
        for name, _ in files_below(trial.repo)
        if name.startswith((".git/blackbird/runs/", ".git/refs/blackbird/"))
    }


def found(data: dict[str, Any], kind: str, case: Case) -> list[dict[str, Any]]:
    text = case.what.lower()
    here = (one for one in data[kind] if one["subject"] == case.subject)
    return [one for one in here if text in f"{one['what']} {one['where']}".lower()]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_what_is_broken_is_named_and_mended_or_its_command_printed(case: Case, trial: Trial) -> None:
    case.break_it(trial)
    before = everything(trial)
    (finding,) = found(examine(trial), "findings", case)
    assert (finding["mend"] is not None) == (case.mend is not None)
    assert everything(trial) == before
    assert finding["next"], finding
    users, records = of_the_user(trial), of_records(trial)
    after = examine(trial, "--fix")
    assert of_the_user(trial) == users
    assert of_records(trial) >= records
    if case.mend is not None:
        assert finding["mend"] == case.mend
        assert finding["next"][0]["command"] == "git blackbird doctor --fix"
        assert found(after, "mended", case), after
        assert examine(trial)["findings"] == []
        return
    (left,) = found(after, "findings", case)
    if case.command is not None:
        commands = [step["command"] or step["help"] for step in left["next"]]
        command = next(one for one in commands if one.lstrip("`").startswith(case.command))
        if case.is_cured:
            type_command(trial, command)
            assert found(examine(trial), "findings", case) == []


def type_command(trial: Trial, command: str) -> None:
    if command.startswith("git blackbird "):
        trial.expect(0, *shlex.split(command)[2:], "--yes")
    else:
        subprocess.run(["sh", "-c", command], cwd=trial.repo, stdin=subprocess.DEVNULL, check=True)


def test_nothing_is_wrong_where_nothing_is(trial: Trial) -> None:
    said = trial.expect(0, "doctor")
    assert said.splitlines()[:3] == ["nothing is wrong", "", "agents"]
    assert "3 records and 3 references" in said
    assert trial.expect(0, "doctor", "--fix").startswith("nothing is wrong\n")


def test_settings_that_mislead_git_are_found_from_another_worktree(repo: Path) -> None:
    commit(repo, {"a": "1\n"})
    git(repo, "worktree", "add", "-q", "../other")
    for setting, value in (("core.bare", "true"), ("core.worktree", str(repo.parent))):
        git(repo, "config", setting, value)
        said = Trial(repo).expect(1, "doctor", cwd=repo.parent / "other")
        assert f"git: {setting} is {value}: git does not work in {repo}\n" in said
        (command,) = [line.strip() for line in said.splitlines() if line.startswith("  git config ")]
        subprocess.run(shlex.split(command), cwd=repo, check=True)


def test_a_repository_without_a_plan_is_sound_and_stays_as_it_is(repo: Path) -> None:
    trial = Trial(repo, {"BLACKBIRD_AGENT_PROVIDER": "demo"})
    before = everything(trial)
    assert trial.expect(0, "doctor").startswith("nothing is wrong\n")
    assert trial.expect(0, "doctor", "--fix").startswith("nothing is wrong\n")
    assert everything(trial) == before


def test_each_subject_is_looked_at_whatever_is_wrong_with_the_others(trial: Trial) -> None:
    for one in (break_plan, break_record, misspell_a_key, leave_a_reference, edit_the_hook, lose_the_agent):
        one(trial)
    said = trial.expect(1, "doctor")
    subjects = [line.partition(":")[0] for line in said.splitlines() if line[:1] not in {"", " "}]
    assert subjects[:6] == ["configuration", "plan", "records", "references", "hooks", "agents"]
    assert f"mv -i {record(trial, 'b')} {record(trial, 'b')}.unreadable" in said
    assert "Traceback" not in said


@pytest.mark.exhaustive
def test_what_is_at_work_is_left_alone(trial: Trial) -> None:
    kill_the_controller(trial)
    with hold_controller(open_at(trial.repo), "execute"):
        assert examine(trial)["findings"] == []
        remove_a_copy(trial)
        assert "mended: records: 1 record without a copy" in trial.expect(0, "doctor", "--fix")
    assert "stopping it" in trial.expect(0, "doctor", "--fix")


def test_what_was_edited_in_a_worktree_is_kept_where_it_is_said(trial: Trial) -> None:
    leave_a_worktree(trial)
    (trial.repo.parent / "repo.worktrees/c/c.txt").write_text("by hand\n")
    said = trial.expect(0, "doctor", "--fix")
    kept = next(word for word in said.split() if word.startswith("refs/blackbird/worktrees/"))
    assert git(trial.repo, "show", f"{kept.rstrip(';')}/c.txt") == "by hand"


def test_what_lost_its_records_keeps_its_worktree_and_has_them_again_whole(trial: Trial) -> None:
    kept = work_in_worktree(trial) / "c.txt"
    before = {path: path.read_bytes() for path in trial.repo.glob(".git/blackbird/runs/*/*.json")}
    shutil.rmtree(trial.repo / ".git/blackbird/runs")
    for finding in examine(trial, "--fix")["findings"]:
        type_command(trial, finding["next"][0]["command"])
    assert kept.read_text() == "c\n"
    assert {path: path.read_bytes() for path in trial.repo.glob(".git/blackbird/runs/*/*.json")} == before
    trial.expect(0, "decide", "c", "--approve")
    assert (trial.repo / "c.txt").read_text() == "c\n"


@pytest.mark.parametrize(("lacking", "held"), [("--tools", "-"), ("", "read-only, schema")])
def test_what_agents_enforce_is_what_their_programs_were_found_to_know(
    trial: Trial, tmp_path: Path, lacking: str, held: str
) -> None:
    flags = {*ClaudeAgent.flags, *ClaudeAgent.review_flags} - {lacking}
    program = tmp_path / "bin/claude"
    words = " ".join(sorted(flags))
    script = f'#!/bin/sh\ncase $1 in --version) echo 2.1.0;; --help) echo "{words}";; esac\n'
    write(tmp_path, {"bin/claude": script})
    program.chmod(0o755)
    trial.environ["PATH"] = f"{program.parent}:{os.environ['PATH']}"
    row = next(line for line in trial.expect(0, "doctor").splitlines() if line.startswith("  claude"))
    assert row.split(maxsplit=2)[1:2] == ["2.1.0"]
    assert row.split(maxsplit=2)[2].startswith(f"{held}  ")


def test_agents_mend_and_remove_nothing(trial: Trial) -> None:
    trial.environ["BLACKBIRD_RUN_ID"] = "1"
    remove_a_copy(trial)
    assert "an agent may not mend a repository" in trial.expect(1, "doctor", "--fix")
    leave_a_reference(trial)
    assert "an agent may not remove records" in trial.expect(1, "prune", "--yes")
