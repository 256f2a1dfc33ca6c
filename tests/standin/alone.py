"""Runs a command where there is no network but the loopback: ``python -m tests.standin.alone COMMAND…``.

To be started in network and mount namespaces of its own, as root of them (``ENTER``). Prints a JSON object:
how the command ended, what it printed, the names it asked for, and how often it tried to reach an address
that is not of the loopback. Such an attempt fails at once and is counted by the kernel.
"""

import ctypes
import fcntl
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from functools import cache
from pathlib import Path
from typing import Any

ENTER = ("unshare", "--user", "--map-root-user", "--net", "--mount")
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 1
_MS_BIND = 4096
_DNS_PORT = 53
_DNS_HEADER = 12
_NO_SUCH_NAME = b"\x81\x83"


@cache
def obstacle() -> str | None:
    """Why nothing can be run alone here, nor in a sandbox of an agent's; None when it can."""
    if sys.platform != "linux" or shutil.which(ENTER[0]) is None:
        return "no unshare: cannot make a network with nothing but the loopback"
    completed = subprocess.run([*ENTER, "true"], capture_output=True, text=True, check=False)
    return f"namespaces are not permitted here: {completed.stderr.strip()}" if completed.returncode else None


def raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _IFF_UP))


def ask_only(server: str) -> None:
    """Let every program here ask this server for names."""
    with tempfile.NamedTemporaryFile("w") as stream:
        stream.write(f"nameserver {server}\noptions timeout:1 attempts:1\n")
        stream.flush()
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mount(os.fsencode(stream.name), b"/etc/resolv.conf", None, _MS_BIND, None):
            raise OSError(ctypes.get_errno(), "cannot replace /etc/resolv.conf")


class NameServer:
    """Knows no name, and remembers which it was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", _DNS_PORT))
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            question, sender = self._socket.recvfrom(4096)
            self.asked.append(_name_in(question))
            self._socket.sendto(question[:2] + _NO_SUCH_NAME + question[4:], sender)


def _name_in(question: bytes) -> str:
    labels, rest = [], question[_DNS_HEADER:]
    while rest and rest[0]:
        labels.append(rest[1 : 1 + rest[0]].decode(errors="replace"))
        rest = rest[1 + rest[0] :]
    return ".".join(labels)


def unrouted() -> int:
    """How often something here tried to reach an address to which no way leads."""
    names, values = (
        line.split() for line in Path("/proc/net/snmp").read_text().splitlines() if line.startswith("Ip:")
    )
    count = int(dict(zip(names, values, strict=True))["OutNoRoutes"])
    six = Path("/proc/net/snmp6")
    lines = six.read_text().splitlines() if six.exists() else []
    return count + sum(int(line.split()[1]) for line in lines if line.startswith("Ip6OutNoRoutes"))


def run_alone(command: list[str]) -> dict[str, Any]:
    raise_loopback()
    ask_only("127.0.0.1")
    names = NameServer()
    completed = subprocess.run(command, capture_output=True, text=True, check=False)
    said = {"status": completed.returncode, "stdout": completed.stdout, "stderr": completed.stderr}
    return said | {"names": sorted(set(names.asked)), "unrouted": unrouted()}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run_alone(sys.argv[1:])))
