"""Over random stories: files are as if what was taken back had never been, or are left and named.

``BLACKBIRD_EXAMPLES`` asks for more stories than the suite takes; one that fails is named by its number.
"""

import random
import tempfile
from pathlib import Path

import pytest

from git_blackbird.controller.change.decide.record import record_decision
from git_blackbird.controller.change.undo.undo import redo_task, undo_task
from git_blackbird.errors import RequestError
from git_blackbird.model.plan.status import Status
from tests.controller.change.undo.test_orders import BETWEEN, FILES, Story
from tests.controller.support import APPROVE, configure, execute, leaf, open_at, put_plan, status
from tests.support import commit, examples, git

LINES = "".join(f"line {number}\n" for number in range(1, 25))
TASKS = "abcd"


class RandomStory(Story):
    """Tasks that touch the same lines now and then, a person who edits near them, undos and redos between."""

    def begin(self, dice: random.Random) -> None:
        self.dice, self.tasks, self.left = dice, set[str](), dict[str, set[str]]()
        self.told: list[str] = []
        git(self.repo, "init", "-q", "-b", "main")
        for task in TASKS:
            for side in ("before", "after"):
                (self.repo.parent / "did" / task / side).mkdir(parents=True)
        commit(self.repo, {**dict.fromkeys(FILES, LINES), ".gitignore": ".blackbird\nblackbird.plan.json\n"})
        put_plan(self.repo, *map(leaf, TASKS))
        configure(self.repo, agent="command", execution__stopAfterEachTask="true")

    def script(self) -> str:
        did = f"{self.repo.parent}/did/$BLACKBIRD_TASK_ID"
        edits = []
        for name in self.dice.sample(FILES, 2):
            line = self.dice.choice((3, 3, 4, 8, 12))
            edit = self.dice.choice(("s/^line {}$/{}/", "/^line {}$/a {}", "/^line {}$/d", "1i import re"))
            edits.append(
                f"sed -i '{edit.format(line, f'BY {line}')}' {name}".replace("BY", "'$BLACKBIRD_TASK_ID'")
            )
        return "\n".join([f"cp *.txt {did}/before", *edits, f"cp *.txt {did}/after"])

    def work(self, task: str) -> None:
        is_in_place = self.dice.random() < 0.5
        worktrees = "false" if is_in_place else "true"
        configure(self.repo, command__run=self.script(), execution__worktrees=worktrees)
        execute(self.repo, None, task)
        self.told.append(f"{task} works {'in place' if is_in_place else 'elsewhere'}")
        if is_in_place:
            self.is_there(task)

    def is_there(self, task: str) -> None:
        self.tasks.add(task)
        self.moves.append((task, self.did(task, "before"), self.did(task, "after")))

    def land(self, task: str) -> None:
        record_decision(open_at(self.repo), task, APPROVE)
        if task not in self.tasks:
            execute(self.repo, None, task)
            if status(self.repo, task) is Status.DONE:
                self.is_there(task)
        self.told.append(f"{task} lands: {status(self.repo, task)}")

    def move_one(self, task: str) -> None:
        is_redo = task not in self.tasks
        wanted = self.tasks ^ {task}
        try:
            kept = (redo_task if is_redo else undo_task)(open_at(self.repo), task).kept
        except RequestError as error:
            self.told.append(f"{'redo' if is_redo else 'undo'} {task}: {error.message}")
            return
        self.tasks = wanted
        self.left[task] = {one.path for one in kept if not one.reason.endswith("made the same of it")}
        self.told.append(f"{'redo' if is_redo else 'undo'} {task}: {kept}")

    def look(self) -> None:
        left = set().union(*self.left.values())
        for name, text in self.expected(self.tasks).items():
            if text is not None and name not in left:
                assert (self.repo / name).read_text() == text, name

    def edit(self) -> None:
        """Edit a line of the person's own, or rarely one beside those of tasks."""
        before = self.texts()
        name, line = self.dice.choice(FILES), self.dice.choice((16, 18, 20, 22, 22, 13))
        text = (self.repo / name).read_text()
        (self.repo / name).write_text(text.replace(f"line {line}\n", f"mine\nline {line}\n", 1))
        self.moves.append(("", before, self.texts()))
        self.told.append(f"edit {name}")
        self.dice.choice(BETWEEN[:3])(self.repo)


def one(number: int) -> None:
    dice = random.Random(number)
    with tempfile.TemporaryDirectory() as place:
        repo = Path(place, "repo")
        repo.mkdir()
        story = RandomStory(repo, BETWEEN[0], LINES)
        story.begin(dice)
        try:
            waiting, fresh = list[str](), list(TASKS)
            for _ in range(16):
                kind = dice.random()
                if fresh and kind < 0.35:
                    task = fresh.pop(0)
                    story.work(task)
                    waiting.append(task)
                elif waiting and kind < 0.6:
                    story.land(waiting.pop(0))
                elif kind < 0.7:
                    story.edit()
                elif done := [task for task in TASKS if any(task == who for who, *_ in story.moves)]:
                    story.move_one(dice.choice(done))
                story.look()
        except BaseException as error:
            error.add_note(f"story {number}: " + "; ".join(story.told))
            raise


@pytest.mark.sampled(1)
@pytest.mark.parametrize("number", range(examples(6)))
def test_files_are_as_if_what_was_taken_back_had_never_been(number: int) -> None:
    one(number)
