"""Whatever a person, agents, git and kills do in whatever order: nothing is lost, half done, left, or stuck.

Each text that the person writes is a new one. It must be in a file, or in an object that a reference holds,
until the person writes or removes that file again. Of what a careful agent adds, line by line, a command
brings all or nothing into the person's worktree, or names what it leaves; it takes no line of the person's
out of it. Git alone is asked, so that nothing is shared with the program. A kill is that of a step on the
disk, of the hook of a commit, or of a check. ``BLACKBIRD_EXAMPLES`` asks for more stories than the suite
takes; one that fails is named by its number.
"""

import os
import random
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.crash.running import INJECTED
from tests.records import fact
from tests.support import PATIENCE_SECONDS, git, wait_until
from tests.trial.program import ROOT, Trial

STORIES = int(os.environ.get("BLACKBIRD_EXAMPLES", "4"))  # read before the tests are sealed
SHARES = 4
STEPS = 24
NAMES = ("a", "b", "d/c", "d/e", "s.log", ".env", "d")
TASKS = ("t0", "t1", "t2")
IGNORED = "*.log\n.env\n.blackbird\nblackbird.plan.json\n"
FINE = {0, 1, 2, 3, 4, 5, 7, 8}
OVER = {"done", "skipped"}
# What an agent does with conflicts: it keeps both sides, and no file of another name.
RESOLVE = r"""test -d .git || git ls-files -u | cut -f2 | sort -u | while read -r file; do
  case $file in *~*) git rm -qf $file; continue;; esac
  test -f $file && sed -i '/^\(<<<<<<<\|=======\|>>>>>>>\||||||||\)/d' $file
  git add $file
done"""
# What is done with a task that is not over, one after the other where that does not help.
WAYS = {
    "todo": ("execute --no-input",),
    "waiting_user": ("decide {} --approve", "resume {} --no-input", "retry {}"),
    "in_progress": ("execute --no-input", "resume {} --no-input", "retry {}"),
    "failed": ("retry {}",),
}


