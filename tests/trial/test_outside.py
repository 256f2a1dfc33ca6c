"""What agents do outside the place that they were given, beside a person, seen as its user sees it."""

import json
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.records import fact
from tests.support import commit, examples, git, wait_until
from tests.trial.program import Trial
from tests.trial.wanderer import PERSON, as_typed, head_of, install, place_of, tell

QUIET = "warning: seen while agents worked"


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {"old.txt": "old\n", ".gitignore": ".blackbird\nblackbird.plan.json\n"})
    trial = Trial(repo)
    install(trial)
    trial.plan({"a": ()})
    trial.configure({"execution.worktrees": "true"})
    return trial


def outside(trial: Trial, task: str = "a") -> dict[str, Any]:
    return fact(trial.records(task)[-1], "outside") or {}


def seen(trial: Trial, task: str = "a") -> list[tuple[str, str]]:
    return [(change["subject"], change["name"]) for change in outside(trial, task).get("seen", ())]


def test_files_that_it_writes_into_the_users_worktree_are_named_wherever_a_person_looks(trial: Trial) -> None:
    repo, place = trial.repo, place_of(trial, "a")
    link, inner = place / "link", repo / ".claude/worktrees/x"
    edits = [
        ("Write", f"{repo}/main.py", False),
        ("Edit", f"{repo}/denied.py", True),
        ("Write", f"{place}/a.py", False),
        ("MultiEdit", f"{link}/linked.py", False),
        ("Write", "relative.py", False),
    ]
    tell(trial, "a", f"echo x >a.py; echo x >{repo}/main.py; ln -s {repo} link; rm -rf {inner}", edits)
    trial.configure({"execution.stopAfterEachTask": "true"})
    said = trial.expect(3, "execute", "--no-input")
    paths = [f"{repo}/main.py", f"{link}/linked.py"]
    (record,) = trial.records("a")
    assert outside(trial) == {"paths": paths}
    lines = [line for line in said.splitlines() if "outside its place" in line]
    assert lines == [f"warning: outside its place, run {record['id']} wrote {path}" for path in paths]
    assert f"done outside its place\n  wrote {paths[0]}\n" in trial.expect(0, "runs", "a", record["id"])
    shown = json.loads(trial.expect(0, "runs", "a", record["id"], "--json"))
    assert shown["data"]["run"]["outside"] == {"paths": paths}
    panel = trial.run("execute", stdin="2\n")[1]
    assert f"Done outside its place:\n  wrote {paths[0]}\n" in panel


@pytest.mark.exhaustive
def test_its_commits_elsewhere_are_its_own_and_a_persons_are_not(trial: Trial) -> None:
    repo = trial.repo
    mine = f"cd {repo}; echo 1 >1; git add 1; git commit -qm 1; cd -; echo x >a.py"
    tell(trial, "a", mine)
    said = trial.expect(0, "execute", "--no-input")
    made = {"commit": head_of(repo), "worktree": str(repo)}
    assert outside(trial) == {"commits": [made]}
    assert f"made commit {made['commit'][:10]} in {repo}\n" in said
    trial.plan({"b": ()})
    tell(trial, "b", f"cd {repo}; echo 2 >2; git add 2; {PERSON} git commit -qm 2; cd -; echo x >b.py")
    said = trial.expect(0, "execute", "--no-input")
    moved = {"subject": "branch", "name": "main", "before": made["commit"], "after": head_of(repo)}
    assert outside(trial, "b") == {"seen": [moved]}
    assert "outside its place" not in said
    assert f"{QUIET}: branch main {made['commit'][:10]} -> {head_of(repo)[:10]}\n" in said


def test_a_commit_of_a_persons_that_it_takes_from_a_branch_is_told(trial: Trial) -> None:
    before = commit(trial.repo, {"theirs.txt": "x\n"})
    work = f"cd {trial.repo}; echo 1 >1; git add 1; git commit -q --amend -m mine; cd -; echo x >a.py"
    tell(trial, "a", work)
    trial.expect(0, "execute", "--no-input")
    assert seen(trial) == [("branch", "main")]
    (moved,), (made,) = outside(trial)["seen"], outside(trial)["commits"]
    assert (moved["before"], moved["after"]) == (before, made["commit"])


