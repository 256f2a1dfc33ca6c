"""The packages and what each may import, held by reading every import."""

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "git_blackbird"
GROUND = {"clean", "errors", "trace", "__init__"}
ALLOWED = {
    "clean": set[str](),
    "errors": set[str](),
    "trace": set[str](),
    "__init__": set[str](),
    "model": {"model"},
    "messages": {"model", "messages"},
    "git": {"model", "messages", "git"},
    "storage": {"model", "messages", "storage"},
    "agents": {"model", "messages", "agents"},
    "controller": {"model", "messages", "git", "storage", "agents", "controller"},
    "cluster": {"model", "messages", "git", "storage", "agents", "controller", "cluster"},
    "cli": {"model", "messages", "controller", "cluster", "cli"},
    "tui": {"model", "messages", "controller", "cluster", "tui"},
    "hook": {"controller", "git"},
    "merge_plan": {"controller"},
    "__main__": {"cli"},
}
# The command that opens the other user interface.
EXCEPTIONS = {"cli/commands/status.py": {"tui"}}
KEPT_IN = {
    **{name: {"cli"} for name in ("click", "questionary", "prompt_toolkit")},
    **{name: {"tui"} for name in ("rich", "textual")},
    "dask": {"cluster"},
    "distributed": {"cluster"},
    "psutil": {"agents"},
    "pygit2": {"git"},
    "subprocess": {"git", "agents"},
}
LATE = {
    "asyncio",
    "dask",
    "distributed",
    "psutil",
    "pygit2",
    "questionary",
    "prompt_toolkit",
    "rich",
    "textual",
}
READERS = ("status", "listing", "show", "runs", "config")
MODULES = sorted(PACKAGE.rglob("*.py"))


def package_of(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def imports(path: Path) -> tuple[tuple[str, bool], ...]:
    """Return every module imported, absolute, and whether that happens when ``path`` is imported."""
    return tuple(_imported(path))


def _imported(path: Path) -> Iterator[tuple[str, bool]]:
    tree = tree_of(path)
    blocks = [node.body for node in tree.body if isinstance(node, ast.With)]
    top = {id(node) for body in (tree.body, *blocks) for node in body}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, id(node) in top) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import hides where it leads"
            assert node.module is not None
            yield from ((name, id(node) in top) for name in _modules_named(node.module, node.names))


def _modules_named(module: str, names: Iterable[ast.alias]) -> set[str]:
    """Return what ``from module import names`` imports: modules by their own name, else ``module``."""
    inner = {f"{module}.{alias.name}" for alias in names}
    return {name if file_of(name) is not None else module for name in inner}


@cache
def file_of(module: str) -> Path | None:
    """Return the file of a module of ours; None for any other name."""
    first, *rest = module.split(".")
    if first != "git_blackbird":
        return None
    path = PACKAGE.joinpath(*rest)
    files = (path.with_suffix(".py"), path / "__init__.py") if rest else (path / "__init__.py",)
    return next((file for file in files if file.exists()), None)


def package_named(module: str) -> str | None:
    """Return the package of a module of ours; None for a library's."""
    file = file_of(module)
    return None if file is None else package_of(file)


def violations(find: Callable[[Path], Iterable[str]]) -> list[str]:
    return [f"{path.relative_to(PACKAGE)}: {found}" for path in MODULES for found in find(path)]


def test_packages_import_one_way() -> None:
    def wrong(path: Path) -> Iterator[str]:
        allowed = (
            ALLOWED[package_of(path)] | GROUND | EXCEPTIONS.get(path.relative_to(PACKAGE).as_posix(), set())
        )
        return (module for module, _ in imports(path) if package_named(module) not in {None, *allowed})

    assert violations(wrong) == []


def test_interfaces_clean_nothing() -> None:
    """What they show is made of spans, errors and notices, and clean since then."""

    def wrong(path: Path) -> Iterator[str]:
        is_face = package_of(path) in {"cli", "tui"}
        return (module for module, _ in imports(path) if is_face and module == "git_blackbird.clean")

    assert violations(wrong) == []


MAKERS = {"TaskCommand", "ShellLine", "Sentence"}


