"""The seams: clock, ids, environment. Everything else is the real thing."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from git_blackbird.model.timestamps import format_timestamp


@dataclass(frozen=True)
class World:
    """Where and when a command runs.

    ``now`` gives nanoseconds since 1970, ``random_bits`` that many random bits.
    """

    environ: Mapping[str, str]
    cwd: Path
    now: Callable[[], int]
    random_bits: Callable[[int], int]

    def timestamp(self) -> str:
        """Give the present moment as text."""
        return format_timestamp(self.now())

    @property
    def is_agent(self) -> bool:
        """Whether an agent of ours runs this command: agents do not judge themselves."""
        return bool(self.environ.get("BLACKBIRD_RUN_ID"))


def real_world() -> World:
    """Give the world of a process: its environment, its clock, the system's random source."""
    import os  # noqa: PLC0415  # this and the next two are this function's whole business
    import secrets  # noqa: PLC0415
    import time  # noqa: PLC0415

    return World(dict(os.environ), Path.cwd(), time.time_ns, secrets.randbits)
