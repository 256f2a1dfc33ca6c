"""Make text from agents and files harmless for a terminal.

Spans, errors and notices do so where they are made: who composes or prints one has nothing to clean.
"""

import re

# Characters that join, break and vary others: terminals disagree on their width.
JOINING = "\u00ad\u200c\u200d\ufe00-\ufe0f"
# All other invisible characters: direction marks, tags, fillers, separators. This is Unicode's category Cf,
# the property Default_Ignorable_Code_Point, and the two line separators.
FORMAT = (
    "\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890-\u0891\u08e2\u115f-\u1160\u17b4-\u17b5\u180b-\u180f"
    "\u200b\u200e-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# Compiled on first use: most texts are harmless as they are.
_SEQUENCES = (
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # operating system commands: titles, clipboard, links
    r"|\x1b[PX^_][^\x1b]*\x1b\\"  # device control and other strings
    r"|\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor, modes
    r"|\x1b[ -/]*[0-~]"  # other escapes
    r"|\r(?=\n)"
    f"|[{JOINING}]"
)
# Those of them that have no blank inside.
_SEQUENCES_IN_A_WORD = (
    r"\x1b\][^\x07\x1b\s]*(?:\x07|\x1b\\)"
    r"|\x1b[PX^_][^\x1b\s]*\x1b\\"
    r"|\x1b\[[!-?]*[@-~]"
    r"|\x1b[!-/]*[0-~]"
    f"|[{JOINING}]"
)
CONTROL = f"[\x00-\x08\x0b-\x1f\x7f-\x9f{FORMAT}\ud800-\udfff]"
_BREAK = r"\r?\n\s*"
# Line ends, tabs and what ASCII can print.
_HARMLESS = bytes((9, 10, *range(32, 127)))
# A record may hold a megabyte.
_MOST = 10_000


def clean(text: str) -> str:
    """Remove terminal control sequences, and replace remaining control characters by U+FFFD.

    Line ends and tabs stay. Direction marks and other invisible characters are replaced too: they can make a
    path or a diff look like another one. Joiners are removed: they would shift what is painted beside them.
    """
    if is_harmless(text):
        return text
    return re.sub(CONTROL, "\ufffd", re.sub(_SEQUENCES, "", text))


def is_harmless(text: str) -> bool:
    """Whether nothing in a text can need cleaning; a hundred times faster than to clean it."""
    return text.isascii() and not text.encode().translate(None, _HARMLESS)


def legible(text: str, limit: int = _MOST) -> str:
    """Return what to show of a text as a part of a line: harmless, at most ``limit`` characters.

    The text may be composed of several. So a control sequence with a blank in it stays readable: it may begin
    in one text and end in another, and would take with it what stands between them.
    """
    # Most texts need no more than to be looked at.
    if text.isascii() and text.isprintable() and len(text) <= limit:
        return text
    # Cut before cleaning: cleaning a megabyte to show two hundred characters is waste.
    line = re.sub(_BREAK, " ", text[: limit * 20].strip("\r\n"))
    line = re.sub(CONTROL, "\ufffd", re.sub(_SEQUENCES_IN_A_WORD, "", line))
    if len(line) > limit:
        return line[: limit - 3] + "..."
    # A command knows more than its text.
    return text if line == text else line


def one_line(text: str, limit: int = 200) -> str:
    """Return what to store of a text as a line: clean words, with one blank between two."""
    return legible(" ".join(clean(text[: limit * 20]).split()), limit)


def visible(text: str) -> str:
    """Show control characters as ``^[`` and the like: in a change they are part of its effect."""
    shown = re.sub("[\x00-\x08\x0b-\x1f\x7f]", lambda match: f"^{chr(ord(match[0]) ^ 0x40)}", text)
    return clean(re.sub(f"[{JOINING}]", "\ufffd", shown))
