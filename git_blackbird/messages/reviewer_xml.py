"""The answer of a spec or code reviewer: XML, read strictly and safely, or the old form (spec 4).

``XmlForm`` says by which rules XML that is not quite well-formed is mended. Whatever the form does not know
is refused where it could be an issue that would be lost: an element or text between elements, one twice.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from textwrap import dedent
from typing import TYPE_CHECKING

from git_blackbird.messages.stated_verdicts import find_contrary, find_problem, unmask
from git_blackbird.messages.xml_in_prose import XmlFault, XmlForm, XmlReading
from git_blackbird.model.findings import (
    Confidence,
    Finding,
    MinorNote,
    ReviewerVerdict,
    ReviewResult,
    Severity,
    Source,
)
from git_blackbird.model.text import clean, clean_line

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
_FORM = XmlForm(_TAGS.values(), _TEXTS.union(_CHILDREN))
_OLD_FORM = re.compile(r"(APPROVED|ISSUES):(.*)", re.DOTALL)
_FRAGMENT = re.compile(
    r"<\s{0,9}/?\s{0,9}(?:\w{1,20}:)?(?:spec-review|code-review|verdict|issues?)\b", re.IGNORECASE
)
_OLD_HEAD = re.compile(r"^[ \t]*(?:APPROVED|ISSUES):", re.MULTILINE)
# `- text`, `* text` or `1. text`; a list of the other kind below an item is a part of it.
_OLD_ITEM = re.compile(r"([ \t]*)(?:([-*])|[0-9]{1,4}[.)])[ \t]+(?=\S)")
_OLD_PLACE = re.compile(
    r"`?(?P<file>(?![0-9]+:)[^\s:`]{1,400})`?:(?P<line>L?[0-9]{1,9})(?:[-:]L?[0-9]{1,9})?`?(?::|[ ]-)\s"
)
_FILE_AND_LINE = re.compile(r"(?P<file>.*?[^:\s]):(?P<line>L?[0-9]{1,9}(?:[-:]L?[0-9]{1,9})?)")
_LINE = re.compile(
    r"(?:lines?[ ]?|L)?0*(?P<first>[1-9][0-9]{0,8})(?:[ ]?[-\u2013:,][^\n]{0,60})?", re.IGNORECASE
)


class ReviewerAnswerError(ValueError):
    """An answer that is no review; the message says why, for people and for the reviewer's next start."""


def parse_reviewer_answer(text: str, source: Source) -> ReviewResult:
    """Read the one review in ``text``; the same one again counts once.

    An unknown severity is ``important``, an unknown type stays as it is, ISSUES without an issue is one
    important issue made of the summary, a line that is no positive number is none. Texts are cleaned and
    bounded. Where no tag of the form stands, ``APPROVED: ...`` or ``ISSUES: ...`` is read, whose lines
    ``- ...`` are important issues. An answer that approves is none where anything beside it says otherwise,
    by the rule of ``stated_verdicts``, or is a piece of another review, in whatever disguise; a review's own
    summary may not say otherwise either.

    Raises ReviewerAnswerError for an answer without a review, with several, with the other reviewer's, or
    with one that is none by the form. No text raises anything else or takes long.
    """
    try:
        reading = _FORM.parse(text)
        return _read_reviews(reading, source) if reading.roots else _read_old(text, source)
    except XmlFault as fault:
        raise ReviewerAnswerError(str(fault)) from None


def _read_reviews(reading: XmlReading, source: Source) -> ReviewResult:
    results = {_read_review(root, source) for root in reading.roots}
    if len(results) > 1:
        raise XmlFault(f"the answer has {len(results)} different reviews; expected exactly one")
    result = results.pop()
    if not result.findings:
        _check_beside(f"{reading.beside}\n{result.summary}")
        piece = _FRAGMENT.search(unmask(reading.beside))
        if piece is not None:
            raise XmlFault(
                f'the answer approves, and has a piece of another review: "{clean_line(piece[0])}"'
            )
        _check_problems(reading.beside)
    return result


def _check_beside(prose: str) -> None:
    """See that nothing beside an approval says otherwise."""
    _refuse(find_contrary(prose))


def _check_problems(prose: str) -> None:
    """See that what is said outside of an approval and its summary names no problem."""
    _refuse(find_problem(prose))


def _refuse(line: str | None) -> None:
    if line is not None:
        raise XmlFault(f'the answer approves, and says otherwise in "{line}"')


def _read_review(root: "Element", source: Source) -> ReviewResult:
    if root.tag != _TAGS[source]:
        raise XmlFault(f"the answer is a <{root.tag}>; expected a <{_TAGS[source]}>")
    _check(root)
    return _counted(
        ReviewResult(
            source=source,
            verdict=_read_verdict(root, source),
            confidence=_read_confidence(root),
            findings=tuple(_read_finding(one, source) for one in root.iterfind("issues/issue")),
            minor=tuple(_read_note(one) for one in root.iterfind("minor/note")),
            checked=tuple(_lines(one.text) for one in root.iterfind("checked/item")),
            summary=_text(root, "summary"),
        )
    )


