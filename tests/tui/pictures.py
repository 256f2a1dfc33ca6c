"""Pictures of screens kept as files, and how one differs from its file, in words.

``BLACKBIRD_GOLDEN_UPDATE=1`` writes the files anew; what changed is then seen in them.
"""

import difflib
import re
import time
from pathlib import Path
from xml.etree import ElementTree as ET

from textual.pilot import Pilot

from git_blackbird.tui.app import BlackbirdApp
from tests.kept import UPDATE

KEPT = Path(__file__).with_name("snapshots")
DOCUMENTED = Path(__file__).parents[2] / "docs" / "screens"
SHOWN_TO_USERS = frozenset({"plan", "live", "checkpoint"})
STEADY_SECONDS = 1.0 if UPDATE else 5.0
_COLUMN_UNITS = 12.2
_SVG = "{http://www.w3.org/2000/svg}"
# Pictures load nothing from a network and contain no random ids.
_FONTS = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)
_REMARK = re.compile(r"\s*<!--.*?-->", re.DOTALL)
_NAME = re.compile(r"terminal-\d+-")
_LINE_END = re.compile(r"<text [^>]*>\n</text>")


def picture(app: BlackbirdApp) -> str:
    """Return the screen as SVG, the same on every machine, with one text element per line."""
    drawn = app.export_screenshot(title="git blackbird")
    for pattern, instead in ((_FONTS, ""), (_REMARK, ""), (_NAME, "terminal-"), (_LINE_END, "")):
        drawn = pattern.sub(instead, drawn)
    pieces = drawn.replace("><text", ">\n<text").splitlines()
    return "".join(f"{piece.strip()}\n" for piece in pieces if piece.strip())


def text_of(svg: str) -> list[str]:
    """Return the lines of the screen in a picture."""
    lines: dict[float, str] = {}
    for element in ET.fromstring(svg).iter(f"{_SVG}text"):
        if "clip-path" not in element.attrib:
            continue
        height, column = float(element.attrib["y"]), round(float(element.attrib["x"]) / _COLUMN_UNITS)
        # Browsers leave out the other kind of space at both ends of a text.
        text = (element.text or "").replace("\xa0", " ")
        lines[height] = f"{lines.get(height, ''):<{column}}{text}"
    return [lines[height].rstrip() for height in sorted(lines)]


class Album:
    """Compares pictures with their files; collects the differences and reports them at the end."""

    def __init__(self, aside: Path) -> None:
        self._aside = aside
        self._faults: list[str] = []

    async def check(self, app: BlackbirdApp, pilot: Pilot[None], name: str) -> None:
        """Wait until the screen is like its file; record a difference after a timeout."""
        path = _place(name)
        kept, seen = path.read_text() if path.exists() else "", ""
        steady_since = time.monotonic()
        while (now := picture(app)) != kept and time.monotonic() - steady_since < STEADY_SECONDS:
            if now != seen:
                seen, steady_since = now, time.monotonic()
            await pilot.pause(0.05)
        if now != kept and UPDATE:
            path.write_text(now)
        elif now != kept:
            aside = self._aside / path.name
            aside.write_text(now)
            self._faults.append(f"{name} is not as kept; as it is now: {aside}\n{_difference(kept, now)}")

    def close(self) -> None:
        """Fail if a picture differs from its file."""
        assert not self._faults, "\n\n".join(self._faults)


def _place(name: str) -> Path:
    return (DOCUMENTED if name in SHOWN_TO_USERS else KEPT) / f"{name}.svg"


def _difference(kept: str, seen: str) -> str:
    """Return the differences of the texts; if there are none, those of the SVG."""
    before, after = (text_of(kept) if kept else []), text_of(seen)
    if before == after:
        before, after = kept.splitlines(), seen.splitlines()
    return "\n".join(difflib.unified_diff(before, after, "kept", "seen", lineterm=""))
