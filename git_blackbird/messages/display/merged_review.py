"""A merged review as lines, as XML, and as a fix request to the implementer."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from git_blackbird.clean import clean
from git_blackbird.messages.document import Line, Span, Style, block, line, plain, styled
from git_blackbird.model.run.findings import (
    EXTRA_FEATURE,
    Finding,
    FindingGroup,
    FollowUp,
    MergedReview,
    MinorIssue,
    ReviewerSummary,
    ReviewResult,
    Source,
    merge,
)

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_ACTIONS: Mapping[FollowUp, str] = {
    FollowUp.FIX_AND_REREVIEW: "Fix issues and re-run reviews",
    FollowUp.PROCEED: "Proceed",
    FollowUp.PROCEED_WITH_NOTES: "Proceed, with the notes in mind",
}
_CONFLICT = "The two reviews ask for opposite things at one place."
_FIX_INTRODUCTION = (
    "Your change was reviewed, {how}, and issues were found. Fix them in the existing work, the most "
    "important first, and check that they are fixed. The change is then reviewed again."
)
_HOW = {Source.SPEC: "against the task", Source.CODE: "as code"}
_FIX_CONFLICT = (
    f"{_CONFLICT} Decide by the task and its acceptance criteria, and say in your account of the work what "
    "you did and why."
)
_FIX_MINOR = "These block nothing. Follow them where that is simple and within the task."


def review_lines(merged: MergedReview) -> list[Line]:
    """Return a merged review for people; the line with which a finding begins is about that."""
    lists = ReviewFormatter(merged, indent="  ")
    reviews = " and ".join(f"the {source.value} review" for source in merged.missing)
    action = f"Decide: {reviews} {'is' if len(merged.missing) == 1 else 'are'} missing"
    if merged.action is not None:
        action = _ACTIONS[merged.action]
    sides = (f"  Spec Review: {_side_text(merged.spec)}", f"  Code Review: {_side_text(merged.code)}")
    return _joined(
        [styled("Review Results:", Style.HEADING), *map(line, sides)],
        lists.issues("Issues to Fix ({}):"),
        lists.conflicts("Conflicting Findings ({}), not resolved:", _CONFLICT),
        lists.notes("Minor Notes ({}):"),
        [styled(f"Action: {action}", Style.HEADING)],
    )


def render_fix_request(merged: MergedReview) -> str:
    """Format the request to the implementer: every issue by priority, unresolved conflicts, notes."""
    lists = ReviewFormatter(merged, indent="")
    how = " and ".join(_HOW[source] for source in Source if source not in merged.missing)
    lines = _joined(
        [line(_FIX_INTRODUCTION.format(how=how))],
        lists.issues("Issues to fix ({}):"),
        lists.conflicts("Conflicting findings ({}), not resolved:", _FIX_CONFLICT),
        lists.notes("Minor notes ({}), not blocking:", _FIX_MINOR),
    )
    return "".join(f"{text}\n" for text in plain(lines))


def result_lines(result: ReviewResult) -> list[Line]:
    """Return one reviewer's findings in the same form."""
    sides = (result, None) if result.source is Source.SPEC else (None, result)
    merged = merge(*sides)
    lists = ReviewFormatter(merged, indent="  ")
    checked = [line(f"  - {item}") for item in result.checked]
    return _joined(
        [line(_side_text(merged.spec or merged.code))],
        list(block(result.summary.strip())),
        lists.issues("Issues ({}):"),
        lists.notes("Minor Notes ({}):"),
        [styled("Checked:", Style.HEADING), *checked] if checked else [],
    )


def _joined(*blocks: Sequence[Line]) -> list[Line]:
    """Return blocks that have something, with an empty line between them."""
    lines = [one for block in blocks if block for one in (line(""), *block)]
    return lines[1:]


def _side_text(side: ReviewerSummary | None) -> str:
    if side is None:
        return "missing"
    return side.verdict.value + (f" ({side.confidence.value} confidence)" if side.confidence else "")