@dataclass
class Story:
    """One repository and what its person wrote; its agents are ``careful`` where they only add lines."""

    trial: Trial
    dice: random.Random
    careful: bool
    count: int = 0
    mine: dict[str, str] = field(default_factory=dict)
    # Lines that the person or an undo took out. They come back where the file was edited elsewhere, too, and
    # whoever resolves that keeps both sides, as agents here do.
    dropped: set[str] = field(default_factory=set)
    undone: set[str] = field(default_factory=set)
    # Lines that were written when a call was killed whose agent worked in place: part of its change.
    shared: set[str] = field(default_factory=set)
    told: list[str] = field(default_factory=list)

    @property
    def top(self) -> Path:
        return self.trial.repo

    @property
    def place(self) -> Path:
        return self.top.parent

    def step(self) -> None:
        kinds = (
            [self.edit] * 6
            + [self.command] * 9
            + [self.ignore] * 2
            + [self.nest, self.collect, self.stage, self.switch, self.reset, self.stash]
        )
        before = self.lines("")
        kind = self.dice.choice(kinds)
        kind()
        if kind != self.command:
            self.dropped |= before - self.lines("")
        self.look()

    def edit(self) -> None:
        """Write or remove a file, as an editor does."""
        name = self.dice.choice((*NAMES, "sub/s"))
        path = self.top / name
        self.told.append(f"edit {name}")
        if path.is_dir() or any(above.is_symlink() or above.is_file() for above in path.parents):
            return
        text = path.read_text() if path.exists() else "1\n2\n3\n"
        if path.exists() and self.dice.random() < 0.25:
            path.unlink()
            self.mine.pop(name, None)
            return
        self.count += 1
        path.parent.mkdir(exist_ok=True)
        self.mine[name] = f"mine {self.count:04}"
        if self.is_cut_off_in_place():
            self.shared.add(self.mine[name])
        lines = [line for line in text.splitlines() if not line.startswith("mine")]
        lines.insert(self.dice.randint(0, len(lines)), self.mine[name])
        if self.dice.random() < 0.3:
            self.dice.shuffle(lines)
        if self.dice.random() < 0.5:
            path.unlink(missing_ok=True)
        path.write_text("".join(f"{line}\n" for line in lines))

    def is_cut_off_in_place(self) -> bool:
        """Whether a killed call has left a run in place that is not closed yet."""
        runs = (run for task in TASKS for run in self.trial.records(task))
        return any(run["status"] == "running" and "worktree" not in run for run in runs)

    def ignore(self) -> None:
        """Ignore something else, or no longer."""
        self.told.append("ignore")
        self.mine.pop(".gitignore", None)
        names = self.dice.sample(NAMES, self.dice.randint(0, 3))
        (self.top / ".gitignore").write_text(IGNORED + "".join(f"/{name}\n" for name in names))

    def nest(self) -> None:
        """Make a folder a repository of its own, or no longer."""
        self.told.append("nest")
        if (self.top / "d").is_dir():
            if (self.top / "d/.git").exists():
                shutil.rmtree(self.top / "d/.git")
            elif self.dice.random() < 0.5:
                git(self.top / "d", "init", "-q")

    def collect(self) -> None:
        self.told.append("gc")
        git(self.top, "reflog", "expire", "--expire=now", "--all")
        git(self.top, "gc", "-q", "--prune=now")

    def stage(self) -> None:
        self.git("add -A")
        if self.dice.random() < 0.5:
            self.git("commit -qm mine")

    def switch(self) -> None:
        self.git(self.dice.choice(["switch -q main", "switch -q other", "switch -q -C other"]))

    def reset(self) -> None:
        kind = self.dice.choice(["--hard", "--hard", "--mixed", "--soft"])
        self.git(f"reset -q {kind} {self.dice.choice(['HEAD', 'HEAD^'])}")

    def stash(self) -> None:
        self.git(self.dice.choice(["stash push -q -u", "stash push -q", "stash pop -q"]))

    def git(self, words: str) -> None:
        """Type a command of git, which may be refused; what it takes out of files is what was asked for."""
        done = subprocess.run(["git", *words.split()], cwd=self.top, check=False, capture_output=True)
        self.told.append(f"{words}: {done.returncode}")
        self.mine = {name: text for name, text in self.mine.items() if self.is_in_files(name, text)}
        for file in self.files():
            text = file.read_text(errors="replace")
            if "<<<<<<<" in text:
                file.write_text("".join(line for line in text.splitlines(True) if line[:7] not in MARKS))

    def command(self) -> None:
        """Type a command about a task, which may be killed."""
        self.trial.configure(
            {
                "execution.worktrees": self.dice.choice(["true", "true", "false"]),
                "execution.commit": self.dice.choice(["never", "approved", "checked"]),
                "execution.jobs": self.dice.choice(["1", "2"]),
                "execution.stopAfterEachTask": self.dice.choice(["true", "true", "false"]),
                "check.command": self.dice.choice(["", f"sh {self.place}/struck check"]),
            }
        )
        self.trial.command(self.agent())
        words = self.words()
        struck = self.dice.choice(["hook", "check", "step", "step", "", "", "", "", ""])
        self.trial.environ = self.killed_at(self.dice.randint(1, 150)) if struck == "step" else {}
        if struck in {"hook", "check"}:
            (self.place / struck).touch()
        self.type(words)
        self.trial.environ = {}
        for flag in ("hook", "check"):
            (self.place / flag).unlink(missing_ok=True)

    def killed_at(self, step: int) -> dict[str, str]:
        trace = self.place.with_name("trace")
        trace.write_bytes(b"")
        return {
            "PYTHONPATH": f"{INJECTED}:{ROOT}",
            "CRASH_TOP": str(self.place),
            "CRASH_TRACE": str(trace),
            "CRASH_AT": f"kill:{step}",
        }

    def type(self, words: str) -> str:
        """Run a command, and show what it did to whose lines."""
        mine, theirs, refs = self.lines("mine"), self.lines("work"), self.refs()
        process = self.trial.start(*words.split())
        (self.place / "pid").write_text(str(process.pid))
        said, _ = process.communicate("", timeout=PATIENCE_SECONDS)
        self.told.append(f"{words}: {process.returncode}{' (killed)' if process.returncode < 0 else ''}")
        assert process.returncode < 0 or process.returncode in FINE, said
        assert "Traceback" not in said, said
        self.wait_for_agents()
        assert self.refs().items() >= refs.items(), said
        if self.careful:
            now = self.lines("mine")
            assert now >= mine - self.shared, f"taken out: {mine - now}\n{said}"
            assert now - mine <= self.dropped, f"came back: {now - mine}\n{said}"
            if process.returncode >= 0:
                excused = self.dropped if words.startswith("redo") else self.dropped | self.undone
                self.require_whole(theirs, self.lines("work"), excused, said)
            if "undo" in words:
                self.undone |= theirs - self.lines("work")
        return said

    def require_whole(self, before: set[str], now: set[str], excused: set[str], said: str) -> None:
        """Show that of each run all that changed is there or not, but for what is named."""
        for run, lines in self.done().items():
            known = {line for line in lines if line not in excused}
            changed = {line for line in known if (line in before) is not (line in now)}
            for line in changed and {line for line in known if (line in now) is not (min(changed) in now)}:
                assert lines[line] in said, f"half of {run}: {lines[line]}\n{said}"

    def done(self) -> Mapping[str, Mapping[str, str]]:
        """Return the lines that each run of a careful agent added, each with its file."""
        runs: dict[str, dict[str, str]] = {}
        for entry in (self.place / "log").read_text().splitlines():
            run, name = entry.split(" ")
            runs.setdefault(run, {})[f"work {run} {name}"] = name
        return runs

    def lines(self, kind: str) -> set[str]:
        """Return the lines of one kind in the person's files."""
        found = (line for file in self.files() for line in file.read_text(errors="replace").splitlines())
        return {line for line in found if line.startswith(kind)}

    def files(self) -> list[Path]:
        found = [*self.top.glob("*"), *self.top.glob("d/*"), *self.top.glob("sub/*")]
        return [file for file in found if file.is_file() and file.name not in {".git", "blackbird.plan.json"}]

    def refs(self) -> dict[str, str]:
        """Return what is the person's own in git, but for the branch that is checked out."""
        own = git(self.top, "for-each-ref", "--format=%(refname) %(objectname)", "refs/heads", "refs/stash")
        head = git(self.top, "rev-parse", "--symbolic-full-name", "HEAD")
        return {name: oid for name, oid in map(str.split, own.splitlines()) if name != head}

    def wait_for_agents(self) -> None:
        """Wait for agents of a program that was killed."""
        wait_until(
            lambda: not any(Path("/proc", entry.name).exists() for entry in (self.place / "agents").iterdir())
        )

    def words(self) -> str:
        """Return a command: mostly one that its task is ready for."""
        statuses = self.trial.statuses()
        if len(statuses) < 2:
            self.count += 1
            return f"add --title more{self.count} --prompt work --no-input"
        task = self.dice.choice(sorted(statuses))
        kind = statuses[task] if self.dice.random() < 0.9 else self.dice.choice(sorted(statuses.values()))
        return self.dice.choice(self.likely(task, kind))

    def likely(self, task: str, status: str) -> list[str]:
        records = self.trial.records(task)
        last = records[-1] if records else {}
        every = {
            "todo": [f"execute {task} --no-input", "execute --no-input"] * 3 + [f"set-status {task} skipped"],
            "waiting_user": [
                *[f"decide {task} --approve"] * 5,
                *(f"decide {task} --reject --undo", f"decide {task} --reject", f"delete {task} --force"),
                f"decide {task} --request-changes -m more",
            ],
            "in_progress": [
                *["execute --no-input"] * 3,
                f"undo {task}",
                f"retry {task}",
                f"resume {task} --no-input",
            ],
            "done": [
                *[f"undo {task}"] * 4,
                f"branch {task} of-{len(self.told)}",
                f"set-status {task} todo",
                "worktrees prune",
            ],
            "failed": [
                *[f"redo {task}" if fact(last, "undone_at") else f"retry {task}"] * 3,
                *(f"restart {task} --no-input", f"delete {task} --force"),
            ],
            "skipped": [f"set-status {task} todo"],
        }
        if records and self.dice.random() < 0.05:
            self.count += 1
            return [
                f"restore {last['id']} ../restored{self.count}",
                f"restore {last['id']} --branch b{self.count}",
            ]
        return every[status]

    def agent(self) -> str:
        """What an agent does; in the person's worktree it leaves ignored files alone."""
        at_work = f"{self.place}/agents/$$"
        steps = [f"touch {at_work}", "cat >/dev/null", 'guard() { git check-ignore -q --no-index "$1"; }']
        steps.append(RESOLVE)
        steps += self.careful_steps() if self.careful else self.rough_steps()
        return "\n".join([*steps, f"rm {at_work}"])

    def careful_steps(self) -> list[str]:
        names = self.dice.sample(NAMES[:4], self.dice.randint(1, 3))
        add = (
            "add() { guard $1 || test -L d || test -d d/.git || { mkdir -p d; touch $1; "
            'text="work $BLACKBIRD_RUN_ID $1\\n$(cat $1)"; printf "$text\\n" >$1; '
            'done="$done$BLACKBIRD_RUN_ID $1\\n"; }; }'
        )
        return [add, *(f"add {name}" for name in names), f'printf "$done" >>{self.place}/log']

    def rough_steps(self) -> list[str]:
        steps = []
        for _ in range(self.dice.randint(1, 3)):
            name = self.dice.choice(NAMES[:-1])
            free = f"guard {name} || test -L d || test -d d/.git ||"
            steps.append(
                self.dice.choice(
                    [
                        f"{free} {{ mkdir -p d; printf '1\\n2\\nagent\\n3\\n' >{name}; }}",
                        f"{free} sed -i 's/2/two/' {name}",
                        f"{free} rm -f {name}",
                        f"{free} git rm -q --cached {name}; echo {name} >>.gitignore",
                        "git add -A; git commit -qm agent",
                    ]
                )
            )
        return steps

    def look(self) -> None:
        """Show that each text of the person is there."""
        missing = {name: text for name, text in self.mine.items() if not self.is_in_files(name, text)}
        if missing:
            held = self.held()
            lost = {name: text for name, text in missing.items() if text.encode() not in held}
            assert not lost, lost
        places = git(self.top, "worktree", "list").splitlines()
        assert len(places) == len({line.split()[0] for line in places}), places

    def is_in_files(self, name: str, text: str) -> bool:
        path = self.top / name
        return path.is_file() and text in path.read_text(errors="replace")

    def held(self) -> bytes:
        """Everything that references and the index hold."""
        listed = git(self.top, "rev-list", "--objects", "--all", "--indexed-objects").splitlines()
        ids = "\n".join(line.split()[0] for line in listed)
        return subprocess.run(
            ["git", "cat-file", "--batch"], cwd=self.top, input=ids.encode(), capture_output=True, check=True
        ).stdout

    def finish(self) -> None:
        """Clear the way and do what is due, until every task is over; then nothing is left of it."""
        (self.top / ".gitignore").write_text(IGNORED)
        shutil.rmtree(self.top / "d/.git", ignore_errors=True)
        if (self.top / "d").exists() and not (self.top / "d").is_dir():
            (self.top / "d").unlink()
        self.trial.configure(
            {"check.command": "", "execution.commit": "never", "execution.worktrees": "false"}
        )
        self.trial.configure({"execution.stopAfterEachTask": "false"})
        self.trial.command(self.agent())
        for _ in range(8):
            for task, status in self.trial.statuses().items():
                for way in WAYS.get(status, ()):
                    if self.trial.statuses()[task] == status:
                        self.resolve(task)
                        self.type(way.format(task))
                        self.look()
        assert set(self.trial.statuses().values()) <= OVER, f"stuck\n{self.type('status')}"
        self.type("worktrees prune")
        self.collect()
        self.look()
        assert git(self.top, "fsck", "--no-dangling") == ""
        git(self.top, "status")
        assert list(self.left()) == []

    def resolve(self, task: str) -> None:
        """Resolve what is in conflict in a task's worktree, as who is told to do so."""
        folder = self.place / "repo.worktrees" / task
        if folder.is_dir():
            subprocess.run(["sh", "-c", RESOLVE], cwd=folder, check=False, capture_output=True)

    def left(self) -> list[str]:
        """Name what is left beside files, and in git's directory."""
        found = [
            path
            for path in self.top.rglob("*")
            if path.name.startswith(".blackbird-") or path.name.endswith(".lock")
        ]
        ours = self.top / ".git/blackbird"
        return (
            [str(path) for path in found if ours not in path.parents]
            + [name for name in ("journal", "temporary-files") if (ours / name).exists()]
            + [str(path) for path in self.place.glob("repo.worktrees/*")]
        )


