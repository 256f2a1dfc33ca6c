"""Make text from agents and files harmless for a terminal, whole or piece by piece."""

import codecs
import json
import re

# Characters that join, break and vary others: terminals disagree on their width.
_JOINING = "\u00ad\u200c\u200d\ufe00-\ufe0f"
# All other invisible characters: direction marks, tags, fillers, separators. This is Unicode's category Cf,
# the property Default_Ignorable_Code_Point, and the two line separators.
_FORMAT = (
    "\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890-\u0891\u08e2\u115f-\u1160\u17b4-\u17b5\u180b-\u180f"
    "\u200b\u200e-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_CONTROL = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # operating system commands: titles, clipboard, links
    r"|\x1b[PX^_][^\x1b]*\x1b\\"  # device control and other strings
    r"|\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor, modes
    r"|\x1b[ -/]*[0-~]"  # other escapes
    r"|\r(?=\n)"
    f"|[{_JOINING}]"
)
# Line ends, tabs and what ASCII can print.
_HARMLESS = bytes((9, 10, *range(32, 127)))
_REST = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_FORMAT}\ud800-\udfff]")
# Compiled on first use, because listing tasks needs none of these. The blank Braille pattern is no format
# character, and as invisible.
_HIDDEN = f"[{_JOINING}{_FORMAT}\u2800]"
_UNSEEN = f"[{_JOINING}]|{_REST.pattern}"


def strip_controls(text: str) -> str:
    """Remove terminal control sequences, and replace remaining control characters by U+FFFD.

    Line ends and tabs stay. Direction marks and other invisible characters are removed: they can make a path
    or a diff look like another one. So are joiners, which would shift what is painted beside them.
    """
    if _is_harmless(text):
        return text
    return _REST.sub("\ufffd", _CONTROL.sub("", text))


def _is_harmless(text: str) -> bool:
    """Whether nothing in a text can need cleaning; a hundred times faster than to clean it."""
    return text.isascii() and not text.encode().translate(None, _HARMLESS)


def escape_controls(text: str) -> str:
    """Show control characters as ``^[`` and the like: in a change they are part of its effect."""
    shown = re.sub("[\x00-\x08\x0b-\x1f\x7f]", lambda match: f"^{chr(ord(match[0]) ^ 0x40)}", text)
    return strip_controls(re.sub(f"[{_JOINING}]", "\ufffd", shown))


def find_hidden(text: str) -> str | None:
    """Return the first invisible character other than control characters, or None."""
    match = re.search(_HIDDEN, text)
    return None if match is None else match[0]


def name_hidden(text: str) -> str:
    """Show invisible characters, which can carry text, as ``<U+200B>`` and the like."""
    return re.sub(_HIDDEN, lambda match: f"<U+{ord(match[0]):04X}>", text)


def quoted(text: str) -> str:
    """Return the text as a JSON string on one line, with everything invisible escaped."""
    return escape_unseen(json.dumps(text, ensure_ascii=False))


def escape_unseen(text: str) -> str:
    """Escape everything invisible in a JSON text; what is read of it is the same."""
    return re.sub(_UNSEEN, lambda match: json.dumps(match[0])[1:-1], text)


def short_json(value: object) -> str:
    """Return an invalid value for a message, as JSON of at most 40 characters."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 40 else f"{text[:37]}..."


def clean_line(text: str, limit: int = 200) -> str:
    """Return the text on one harmless line of at most ``limit`` characters."""
    # Cut before cleaning: cleaning a megabyte to show two hundred characters is waste.
    line = " ".join(strip_controls(text[: limit * 20]).split())
    return line if len(line) <= limit else line[: limit - 3] + "..."


def clean_clause(text: str, limit: int = 200) -> str:
    """Return the same for a sentence that goes on after it: without the full stop."""
    return clean_line(text.rstrip(" .\n"), limit)


def escaped_text(text: str) -> str:
    r"""Return the text as it appears between quotes in C, harmless for a terminal.

    A surrogate for a byte, as in file names, becomes that byte.
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t").replace("\n", "\\n")
    return re.sub(_UNSEEN, _octal, escaped)


def _octal(match: re.Match[str]) -> str:
    is_byte = "\udc80" <= match[0] <= "\udcff"
    data = match[0].encode(errors="surrogateescape" if is_byte else "replace")
    return "".join(f"\\{byte:03o}" for byte in data)


def shell_word(text: str) -> str:
    """Return the text as one word of a shell command, quoted only if necessary."""
    if re.fullmatch(r"[A-Za-z0-9_@%+=:,./-]+", text):
        return text
    return "'" + text.replace("'", "'\\''") + "'"


_MAX_HELD = 4096
# Beginnings of sequences that sanitize.py removes, and of a Windows line end.
_UNFINISHED = r"(?:\r|\x1b(?:\][^\x07\x1b]*\x1b?|[PX^_][^\x1b]*\x1b?|\[[0-?]*[ -/]*|[ -/]*))\Z"


class StreamSanitizer:
    """Sanitize text whose control sequences and characters may be cut between two pieces."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._held = ""
        self._ends_line = True

    def feed(self, data: bytes) -> str:
        """Add the next piece; return what can be shown by now."""
        text = self._held + self._decoder.decode(data)
        if _is_harmless(text):
            self._held = ""
            self._ends_line = text.endswith("\n") if text else self._ends_line
            return text
        unfinished = re.search(_UNFINISHED, text)
        cut = len(text) if unfinished is None else unfinished.start()
        if len(text) - cut > _MAX_HELD:
            cut = len(text)
        self._held = text[cut:]
        return self._cleaned(text[:cut])

    def finish(self) -> str:
        """Return the pending text, with a line end if the last line has none."""
        text = self._cleaned(self._held + self._decoder.decode(b"", final=True))
        self._held = ""
        self._decoder.reset()
        end = "" if self._ends_line else "\n"
        self._ends_line = True
        return text + end

    def _cleaned(self, text: str) -> str:
        # Progress bars return to the start of their line; without a terminal each state is a line.
        shown = strip_controls(re.sub(r"\r(?!\n)", "\n", text))
        if shown:
            self._ends_line = shown.endswith("\n")
        return shown
