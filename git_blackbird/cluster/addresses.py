"""Validate the address of a scheduler before connecting to it."""

import asyncio
import socket

from git_blackbird.model.base.sanitize import shell_word

_LAST_PORT = 65535


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
