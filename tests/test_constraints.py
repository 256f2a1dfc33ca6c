"""The versions that the checks run with are pinned, all of them."""

import itertools
import re
import tomllib
from importlib.metadata import distribution
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def pinned() -> dict[str, str]:
    lines = (ROOT / "tests/constraints.txt").read_text().splitlines()
    return {
        normal(name): version
        for name, _, version in (line.partition("==") for line in lines if line[0] != "#")
    }


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def name_of(requirement: str) -> str:
    match = re.match(r"[\w.-]+", requirement)
    assert match is not None, requirement
    return normal(match[0])


def required() -> set[str]:
    """Every distribution that this one and its extras bring along here."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pending = [*project["dependencies"], *itertools.chain(*project["optional-dependencies"].values())]
    found = {project["name"]}
    while pending:
        name = name_of(pending.pop())
        if name not in found:
            found.add(name)
            pending += [one for one in distribution(name).requires or () if ";" not in one]
    return found - {project["name"]}


def test_whatever_the_checks_install_is_pinned() -> None:
    assert required() - pinned().keys() == set()


def test_every_pin_is_one_version() -> None:
    assert [name for name, version in pinned().items() if not re.fullmatch(r"[\w.]+", version)] == []
