"""Timing in turns, and what comes of it: one row of the table (``python -m benchmarks``)."""

import os
import resource
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

Environ = Mapping[str, str]


class Sample(NamedTuple):
    """One turn: by the clock on the wall, and by the processor's, both in milliseconds."""

    wall: float
    cpu: float

    def __add__(self, other: object) -> "Sample":
        assert isinstance(other, Sample)
        return Sample(self.wall + other.wall, self.cpu + other.cpu)


Turn = Callable[[], Sample]


def run_process(argv: Sequence[str], environ: Environ, cwd: Path, *, out: int | None = None) -> Sample:
    """Run a program to its end, its output to nowhere or to ``out``; it must succeed."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    here = Path.cwd()
    os.chdir(cwd)
    try:
        actions = [
            (os.POSIX_SPAWN_DUP2, nowhere, 0),
            (os.POSIX_SPAWN_DUP2, nowhere if out is None else out, 1),
        ]
        began = time.perf_counter()
        process = os.posix_spawnp(argv[0], list(argv), dict(environ), file_actions=actions)
        _, status, used = os.wait4(process, 0)
        wall = time.perf_counter() - began
    finally:
        os.chdir(here)
        os.close(nowhere)
    assert status == 0, (argv, status)
    return Sample(wall * 1000, (used.ru_utime + used.ru_stime) * 1000)


def run_call(work: Callable[[], object]) -> Sample:
    """Call a function; the processor time of the processes it waits for is its own."""
    cpu, began = _cpu_seconds(), time.perf_counter()
    work()
    wall = time.perf_counter() - began
    return Sample(wall * 1000, (_cpu_seconds() - cpu) * 1000)


_RESET_PEAK = "5"


def forget_peak(pid: int | str = "self") -> float:
    """Return the memory a process takes now, in megabytes; its peak is counted from here on.

    Not ``ru_maxrss``, which also counts what the process took that started this one.
    """
    Path(f"/proc/{pid}/clear_refs").write_text(_RESET_PEAK)
    return _memory(pid, "VmRSS")


def peak(pid: int | str = "self") -> float:
    """Return the most memory a process took since then, in megabytes."""
    return _memory(pid, "VmHWM")


def _memory(pid: int | str, name: str) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:")) / 1024


def _cpu_seconds() -> float:
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, whose))


def in_turns(turns: Sequence[Turn], rounds: int) -> list[list[Sample]]:
    """Take each turn once without counting it, then all of them in each round; gives a column for each."""
    for turn in turns:
        turn()
    return take_rounds(turns, rounds)


def take_rounds(turns: Sequence[Turn], rounds: int) -> list[list[Sample]]:
    """Take all turns in each round; gives a column for each."""
    columns: list[list[Sample]] = [[] for _ in turns]
    for _ in range(rounds):
        for column, turn in zip(columns, turns, strict=True):
            column.append(turn())
    return columns


@dataclass(frozen=True)
class Ruler:
    """How samples become figures: how many rounds, and by which clock."""

    rounds: int
    by_cpu: bool

    def figure(self, samples: Sequence[Sample]) -> float:
        """Return the median, in milliseconds."""
        return statistics.median(map(self._reading, samples))

    def ratio(self, ours: Sequence[Sample], reference: Sequence[Sample]) -> float:
        """Return the median of the ratios within each round: what slows a round slows both of its sides."""
        pairs = zip(ours, reference, strict=True)
        return statistics.median(self._reading(one) / self._reading(other) for one, other in pairs)

    def _reading(self, sample: Sample) -> float:
        return sample.cpu if self.by_cpu else sample.wall


@dataclass(frozen=True)
class Row:
    """One line of the table: a figure of ours, the reference's, their ratio, and what is allowed.

    ``limit`` is for the ratio, ``most`` for the figure of ours; one of them is enough, and without either
    nothing is owed. ``is_right`` is a further condition, which ``remark`` puts in words. Where there is
    nothing to compare with, the reference is None.
    """

    name: str
    what: str
    ours: float
    reference: float | None = None
    ratio: float | None = None
    limit: float | None = None
    unit: str = "ms"
    most: float | None = None
    remark: str = ""
    is_right: bool = True

    @property
    def holds(self) -> bool:
        """Whether the row is within its limit."""
        bounds = ((self.ratio, self.limit), (self.ours, self.most))
        within = [figure <= bound for figure, bound in bounds if figure is not None and bound is not None]
        return self.is_right and (any(within) or not within)


def compare(ruler: Ruler, name: str, what: str, limit: float | None, *sides: Turn) -> Row:
    """Time ours and its reference in turns and make a row of it."""
    ours, reference = in_turns(sides, ruler.rounds)
    return row_of(ruler, name, what, limit, ours, reference)


def row_of(ruler: Ruler, name: str, what: str, limit: float | None, *sides: Sequence[Sample]) -> Row:
    """Make a row of what was measured of ours and of its reference in the same rounds."""
    ours, reference = sides
    figures = (ruler.figure(ours), ruler.figure(reference), ruler.ratio(ours, reference))
    return Row(name, what, *figures, limit)


def render_row(row: Row) -> str:
    """Write one line of the table."""
    most = None if row.most is None else f"{row.most:.0f} {row.unit}"
    limit = " or ".join(filter(None, (None if row.limit is None else f"{row.limit:.2f}", most)))
    verdict = "OVER" if not row.holds else "holds" if limit else ""
    remark = f"  ({'' if row.is_right else 'NOT '}{row.remark})" if row.remark else ""
    reference = "" if row.reference is None else f"{row.reference:.1f}"
    ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
    figures = f"{row.ours:10.1f} {reference:>10} {row.unit:3} {ratio:>7}  {limit:14}"
    return f"{row.name:4} {row.what:60.60} {figures} {verdict}{remark}"


HEADING = f"{'row':4} {'what':60} {'ours':>10} {'reference':>10}     {'ratio':>7}  {'limit':14} verdict"
