"""``deinit``: take the program out of a repository, part by part."""

import sys
from collections.abc import Iterable

import click

from git_blackbird.cli.confirm import confirm
from git_blackbird.cli.context import Invocation, command_options
from git_blackbird.controller.deinit import Part, Remains, Removal, remove_parts, survey
from git_blackbird.controller.workspace import open_workspace
from git_blackbird.errors import ExitCode, UsageError
from git_blackbird.model.text import clean_line

_LONGEST = 1000
_ALL = tuple(part for part in Part if part is not Part.PLAN)
_NAMES = "--hooks, --refs, --state, --config, --all, --plan"


@click.command()
@click.option("--hooks", is_flag=True, help="The post-commit hook; the one from before comes back.")
@click.option("--refs", is_flag=True, help="The references of runs, with the trees they keep.")
@click.option("--state", is_flag=True, help="The records and logs of runs, in .blackbird and in .git.")
@click.option("--config", is_flag=True, help="The keys in this repository's git config.")
@click.option("--all", "everything", is_flag=True, help="All of these; not the plan.")
@click.option("--plan", is_flag=True, help="The plan file.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@command_options
def deinit(call: Invocation, /, *, everything: bool, yes: bool, **named: bool) -> ExitCode:
    """Take git-blackbird out of this repository.

    Says what there is, and on a terminal asks for each part. Your own configuration stays, and the plan
    unless it is named.
    """
    asks = not (yes or call.no_input or call.output.as_json) and sys.stdin.isatty() and sys.stdout.isatty()
    chosen = [part for part in Part if named[part.value] or (everything and part in _ALL)]
    if not chosen and not asks:
        raise UsageError("say what to remove", hint=f"some of {_NAMES}")
    workspace = open_workspace(call.world)
    found = survey(workspace)
    for one in found:
        call.output.say(f"{one.part.value:<6}  {clean_line(one.text, _LONGEST)}")
    wanted = _agreed(found, chosen or _ALL) if asks else chosen
    removal = Removal(frozenset(wanted), is_agreed=asks or yes)
    removed = remove_parts(workspace, removal) if wanted else ()
    _say_removed(call, removed)
    return ExitCode.OK


def _agreed(found: Iterable[Remains], parts: Iterable[Part]) -> list[Part]:
    """Ask for each of these parts that there is; giving up takes nothing away."""
    return [
        one.part
        for one in found
        if one.part in parts and one.is_there and confirm(f"Remove {one.part.value}?", default=False)
    ]


def _say_removed(call: Invocation, removed: Iterable[Remains]) -> None:
    names = [one.part.value for one in removed]
    call.output.say(f"removed: {', '.join(names)}" if names else "nothing was removed")
    call.output.data({"removed": [{"part": one.part.value, "what": one.text} for one in removed]})