class ReviewFormatter:
    """The numbered lists of a merged review; a number means the same issue in all of them."""

    def __init__(self, merged: MergedReview, indent: str) -> None:
        self._indent = indent
        self._minor = merged.minor
        issues = [(finding, group) for group in merged.groups for finding in group.findings]
        self._plain = sorted(issues, key=lambda issue: issue[0].priority)
        self._conflicting = [(finding, group) for group in merged.conflicts for finding in group.findings]
        numbered = enumerate([*self._plain, *self._conflicting], start=1)
        self._numbers = {finding: number for number, (finding, _) in numbered}

    def issues(self, title: str) -> list[Line]:
        """Return the issues without conflicts."""
        return self._block(title, self._plain)

    def conflicts(self, title: str, remark: str) -> list[Line]:
        """Return the groups in which the reviewers contradict each other."""
        return self._block(title, self._conflicting, remark)

    def notes(self, title: str, remark: str = "") -> list[Line]:
        """Return the minor issues."""
        if not self._minor:
            return []
        head = styled(title.format(len(self._minor)), Style.HEADING)
        return [head, *([line(self._indent + remark)] if remark else []), *map(self._note, self._minor)]

    def _note(self, note: MinorIssue) -> Line:
        text = note.description
        said = " - ".join(filter(None, [_place(note), text]))
        return line(Span(f"{self._indent}- {said}", about=note))

    def _block(
        self, title: str, issues: Sequence[tuple[Finding, FindingGroup]], remark: str = ""
    ) -> list[Line]:
        if not issues:
            return []
        head = styled(title.format(len(issues)), Style.HEADING)
        listed = [list(self._issue(finding, group)) for finding, group in issues]
        return _joined([head], [line(self._indent + remark)] if remark else [], *listed)

    def _issue(self, finding: Finding, group: FindingGroup) -> Iterator[Line]:
        number = f"{self._numbers[finding]}. "
        tag = f"[{finding.source.value.capitalize()} {finding.severity.value.capitalize()}]"
        place = _place(finding) or f"({finding.type})"
        yield line(Span(f"{self._indent}{number}{tag} {place}", about=finding))
        others = sorted(self._numbers[other] for other in group.findings if other != finding)
        related = [f"Related: {', '.join(map(str, others))}"] if others else []
        for text in [*_summary_lines(finding), *related]:
            yield line(f"{self._indent}{' ' * len(number)}{text}".rstrip())


def _summary_lines(finding: Finding) -> Iterator[str]:
    yield from plain(block(finding.description))
    if finding.requirement:
        yield f'Requirement: "{finding.requirement}"'
    if finding.fix:
        yield from plain(block(f"Fix: {finding.fix}"))
    elif finding.type == EXTRA_FEATURE:
        yield "Action: Remove or get approval to add"


def _place(issue: Finding | MinorIssue) -> str:
    if not issue.file:
        return ""
    return issue.file + (f":{issue.line}" if issue.line is not None else "")


def render_merged_xml(merged: MergedReview) -> str:
    """Format ``<merged-review>``; a missing review has an element of its own."""
    from xml.etree import ElementTree as ET  # only this answer pays for it

    root = ET.Element("merged-review")
    for source in merged.missing:
        _add(root, "missing", source=source.value)
    _add_text(root, "overall-verdict", merged.overall)
    for source, side in ((Source.SPEC, merged.spec), (Source.CODE, merged.code)):
        if side is not None:
            name = f"{source.value}-result"
            _add(root, name, verdict=side.verdict, confidence=side.confidence, run=side.run_id)
    issues = _add(root, "issues")
    marked = [(group, None) for group in merged.groups] + [(group, "true") for group in merged.conflicts]
    for group, conflict in sorted(marked, key=lambda entry: entry[0].priority):
        parent = (
            _add(issues, "issue-group", related="true", conflict=conflict) if group.is_related else issues
        )
        for finding in group.findings:
            _add_finding(parent, finding)
    minor = _add(root, "minor")
    for note in merged.minor:
        element = _add(minor, "note")
        _add_location(element, note)
        _add_text(element, "description", note.description)
    _add_text(root, "action", merged.action)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n"


def _add_finding(parent: "Element", finding: Finding) -> None:
    facts = {"source": finding.source, "priority": str(finding.priority)}
    issue = _add(parent, "issue", **facts, type=finding.type, severity=finding.severity)
    _add_location(issue, finding)
    _add_text(issue, "description", finding.description)
    _add_text(issue, "requirement", finding.requirement)
    _add_text(issue, "fix", finding.fix)


def _add_location(parent: "Element", issue: Finding | MinorIssue) -> None:
    if issue.file:
        number = None if issue.line is None else str(issue.line)
        _add(parent, "location", file=issue.file, line=number)


def _add_text(parent: "Element", tag: str, text: str | None) -> None:
    if text is not None:
        _add(parent, tag).text = _harmless(text)


def _add(parent: "Element", tag: str, **attributes: str | None) -> "Element":
    """Add an element, without those attributes that are None."""
    from xml.etree.ElementTree import SubElement  # only this answer pays for it

    cleaned = {name: _harmless(value) for name, value in attributes.items() if value is not None}
    return SubElement(parent, tag, cleaned)


def _harmless(text: str) -> str:
    """Return the text without characters that XML cannot represent."""
    return clean(text).replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd")
