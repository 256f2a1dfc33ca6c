"""The parts of documents that are made of declarations: of commands, keys of the configuration, exit codes.

``python -m tests.documents`` writes them all; a test holds the documents against them.
"""

import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from functools import partial, reduce
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import click
from textual.binding import Binding, BindingType

from git_blackbird.cli.syntax.registry import COMMANDS, GROUPS
from git_blackbird.errors import ExitCode
from git_blackbird.messages.display.config import type_text
from git_blackbird.model.config.config import keys_with
from git_blackbird.model.config.keys import Key
from git_blackbird.model.plan.task_forms import SOURCES, TaskForm
from git_blackbird.model.views.stop import EXIT_CODES
from git_blackbird.tui.actions import PLAIN
from git_blackbird.tui.keys import ACTIONS, FIXED
from git_blackbird.tui.screens.main import MainScreen
from git_blackbird.tui.screens.review_keys import REVIEW_BINDINGS
from git_blackbird.tui.widgets.diff.pane import DiffPane
from git_blackbird.tui.widgets.diff.view import DiffView
from git_blackbird.tui.widgets.file_list import FileList
from git_blackbird.tui.widgets.overview_pane import OverviewPane
from git_blackbird.tui.widgets.plan_tree import PlanTree
from tests.cli.syntax.names import NAMES, command_named, names_of

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
MANUAL = ROOT / "man/git-blackbird.1"
SHORT = 3
"""So many choices of an option stand in the place of its value, and so many options are told twice."""


class Part(NamedTuple):
    """A part of a document that is made of declarations; it stands between marks with its name."""

    path: Path
    name: str
    make: Callable[[], str]

    @property
    def marks(self) -> tuple[str, str]:
        begin, end = (f"{self.name}: {word}" for word in ("begin", "end"))
        if self.path == MANUAL:
            return f'.\\" {begin}\n', f'.\\" {end}\n'
        return f"<!-- {begin} -->\n", f"<!-- {end} -->\n"

    def written_into(self, text: str) -> str:
        """The document with this part between its marks."""
        begin, end = self.marks
        assert text.count(begin) == text.count(end) == 1, f"{self.path.name} has no marks of {self.name}"
        before, _, rest = text.partition(begin)
        return f"{before}{begin}{self.make()}{end}{rest.partition(end)[2]}"


def parts() -> tuple[Part, ...]:
    return (
        Part(DOCS / "commands.md", "commands", page_commands),
        Part(MANUAL, "common options", man_common_options),
        *(Part(MANUAL, name, partial(man_command, name)) for name in NAMES),
        Part(DOCS / "screen.md", "keys of the plan", partial(page_screen_keys, PLAN)),
        Part(DOCS / "screen.md", "keys at a decision", partial(page_screen_keys, DECISION)),
        Part(DOCS / "screen.md", "keys in a diff", partial(page_screen_keys, DIFF)),
        Part(MANUAL, "keys of the plan", man_screen_keys),
        *(Part(MANUAL, heading, partial(man_table, page, heading)) for page, heading in TABLES),
        Part(DOCS / "configuration.md", "keys", page_keys),
        Part(MANUAL, "keys", man_keys),
        Part(DOCS / "plans.md", "forms", page_forms),
        Part(DOCS / "exit-codes.md", "exit codes", page_exit_codes),
        Part(MANUAL, "exit codes", man_exit_codes),
    )


def paths() -> list[Path]:
    return sorted({part.path for part in parts()})


def written(path: Path) -> str:
    """A document with all of its parts as they are now."""
    return reduce(lambda text, part: part.written_into(text), of_document(path), path.read_text())


def of_document(path: Path) -> list[Part]:
    return [part for part in parts() if part.path == path]


# Text of declarations: paragraphs with code in backticks.


def roff(text: str) -> str:
    """Text as lines of the manual, none of which begins a macro by chance."""
    wrapped = (textwrap.wrap(part, 100, break_on_hyphens=False) for part in _fonts(text).split("\n\n"))
    safe = (re.sub(r"^(?=[.'])", r"\\&", "\n".join(lines), flags=re.MULTILINE) for lines in wrapped)
    return "\n.PP\n".join(safe) + "\n"


