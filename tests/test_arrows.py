"""The rooms and the arrows between them (DESIGN.md 4), held by walking every import."""

import ast
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "git_blackbird"
GROUND = {"errors", "__init__"}
ROOMS = {
    "errors": set[str](),
    "__init__": set[str](),
    "model": {"model"},
    "messages": {"model", "messages"},
    "git": {"model", "messages", "git"},
    "storage": {"model", "messages", "storage"},
    "agents": {"model", "messages", "agents"},
    "controller": {"model", "messages", "git", "storage", "agents", "controller"},
    "cli": {"model", "messages", "controller", "cli"},
    "tui": {"model", "messages", "controller", "tui"},
    "hook": {"controller", "git"},
    "__main__": {"cli"},
}
# The one door between two faces: the command that opens the other one.
DOORS = {"cli/tui_command.py": {"tui"}}
FACES = {"click", "questionary", "prompt_toolkit", "rich", "textual"}
KEPT_IN = {
    **{name: {"cli", "tui"} for name in FACES},
    "pygit2": {"git"},
    "subprocess": {"git", "agents"},
}
LATE = {"asyncio", "pygit2", "questionary", "prompt_toolkit", "rich", "textual"}
READERS = ("cli/read_commands", "cli/show_command", "cli/runs_command", "cli/config_command", "cli/main")
MODULES = sorted(PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def imports(path: Path) -> Iterator[tuple[str, bool]]:
    """Every module imported, absolute, and whether that happens when ``path`` is imported."""
    tree = tree_of(path)
    top = set(map(id, tree.body))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, id(node) in top) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import hides its arrow"
            assert node.module is not None
            yield node.module, id(node) in top


def own(module: str) -> str | None:
    """The room a module of ours is in; None for a stranger."""
    name, *rest = module.split(".")
    if name != "git_blackbird":
        return None
    return rest[0] if rest else "__init__"


def offences(found: Callable[[Path], Iterable[str]]) -> list[str]:
    """Say what is found wrong in each module."""
    return [f"{path.relative_to(PACKAGE)}: {one}" for path in MODULES for one in found(path)]


def test_arrows_run_one_way() -> None:
    def wrong(path: Path) -> Iterator[str]:
        allowed = ROOMS[room_of(path)] | GROUND | DOORS.get(str(path.relative_to(PACKAGE)), set())
        return (module for module, _ in imports(path) if own(module) not in {None, *allowed})

    assert offences(wrong) == []


def test_libraries_stay_in_their_rooms() -> None:
    def wrong(path: Path) -> set[str]:
        found = {module.partition(".")[0] for module, _ in imports(path)}
        return {library for library in found & KEPT_IN.keys() if room_of(path) not in KEPT_IN[library]}

    assert offences(wrong) == []


@pytest.mark.parametrize("start", READERS)
def test_what_readers_import_at_once_is_light(start: str) -> None:
    """Follows top-level imports only: what a function imports is its own affair."""
    seen: set[Path] = set()
    pending = [PACKAGE / f"{start}.py"]
    strangers: set[str] = set()
    while pending:
        path = pending.pop()
        if path in seen:
            continue
        seen.add(path)
        for module, at_once in imports(path):
            if not at_once:
                continue
            if own(module) is None:
                strangers.add(module.partition(".")[0])
                continue
            file = PACKAGE.parent / Path(*module.split(".")).with_suffix(".py")
            pending.append(file if file.exists() else file.with_suffix("") / "__init__.py")
    assert not strangers & LATE


def test_the_hook_loads_next_to_nothing_before_there_is_something_to_do() -> None:
    def at_once(name: str) -> set[str]:
        return {module for module, is_at_once in imports(PACKAGE / name) if is_at_once}

    assert at_once("hook.py") == {"os", "sys", "git_blackbird.git"}
    assert at_once("git/__init__.py") == set()
    assert at_once("git/task_commits.py") == {"contextlib", "os", "collections.abc"}


def test_nothing_prints_outside_the_cli() -> None:
    def prints(path: Path) -> Iterator[str]:
        calls = (node.func for node in ast.walk(tree_of(path)) if isinstance(node, ast.Call))
        return (f"line {call.lineno}" for call in calls if isinstance(call, ast.Name) and call.id == "print")

    assert [one for one in offences(prints) if not one.startswith("agents/demo_agent.py: ")] == []
