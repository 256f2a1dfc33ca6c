"""The environment of a call: clock, random source, variables and folder; tests replace nothing else."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from git_blackbird.errors import RequestError, UnusableError
from git_blackbird.model.base.timestamps import format_timestamp


class Environment(NamedTuple):
    """Where and when a command runs: ``now`` in nanoseconds since 1970, ``random_bits`` of that many bits."""

    environ: Mapping[str, str]
    cwd: Path
    now: Callable[[], int]
    random_bits: Callable[[int], int]

    def timestamp(self) -> str:
        return format_timestamp(self.now())

    @property
    def is_agent(self) -> bool:
        """Whether an agent of ours runs this command: agents do not judge themselves."""
        return bool(self.environ.get("BLACKBIRD_RUN_ID"))

    @property
    def user_cache(self) -> Path:
        """The user's cache folder, for files that belong to no repository. Raises UnusableError."""
        given = self.environ.get("XDG_CACHE_HOME", "")
        above = Path(given) if given.startswith("/") else Path(self.environ.get("HOME", ""), ".cache")
        if not above.is_absolute():
            raise UnusableError("there is no folder for caches: HOME is not set", hint="set it")
        return above / "git-blackbird"

    def forbid_agents(self, what: str) -> None:
        """Refuse an action of a person to an agent. Raises RequestError."""
        if self.is_agent:
            raise RequestError(
                f"an agent may not {what}: agents do not judge themselves",
                hint="BLACKBIRD_RUN_ID is set here; run this from your own shell",
            )


def system_environment() -> Environment:
    """Return the environment of this process. Raises UnusableError in a folder that was removed."""
    import os  # this and the next are this function's whole business
    import time

    try:
        cwd = Path.cwd()
    except OSError as error:
        raise UnusableError(
            f"cannot tell the current folder: {error.strerror}", hint="go to another"
        ) from error

    def random_bits(count: int) -> int:
        # As `secrets` does, without loading its imports.
        return int.from_bytes(os.urandom(-(-count // 8))) & ((1 << count) - 1)

    return Environment(dict(os.environ), cwd, time.time_ns, random_bits)
