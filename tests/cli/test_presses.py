"""One key press is one interrupt, however often its signal comes."""

from git_blackbird.cli.running import Presses


class Counter:
    """Stands where the loop does, and counts."""

    def __init__(self) -> None:
        self.interrupts = 0

    def interrupt(self) -> None:
        self.interrupts += 1


def interrupts_of(*moments: float) -> int:
    """Count the interrupts that signals at these moments, in seconds, make."""
    counter, times = Counter(), iter(moments)
    presses = Presses(counter, lambda: next(times))
    for _ in moments:
        presses.signal()
    return counter.interrupts


def test_a_signal_that_git_passes_on_is_the_same_press() -> None:
    assert interrupts_of(5.0, 5.003) == 1


def test_a_second_press_is_a_second_interrupt() -> None:
    assert interrupts_of(5.0, 5.003, 5.5, 5.503) == 2


def test_keys_pressed_in_haste_count_in_the_end() -> None:
    assert interrupts_of(5.0, 5.1, 5.2, 5.3) == 2
