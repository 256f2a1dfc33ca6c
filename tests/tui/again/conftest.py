"""Tests of the controller, run again with the application between the loop and the person.

One story for each kind of question and each reply to it: the screen has no part where nobody is asked.
"""

import pytest

from tests.controller import support
from tests.tui.at_screen import on_screen


@pytest.fixture(autouse=True)
def told_on_a_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(support, "stage", on_screen)
