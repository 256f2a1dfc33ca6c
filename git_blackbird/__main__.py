"""``python -m git_blackbird``: the console script by another way."""

from git_blackbird.cli.main import run

run()
