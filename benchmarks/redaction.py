"""How fast secrets are masked in 100 MB of output, and what is masked by mistake in given files.

``python -m benchmarks.redaction [FILE…]``; where detect-secrets is installed, it scans a thousandth of the
same text, as its speed does not depend on the amount.
"""

import base64
import itertools
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from git_blackbird.agents.process.logs import CHUNK_BYTES
from git_blackbird.model.base.redaction import Redactor, secret_values

_BYTES = 100_000_000
_ENVIRONMENT = {"DEPLOY_TOKEN": "n0t-pr1nt3d-here", "SIGNING_KEY": "Xq7-4nother-9f2"}


def plain_lines() -> Iterator[bytes]:
    """Yield the lines of this project's own code, as an agent prints files that it reads."""
    files = sorted(Path(__file__).parents[1].glob("git_blackbird/**/*.py"))
    return itertools.chain.from_iterable(
        itertools.cycle([file.read_bytes().splitlines(True) for file in files])
    )


def events() -> Iterator[bytes]:
    """Yield events with such lines, ids and signatures in Base64, as Claude Code prints them."""
    drawn, lines = random.Random(1), plain_lines()
    while True:
        text = b"".join(itertools.islice(lines, 12)).decode()
        ids = {name: drawn.randbytes(16).hex() for name in ("id", "session_id", "uuid")}
        signature = base64.b64encode(drawn.randbytes(150)).decode()
        yield json.dumps({"type": "assistant", "text": text, "signature": signature, **ids}).encode() + b"\n"


def taken(lines: Iterator[bytes], most: int) -> bytes:
    """Return about so many bytes of some lines."""
    found, size = list[bytes](), 0
    while size < most:
        found.append(next(lines))
        size += len(found[-1])
    return b"".join(found)


def mask(data: bytes) -> Counter[str]:
    """Mask data piece by piece, as it is read from a log; count what was masked."""
    redactor, found = Redactor(secret_values(_ENVIRONMENT)), Counter[str]()
    for at in range(0, len(data), CHUNK_BYTES):
        found.update(span.kind for span in redactor.mask(data[at : at + CHUNK_BYTES])[1])
    return found


def scan(data: bytes) -> Counter[str]:
    """Scan data line by line with all forms that detect-secrets knows. Raises ImportError."""
    from detect_secrets.core.scan import scan_line  # type: ignore[import-not-found]  # not of this project
    from detect_secrets.settings import default_settings  # type: ignore[import-not-found]

    found = Counter[str]()
    with default_settings():
        for line in data.decode(errors="replace").splitlines():
            found.update(secret.type for secret in scan_line(line))
    return found


def measure(what: str, work: Callable[[bytes], Counter[str]], data: bytes) -> None:
    """Print how fast some work is, and what it has found."""
    began = time.process_time()
    found = work(data)
    speed = len(data) / 1e6 / (time.process_time() - began)
    listed = ", ".join(f"{kind} {count}" for kind, count in found.most_common())
    print(f"{what}: {len(data) / 1e6:.1f} MB, {speed:.2f} MB in a second of the processor", flush=True)
    print(f"  found: {listed or 'nothing'}", flush=True)


def main(files: list[str]) -> None:
    """Measure made-up output, then the given files."""
    texts = {name: taken(lines(), _BYTES) for name, lines in (("lines", plain_lines), ("events", events))}
    texts["Base64"] = base64.b64encode(random.Random(2).randbytes(_BYTES * 3 // 4))
    texts |= {name: Path(name).read_bytes() for name in files}
    for name, data in texts.items():
        measure(name, mask, data)
        try:
            measure(f"{name}, by detect-secrets", scan, data[: len(data) // 1000])
        except ImportError:
            print("detect-secrets is not installed")


if __name__ == "__main__":
    main(sys.argv[1:])