def _counted(result: ReviewResult) -> ReviewResult:
    """Give the result with an issue made of its summary where it has found some and named none."""
    if result.findings or result.verdict is not ReviewerVerdict.ISSUES:
        return result
    return replace(result, findings=(_unspecified(result.source, result.summary or _UNNAMED),))


def _unspecified(source: Source, description: str) -> Finding:
    return Finding(source=source, type=_UNSPECIFIED, severity=Severity.IMPORTANT, description=description)


def _check(element: "Element") -> None:
    """See that an element holds what the form says and nothing else."""
    names = [child.tag for child in element]
    known = _CHILDREN.get(element.tag, frozenset())
    for name in names:
        if name not in known:
            raise XmlFault(f"<{name}> stands in <{element.tag}>, where it does not belong")
        if name not in _REPEATED and names.count(name) > 1:
            raise XmlFault(f"<{name}> stands twice in one <{element.tag}>")
    stray = "".join([element.text or "", *(child.tail or "" for child in element)]).strip()
    if element.tag not in _TEXTS and stray:
        raise XmlFault(f'<{element.tag}> holds "{clean_line(stray, 60)}", which is no element of the form')
    for child in element:
        _check(child)


def _read_verdict(root: "Element", source: Source) -> ReviewerVerdict:
    found = root.find("verdict")
    if found is None:
        raise XmlFault("<verdict> is missing")
    word = (found.text or "").strip().upper()
    if word not in _VERDICTS[source]:
        known = ", ".join(_VERDICTS[source])
        raise XmlFault(f'the verdict is "{clean_line(word, 60)}"; expected one of: {known}')
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


def _read_note(note: "Element") -> MinorNote:
    file, line = _read_location(note)
    return MinorNote(description=_text(note, "description") or _NOT_DESCRIBED, file=file, line=line)


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
    """Read a line number, or the first of a range, as in ``L10`` and ``10-12``."""
    match = _LINE.fullmatch(text.strip())
    return None if match is None else int(match["first"])


def _text(parent: "Element", name: str) -> str:
    return _lines(parent.findtext(name))


def _lines(text: str | None) -> str:
    """Clean a text of several lines, keeping how they are indented to one another."""
    first, *rest = clean(text or "").strip().split("\n")
    lines = [first, *dedent("\n".join(rest)).split("\n")] if rest else [first]
    told = "\n".join(line.rstrip() for line in lines)
    return told if len(told) <= MAX_TEXT_CHARACTERS else f"{told[: MAX_TEXT_CHARACTERS - 3]}..."


def _read_old(text: str, source: Source) -> ReviewResult:
    """Read the form that was before XML; a text that tries the new one, or says both, is not in it."""
    match = _OLD_FORM.fullmatch(text.strip())
    if _FORM.is_named_in(text) or match is None:
        raise XmlFault(f"the answer has no <{_TAGS[source]}> element")
    verdict, said = ReviewerVerdict(match[1]), match[2]
    if _OLD_HEAD.search(said):
        raise XmlFault("the answer says more than one of APPROVED: and ISSUES:")
    if verdict is ReviewerVerdict.APPROVED:
        _check_beside(said)
        _check_problems(said.partition("\n")[2])
        return ReviewResult(source=source, verdict=verdict, summary=_lines(said))
    issues = tuple(_read_old_issue(source, issue) for issue in _read_old_issues(said))
    summary = "" if issues else _lines(said)
    return _counted(ReviewResult(source=source, verdict=verdict, findings=issues, summary=summary))


def _read_old_issue(source: Source, issue: str) -> Finding:
    """Read ``path:line: text``; without a place the whole text is the issue."""
    place = _OLD_PLACE.match(issue)
    if place is None:
        return _unspecified(source, _lines(issue))
    finding = _unspecified(source, _lines(issue[place.end() :]) or _NOT_DESCRIBED)
    return replace(finding, file=_read_file(place["file"]), line=_read_line(place["line"]))


def _read_old_issues(said: str) -> Iterator[str]:
    """Yield the items of a list, each with the lines up to the next."""
    items: list[list[str]] = []
    first: re.Match[str] | None = None
    for line in said.split("\n"):
        match = _OLD_ITEM.match(line)
        first = first or match
        if match is not None and first is not None and _is_beside(match, first):
            items.append([line[match.end() :]])
        elif items:
            items[-1].append(line)
    yield from ("\n".join(lines) for lines in items)


def _is_beside(item: re.Match[str], first: re.Match[str]) -> bool:
    """Whether an item is in the list that ``first`` begins, not in one below an item of it."""
    return bool(item[2]) == bool(first[2]) or len(item[1]) <= len(first[1])