def _fonts(text: str) -> str:
    """Text with what is between backticks in bold, and values between asterisks in italics."""
    bold = re.sub(r"`([^`]+)`", r"\\fB\1\\fR", text.replace("\\", "\\e"))
    return re.sub(r"\*(\S+)\*", r"\\fI\1\\fR", bold).replace("-", "\\-").replace("…", "...")


def _entry(tags: Sequence[str], text: str) -> str:
    """An entry of a list of the manual."""
    tag = _fonts(", ".join(tags)).replace('"', "\\(dq")
    return f'.IP "{tag}"\n' + roff(text)


def _cells(*cells: str) -> str:
    """A row of a table of a page."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


# Commands.


def page_commands() -> str:
    """A table for each group of commands."""
    return "\n".join(_page_group(title, names.split()) for title, names in GROUPS.items())


def _page_group(title: str, firsts: Sequence[str]) -> str:
    head = f"## {title}\n\n| command | what it does | options |\n|---|---|---|\n"
    return head + "".join(_page_command(name) for first in firsts for name in names_of(first))


def _page_command(name: str) -> str:
    command = command_named(name)
    line = command.get_short_help_str(100) if " " in name else COMMANDS[name][1]
    options = " ".join(map(_typed, options_of(name)))
    usage = f"`git blackbird {' '.join((name, *_arguments(command)))}`"
    return _cells(usage, line.removesuffix("."), options and f"`{options}`")


def man_common_options() -> str:
    command = command_named("status")
    common = [*(option for option in _all_options(command) if _is_common(option)), _help_option(command)]
    return "".join(map(_man_option, common))


def _help_option(command: click.Command) -> click.Option:
    option = command.get_help_option(click.Context(command, help_option_names=["-h", "--help"]))
    assert option is not None
    return option


def man_command(name: str) -> str:
    """The section of a command, with all of its options."""
    command = command_named(name)
    title = roff(" ".join((name, *_arguments(command)))).strip()
    help_text = inspect.cleandoc(command.help or "")
    shared = {other: _shared(name, other) for other in ("execute", "plan generate") if other != name}
    told = [option for options in shared.values() for option in options]
    entries = [_man_option(option) for option in options_of(name) if option not in told]
    entries += [_as_for(other, options) for other, options in shared.items() if options]
    return f'.SS "{title}"\n{roff(help_text)}' + "".join(entries)


def _shared(name: str, other: str) -> list[click.Option]:
    """The options of a command that another has as well, where they are many."""
    options = [option for option in options_of(name) if option in options_of(other)]
    return options if len(options) > SHORT else []


def _as_for(name: str, options: Iterable[click.Option]) -> str:
    names = (f"`{one}`" for option in options for one in (option.opts[-1], *option.secondary_opts))
    return _entry([*names], f"As for `{name}`.")


def _man_option(option: click.Option) -> str:
    value = _value(option) and f" *{_value(option)}*"
    names = (*option.opts, *option.secondary_opts)
    choices = _choices(option)
    text = option.help or ""
    if len(choices) > SHORT:
        text += f" One of {', '.join(choices)}."
    return _entry([", ".join(f"`{name}`{value}" for name in names)], text)


def _typed(option: click.Option) -> str:
    """How an option is typed by its long name."""
    return " ".join(filter(None, ("/".join((option.opts[-1], *option.secondary_opts)), _value(option))))


def _value(option: click.Option) -> str:
    """What stands for the value of an option."""
    if option.is_flag:
        return ""
    if choices := _choices(option):
        return "|".join(choices) if len(choices) <= SHORT else (option.name or "").upper()
    return option.make_metavar(click.Context(click.Command(None)))


def _choices(option: click.Option) -> Sequence[str]:
    """The values of an option that has no word for them."""
    return option.type.choices if isinstance(option.type, click.Choice) and option.metavar is None else ()


def _arguments(command: click.Command) -> list[str]:
    context = click.Context(command)
    return [param.make_metavar(context) for param in command.params if isinstance(param, click.Argument)]


def options_of(name: str) -> list[click.Option]:
    """The options of a command, but for those of every command."""
    return [option for option in _all_options(command_named(name)) if not _is_common(option)]


def _all_options(command: click.Command) -> Iterator[click.Option]:
    return (param for param in command.params if isinstance(param, click.Option))


def _is_common(option: click.Option) -> bool:
    return option.name in {"as_json", "no_input"}


# Keys of the screen, but for those that move in what is shown.

PLAN = (("", (*MainScreen.BINDINGS, *PlanTree.BINDINGS)),)
DECISION = (
    ("", REVIEW_BINDINGS),
    ("in the list of files: ", FileList.BINDINGS),
    ("in the overview: ", OverviewPane.BINDINGS),
)
DIFF = (("", (*DiffPane.BINDINGS, *DiffView.BINDINGS)),)
Places = Sequence[tuple[str, Iterable[BindingType]]]


class ScreenKey(NamedTuple):
    """Keys that do one thing, or the same there and back, with the command that does it and its name."""

    keys: list[str]
    text: str
    command: str
    name: str


def page_screen_keys(places: Places) -> str:
    rows = [(", ".join(f"`{key}`" for key in row.keys), row) for row in _screen_keys(places)]
    if places is not PLAN:
        return "| key | what it does |\n|---|---|\n" + "".join(_cells(keys, row.text) for keys, row in rows)
    head = "| key | what it does | command | in `tui.keymap` |\n|---|---|---|---|\n"
    return head + "".join(_cells(keys, row.text, _code(row.command), _code(row.name)) for keys, row in rows)


def man_screen_keys() -> str:
    rows = [(", ".join(f"`{key}`" for key in row.keys), row) for row in _screen_keys(PLAN)]
    return "".join(_entry([keys], f"{_sentence(row.text)}.") for keys, row in rows)


def _screen_keys(places: Places) -> Iterator[ScreenKey]:
    actions = {action.action: action for action in ACTIONS}
    for place, bindings in places:
        listed = (one for one in Binding.make_bindings(bindings) if _action(one) not in {*PLAIN, "choice"})
        for _, both_ways in groupby(listed, _there_and_back):
            alike = list(both_ways)
            texts = dict.fromkeys(map(_text, alike))
            action = actions.get(alike[0].id or "")
            yield ScreenKey(
                [_key(one.key) for one in alike],
                place + "; ".join(texts),
                action.example if action else "",
                action.action if action and action.action not in FIXED else "",
            )


def _action(binding: Binding) -> str:
    return binding.action.partition("(")[0]


def _there_and_back(binding: Binding) -> str:
    """What keys have in common that do one thing, or the same in both directions."""
    action, steps = re.subn(r"-?\d+", "", binding.action)
    return action if steps else _text(binding)


def _text(binding: Binding) -> str:
    text = str(binding.tooltip or binding.description)
    return text[0].lower() + text[1:]


def _code(text: str) -> str:
    return text and f"`{text}`"


def _key(name: str) -> str:
    return _SIGNS.get(name, name)


_SIGNS = {
    "slash": "/",
    "question_mark": "?",
    "plus": "+",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "left_curly_bracket": "{",
    "right_curly_bracket": "}",
    "escape": "esc",
}


# Forms of tasks.


def page_forms() -> str:
    becomes = {TaskForm[name]: text for name, text in said_below(TaskForm)}
    rows = (_cells(f"`{form}`", SOURCES[form], becomes[form]) for form in TaskForm)
    return "| form | what it is | what becomes of it |\n|---|---|---|\n" + "".join(rows)


# Exit codes.


def page_exit_codes() -> str:
    """Two tables: how a call ends, in the order in which that counts, and what else any command ends with."""
    head = "| code | meaning |\n|---|---|\n"
    ends, others = (
        head + "".join(_cells(str(int(code)), meanings()[code]) for code in codes) for codes in exit_codes()
    )
    return f"{ends}\nAny command may also end with\n\n{others}"


def man_exit_codes() -> str:
    ends, others = (
        "".join(_entry([f"`{int(code)}`"], f"{_sentence(meanings()[code])}.") for code in codes)
        for codes in exit_codes()
    )
    return f"{ends}.PP\nAny command:\n{others}"


def exit_codes() -> tuple[list[ExitCode], list[ExitCode]]:
    """The codes of calls that start agents, in the order in which they count, and all others."""
    ends = list(dict.fromkeys(EXIT_CODES.values()))
    return ends, [code for code in ExitCode if code not in ends]


def meanings() -> dict[ExitCode, str]:
    return {ExitCode[name]: text for name, text in said_below(ExitCode)}


def said_below(members: type[Enum]) -> list[tuple[str, str]]:
    """What stands below each member in the code."""
    said = re.findall(r'(\w+) = .+\n +"""([^"]+)"""', inspect.getsource(members))
    return [(name, " ".join(text.split())) for name, text in said]


# Tables of pages that the manual has as lists.

TABLES = (
    ("configuration.md", "Environment variables"),
    ("configuration.md", "Files"),
    ("troubleshooting.md", "The agent cannot work at all"),
)


def man_table(page: str, heading: str) -> str:
    """The first table below a heading of a page, without its links to pages."""
    text = (
        (DOCS / page).read_text().partition(f"## {heading}\n")[2].partition("\n|---|")[2].partition("\n\n")[0]
    )
    rows = (row.strip("| ").split(" | ") for row in _without_links(text).splitlines()[1:])
    return "".join(_entry([tag], f"{_sentence(said)}.") for tag, said in rows)


def _without_links(text: str) -> str:
    alone = re.sub(r"(?:: | \()\[[\w-]+\.md\]\([^)]+\)\)?", "", text)
    return re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", alone)


# Keys of the configuration.


def page_keys() -> str:
    """The table of the page of the configuration."""
    head = "| key | what | values | default | from the project's file |\n|---|---|---|---|---|\n"
    return head + "".join(map(_page_key, _rows()))


def man_keys() -> str:
    """The list of the manual page."""
    return "".join(map(_man_key, _rows()))


def _rows() -> Iterator[Sequence[Key]]:
    """The keys of each row of the table; a section that is there several times has several of them."""
    every = keys_with(["check.NAME"])
    firsts = {(id(key.row), key.default): number for number, key in reversed([*enumerate(every)])}
    in_order = sorted(every, key=lambda key: firsts[id(key.row), key.default])
    return (list(keys) for _, keys in groupby(in_order, lambda key: (id(key.row), key.default)))


def _page_key(keys: Sequence[Key]) -> str:
    key = keys[0]
    names = ", ".join(f"`{key.name}`" for key in keys)
    page = "more" if key.row.see.partition("#")[0] else "below"
    link = f": [{page}]({key.row.see})" if key.row.see else ""
    return f"| {names} | {key.row.help}{link} | {type_text(key)} | {default_text(key)} | {_trust(key)} |\n"


def _trust(key: Key) -> str:
    if not key.clone_safe:
        return "never"
    return "counts" if key.row.stricter is None else f"if {key.row.stricter}"


def _man_key(keys: Sequence[Key]) -> str:
    key = keys[0]
    variable = f" Environment: {key.row.environment}." if key.row.environment else ""
    fills = ", ".join(f"{{{name}}}" for name in key.row.fills)
    filled = f" {fills} are filled in." if fills else ""
    values = f"{_sentence(type_text(key))}; default: {default_text(key)}."
    text = f"{_sentence(key.row.help)}. {values}{variable}{filled}{_MAN_TRUST[_trust(key)]}"
    return _entry([f"`{key.name}`" for key in keys], text)


_MAN_TRUST = {
    "never": " Never from the project's file.",
    "if higher": " The higher value is the stricter one.",
    "if lower": " The lower value is the stricter one.",
    "counts": "",
}


def default_text(key: Key) -> str:
    if key.default is None:
        return "unset"
    if key.default == ():
        return "empty"
    return str(key.default).lower() if isinstance(key.default, bool) else str(key.default)


if __name__ == "__main__":
    for document in paths():
        document.write_text(written(document))
