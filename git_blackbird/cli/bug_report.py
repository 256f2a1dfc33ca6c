"""A bug: a report that can be pasted, its place named, exit 70."""

import os
import platform
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path

import click

from git_blackbird import __version__
from git_blackbird.controller.world import World
from git_blackbird.errors import ExitCode


def report_bug(error: Exception, args: Sequence[str], world: World) -> int:
    """Write the report to a file of its own and say where it is."""
    lines = [
        f"git-blackbird {__version__}, Python {platform.python_version()}, {platform.platform()}",
        f"arguments: {' '.join(args)}",
        f"folder: {world.cwd}",
        "",
        "".join(traceback.format_exception(error)),
    ]
    click.echo(f"fatal: a bug in git-blackbird: {type(error).__name__}: {error}", err=True)
    try:
        descriptor, name = tempfile.mkstemp(prefix="git-blackbird-bug-", suffix=".txt")
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as report:
            report.write("\n".join(lines))
        click.echo(f"hint: a report was written to {Path(name)}", err=True)
    except OSError:
        sys.stderr.write("\n".join(lines))
    return int(ExitCode.BUG)
