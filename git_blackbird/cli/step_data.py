"""A next step for programs: the command as it can be run, and apart from it what is for people."""

from typing import Any

from git_blackbird.model.commands import ShellLine


def step_data(step: str) -> dict[str, Any]:
    """Return ``command`` without blanks or remarks, ``template`` with its blanks, and ``says``, in words."""
    if not isinstance(step, ShellLine):
        return {"command": None, "template": None, "says": step}
    return {"command": step.runnable, "template": step.template, "says": step.remark or None}
