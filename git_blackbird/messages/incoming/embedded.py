"""Find JSON objects and XML elements in an agent's prose; XML is repaired by rule and parsed safely."""

import json
import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from git_blackbird.model.base.lenient import replace_surrogates
from git_blackbird.model.base.sanitize import clean_line, escape_controls

WINDOW_CHARACTERS = 512 * 1024
# The number of characters that failed attempts may read, so that no text takes long.
_BUDGET = 4 * WINDOW_CHARACTERS
_COST_OF_ATTEMPT = 100
_OPENING = re.compile(r'\{[ \t\r\n]*(?:\}|"(?:[^"\\]|\\.)*+"[ \t\r\n]*:)', re.DOTALL)


TWICE: Final = object()
"""The value of a key that an object has more than once."""


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        found[name] = TWICE if name in found else value
    return found


# Every number is a float, so that integers of any length are read without an error.
_DECODER = json.JSONDecoder(object_pairs_hook=_build_object, parse_int=float, strict=False)


class JsonFinder:
    """Find objects in texts; the texts of one answer share a limit on failed attempts."""

    def __init__(self) -> None:
        self._left = _BUDGET

    def objects(self, text: str) -> Iterator[dict[str, Any]]:
        """Return the outermost objects in order; for a very long text those of its end.

        A duplicate key has the value ``TWICE``. Never raises; invalid JSON is skipped.
        """
        window = replace_surrogates(text[-WINDOW_CHARACTERS:])
        match = _OPENING.search(window)
        while match and self._left > 0:
            value, end = self._decode(window, match.start())
            if value is not None:
                yield value
            match = _OPENING.search(window, end)

    def _decode(self, text: str, start: int) -> tuple[dict[str, Any] | None, int]:
        """Parse the object at ``start``; return it and its end, or None and where to continue."""
        try:
            return _DECODER.raw_decode(text, start)
        except json.JSONDecodeError as error:
            # Creating the error would count the lines before it.
            self._left -= _COST_OF_ATTEMPT + error.pos - start + error.pos // 64
        except (ValueError, RecursionError):
            self._left -= len(text) - start
        return None, start + 1


if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

MAX_CHARACTERS = 256 * 1024
MAX_TAGS = 5000
MAX_DEPTH = 8
# Each may need a search for its end through the whole text.
_MAX_HIDING = 200
_HIDING = re.compile(r"<!\[CDATA\[|<!--")
_DECLARATION = re.compile(r"<!(?:DOCTYPE|ENTITY|ELEMENT|ATTLIST|NOTATION)\b")
_REFERENCE = r"&(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9a-fA-F]{1,6});"
_BARE_AMPERSAND = re.compile(rf"(?!{_REFERENCE})&")
_ESCAPES = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}


class XmlError(ValueError):  # an error of an answer, not of the program
    """Why a text has no valid elements of the form."""


class XmlReading(NamedTuple):
    """The root elements of a text in order, and the rest: text around them, and comments."""

    roots: list["Element"]
    beside: str


