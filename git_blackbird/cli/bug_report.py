"""A bug: a report that can be pasted, its place named, exit 70."""

import os
import platform
import sys
import tempfile
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import click

from git_blackbird import __version__
from git_blackbird.errors import ExitCode
from git_blackbird.model.text import clean, clean_line


def report_bug(error: Exception, args: Sequence[str]) -> int:
    """Write the report to a file of its own and say where it is; on standard error where there is no room."""
    report = "\n".join(
        (
            f"git-blackbird {__version__}, Python {platform.python_version()}, {platform.platform()}",
            f"arguments: {' '.join(args)}",
            f"folder: {_folder()}",
            "",
            "".join(traceback.format_exception(error)),
        )
    )
    text = clean_line(f"{type(error).__name__}: {error}")
    click.echo(f"fatal: a bug in git-blackbird: {text}", err=True)
    try:
        click.echo(f"hint: a report was written to {clean_line(_save(report))}", err=True)
    except OSError:
        sys.stderr.write(clean(report))
    return int(ExitCode.BUG)


def _folder() -> str:
    try:
        return str(Path.cwd())
    except OSError as error:
        return f"unknown: {error.strerror}"


def _save(report: str) -> str:
    """Save the report whole or not at all, and give its place. Raises OSError."""
    descriptor, name = tempfile.mkstemp(prefix="git-blackbird-bug-", suffix=".txt")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
            file.write(report)
    except OSError:
        with suppress(OSError):
            Path(name).unlink()
        raise
    return name
