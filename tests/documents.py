"""The lists of keys in the documents, made of the table of the configuration."""

import re
import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby

from git_blackbird.messages.display.config import type_text
from git_blackbird.model.config.config import KEYS
from git_blackbird.model.config.keys import Key

PAGE = ("<!-- keys: begin -->\n", "<!-- keys: end -->\n")
MAN = ('.\\" keys: begin\n', '.\\" keys: end\n')


def with_keys(text: str, marks: tuple[str, str], keys: str) -> str:
    """The document with the list of keys between its marks."""
    before, begin, rest = text.partition(marks[0])
    _, end, after = rest.partition(marks[1])
    assert begin
    assert end
    return f"{before}{begin}{keys}{end}{after}"


def page_keys() -> str:
    """The table of the page of the configuration."""
    head = "| key | what | values | default | from the project's file |\n|---|---|---|---|---|\n"
    return head + "".join(map(_page_row, _rows()))


def man_keys() -> str:
    """The list of the manual page."""
    return "".join(map(_man_entry, _rows()))


def _rows() -> Iterator[Sequence[Key]]:
    """The keys of each row of the table; a section that is there several times has several of them."""
    firsts = {(id(key.row), key.default): number for number, key in reversed([*enumerate(KEYS.values())])}
    in_order = sorted(KEYS.values(), key=lambda key: firsts[id(key.row), key.default])
    return (list(keys) for _, keys in groupby(in_order, lambda key: (id(key.row), key.default)))


def _page_row(keys: Sequence[Key]) -> str:
    key = keys[0]
    names = ", ".join(f"`{key.name}`" for key in keys)
    page = key.row.see.partition("#")[0] or "below"
    link = f": [{page}]({key.row.see})" if key.row.see else ""
    return f"| {names} | {key.row.help}{link} | {type_text(key)} | {default_text(key)} | {_trust(key)} |\n"


def _trust(key: Key) -> str:
    if not key.clone_safe:
        return "never"
    return "counts" if key.row.stricter is None else f"if {key.row.stricter}"


def _man_entry(keys: Sequence[Key]) -> str:
    key = keys[0]
    variable = f" Environment: {key.row.environment}." if key.row.environment else ""
    fills = ", ".join(f"{{{name}}}" for name in key.row.fills)
    filled = f" {fills} are filled in." if fills else ""
    values = f"{_sentence(type_text(key))}; default: {default_text(key)}."
    text = f"{_sentence(key.row.help)}. {values}{variable}{filled}{_MAN_TRUST[_trust(key)]}"
    lines = [re.sub(r"^(?=[.'])", r"\\&", line) for line in textwrap.wrap(text, 84, break_on_hyphens=False)]
    tags = "\n.TQ\n".join(f".B {key.name}" for key in keys)
    return f".TP\n{tags}\n" + "\n".join(lines).replace("-", "\\-") + "\n"


_MAN_TRUST = {
    "never": " Never from the project's file.",
    "if higher": " The higher value is the stricter one.",
    "if lower": " The lower value is the stricter one.",
    "counts": "",
}


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:].replace("`", "'")


def default_text(key: Key) -> str:
    if key.default is None:
        return "unset"
    if key.default == ():
        return "empty"
    return str(key.default).lower() if isinstance(key.default, bool) else str(key.default)
