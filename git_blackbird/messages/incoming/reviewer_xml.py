"""Parse the answer of a spec or code reviewer: XML, strictly and safely, or the old form (spec 4).

``XmlGrammar`` repairs XML that is not quite well-formed. Anything unknown is rejected if it could be an issue
that would be lost: an element or text between elements, a duplicate element.
"""

import re
from collections.abc import Iterator, Mapping
from textwrap import dedent
from typing import TYPE_CHECKING

from git_blackbird.messages.incoming.embedded import XmlError, XmlGrammar, XmlReading
from git_blackbird.messages.incoming.stated_verdicts import find_contrary, find_problem, unmask
from git_blackbird.model.base.sanitize import clean_line, strip_controls
from git_blackbird.model.entities.findings import (
    Confidence,
    Finding,
    MinorIssue,
    ReviewerVerdict,
    ReviewResult,
    Severity,
    Source,
)

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

MAX_TEXT_CHARACTERS = 4000
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
_FORM = XmlGrammar(_TAGS.values(), _TEXTS.union(_CHILDREN))
_OLD_FORM = re.compile(r"(APPROVED|ISSUES):(.*)", re.DOTALL)
_FRAGMENT = re.compile(
    r"<\s{0,9}/?\s{0,9}(?:\w{1,20}:)?(?:spec-review|code-review|verdict|issues?)\b", re.IGNORECASE
)
_OLD_HEAD = re.compile(r"^[ \t]*(?:APPROVED|ISSUES):", re.MULTILINE)
# `- text`, `* text` or `1. text`; a list of the other kind below an item is part of it.
_OLD_ITEM = re.compile(r"([ \t]*)(?:([-*])|[0-9]{1,4}[.)])[ \t]+(?=\S)")
_OLD_PLACE = re.compile(
    r"`?(?P<file>(?![0-9]+:)[^\s:`]{1,400})`?:(?P<line>L?[0-9]{1,9})(?:[-:]L?[0-9]{1,9})?`?(?::|[ ]-)\s"
)
_FILE_AND_LINE = re.compile(r"(?P<file>.*?[^:\s]):(?P<line>L?[0-9]{1,9}(?:[-:]L?[0-9]{1,9})?)")
_LINE = re.compile(
    r"(?:lines?[ ]?|L)?0*(?P<first>[1-9][0-9]{0,8})(?:[ ]?[-\u2013:,][^\n]{0,60})?", re.IGNORECASE
)


class ReviewerAnswerError(ValueError):
    """An answer without a valid review; the message is for people and for the reviewer's next start."""


def parse_reviewer_answer(text: str, source: Source) -> ReviewResult:
    """Parse the one review in ``text``; equal ones count once.

    An unknown severity becomes ``important``, an unknown type is kept, ISSUES without an issue becomes one
    important issue with the summary, an invalid line number is dropped. Texts are sanitized and bounded.
    Without any tag of the form, ``APPROVED: ...`` or ``ISSUES: ...`` is parsed, whose lines ``- ...`` are
    important issues. An approval is rejected if anything beside it contradicts it, by the rule of
    ``stated_verdicts``, or is a piece of another review, however disguised; the review's own summary may not
    contradict it either.

    Raises ReviewerAnswerError for an answer without a review, with several, with the other reviewer's, or
    with an invalid one. No text raises anything else or takes long.
    """
    try:
        reading = _FORM.parse(text)
        return _read_reviews(reading, source) if reading.roots else _read_old(text, source)
    except XmlError as fault:
        raise ReviewerAnswerError(str(fault)) from None


def _read_reviews(reading: XmlReading, source: Source) -> ReviewResult:
    results = {_read_review(root, source) for root in reading.roots}
    if len(results) > 1:
        raise XmlError(f"the answer has {len(results)} different reviews; expected exactly one")
    result = results.pop()
    if not result.findings:
        _refuse(find_contrary(f"{reading.beside}\n{result.summary}"))
        piece = _FRAGMENT.search(unmask(reading.beside))
        if piece is not None:
            raise XmlError(
                f'the answer approves, and has a piece of another review: "{clean_line(piece[0])}"'
            )
        # Its own summary may name problems that it does not count.
        _refuse(find_problem(reading.beside))
    return result


def _refuse(line: str | None) -> None:
    """Reject an approval that a line beside it contradicts."""
    if line is not None:
        raise XmlError(f'the answer approves, and says otherwise in "{line}"')


def _read_review(root: "Element", source: Source) -> ReviewResult:
    if root.tag != _TAGS[source]:
        raise XmlError(f"the answer is a <{root.tag}>; expected a <{_TAGS[source]}>")
    _check(root)
    return _counted(
        ReviewResult(
            source=source,
            verdict=_read_verdict(root, source),
            confidence=_read_confidence(root),
            findings=tuple(_read_finding(issue, source) for issue in root.iterfind("issues/issue")),
            minor=tuple(_read_note(note) for note in root.iterfind("minor/note")),
            checked=tuple(_lines(item.text) for item in root.iterfind("checked/item")),
            summary=_text(root, "summary"),
        )
    )


