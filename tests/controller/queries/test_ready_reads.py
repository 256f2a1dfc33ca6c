"""What is read of the records to say how the tasks are."""

import sys
from pathlib import Path

from tests.controller.support import configure, execute, leaf, open_at, put_plan
from tests.support import commit


def test_records_are_looked_for_only_where_there_are_some(repo: Path) -> None:
    commit(repo, {"a.txt": "one\n"})
    configure(repo, agent="demo", execution__acceptNoChange="true")
    put_plan(repo, leaf("a", "write x 1"))
    execute(repo)
    put_plan(repo, leaf("a"), leaf("b"), leaf("c"))
    workspace, opened, is_counting = open_at(repo), list[str](), True

    def count(event: str, arguments: tuple[object, ...]) -> None:
        if is_counting and event == "open":
            opened.append(Path(str(arguments[0])).name)

    sys.addaudithook(count)
    state = workspace.plan_state()
    is_counting = False
    assert (list(state.histories), "a" in opened) == (["a"], True)
    assert {"b", "c"}.isdisjoint(opened)
