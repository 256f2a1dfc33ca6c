"""Tests of the controller, run again with the application between the loop and the person."""

import pytest

from tests.controller import support
from tests.tui.at_screen import on_screen


@pytest.fixture(autouse=True)
def told_on_a_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(support, "stage", on_screen)