def _counted(result: ReviewResult) -> ReviewResult:
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
            raise XmlError(f"<{name}> stands in <{element.tag}>, where it does not belong")
        if name not in _REPEATED and names.count(name) > 1:
            raise XmlError(f"<{name}> appears twice in one <{element.tag}>")
    stray = "".join([element.text or "", *(child.tail or "" for child in element)]).strip()
    if element.tag not in _TEXTS and stray:
        raise XmlError(f'<{element.tag}> holds "{clean_line(stray, 60)}", which is no element of the form')
    for child in element:
        _check(child)


def _read_verdict(root: "Element", source: Source) -> ReviewerVerdict:
    found = root.find("verdict")
    if found is None:
        raise XmlError("<verdict> is missing")
    word = (found.text or "").strip().upper()
    if word not in _VERDICTS[source]:
        known = ", ".join(_VERDICTS[source])
        raise XmlError(f'the verdict is "{clean_line(word, 60)}"; expected one of: {known}')
    return ReviewerVerdict(word)


def _read_confidence(root: "Element") -> Confidence | None:
    word = (root.findtext("confidence") or "").strip().lower()
    return Confidence(word) if word in set(Confidence) else None


def _read_finding(issue: "Element", source: Source) -> Finding:
    severity = issue.get("severity", "").strip().lower()
    file, line = _read_location(issue)
    return Finding(
        source=source,
        type=clean_line(issue.get("type", ""), _TYPE_CHARACTERS) or _UNSPECIFIED,
        severity=Severity.CRITICAL if severity == Severity.CRITICAL else Severity.IMPORTANT,
        description=_text(issue, "description") or _NOT_DESCRIBED,
        file=file,
        line=line,
        requirement=_text(issue, "requirement") or None,
        fix=_text(issue, "fix") or None,
    )


def _read_note(note: "Element") -> MinorIssue:
    file, line = _read_location(note)
    return MinorIssue(description=_text(note, "description") or _NOT_DESCRIBED, file=file, line=line)


def _read_location(parent: "Element") -> tuple[str | None, int | None]:
    location = parent.find("location")
    if location is None:
        return None, None
    file, line = location.get("file", ""), location.get("line", "")
    joined = None if line.strip() else _FILE_AND_LINE.fullmatch(file[:_FILE_CHARACTERS])
    if joined is not None:
        file, line = joined["file"], joined["line"]
    return _read_file(file), _read_line(line)


def _read_file(text: str) -> str | None:
    return clean_line(text, _FILE_CHARACTERS).removeprefix("./") or None


def _read_line(text: str) -> int | None:
    """Parse a line number, or the first of a range, as in ``L10`` and ``10-12``."""
    match = _LINE.fullmatch(text.strip())
    return None if match is None else int(match["first"])


def _text(parent: "Element", name: str) -> str:
    return _lines(parent.findtext(name))


def _lines(text: str | None) -> str:
    """Clean a text of several lines, keeping their relative indentation."""
    first, *rest = strip_controls(text or "").strip().split("\n")
    lines = [first, *dedent("\n".join(rest)).split("\n")] if rest else [first]
    cleaned = "\n".join(line.rstrip() for line in lines)
    return cleaned if len(cleaned) <= MAX_TEXT_CHARACTERS else f"{cleaned[: MAX_TEXT_CHARACTERS - 3]}..."


def _read_old(text: str, source: Source) -> ReviewResult:
    """Parse the form from before XML; a text with tags, or with both verdicts, is not in it."""
    match = _OLD_FORM.fullmatch(text.strip())
    if _FORM.is_named_in(text) or match is None:
        raise XmlError(f"the answer has no <{_TAGS[source]}> element")
    verdict, body = ReviewerVerdict(match[1]), match[2]
    if _OLD_HEAD.search(body):
        raise XmlError("the answer says more than one of APPROVED: and ISSUES:")
    if verdict is ReviewerVerdict.APPROVED:
        _refuse(find_contrary(body))
        _refuse(find_problem(body.partition("\n")[2]))
        return ReviewResult(source=source, verdict=verdict, summary=_lines(body))
    issues = tuple(_read_old_issue(source, issue) for issue in _read_old_issues(body))
    summary = "" if issues else _lines(body)
    return _counted(ReviewResult(source=source, verdict=verdict, findings=issues, summary=summary))


def _read_old_issue(source: Source, issue: str) -> Finding:
    """Parse ``path:line: text``; without a place the whole text is the issue."""
    place = _OLD_PLACE.match(issue)
    if place is None:
        return _unspecified(source, _lines(issue))
    described = _lines(issue[place.end() :]) or _NOT_DESCRIBED
    return _unspecified(source, described, _read_file(place["file"]), _read_line(place["line"]))


def _read_old_issues(body: str) -> Iterator[str]:
    """Yield the items of a list, each with the lines up to the next."""
    items: list[list[str]] = []
    first: re.Match[str] | None = None
    for line in body.split("\n"):
        match = _OLD_ITEM.match(line)
        first = first or match
        if match is not None and first is not None and _is_beside(match, first):
            items.append([line[match.end() :]])
        elif items:
            items[-1].append(line)
    yield from ("\n".join(lines) for lines in items)


def _is_beside(item: re.Match[str], first: re.Match[str]) -> bool:
    """Whether an item belongs to the list that ``first`` begins, not to one below an item of it."""
    return bool(item[2]) == bool(first[2]) or len(item[1]) <= len(first[1])
