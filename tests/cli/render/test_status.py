"""``status`` lists whatever is due, of kinds that it knows nothing of too."""

from types import SimpleNamespace
from typing import Any

from git_blackbird.cli.paint import painted_lines
from git_blackbird.cli.render.status import _APART, _due
from git_blackbird.messages.document import section
from git_blackbird.model.change.stages import Due
from git_blackbird.model.rules.queue import queue
from tests.model.rules.states import everything


def test_each_kind_is_listed_but_those_in_sections_of_their_own() -> None:
    items = tuple(queue(*everything()))
    overview: Any = SimpleNamespace(due=items, ready=(), stops_at=None, unfinished=())
    lines = painted_lines(section("", _due(overview)).parts, None, colored=False)
    listed = {line.split()[0] for line in lines if not line.startswith(" ")}
    missing = {item.due for item in items if item.due not in _APART and item.task.id not in listed}
    assert not missing, "list what is due: a group of _NAMED (cli/render/status.py), or that of all others"
    assert {Due.FINISH_APPROVAL, Due.CLOSE, Due.START} == _APART, (
        "only what another section shows is left out"
    )
