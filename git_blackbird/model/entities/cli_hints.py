"""Command lines shown to people, safe to paste whatever ids they contain."""

import re
from collections.abc import Iterable
from typing import NamedTuple, Self

from git_blackbird.model.base.sanitize import shell_word
from git_blackbird.model.entities.run import Question, Run, RunStatus, RunType

_TEXT, _VALUE, _NAME = "TEXT", "VALUE", "NAME"
# In a line that was read from a hint: the value of an option or of a key.
_BLANK = re.compile(rf"(?:^git config \S+| -{{1,2}}[a-z-]+) (?:{_TEXT}|{_NAME})(?= -- |$)")


class CallOptions(NamedTuple):
    """The options of a command that its next steps repeat; None if not given."""

    agent: str | None = None
    stop_after_each: bool | None = None
    reviews: str | None = None
    no_input: bool = False
    jobs: int | None = None
    worktrees: bool | None = None
    cluster: str | None = None

    def for_verb(self, verb: str) -> str:
        """Format the options that a command takes, each with a leading space."""
        stop = {True: "--stop-after-each", False: "--no-stop", None: None}[self.stop_after_each]
        options = {
            "stop": stop,
            "reviews": self.reviews and f"--reviews {shell_word(self.reviews)}",
            "agent": self.agent and f"--agent {shell_word(self.agent)}",
            "jobs": self.jobs and f"--jobs {self.jobs}",
            "worktrees": {True: "--worktrees", False: "--no-worktrees", None: None}[self.worktrees],
            "cluster": self.cluster and f"--cluster {shell_word(self.cluster)}",
            "no_input": "--no-input" if self.no_input else None,
        }
        return "".join(f" {options[name]}" for name in OPTIONS_OF.get(verb, ()) if options[name])


NO_OPTIONS = CallOptions()
OPTIONS_OF = {
    "execute": ("jobs", "worktrees", "cluster", "stop", "reviews", "agent", "no_input"),
    "resume": ("cluster", "stop", "reviews", "no_input"),
    "resume --all": ("cluster", "stop", "reviews", "no_input"),
    "restart": ("cluster", "stop", "reviews", "agent", "no_input"),
    "review run": ("agent", "no_input"),
}


_AGENT = " --agent "
OTHER_AGENT_REMARK = "another agent; `git blackbird agent` lists them"


class ShellLine(str):
    """A shell line as shown to people: a command, and possibly a remark after it."""

    __slots__ = ("command", "remark")

    command: str
    remark: str

    def __new__(cls, command: str, remark: str = "") -> Self:
        """Join both to one line."""
        line = super().__new__(cls, f"{command}    # {remark}" if remark else command)
        line.command, line.remark = command, remark
        return line

    @property
    def runnable(self) -> str | None:
        """The command as a program can run it; None if something must be filled in."""
        return None if self.template else self.command

    @property
    def template(self) -> str | None:
        """The command with a word in capitals for what must be filled in, or None."""
        return self.command if _BLANK.search(self.command) else None


class TaskCommand(ShellLine):
    """A command of this program, for one task or all of them.

    ``rest`` are its options, each with a leading space, and may end with ``TEXT``, ``VALUE`` or ``NAME`` for
    a person to fill in.
    """

    __slots__ = ("rest", "task_id", "verb")

    verb: str
    task_id: str | None
    rest: str

    def __new__(cls, verb: str, task_id: str | None = None, rest: str = "", remark: str = "") -> Self:
        """Format the command line."""
        line = super().__new__(cls, _written(verb, task_id, rest), remark)
        line.verb, line.task_id, line.rest = verb, task_id, rest
        return line

    def with_options(self, options: CallOptions) -> "TaskCommand":
        """Add the options of the present command, if this one takes them and has them not."""
        if _AGENT in self.rest:
            options = options._replace(agent=None)
        return TaskCommand(self.verb, self.task_id, options.for_verb(self.verb) + self.rest, self.remark)

    def with_agent(self, name: str = _NAME, remark: str = OTHER_AGENT_REMARK) -> "TaskCommand":
        """Return the command with an agent, by default with a blank for the name of another one."""
        return TaskCommand(self.verb, self.task_id, f"{self.rest}{_AGENT}{name}", remark)

    def with_remark(self, remark: str) -> "TaskCommand":
        """Return the command with another remark."""
        return TaskCommand(self.verb, self.task_id, self.rest, remark)

    @property
    def runnable(self) -> str | None:
        """The command without blanks: text is read from standard input, answers are asked for."""
        if self.rest.endswith(f" -m {_TEXT}"):
            return _written(self.verb, self.task_id, f"{self.rest.removesuffix(f' -m {_TEXT}')} -F -")
        if self.rest.endswith(f"={_VALUE}"):
            return _written(self.verb, self.task_id, self.rest.partition(" --answer ")[0])
        return super().runnable

    @property
    def template(self) -> str | None:
        """The command with its blanks, if it has any."""
        return self.command if self.rest.endswith((_TEXT, _VALUE, _NAME)) else None


def _written(verb: str, task_id: str | None, rest: str) -> str:
    if task_id is None:
        return f"git blackbird {verb}{rest}"
    if task_id.startswith("-"):
        return f"git blackbird {verb}{rest} -- {shell_word(task_id)}"
    return f"git blackbird {verb} {shell_word(task_id)}{rest}"


EXECUTE = TaskCommand("execute")


def task_command(verb: str, task_id: str, rest: str = "", *, remark: str = "") -> TaskCommand:
    """Format the command ``verb`` for a task, with ``rest`` after the id and a shell remark."""
    return TaskCommand(verb, task_id, rest, remark)


def with_options(step: str, options: CallOptions) -> str:
    """Add the options of the present command to a next step that takes them."""
    return step.with_options(options) if isinstance(step, TaskCommand) else step


def runnable(step: str) -> str | None:
    """Return a next step as a program can run it; None for prose or a command with blanks."""
    return step.runnable if isinstance(step, ShellLine) else None


def runnable_steps(steps: Iterable[str]) -> list[str]:
    """Return the next steps that a program can run."""
    return [command for step in steps if (command := runnable(step)) is not None]


def answer_options(questions: Iterable[Question]) -> str:
    """Format the options that answer these questions, with a placeholder for each answer."""
    return "".join(f" --answer {shell_word(question.id)}=VALUE" for question in questions)


def decide_run_command(run: Run) -> TaskCommand:
    """Format the decide command that fits a run; for a failed one the first choice is a retry.

    A run by hand has no agent to request changes from.
    """
    if run.run_type is RunType.MANUAL:
        return task_command("decide", run.task_id, " --approve", remark="or --reject")
    if run.status is RunStatus.FAILED:
        others = "accept it as it is with decide --approve, or --request-changes -m TEXT, or --reject"
        return task_command("restart", run.task_id, remark=f"or {others}")
    others = "or --request-changes -m TEXT, or --reject"
    return task_command("decide", run.task_id, " --approve", remark=others)


def restart_command(task_id: str) -> TaskCommand:
    """Format the command that starts a task in a new session if the old one is lost."""
    return task_command("restart", task_id, remark="a new session, with everything pending")


def dismiss_command(task_id: str) -> TaskCommand:
    """Format the command that accepts a parent without a passing verdict."""
    return task_command("review dismiss", task_id, " --reason TEXT")


def approve_without_commit(task_id: str) -> ShellLine:
    """Format the command that approves a task's run and leaves the commit to the user."""
    command = task_command("decide", task_id, " --approve")
    return ShellLine(command.replace("git", "git -c blackbird.execution.commit=never", 1))