SEEN = {
    "git branch new": ("branch", "new"),
    "git worktree add -q --detach /@/other": ("worktree", "/@/other"),
    "git config core.bare true": ("setting", "core.bare"),
    "git config core.hooksPath /x": ("setting", "core.hookspath"),
    "git config core.attributesFile /x": ("setting", "core.attributesfile"),
    "git config core.excludesFile /x": ("setting", "core.excludesfile"),
    "git config filter.x.clean cat": ("setting", "filter.x.clean"),
    "git config merge.x.driver cat": ("setting", "merge.x.driver"),
    "git config diff.x.textconv cat": ("setting", "diff.x.textconv"),
    "git config url./x.insteadOf /y": ("setting", "url./x.insteadof"),
    "git config include.path /x": ("setting", "include.path"),
    "git config --global includeIf.onbranch:x.path /x": ("setting", "includeif.onbranch:x.path"),
    "echo '* -diff' >>../../repo/.git/info/attributes": ("git_file", "info/attributes"),
    "echo x >../../repo/.git/hooks/pre-push": ("git_file", "hooks/pre-push"),
    "chmod -x ../../repo/.git/hooks/post-commit": ("git_file", "hooks/post-commit"),
}
UNSEEN = (
    "git tag v1",
    "git update-ref refs/remotes/origin/main HEAD",
    "git config user.nick x",
    "git config branch.main.remote origin",
    "git pack-refs --all; git gc -q; git maintenance run --task=commit-graph",
    "touch ../../repo/old.txt; git -C ../../repo status",
    "git update-server-info; touch ../../repo/.git/hooks/post-commit",
    "echo x >../../repo/theirs.txt",
)


def test_what_changes_how_git_works_is_named_once_each(trial: Trial) -> None:
    tell(trial, "a", "; ".join(("echo x >a.py", *SEEN)).replace("/@", str(trial.repo.parent)))
    said = trial.expect(0, "execute", "--no-input")
    git(trial.repo, "config", "core.bare", "false")
    expected = [(subject, name.replace("/@", str(trial.repo.parent))) for subject, name in SEEN.values()]
    assert sorted(seen(trial)) == sorted(expected)
    assert said.count(QUIET) == len(SEEN)
    assert said.count("hint: git config core.bare false\n") == 1


def test_what_changes_nothing_for_others_raises_no_word(trial: Trial) -> None:
    tell(trial, "a", "; ".join(("echo x >a.py", *UNSEEN)))
    said = trial.expect(0, "execute", "--no-input")
    assert "warning: seen" not in said
    assert outside(trial).keys() == {"other"}


def test_a_worktree_that_is_gone_leads_to_a_new_start_and_to_no_approval(trial: Trial) -> None:
    place = place_of(trial, "a")
    tell(trial, "a", f"echo x >a.py; cd /; rm -rf {place}")
    said = trial.expect(3, "execute", "--no-input")
    assert f"{QUIET}: the worktree of a is gone: {place}\n" in said
    assert "  git blackbird restart a --no-input    # starts the task again" in said
    assert "--approve" not in said
    gone = f"it has not landed: its worktree {place} is gone, with what it changed"
    assert gone in trial.expect(1, "decide", "a", "--approve")
    shown = trial.expect(0, "status")
    assert gone in shown
    assert "restart a    # or decide --request-changes -m TEXT, or decide --reject\n" in shown
    assert "--approve" not in shown
    tell(trial, "a", "echo x >a.py")
    trial.expect(0, "restart", "a", "--no-input")
    assert (trial.repo / "a.py").exists()


@pytest.mark.exhaustive
def test_commits_of_ours_while_another_run_works_are_no_news(trial: Trial) -> None:
    """An approval is carried out by the call at work; its commit moves the user's branch."""
    repo = trial.repo
    trial.plan({"a": (), "b": ()})
    trial.configure({"execution.stopAfterEachTask": "true", "execution.commit": "approved"})
    tell(trial, "a", "echo x >a.py")
    tell(trial, "b", f"echo x >b.py; until git -C {repo} log | grep -q Blackbird-Task; do sleep 0.01; done")
    with trial.start("execute", "--no-input", "--jobs", "2") as execute:
        wait_until(lambda: trial.statuses()["a"] == "waiting_user")
        trial.expect(0, "decide", "a", "--approve")
        said, _ = execute.communicate(timeout=60)
    assert "Blackbird-Task: a" in git(repo, "log", "-1", "--format=%B")
    assert "seen while agents worked" not in said
    assert outside(trial, "b") == {}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("where", ["--worktrees", "--no-worktrees"])
