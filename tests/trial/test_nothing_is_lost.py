"""Whatever a person, agents and kills do in whatever order: what the person wrote last is somewhere.

Each text that the person writes is a new one. It must be in a file, or in an object that a reference holds,
until the person writes or removes that file again. Git alone is asked, so that nothing is shared with the
program. ``BLACKBIRD_EXAMPLES`` asks for more stories than the suite takes; one that fails is named by its
number.
"""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support import git
from tests.trial.program import Trial

STORIES = int(os.environ.get("BLACKBIRD_EXAMPLES", "8"))  # read before the tests are sealed
SHARES = 4
STEPS = 30
NAMES = ("a", "b", "d/c", "d/e", "s.log", ".env", "d")
TASKS = ("t0", "t1", "t2")
IGNORED = "*.log\n.env\n.blackbird\nblackbird.plan.json\n"
FINE = {0, 1, 2, 3, 4, 5, 7, 8}


@dataclass
class Story:
    """One repository and what its person wrote."""

    trial: Trial
    dice: random.Random
    count: int = 0
    mine: dict[str, str] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)

    @property
    def top(self) -> Path:
        return self.trial.repo

    def step(self) -> None:
        kinds = (
            [self.edit] * 6 + [self.command] * 8 + [self.ignore] * 2 + [self.nest, self.collect, self.stage]
        )
        self.dice.choice(kinds)()
        self.look()

    def edit(self) -> None:
        """Write or remove a file, as an editor does."""
        name = self.dice.choice(NAMES)
        path = self.top / name
        self.told.append(f"edit {name}")
        if path.is_dir() or any(above.is_symlink() or above.is_file() for above in path.parents):
            return
        if path.exists() and self.dice.random() < 0.25:
            path.unlink()
            self.mine.pop(name, None)
            return
        self.count += 1
        path.parent.mkdir(exist_ok=True)
        self.mine[name] = f"mine {self.count:04}"
        lines = ["1\n", "2\n", "3\n", f"{self.mine[name]}\n"]
        self.dice.shuffle(lines)
        if self.dice.random() < 0.5:
            path.unlink(missing_ok=True)
        path.write_text("".join(lines))

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
        self.told.append("stage")
        subprocess.run(["git", "add", "-A"], cwd=self.top, check=False, capture_output=True)
        if self.dice.random() < 0.5:
            subprocess.run(["git", "commit", "-qm", "mine"], cwd=self.top, check=False, capture_output=True)

    def command(self) -> None:
        """Type a command about a task, which may be killed."""
        task = self.dice.choice(TASKS)
        words = self.dice.choice(self.likely(task) if self.dice.random() < 0.9 else self.likely(""))
        self.trial.configure({"execution.worktrees": self.dice.choice(["true", "false"])})
        self.trial.configure({"execution.commit": self.dice.choice(["never", "approved"])})
        self.trial.command(self.agent())
        killed = self.dice.random() < 0.3
        process = self.trial.start(*words.split())
        try:
            said, _ = process.communicate("", timeout=self.dice.random() * 0.6 if killed else 120)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
            said, _ = process.communicate()
        self.told.append(f"{words}: {process.returncode}{' (killed)' if process.returncode < 0 else ''}")
        assert process.returncode < 0 or process.returncode in FINE, said
        assert "Traceback" not in said, said

    def likely(self, task: str) -> list[str]:
        """Return commands that a task is ready for; all of them without a task."""
        records = self.trial.records(task) if task else []
        last = records[-1] if records else {}
        every = {
            "todo": [f"execute {task or TASKS[0]} --no-input"],
            "waiting_user": [
                *[f"decide {task} --approve"] * 4,
                *(f"decide {task} --reject --undo", f"decide {task} --reject"),
            ],
            "in_progress": ["execute --no-input", f"undo {task}"],
            "done": [f"undo {task}"],
            "failed": [
                f"redo {task}" if last.get("undone_at") else f"retry {task}",
                f"restart {task} --no-input",
            ],
        }
        return (
            every[self.trial.statuses()[task]]
            if task
            else [word for words in every.values() for word in words]
        )

    def agent(self) -> str:
        """What an agent does; in the person's worktree it leaves ignored files alone."""
        steps = ["cat >/dev/null", 'guard() { git check-ignore -q --no-index "$1"; }']
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
        return "\n".join([*steps, "true"])

    def look(self) -> None:
        """Show that each text of the person is there."""
        missing = {name: text for name, text in self.mine.items() if not self.is_in_files(name, text)}
        if missing:
            held = self.held()
            lost = {name: text for name, text in missing.items() if text.encode() not in held}
            assert not lost, lost

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


def one(number: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        repo = Path(place, "repo")
        repo.mkdir()
        git(repo, "init", "-q", "-b", "main")
        for name in NAMES[:4]:
            (repo / name).parent.mkdir(exist_ok=True)
            (repo / name).write_text("1\n2\n3\n")
        (repo / ".gitignore").write_text(IGNORED)
        git(repo, "add", "-A")
        git(repo, "commit", "-qm", "first")
        story = Story(Trial(repo), random.Random(number))
        story.trial.plan(dict.fromkeys(TASKS, ()))
        story.trial.configure({"execution.stopAfterEachTask": "true", "execution.acceptNoChange": "true"})
        try:
            for _ in range(STEPS):
                story.step()
            assert git(repo, "fsck", "--no-dangling") == ""
        except BaseException as error:
            error.add_note(f"story {number}: " + "; ".join(story.told))
            raise


@pytest.mark.parametrize("share", range(SHARES))
def test_nothing_that_a_person_wrote_is_lost(share: int) -> None:
    for number in range(share, STORIES, SHARES):
        one(number)
