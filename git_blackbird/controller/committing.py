"""The commit of an approval while a screen has the terminal: no key reaches its hooks (DESIGN.md 10)."""

from contextlib import AbstractContextManager

from git_blackbird.git.along import ALONG


def commits_without_terminal() -> AbstractContextManager[None]:
    """Let hooks and signing do without the terminal in the block."""
    return ALONG.without_terminal()


def is_committing() -> bool:
    """Whether this process commits an approved change there."""
    return ALONG.is_apart


def interrupt_commit() -> None:
    """Do what Ctrl+C does at a terminal: the decision stays pending, unless git has made the commit."""
    ALONG.interrupt()
