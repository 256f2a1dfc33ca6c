"""Parse the answer of a spec or code reviewer: XML, repaired and parsed safely, or the old form.

The repair rules: a ``<``, ``>`` or ``&`` outside of tags of the form and character references is text, and so
is a tag between backticks. CDATA sections and comments may not contain tags of the form. Anything unknown in
the form is rejected if it could be an issue that would be lost: an element or text between elements, a
duplicate element.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from textwrap import dedent
from typing import TYPE_CHECKING, Any

from git_blackbird.clean import clean, one_line, visible
from git_blackbird.messages.incoming.json_answer import AnswerError
from git_blackbird.messages.incoming.review_forms import NoReviewError, find_forms
from git_blackbird.model.run.findings import Confidence, Finding, MinorIssue, ReviewResult, Severity, Source
from git_blackbird.model.run.states import ReviewerVerdict

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

MAX_CHARACTERS = 256 * 1024
MAX_TAGS = 5000
MAX_TEXT_CHARACTERS = 4000
# Each may need a search for its end through the whole text.
_MAX_HIDING = 200
_FILE_CHARACTERS = 400
_TYPE_CHARACTERS = 60
_UNSPECIFIED = "unspecified"
_UNNAMED = "The reviewer found issues and named none."
_NOT_DESCRIBED = "(not described)"
_REVIEW = frozenset({"verdict", "confidence", "issues", "minor", "checked", "summary"})
_TEXTS = frozenset({"verdict", "confidence", "description", "requirement", "fix", "item", "summary"})
_CHILDREN: Mapping[str, frozenset[str]] = {
    "spec-review": _REVIEW,
    "code-review": _REVIEW,
    "issues": frozenset({"issue"}),
    "issue": frozenset({"location", "description", "requirement", "fix"}),
    "minor": frozenset({"note"}),
    "note": frozenset({"location", "description"}),
    "checked": frozenset({"item"}),
    "location": frozenset(),
}
_REPEATED = frozenset({"issue", "note", "item"})
_TAGS: Mapping[Source, str] = {Source.SPEC: "spec-review", Source.CODE: "code-review"}
_VERDICTS: Mapping[Source, tuple[ReviewerVerdict, ...]] = {
    Source.SPEC: (ReviewerVerdict.APPROVED, ReviewerVerdict.ISSUES),
    Source.CODE: tuple(ReviewerVerdict),
}
_NAMES = "|".join(sorted(_TEXTS.union(_CHILDREN), key=len, reverse=True))
_TAG = rf"""</?(?:{_NAMES})(?=[\s/>])(?:[^<>"']|"[^"<]*"|'[^'<]*')*+>"""
# Anything that looks like a tag of the form, complete or not.
_TAG_BEGINNING = re.compile(rf"</?\s*(?:{_NAMES})\b", re.IGNORECASE)
_REFERENCE = r"&(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9a-fA-F]{1,6});"
_TOKEN = re.compile(
    rf"<!\[CDATA\[(?P<cdata>.*?)\]\]>|<!--(?P<comment>.*?)-->|(?P<quoted>(?<=`){_TAG}(?=`))"
    rf"|(?P<tag>{_TAG})|{_REFERENCE}|(?P<text>[<>&])",
    re.DOTALL,
)
_HIDING = re.compile(r"<!\[CDATA\[|<!--")
_BARE_AMPERSAND = re.compile(rf"(?!{_REFERENCE})&")
_ESCAPES = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
_OLD_FORM = re.compile(r"(APPROVED|ISSUES):(.*)", re.DOTALL)
_OLD_HEAD = re.compile(r"^[ \t]*(APPROVED|ISSUES):", re.MULTILINE)
# `- text`, `* text` or `1. text`; a list of the other kind below an item is part of it.
_OLD_ITEM = re.compile(r"([ \t]*)(?:([-*])|[0-9]{1,4}[.)])[ \t]+(?=\S)")
_OLD_PLACE = re.compile(
    r"`?(?P<file>(?![0-9]+:)[^\s:`]{1,400})`?:(?P<line>L?[0-9]{1,9})(?:[-:]L?[0-9]{1,9})?`?(?::|[ ]-)\s"
)
_FILE_AND_LINE = re.compile(r"(?P<file>.*?[^:\s]):(?P<line>L?[0-9]{1,9}(?:[-:]L?[0-9]{1,9})?)")
_LINE = re.compile(
    r"(?:lines?[ ]?|L)?0*(?P<first>[1-9][0-9]{0,8})(?:[ ]?[-\u2013:,][^\n]{0,60})?", re.IGNORECASE
)


def parse_reviewer_turns(texts: Sequence[str], source: Source) -> ReviewResult:
    """Parse the answer in the last of the texts of one reviewer that has any; raises as for a single one."""
    for text in reversed(texts[1:]):
        with suppress(NoReviewError):
            return parse_reviewer_answer(text, source)
    return parse_reviewer_answer(texts[0], source)


def parse_reviewer_answer(text: str, source: Source) -> ReviewResult:
    """Parse the one review in ``text``; equal ones count once, and nothing but a form says anything.

    An unknown severity becomes ``important``, an unknown type is kept, ISSUES without an issue becomes one
    important issue with the summary, an invalid line number is dropped. Texts are sanitized and bounded.
    Without a form, ``APPROVED: ...`` or ``ISSUES: ...`` is parsed, whose lines ``- ...`` are important
    issues; such a line beside a form may not say otherwise.

    Raises AnswerError for an answer without a review, with several, with the other reviewer's, or
    with an invalid or incomplete one. No text raises anything else or takes long.
    """
    if len(text) > MAX_CHARACTERS:
        raise AnswerError(f"the answer is longer than {MAX_CHARACTERS} characters")
    # Every character is made valid in XML, and none is hidden.
    legible = visible(text.replace("\r\n", "\n").replace("\r", "\n"))
    legible = legible.replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd")
    if len(_HIDING.findall(legible)) > _MAX_HIDING:
        raise AnswerError("the answer has too many comments or CDATA sections")
    forms, beside = find_forms(legible)
    if not forms:
        return _read_old(text, source)
    results = {_read_review(_parse(form), source) for form in forms}
    if len(results) > 1:
        raise AnswerError(f"the answer has {len(results)} different reviews; expected exactly one")
    result = results.pop()
    is_approval = result.counted_verdict is not ReviewerVerdict.ISSUES
    for verdict in _OLD_HEAD.findall(beside):
        if (verdict == ReviewerVerdict.APPROVED) is not is_approval:
            raise AnswerError(
                f'the verdict is {result.counted_verdict}, and a line of the answer begins with "{verdict}:"'
            )
    return result


def _repair(match: re.Match[str]) -> str:
    if match["tag"]:
        return _BARE_AMPERSAND.sub("&amp;", match["tag"])
    if match["comment"] is not None:
        return ""
    is_text = match["text"] or match["quoted"]
    return "".join(_ESCAPES.get(char, char) for char in match[0]) if is_text else match[0]


def _parse(form: str) -> "Element":
    from xml.etree.ElementTree import ParseError  # only where an answer is read

    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    tokens = list(_TOKEN.finditer(form))
    if any(_TAG_BEGINNING.search(token["cdata"] or token["comment"] or "") for token in tokens):
        raise AnswerError("a comment or CDATA section holds tags of the form")
    if sum(token["tag"] is not None for token in tokens) > MAX_TAGS:
        raise AnswerError(f"the answer has more than {MAX_TAGS} tags")
    try:
        element: Element = fromstring(_TOKEN.sub(_repair, form), forbid_dtd=True)
    except (ParseError, DefusedXmlException) as error:
        raise AnswerError(f"the XML is not well-formed: {one_line(str(error))}") from None
    return element


def _read_review(root: "Element", source: Source) -> ReviewResult:
    if root.tag != _TAGS[source]:
        raise AnswerError(f"the answer is a <{root.tag}>; expected a <{_TAGS[source]}>")
    _check(root)
    confidence = (root.findtext("confidence") or "").strip().lower()
    return _with_issue(
        ReviewResult(
            source=source,
            verdict=_read_verdict(root, source),
            confidence=Confidence(confidence) if confidence in set(Confidence) else None,
            findings=tuple(_read_finding(issue, source) for issue in root.iterfind("issues/issue")),
            minor=tuple(
                MinorIssue(**_read_place(note), description=_text(note, "description") or _NOT_DESCRIBED)
                for note in root.iterfind("minor/note")
            ),
            checked=tuple(_lines(item.text) for item in root.iterfind("checked/item")),
            summary=_text(root, "summary"),
        )
    )


def _with_issue(result: ReviewResult) -> ReviewResult:
    """Return the result, with its summary as an issue if its verdict has issues but lists none."""
    if result.findings or result.verdict is not ReviewerVerdict.ISSUES:
        return result
    unnamed = _unspecified(result.source, result.summary or _UNNAMED)
    return result.model_copy(update={"findings": (unnamed,)})


def _unspecified(
    source: Source, description: str, file: str | None = None, line: int | None = None
) -> Finding:
    return Finding(
        source=source,
        type=_UNSPECIFIED,
        severity=Severity.IMPORTANT,
        description=description,
        file=file,
        line=line,
    )


def _check(element: "Element") -> None:
    """Check that an element has the required content and nothing else."""
    names = [child.tag for child in element]
    known = _CHILDREN.get(element.tag, frozenset())
    for name in names:
        if name not in known:
            raise AnswerError(f"<{name}> stands in <{element.tag}>, where it does not belong")
        if name not in _REPEATED and names.count(name) > 1:
            raise AnswerError(f"<{name}> appears twice in one <{element.tag}>")
    stray = "".join([element.text or "", *(child.tail or "" for child in element)]).strip()
    if element.tag not in _TEXTS and stray:
        raise AnswerError(f'<{element.tag}> holds "{one_line(stray, 60)}", which is no element of the form')
    for child in element:
        _check(child)


def _read_verdict(root: "Element", source: Source) -> ReviewerVerdict:
    element = root.find("verdict")
    if element is None:
        raise AnswerError("<verdict> is missing")
    word = (element.text or "").strip().upper()
    if word not in _VERDICTS[source]:
        known = ", ".join(_VERDICTS[source])
        raise AnswerError(f'the verdict is "{one_line(word, 60)}"; expected one of: {known}')
    return ReviewerVerdict(word)


def _read_finding(issue: "Element", source: Source) -> Finding:
    severity = issue.get("severity", "").strip().lower()
    return Finding(
        **_read_place(issue),
        source=source,
        type=one_line(issue.get("type", ""), _TYPE_CHARACTERS) or _UNSPECIFIED,
        severity=Severity.CRITICAL if severity == Severity.CRITICAL else Severity.IMPORTANT,
        description=_text(issue, "description") or _NOT_DESCRIBED,
        requirement=_text(issue, "requirement") or None,
        fix=_text(issue, "fix") or None,
    )


def _read_place(parent: "Element") -> dict[str, Any]:
    """Return the fields ``file`` and ``line`` of an issue or note."""
    location = parent.find("location")
    if location is None:
        return {}
    file, line = location.get("file", ""), location.get("line", "")
    joined = None if line.strip() else _FILE_AND_LINE.fullmatch(file[:_FILE_CHARACTERS])
    if joined is not None:
        file, line = joined["file"], joined["line"]
    return {"file": _read_file(file), "line": _read_line(line)}


def _read_file(text: str) -> str | None:
    return one_line(text, _FILE_CHARACTERS).removeprefix("./") or None


def _read_line(text: str) -> int | None:
    """Parse a line number, or the first of a range, as in ``L10`` and ``10-12``."""
    match = _LINE.fullmatch(text.strip())
    return None if match is None else int(match["first"])


def _text(parent: "Element", name: str) -> str:
    return _lines(parent.findtext(name))


def _lines(text: str | None) -> str:
    """Clean a text of several lines, keeping their relative indentation."""
    first, *rest = clean(text or "").strip().split("\n")
    lines = [first, *dedent("\n".join(rest)).split("\n")] if rest else [first]
    cleaned = "\n".join(line.rstrip() for line in lines)
    return cleaned if len(cleaned) <= MAX_TEXT_CHARACTERS else f"{cleaned[: MAX_TEXT_CHARACTERS - 3]}..."


def _read_old(text: str, source: Source) -> ReviewResult:
    """Parse the form from before XML; a text with both verdicts is not in it."""
    match = _OLD_FORM.fullmatch(text.strip())
    if match is None:
        kind = AnswerError if _OLD_HEAD.search(text) else NoReviewError
        raise kind(f"the answer has no <{_TAGS[source]}> element")
    verdict, body = ReviewerVerdict(match[1]), match[2]
    if _OLD_HEAD.search(body):
        raise AnswerError("the answer says more than one of APPROVED: and ISSUES:")
    if verdict is ReviewerVerdict.APPROVED:
        return ReviewResult(source=source, verdict=verdict, summary=_lines(body))
    issues = tuple(_read_old_issue(source, issue) for issue in _split_list(body))
    summary = "" if issues else _lines(body)
    return _with_issue(ReviewResult(source=source, verdict=verdict, findings=issues, summary=summary))


def _read_old_issue(source: Source, issue: str) -> Finding:
    """Parse ``path:line: text``; without a place the whole text is the issue."""
    place = _OLD_PLACE.match(issue)
    if place is None:
        return _unspecified(source, _lines(issue))
    description = _lines(issue[place.end() :]) or _NOT_DESCRIBED
    return _unspecified(source, description, _read_file(place["file"]), _read_line(place["line"]))


def _split_list(body: str) -> Iterator[str]:
    """Yield the items of a list, each with the lines up to the next."""
    items: list[list[str]] = []
    first: re.Match[str] | None = None
    for line in body.split("\n"):
        item = _OLD_ITEM.match(line)
        first = first or item
        # An item of the other kind that is indented further is part of the item above it.
        if item and first and (bool(item[2]) == bool(first[2]) or len(item[1]) <= len(first[1])):
            items.append([line[item.end() :]])
        elif items:
            items[-1].append(line)
    yield from map("\n".join, items)
