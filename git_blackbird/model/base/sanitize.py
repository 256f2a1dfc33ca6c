"""Forms of text that show what is in it, or quote it, and the cleaning of text that comes piece by piece."""

import codecs
import json
import re

from git_blackbird.clean import CONTROL, FORMAT, JOINING, clean, is_harmless

# Compiled on first use, because listing tasks needs none of these. The blank Braille pattern is no format
# character, and as invisible.
_HIDDEN = f"[{JOINING}{FORMAT}\u2800]"
_UNSEEN = f"[{JOINING}]|{CONTROL}"


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
# Beginnings of sequences that `clean` removes, and of a Windows line end.
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
        if is_harmless(text):
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
        shown = clean(re.sub(r"\r(?!\n)", "\n", text))
        if shown:
            self._ends_line = shown.endswith("\n")
        return shown
