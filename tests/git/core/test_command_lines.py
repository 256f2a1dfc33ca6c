"""Every argument of every git command is a constant, or stands where git takes it for no option."""

import ast
import itertools
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[3] / "git_blackbird"
MODULES = sorted((PACKAGE / "git").rglob("*.py"))
RUNNERS = {"git", "run_git", "run_user_program"}
# What stands behind `--end-of-options` or `--`, or is one word with the option it is the value of.
FENCES = {"revisions", "operands"}
# The runner itself and its wrappers pass on what they were given.
PASSED_ON = {
    ("repository.py", "git"),
    ("snapshot.py", "git"),
    ("snapshot.py", "update_paths"),
    ("create.py", "commit_in_subprocess"),
    # Constants of their callers in the same module.
    ("comparing.py", "attributes_of"),
    ("log.py", "_beyond_references"),
    ("merging.py", "merge_trees"),
    ("merging.py", "merge_commits"),
    ("folders.py", "_listed"),
    # Not git: the branch is the value of an option, the texts are one word with theirs.
    ("branch.py", "open_request"),
    # A path, in one word with the setting that it is for.
    ("decisions.py", "check_signature"),
    # The commit that git itself has found by a name.
    ("branch.py", "commit_tree"),
    # The id of a tree's entry; `git checkout` knows no --end-of-options.
    ("checkout.py", "move_submodule"),
    # The commit that was just made; `git reset` knows no --end-of-options before 2.43.
    ("linked.py", "check_out"),
}


@cache
def parsed(module: Path) -> ast.Module:
    return ast.parse(module.read_text())


def calls(module: Path) -> Iterator[tuple[str, ast.Call]]:
    """Every call of a runner, with the name of the function it is in."""
    tree = parsed(module)
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Call) and name_of(node.func) in RUNNERS:
                    yield function.name, node


def name_of(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


@cache
def constants(module: Path) -> set[str]:
    """The names at the top of a module that hold nothing but constant words."""
    tree = parsed(module)
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Assign) and is_constant(node.value, found):
            found |= {name_of(target) for target in node.targets}
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("git_blackbird.git."):
            origin = PACKAGE.parent / Path(*(node.module or "").split(".")).with_suffix(".py")
            found |= constants(origin) & {alias.name for alias in node.names}
    return found


def is_constant(node: ast.expr, known: set[str]) -> bool:
    match node:
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return all(is_constant(item, known) for item in items)
        case ast.Starred(value=inner):
            return is_constant(inner, known)
        case ast.IfExp(body=one, orelse=other):
            return is_constant(one, known) and is_constant(other, known)
        case ast.ListComp(elt=item):
            return is_constant(item, known)
        case ast.JoinedStr(values=[ast.Constant(value=str(start)), *_]):
            return start.startswith("--")
        case _:
            return isinstance(node, ast.Constant) or name_of(node) in known


def is_no_fence(node: ast.expr) -> bool:
    return not (isinstance(node, ast.Constant) and node.value in {"--", "--end-of-options"})


def is_safe(node: ast.expr, known: set[str], given: dict[str, ast.expr]) -> bool:
    """Whether an argument is constant, fenced, or a local name that was given nothing else."""
    inner = node.value if isinstance(node, ast.Starred) else node
    if isinstance(inner, ast.Call):
        return name_of(inner.func) in FENCES or is_constant(inner, known)
    match inner:
        case ast.IfExp(body=one, orelse=other):
            return is_safe(one, known, given) and is_safe(other, known, given)
        case ast.Name(id="repo") | ast.Attribute(attr="git_options" | "diff_options"):
            return True
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return all(is_safe(item, known, given) for item in items)
        case ast.Name(id=name) if name in given:
            return is_safe(given[name], known, {k: v for k, v in given.items() if k != name})
        case _:
            return is_constant(inner, known)


def assignments(module: Path, function: str) -> dict[str, ast.expr]:
    """What the local names of a function are given; a name that is given twice is not known."""
    found: dict[str, list[ast.expr]] = {}
    for node in ast.walk(parsed(module)):
        if isinstance(node, ast.FunctionDef) and node.name == function:
            for inner in ast.walk(node):
                match inner:
                    case ast.Assign(targets=[ast.Name(id=name)], value=value):
                        found.setdefault(name, []).append(value)
                    case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                        found.setdefault(name, []).append(value)
                    case ast.For(target=ast.Tuple(elts=[ast.Name(id=_), ast.Name(id=_)]), iter=ast.Tuple()):
                        found |= loop_values(inner)
                    case ast.For(target=ast.Name(id=name), iter=ast.Tuple(elts=[*items])):
                        found[name] = [ast.Tuple(elts=items)]
                    case _:
                        continue
    return {name: ast.Tuple(elts=values) for name, values in found.items()}


def loop_values(loop: ast.For) -> dict[str, list[ast.expr]]:
    assert isinstance(loop.target, ast.Tuple)
    assert isinstance(loop.iter, ast.Tuple)
    rows = [row.elts for row in loop.iter.elts if isinstance(row, ast.Tuple)]
    names = [name_of(target) for target in loop.target.elts]
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def test_the_walk_sees_the_calls() -> None:
    assert sum(1 for module in MODULES for _ in calls(module)) > 40


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_no_argument_of_git_can_become_an_option(module: Path) -> None:
    known = constants(module)
    for function, call in calls(module):
        if (module.name, function) in PASSED_ON:
            continue
        given = assignments(module, function)
        for argument in itertools.takewhile(is_no_fence, call.args):
            assert is_safe(argument, known, given), f"{module.name}:{call.lineno}: {ast.unparse(argument)}"