def test_a_sentence_has_the_commands_that_it_names_as_values() -> None:
    """A face with keys names those instead; a text that is pasted somewhere takes ``.command``."""
    everywhere = {
        name for path in MODULES for name in _names_of_commands(tree_of(path).body) if name[0] != "_"
    }

    def wrong(path: Path) -> Iterator[str]:
        # The hook loads nothing before there is something to do.
        if package_of(path) in {"cli", "tui", "hook"}:
            return
        nodes = list(ast.walk(tree_of(path)))
        documentation = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        known = MAKERS | everywhere | _names_of_commands(tree_of(path).body)
        for node in nodes:
            match node:
                case ast.Constant(value=str(text)) if "`git blackbird" in text:
                    found = [] if id(node) in documentation else [node.lineno]
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    found = list(_commands_in_text(node, known | _names_of_commands(ast.walk(node))))
                case ast.Assign():
                    found = list(_commands_in_text(node.value, known))
                case _:
                    found = []
            yield from (f"line {line}" for line in found)

    assert violations(wrong) == []


def _names_of_commands(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that are given to commands and to sentences with some."""
    names = set()
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id=maker))):
                names |= {name} if maker in MAKERS else set()
            case _:
                pass
    return names


def _commands_in_text(scope: ast.AST, names: set[str]) -> Iterator[int]:
    for node in ast.walk(scope):
        match node:
            case ast.FormattedValue(value=ast.Call(func=ast.Name(id=name)) | ast.Name(id=name)):
                if name in names:
                    yield node.lineno
            case _:
                pass


def group_of(path: Path) -> str:
    """Return the sub-package of a file; a file beside sub-packages stands for itself."""
    parts = path.relative_to(PACKAGE).parts
    return "/".join(parts[:2]) if len(parts) > 2 else "/".join(parts)


def graph(node_of: Callable[[Path], str]) -> Mapping[str, set[str]]:
    """Return which nodes import which others, type-checking imports included."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path in MODULES:
        files = (file_of(module) for module, _ in imports(path))
        found[node_of(path)] |= {node_of(file) for file in files if file is not None} - {node_of(path)}
    return found


@pytest.mark.parametrize("node_of", [group_of, Path.as_posix], ids=["sub-packages", "files"])
def test_no_circle(node_of: Callable[[Path], str]) -> None:
    try:
        TopologicalSorter(graph(node_of)).prepare()
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))


def test_libraries_stay_in_their_packages() -> None:
    def wrong(path: Path) -> set[str]:
        found = {module.partition(".")[0] for module, _ in imports(path)}
        return {library for library in found & KEPT_IN.keys() if package_of(path) not in KEPT_IN[library]}

    assert violations(wrong) == []


def test_pygit2_is_loaded_in_one_place() -> None:
    """Elsewhere it would read all certificates of the system."""

    def wrong(path: Path) -> Iterator[str]:
        tree = tree_of(path)
        for_types = (node for node in tree.body if isinstance(node, ast.If))
        passed_over = {id(inner) for block in for_types for inner in ast.walk(block)}
        for node in ast.walk(tree):
            match node:
                case ast.Import(names=names) if id(node) not in passed_over:
                    yield from (alias.name for alias in names if alias.name.partition(".")[0] == "pygit2")
                case ast.ImportFrom(module=str(module)) if id(node) not in passed_over:
                    yield from {module}.intersection({"pygit2", "pygit2.enums"})
                case _:
                    pass

    assert violations(wrong) == ["git/core/libgit2.py: pygit2"]


@pytest.mark.parametrize("start", ["main", *(f"commands/{name}" for name in READERS)])
def test_what_readers_import_at_once_is_light(start: str) -> None:
    """Follows top-level imports only: what a function imports is paid for where it is called."""
    seen: set[Path] = set()
    pending = [PACKAGE / "cli" / f"{start}.py"]
    libraries: set[str] = set()
    while pending:
        path = pending.pop()
        if path in seen:
            continue
        seen.add(path)
        for module, at_once in imports(path):
            if not at_once:
                continue
            file = file_of(module)
            if file is None:
                libraries.add(module.partition(".")[0])
            else:
                pending.append(file)
    assert not libraries & LATE


def test_the_hook_loads_next_to_nothing_before_there_is_something_to_do() -> None:
    def at_once(name: str) -> set[str]:
        return {module for module, is_at_once in imports(PACKAGE / name) if is_at_once}

    assert at_once("hook.py") == {"os", "sys", "git_blackbird.git.hooks.task_commits"}
    assert at_once("git/__init__.py") == at_once("git/hooks/__init__.py") == set()
    assert at_once("git/hooks/task_commits.py") == {"contextlib", "os", "collections.abc"}


def test_nothing_prints_outside_the_cli() -> None:
    def prints(path: Path) -> Iterator[str]:
        calls = (node.func for node in ast.walk(tree_of(path)) if isinstance(node, ast.Call))
        return (f"line {call.lineno}" for call in calls if isinstance(call, ast.Name) and call.id == "print")

    assert violations(prints) == []