def test_work_in_a_worktree_that_it_made_itself_is_taken_by_the_named_command(
    trial: Trial, where: str
) -> None:
    repo, inner = trial.repo, trial.repo / ".claude/worktrees/x"
    work = f"cd {inner}; echo 1 >one.py; git add .; git commit -qm one; echo 2 >two.py"
    tell(trial, "a", f"git worktree add -q -b worktree-x {inner} HEAD; {work}")
    trial.configure({"execution.stopAfterEachTask": "true"})
    said = trial.expect(3, "execute", "--no-input", where)
    events = trial.expect(3, "execute", "--no-input", "--json").splitlines()
    (checkpoint,) = [event for event in map(json.loads, events) if event["event"] == "checkpoint"]
    typed = checkpoint["workElsewhere"]["command"]
    assert f"  {typed}    # takes the work in {inner} as the change\n" in said
    assert (
        f"Careful: its work seems to be in {inner}; `{typed}` takes it"
        in trial.run("execute", stdin="x\n")[1]
    )
    as_typed(trial, typed)
    if where == "--worktrees":
        panel = trial.run("execute", stdin="1\n")[1]
        assert "the agent changed nothing" not in panel
        assert "together: 2 files, +2 -0" in panel
    else:
        assert trial.records("a")[-1]["run_type"] == "manual"
        trial.run("execute", stdin="1\n")
    assert trial.statuses() == {"a": "done"}
    assert {"one.py", "two.py"} <= {path.name for path in repo.iterdir()}
    trial.expect(0, "undo", "a")
    assert not {"one.py", "two.py"} & {path.name for path in repo.iterdir()}


def test_work_that_overlaps_with_edits_in_place_is_not_taken_and_the_decision_stays(
    trial: Trial, repo: Path
) -> None:
    inner = repo / ".claude/worktrees/x"
    tell(
        trial, "a", f"git worktree add -q -b x {inner} HEAD; cd {inner}; echo a >>old.txt; git commit -qam x"
    )
    trial.configure({"execution.stopAfterEachTask": "true"})
    (repo / "old.txt").write_text("mine\n")
    said = trial.expect(3, "execute", "--no-input", "--no-worktrees")
    (line,) = [line for line in said.splitlines() if "# takes the work in" in line]
    with pytest.raises(subprocess.CalledProcessError):
        as_typed(trial, line.partition("    #")[0])
    assert (repo / "old.txt").read_text() == "mine\n"
    assert trial.statuses() == {"a": "waiting_user"}


