"""Command lines shown to people, safe to paste whatever ids they contain."""

from collections.abc import Callable, Iterable
from typing import NamedTuple, Self

from git_blackbird.model.base.sanitize import shell_word


class CallOptions(NamedTuple):
    """The options of a command that its next steps repeat; None if not given."""

    agent: str | None = None
    stop_after_each: bool | None = None
    reviews: str | None = None
    no_input: bool = False
    jobs: int | None = None
    worktrees: bool | None = None
    cluster: str | None = None
    budget: tuple[str, ...] = ()

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
            "budget": " ".join(f"--budget {amount}" for amount in self.budget),
            "no_input": "--no-input" if self.no_input else None,
        }
        return "".join(f" {options[name]}" for name in OPTIONS_OF.get(verb, ()) if options[name])


NO_OPTIONS = CallOptions()
OPTIONS_OF = {
    "execute": ("jobs", "worktrees", "cluster", "budget", "stop", "reviews", "agent", "no_input"),
    "resume": ("cluster", "budget", "stop", "reviews", "no_input"),
    "resume --all": ("cluster", "budget", "stop", "reviews", "no_input"),
    "restart": ("cluster", "budget", "stop", "reviews", "agent", "no_input"),
    "review run": ("agent", "no_input"),
    "plan generate": ("agent", "no_input"),
    "plan refine": ("agent", "no_input"),
    "deps infer": ("agent", "no_input"),
}


class Blank(NamedTuple):
    """What a person says at the end of a command, which asks for it on a terminal.

    ``text`` are the options for it, with words in capitals to fill in, and ``asks`` is what has the command
    ask. ``for_programs`` stands in their place in a command that a program runs; None where none can.
    """

    text: str
    asks: str = ""
    for_programs: str | None = None


MESSAGE = Blank(" -m TEXT", " -e", " -F -")
"""A text, which is also read from standard input."""
REQUEST = Blank(" -m TEXT", "", " -F -")
"""What a plan is to be: without an option the editor opens."""
REASON = Blank(" --reason TEXT")


class ShellLine(str):
    """A shell line as shown to people: a command, and possibly a remark after it."""

    __slots__ = ("blank", "command", "remark")

    command: str
    remark: str
    blank: Blank | None

    def __new__(cls, command: str, remark: str = "", blank: Blank | None = None) -> Self:
        also = "" if blank is None or blank.text == blank.asks else f"or {blank.text.strip()}"
        shown = "; ".join(filter(None, (remark, also)))
        line = super().__new__(cls, f"{command}    # {shown}" if shown else command)
        line.command, line.remark, line.blank = command, remark, blank
        return line

    @property
    def runnable(self) -> str | None:
        """The command as a program can run it: it reads texts, or is asked what is to be answered.

        None if something must be filled in.
        """
        if self.blank is None:
            return self.command
        return None if self.blank.for_programs is None else self._ending_with(self.blank.for_programs)

    @property
    def template(self) -> str | None:
        """The command with words in capitals for what can be filled in, or None."""
        return None if self.blank is None else self._ending_with(self.blank.text)

    def _ending_with(self, ending: str) -> str:
        return f"{self.command.removesuffix(self.blank.asks if self.blank else '')}{ending}"


class Sentence(str):
    """Prose that names commands, each in backticks; ``parts`` has them as they are.

    An interface that has keys for commands names those instead.
    """

    __slots__ = ("parts",)

    parts: tuple[str, ...]

    def __new__(cls, *parts: str) -> Self:
        flat = [one for part in parts for one in (part.parts if isinstance(part, Sentence) else (part,))]
        sentence = super().__new__(cls, "".join(map(_in_prose, flat)))
        sentence.parts = tuple(flat)
        return sentence

    def naming(self, name: Callable[[ShellLine], str | None]) -> str:
        """Return its text with other names for commands, where they have one."""
        shown = ((isinstance(one, ShellLine) and name(one)) or _in_prose(one) for one in self.parts)
        return "".join(shown)


def _in_prose(part: str) -> str:
    return f"`{part.command}`" if isinstance(part, ShellLine) else part


class FixedCommand(ShellLine):
    """A command of this program for a task, with all options that it gets."""

    __slots__ = ("task_id", "verb")

    verb: str
    task_id: str | None


