import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from textual._compositor import Compositor
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.reactive import Reactive

from tests.controller.support import configure
from tests.support import commit
from tests.tui.tmux import Tmux

_parse_rules = Stylesheet._parse_rules
_render_update = Compositor.render_update
_rules: dict[object, list[RuleSet]] = {}


def _parse_rules_once(self: Stylesheet, css: str, *args: Any, **kwargs: Any) -> list[RuleSet]:
    """Parse a style sheet for the first application that has it; the others have the same rules."""
    key = (frozenset(self._variables.items()), css, args, frozenset(kwargs.items()))
    if key not in _rules:
        _rules[key] = _parse_rules(self, css, *args, **kwargs)
    return _rules[key]


def _render_what_is_looked_at(self: Compositor, full: bool = False, **kwargs: Any) -> Any:
    """Draw no update of a terminal that is not there: the tests draw the screens that they look at."""
    if full:
        return _render_update(self, full, **kwargs)
    self._dirty_regions.clear()
    return None


@pytest.fixture(autouse=True, scope="session")
def shared() -> Iterator[None]:
    """Leave out what every application of the tests would do again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_rules", _parse_rules_once)
        # It is the same number; each style of a widget asks for that of every rule.
        patch.setattr(RuleSet, "__hash__", object.__hash__)
        yield


@pytest.fixture(autouse=True)
def unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out what nobody would see."""
    monkeypatch.setattr(Compositor, "render_update", _render_what_is_looked_at)


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no other thread change a widget: where Textual allows it, it fails now and then."""
    set_value = Reactive.__set__

    def set_in_main_thread(self: Reactive[Any], obj: Any, value: Any) -> None:
        assert threading.current_thread() is threading.main_thread(), f"{obj!r}: {self.name} set by a thread"
        set_value(self, obj, value)

    monkeypatch.setattr(Reactive, "__set__", set_in_main_thread)


@pytest.fixture
def planned(repo: Path) -> Path:
    commit(repo, {"README.md": "# Here\n"})
    configure(repo, agent="demo", execution__acceptNoChange="true")
    return repo


@pytest.fixture
def tmux(temporary: Path) -> Iterator[Tmux]:
    # Its server may be ending while the next test begins.
    window = Tmux(Path(tempfile.mkdtemp(dir=temporary)))
    yield window
    # A test may have closed the terminal; tmux exits with its last one.
    with suppress(subprocess.CalledProcessError):
        window.do("kill-server")
