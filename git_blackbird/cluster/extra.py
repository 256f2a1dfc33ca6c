"""Requirements for Dask: the extra ``cluster``, its TLS files, the host of an address."""

import asyncio
import logging
import socket
from pathlib import Path
from typing import Literal

from git_blackbird.errors import UnusableError
from git_blackbird.model.base.sanitize import shell_word

LOCAL = "local:"
"""Begins the address of a scheduler and workers that are started for one call."""
_MISSING = "a cluster needs Dask, which is not installed: pip install 'git-blackbird[cluster]'"
_TLS = "distributed.comm.tls"
_LAST_PORT = 65535


def require_extra() -> None:
    """Load Dask and silence its connection logs. Raises UnusableError if it is not installed."""
    try:
        import distributed  # noqa: F401  # an extra, and slow to load
    except ImportError as error:
        raise UnusableError(_MISSING) from error
    for name in [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]:
        logging.getLogger(name).setLevel(logging.CRITICAL)


def require_tls_files(address: str, role: Literal["client", "worker"]) -> None:
    """Raise UnusableError naming a missing TLS file of Dask's configuration."""
    import dask

    if not address.startswith("tls:"):
        return
    for key in (f"{_TLS}.ca-file", f"{_TLS}.{role}.cert", f"{_TLS}.{role}.key"):
        path = dask.config.get(key, None)
        if path and not Path(path).is_file():
            raise UnusableError(
                f"{key} in Dask's configuration names {path}, which does not exist",
                hint="a relative path begins at the folder where a command runs: write the whole one",
            )


async def require_host(address: str) -> None:
    """Raise OSError for an unknown host, which Dask would try again and again.

    Raises ValueError for an address without host and port.
    """
    if (place := _host_and_port(address)) is None:
        return
    host, port = place
    if not 0 < port <= _LAST_PORT:
        raise ValueError(f"{port} is not the number of a port")
    try:
        await asyncio.get_running_loop().getaddrinfo(host, None)
    except socket.gaierror as error:
        raise OSError(f"the host {host} is not known: {error.strerror}") from None


def scheduler_command(address: str) -> str | None:
    """Return the command that starts a scheduler at an address; None if one command is not enough."""
    if (place := _host_and_port(address)) is None:
        return None
    host = f"tls://{place[0]}" if address.startswith("tls:") else place[0]
    command = f"dask scheduler --host {shell_word(host)} --port {place[1]}"
    return f"{command}    # starts one, on that machine"


def _host_and_port(address: str) -> tuple[str, int] | None:
    """Return host and port as Dask reads them; None for other kinds of addresses. Raises ValueError."""
    from distributed.comm.addressing import parse_address, parse_host_port  # an extra

    scheme, place = parse_address(address)
    return parse_host_port(place) if scheme in {"tcp", "tls"} else None