class XmlGrammar:
    """The tags that an answer may use; anything else that looks like a tag is text.

    The repair rules: text around a root element, such as prose or a code fence, is skipped unless it has tags
    of the form or declares a document type or entities; a ``<``, ``>`` or ``&`` outside of tags of the form
    and character references is text, and so is a tag between backticks. CDATA sections and comments may not
    contain tags of the form.
    """

    def __init__(self, roots: Collection[str], names: Collection[str]) -> None:
        self._roots = frozenset(roots)
        tags = "|".join(sorted({*roots, *names}, key=len, reverse=True))
        tag = rf"""</?(?:{tags})(?=[\s/>])(?:[^<>"']|"[^"<]*"|'[^'<]*')*+>"""
        self._named = re.compile(rf"</?\s*(?:{tags})\b", re.IGNORECASE)
        self._token = re.compile(
            rf"<!\[CDATA\[(?P<cdata>.*?)\]\]>|<!--(?P<comment>.*?)-->|(?P<quoted>(?<=`){tag}(?=`))"
            rf"|(?P<tag>{tag})|{_REFERENCE}|(?P<text>[<>&])",
            re.DOTALL,
        )

    def is_named_in(self, text: str) -> bool:
        """Whether anything in the text looks like a tag of the form, complete or not."""
        return self._named.search(text) is not None

    def parse(self, text: str) -> XmlReading:
        """Find the root elements in the text. Raises XmlError if it does not have the form."""
        if len(text) > MAX_CHARACTERS:
            raise XmlError(f"the answer is longer than {MAX_CHARACTERS} characters")
        whole = _legible(text)
        if len(_HIDING.findall(whole)) > _MAX_HIDING:
            raise XmlError("the answer has too many comments or CDATA sections")
        spans = list(self._spans(whole))
        _check_declarations(whole, spans)
        roots = [_parse(self._token.sub(_repaired, whole[start:end])) for start, end in spans]
        return XmlReading(roots, "\n".join(self._beside(whole, spans)))

    def _beside(self, text: str, spans: list[tuple[int, int]]) -> Iterator[str]:
        """Return the text around the roots without quoted tags, and the comments inside the roots."""
        for start, end in _gaps(text, spans):
            yield self._token.sub(_unquoted, text[start:end])
        for start, end in spans:
            yield from (match["comment"] or "" for match in self._token.finditer(text, start, end))

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Find where root elements begin and end."""
        start = 0
        open_tags: list[str] = []
        for match in self._tags(text):
            name, is_closing, is_empty = _read_tag(match["tag"])
            if not open_tags and name not in self._roots:
                raise XmlError(f"<{name}> stands outside of <{'> and <'.join(sorted(self._roots))}>")
            if not open_tags and (is_closing or is_empty):
                raise XmlError(f"<{name}> is closed where it is not open")
            if is_closing:
                self._close(open_tags, name)
                if not open_tags:
                    yield start, match.end()
            elif not is_empty:
                start = start if open_tags else match.start()
                self._open(open_tags, name)
        if open_tags:
            raise XmlError(f"<{open_tags[0]}> is not closed: the answer is cut off, or a tag is broken")

    def _open(self, open_tags: list[str], name: str) -> None:
        if open_tags and name in self._roots:
            raise XmlError(f"<{name}> stands inside <{open_tags[0]}>")
        if len(open_tags) >= MAX_DEPTH:
            raise XmlError("the elements of the answer are nested too deeply")
        open_tags.append(name)

    def _close(self, open_tags: list[str], name: str) -> None:
        if open_tags[-1] != name:
            raise XmlError(f"<{open_tags[-1]}> is closed as </{name}>")
        open_tags.pop()

    def _tags(self, text: str) -> Iterator[re.Match[str]]:
        found = 0
        for match in self._token.finditer(text):
            hidden = match["cdata"] or match["comment"]
            if hidden and self.is_named_in(hidden):
                raise XmlError("a comment or CDATA section holds tags of the form")
            if match["tag"]:
                found += 1
                yield match
            if found > MAX_TAGS:
                raise XmlError(f"the answer has more than {MAX_TAGS} tags")


def _legible(text: str) -> str:
    """Make every character valid in XML, hiding none."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return escape_controls(lines).replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd")


def _read_tag(tag: str) -> tuple[str, bool, bool]:
    """Return the name of a tag, and whether it closes an element or is an empty one."""
    name = re.split(r"[\s/>]", tag.lstrip("</"), maxsplit=1)[0]
    return name, tag.startswith("</"), tag.endswith("/>")


def _repaired(match: re.Match[str]) -> str:
    if match["tag"]:
        return _BARE_AMPERSAND.sub("&amp;", match["tag"])
    if match["comment"] is not None:
        return ""
    is_text = match["text"] or match["quoted"]
    return "".join(_ESCAPES.get(char, char) for char in match[0]) if is_text else match[0]


def _unquoted(match: re.Match[str]) -> str:
    return "" if match["quoted"] else match[0]


def _gaps(text: str, spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Return the texts before, between and after the spans."""
    starts, ends = [start for start, _ in spans], [end for _, end in spans]
    return zip([0, *ends], [*starts, len(text)], strict=True)


def _check_declarations(text: str, spans: list[tuple[int, int]]) -> None:
    for start, end in _gaps(text, spans):
        if spans and _DECLARATION.search(text, start, end):
            raise XmlError("the answer declares a document type or entities")


def _parse(xml: str) -> "Element":
    from xml.etree.ElementTree import ParseError  # noqa: PLC0415  # only where an answer is read

    from defusedxml import DefusedXmlException  # noqa: PLC0415
    from defusedxml.ElementTree import fromstring  # noqa: PLC0415

    try:
        element: Element = fromstring(xml, forbid_dtd=True)
    except (ParseError, DefusedXmlException) as error:
        raise XmlError(f"the XML is not well-formed: {clean_line(str(error))}") from None
    return element
