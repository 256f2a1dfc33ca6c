"""One key press is one interrupt, however often its signal comes."""

import signal
from collections.abc import Iterator

import pytest

from git_blackbird.cli.commands.run import interrupt_once
from git_blackbird.cli.stdio import debounce_sigint
from git_blackbird.model.base.system import Debouncer


class Counter:
    """Stands where the loop does, and counts."""

    def __init__(self) -> None:
        self.interrupts = 0

    def interrupt(self) -> None:
        self.interrupts += 1


def interrupts_of(*moments: float) -> int:
    """Count the interrupts that signals at these moments, in seconds, make."""
    counter, times = Counter(), iter(moments)
    presses = Debouncer(lambda: next(times))
    for _ in moments:
        interrupt_once(presses, counter.interrupt)
    return counter.interrupts


def test_a_signal_that_git_passes_on_is_the_same_press() -> None:
    assert interrupts_of(5.0, 5.003) == 1


def test_a_second_press_is_a_second_interrupt() -> None:
    assert interrupts_of(5.0, 5.003, 5.5, 5.503) == 2


def test_keys_pressed_in_haste_count_in_the_end() -> None:
    assert interrupts_of(5.0, 5.1, 5.2, 5.3) == 2


@pytest.fixture
def handling() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("handling")
def test_the_echo_of_a_press_does_not_strike_what_the_press_began() -> None:
    moments = iter([5.0, 5.003, 6.0])
    debounce_sigint(lambda: next(moments))
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


@pytest.mark.usefixtures("handling")
def test_what_is_ignored_stays_so() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    debounce_sigint()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
