"""What completion offers for arguments and options of commands, as click asks for it."""

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click

from git_blackbird.model.config.layers import AGENT_NAMES

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from git_blackbird.controller.queries.completion import Glance

Suggestion = tuple[str, str]
"""A value, and what it is in a few words."""
Completer = Callable[[click.Context, click.Parameter, str], "list[CompletionItem[str]]"]


def _completer(offer: Callable[[click.Context], Iterable[Suggestion]]) -> Completer:
    """Turn what is on offer into a callback of click: the values that begin with what was typed."""

    def complete(ctx: click.Context, _: click.Parameter, incomplete: str) -> "list[CompletionItem[str]]":
        from click.shell_completion import CompletionItem  # --help must not pay for it

        return [
            CompletionItem(value, help=what) for value, what in offer(ctx) if value.startswith(incomplete)
        ]

    return complete


def _glance() -> "Glance":
    from git_blackbird.controller.queries.completion import glance  # only values of the plan pay for it

    return glance(os.environ, os.getcwd())  # noqa: PTH109  # pathlib is slow to load


@_completer
def tasks(ctx: click.Context) -> Iterable[Suggestion]:
    """Offer the tasks that the command, or its action, takes in their present state."""
    verb = ctx.info_name or ""
    if "action" in ctx.params:
        verb = f"{verb} {ctx.params['action']}"
    elif ctx.params.get("below"):
        verb = f"{verb} --all"
    elif ctx.params.get("message"):
        verb = f"{verb} -m"
    return _glance().tasks_for(verb)


@_completer
def all_tasks(_: click.Context) -> Iterable[Suggestion]:
    """Offer every task."""
    return _glance().tasks_for("")


@_completer
def dependencies(ctx: click.Context) -> Iterable[Suggestion]:
    """Offer the tasks that this action of ``deps`` takes: those there are, or those there could be."""
    return _glance().dependencies(str(ctx.params.get("action")), str(ctx.params.get("task_id")))


@_completer
def runs(ctx: click.Context) -> Iterable[Suggestion]:
    """Offer the runs of the task that was named."""
    # Where an option lacks its value, click leaves the arguments unread.
    task_id = ctx.params.get("task_id") or next(iter(ctx.args), "")
    return _glance().runs(task_id)


@_completer
def commits(_: click.Context) -> Iterable[Suggestion]:
    """Offer branches and tags."""
    from git_blackbird.controller.queries.completion import list_refs  # starts git

    return ((name, "") for name in list_refs(os.environ, os.getcwd()))  # noqa: PTH109  # as above


@_completer
def agents(_: click.Context) -> Iterable[Suggestion]:
    """Offer the agents."""
    return ((name, "") for name in AGENT_NAMES)


@_completer
def keys(_: click.Context) -> Iterable[Suggestion]:
    """Offer the keys of the configuration."""
    from git_blackbird.model.config.config import KEYS  # only keys pay for it

    return ((name, key.row.help) for name, key in KEYS.items())


@_completer
def key_values(ctx: click.Context) -> Iterable[Suggestion]:
    """Offer the values of a key that has a few."""
    from git_blackbird.model.config.config import find_key  # as above

    key = find_key(str(ctx.params.get("name")))
    return () if key is None else ((value, "") for value in key.few_values)


@_completer
def schemas(_: click.Context) -> Iterable[Suggestion]:
    """Offer the schemas."""
    from git_blackbird.cli.schemas import NAMES  # as above

    return ((name, "") for name in NAMES)


def folders(_: click.Context, _param: click.Parameter, incomplete: str) -> "list[CompletionItem[str]]":
    """Let the shell complete a folder."""
    from click.shell_completion import CompletionItem  # --help must not pay for it

    return [CompletionItem(incomplete, type="dir")]
