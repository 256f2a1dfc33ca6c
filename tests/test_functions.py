import ast
from pathlib import Path

import git_blackbird

MOST_LINES = 60


def test_no_function_is_longer_than_a_page() -> None:
    top = Path(git_blackbird.__file__).parent
    too_long = [
        f"{path.relative_to(top)}: {node.name}"
        for path in top.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno >= MOST_LINES
    ]
    assert not too_long