class TaskCommand(FixedCommand):
    """A command of this program, for one task or all of them, which takes options of the present call.

    ``rest`` are its options, each with a leading space; ``agent`` is the one that it names.
    """

    __slots__ = ("agent", "rest")

    rest: str
    agent: str | None

    def __new__(
        cls,
        verb: str,
        task_id: str | None = None,
        rest: str = "",
        remark: str = "",
        *,
        blank: Blank | None = None,
        agent: str | None = None,
    ) -> Self:
        # What asks is not told to ask nobody.
        shown, ending = (rest, "") if blank is None else (rest.replace(" --no-input", ""), blank.asks)
        line = super().__new__(cls, _written(verb, task_id, shown, agent, ending), remark, blank)
        line.verb, line.task_id, line.rest, line.agent = verb, task_id, rest, agent
        return line

    def is_only(self, verb: str) -> bool:
        """Whether it is this command for its task, without options or blanks."""
        return self.verb == verb and not (self.rest or self.agent or self.blank)

    def _changed(self, *, rest: str | None = None, remark: str | None = None) -> "TaskCommand":
        return TaskCommand(
            self.verb,
            self.task_id,
            self.rest if rest is None else rest,
            self.remark if remark is None else remark,
            blank=self.blank,
            agent=self.agent,
        )

    def with_options(self, options: CallOptions) -> "TaskCommand":
        """Add the options of the present command, if this one takes them and has them not."""
        if self.agent is not None:
            options = options._replace(agent=None)
        if " --budget " in self.rest:
            options = options._replace(budget=())
        return self._changed(rest=options.for_verb(self.verb) + self.rest)

    def with_agent(self, name: str, remark: str) -> "TaskCommand":
        return TaskCommand(self.verb, self.task_id, self.rest, remark, agent=name)

    def with_budget(self, amounts: Iterable[str]) -> "TaskCommand":
        """Return the command with these budgets in place of those of the present call."""
        return self._changed(rest="".join(f" --budget {amount}" for amount in amounts) + self.rest)

    def with_remark(self, remark: str) -> "TaskCommand":
        return self._changed(remark=remark)

    def fixed(self) -> FixedCommand:
        """Return the command as one to which nothing more is added."""
        line = FixedCommand(self.command, self.remark, self.blank)
        line.verb, line.task_id = self.verb, self.task_id
        return line

    def _ending_with(self, ending: str) -> str:
        return _written(self.verb, self.task_id, self.rest, self.agent, ending)


def _written(verb: str, task_id: str | None, rest: str, agent: str | None = None, ending: str = "") -> str:
    rest = f"{rest}{'' if agent is None else f' --agent {agent}'}{ending}"
    if task_id is None:
        return f"git blackbird {verb}{rest}"
    if task_id.startswith("-"):
        return f"git blackbird {verb}{rest} -- {shell_word(task_id)}"
    return f"git blackbird {verb} {shell_word(task_id)}{rest}"


EXECUTE = TaskCommand("execute")
ANOTHER_AGENT = TaskCommand("agent", remark="says which agents there are, and how to take another")
DECIDE_EACH = TaskCommand("decide", remark="asks for each")
ADOPT = TaskCommand("adopt", remark="shows what is there, and asks")


def with_options(step: str, options: CallOptions) -> str:
    return step.with_options(options) if isinstance(step, TaskCommand) else step


def runnable(step: str) -> str | None:
    """Return a next step as a program can run it; None for prose or a command with blanks."""
    return step.runnable if isinstance(step, ShellLine) else None


def runnable_steps(steps: Iterable[str]) -> list[str]:
    return [command for step in steps if (command := runnable(step)) is not None]


SETTING_BACK = {
    "core.bare": ShellLine("git config core.bare false"),
    "core.worktree": ShellLine("git config --unset core.worktree"),
}
"""What sets a setting back with which git finds no worktree, or another one."""


def restart_command(task_id: str) -> TaskCommand:
    """Format the command that starts a task in a new session if the old one is lost."""
    return TaskCommand("restart", task_id, remark="a new session, with everything pending")


def restart_with_text(task_id: str) -> TaskCommand:
    """Format the command that starts a task in a new session with what a person has to say."""
    return TaskCommand("restart", task_id, blank=MESSAGE, remark="a new session, with your text")


def dismiss_command(task_id: str) -> TaskCommand:
    """Format the command that accepts a parent without a passing verdict."""
    return TaskCommand("review dismiss", task_id, remark="asks why", blank=REASON)


def approve_without_commit(task_id: str) -> TaskCommand:
    return TaskCommand("decide", task_id, " --approve --no-commit")