class Story:
    """A random story: what agents do outside their places, a person beside them, and what is to be said."""

    def __init__(self, trial: Trial, seed: int) -> None:
        self.trial, self.random = trial, random.Random(seed)
        self.options = self.random.choice((("--jobs", "1"), ("--jobs", "2"), ("--no-worktrees",)))
        self.is_in_place = "--no-worktrees" in self.options
        self.tasks = [f"t{number}" for number in range(self.random.randint(1, 3))]
        self.paths: dict[str, list[str]] = {task: [] for task in self.tasks}
        self.commits: dict[str, list[str]] = {task: [] for task in self.tasks}
        self.seen: list[tuple[str, str]] = []
        self.theirs = 0
        self._number = 0

    def tell_all(self) -> None:
        """Give each agent its script."""
        for task in self.tasks:
            edits: list[tuple[str, str, bool]] = []
            deeds = [self._deed(task, edits) for _ in range(self.random.randint(1, 6))]
            # Git's lock of an index is not waited for, and commits of several are about one each.
            alone = 'until mkdir "$there/.git/turn" 2>/dev/null; do sleep 0.01; done'
            work = "; ".join((f"there={self.trial.repo}", alone, *deeds, 'rmdir "$there/.git/turn"'))
            tell(self.trial, task, f"echo x >{task}.py; {work}", edits)

    def _deed(self, task: str, edits: list[tuple[str, str, bool]]) -> str:
        self._number += 1
        name, repo = f"n{self._number}", self.trial.repo
        commits = (
            f'echo x >"$there/{name}"; git -C "$there" add {name}; {{}} git -C "$there" commit -qm {name}'
        )
        deeds = {
            "write": f'echo x >"$there/{name}.py"',
            "denied": ":",
            "commit": commits.format(""),
            "their commit": commits.format(PERSON),
            "their edit": f'echo y >"$there/old{name}.txt"',
            "their upkeep": f'{PERSON} git -C "$there" maintenance run -q --task=gc',
            "their look": 'touch "$there/old.txt"; git -C "$there" status -s >&2',
            "their fetch": f'{PERSON} git -C "$there" fetch -q origin "main:refs/remotes/origin/{name}"',
            "branch": f"git branch {name}",
            "their branch": f'{PERSON} git -C "$there" branch {name}',
            "worktree": f"git worktree add -q --detach {repo.parent}/{name}",
            "setting": f"git config filter.{name}.clean cat",
            "other setting": f"git config user.{name} x",
            "attributes": f"mkdir {name}; echo '* -diff' >{name}/.gitattributes",
            "plan": "echo '{' >>blackbird.plan.json",
            "tag": f"git tag {name}",
        }
        deed = self.random.choice(list(deeds))
        match deed:
            case "write":
                edits.append(("Write", f"{repo}/{name}.py", False))
                self.paths[task] += [] if self.is_in_place else [f"{repo}/{name}.py"]
            case "denied":
                edits.append(("Edit", f"{repo}/{name}.py", True))
            case "commit":
                self.commits[task] += [] if self.is_in_place else [name]
            case "their commit":
                # In place, that is a move of HEAD, which is told otherwise.
                self.theirs += not self.is_in_place
            case "branch" | "their branch":
                self.seen.append(("branch", name))
            case "worktree":
                self.seen.append(("worktree", str(repo.parent / name)))
            case "setting":
                self.seen.append(("setting", f"filter.{name}.clean"))
            case _:
                pass
        return deeds[deed]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", range(examples(9)))
def test_agents_and_a_person_side_by_side_are_each_told_apart(trial: Trial, seed: int) -> None:
    repo = trial.repo
    git(repo, "init", "-q", "--bare", "../origin.git")
    git(repo, "remote", "add", "origin", "../origin.git")
    git(repo, "push", "-q", "origin", "main")
    story = Story(trial, seed)
    trial.plan(dict.fromkeys(story.tasks, ()))
    story.tell_all()
    said = trial.expect(0, "execute", "--no-input", *story.options)
    found: list[tuple[str, str]] = []
    for task in story.tasks:
        told = outside(trial, task)
        assert list(told.get("paths", ())) == story.paths[task], seed
        made = [git(repo, "log", "-1", "--format=%s", one["commit"]) for one in told.get("commits", ())]
        assert made == story.commits[task], seed
        found += seen(trial, task)
    moves = found.count(("branch", "main"))
    assert min(1, story.theirs) <= moves <= story.theirs, seed
    assert sorted(each for each in found if each != ("branch", "main")) == sorted(story.seen), seed
    own = sum(map(len, story.paths.values())) + sum(map(len, story.commits.values()))
    assert said.count("warning: outside its place, run ") == own, seed
    assert said.count("warning: seen while agents worked: ") == len(found), seed


def test_what_is_seen_while_reviewers_work_is_on_the_change(trial: Trial) -> None:
    tell(trial, "a", f"[ -e {place_of(trial, 'a')}/a.py ] && git -C {trial.repo} branch new || echo x >a.py")
    trial.configure({"reviews.mode": "parallel", "reviews.maxIterations": "1"})
    said = trial.expect(3, "execute", "--no-input")
    assert seen(trial) == [("branch", "new")], said + git(trial.repo, "branch")
    assert said.count(f"{QUIET}: new branch new at ") == 1