MARKS = {mark * 7 for mark in "<=>|"}


def one(number: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        story = Story(Trial(prepared(Path(place, "work"))), random.Random(number), careful=number % 2 == 1)
        story.trial.plan(dict.fromkeys(TASKS, ()))
        story.trial.configure({"execution.acceptNoChange": "true"})
        try:
            for _ in range(STEPS):
                story.step()
            story.finish()
        except BaseException as error:
            error.add_note(f"story {number}: " + "; ".join(story.told))
            raise


def prepared(place: Path) -> Path:
    """Make a repository with two branches, a submodule, and a hook; what the story notes is beside it."""
    repo, library = place / "repo", place.with_name("library")
    for top, names in ((library, ("s",)), (repo, NAMES[:4])):
        top.mkdir(parents=True)
        git(top, "init", "-q", "-b", "main")
        for name in names:
            (top / name).parent.mkdir(exist_ok=True)
            (top / name).write_text("1\n2\n3\n")
        git(top, "add", "-A")
        git(top, "commit", "-qm", "first")
    git(repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "sub")
    (repo / ".gitignore").write_text(IGNORED)
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "--amend", "-m", "first")
    git(repo, "branch", "other")
    (place / "agents").mkdir()
    (place / "log").touch()
    (place / "struck").write_text(STRUCK.format(place=place))
    hook = repo / ".git/hooks/pre-commit"
    hook.write_text(f"#!/bin/sh\nexec sh {place}/struck hook\n")
    hook.chmod(0o755)
    return repo


# Kills the program, once, where that was asked for.
STRUCK = """test -e {place}/$1 || exit 0
rm {place}/$1
kill -9 $(cat {place}/pid)
"""


@pytest.mark.sampled(1)
@pytest.mark.parametrize("share", range(SHARES))
def test_nothing_is_lost_half_done_or_left(share: int) -> None:
    for number in range(share, STORIES, SHARES):
        one(number)
