"""A merged review as text, as XML, and as a fix request to the implementer (spec 4, DESIGN.md 7)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from git_blackbird.model.base.sanitize import clean_line, strip_controls
from git_blackbird.model.entities.findings import (
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
_FILE_CHARACTERS = 400


def render_merged_text(merged: MergedReview) -> str:
    """Format a merged review for people, as in spec 4."""
    lists = ReviewFormatter(merged, indent="  ")
    blocks = [
        "\n".join(
            [
                "Review Results:",
                f"  Spec Review: {_side_text(merged.spec)}",
                f"  Code Review: {_side_text(merged.code)}",
            ]
        ),
        lists.issues("Issues to Fix ({}):"),
        lists.conflicts("Conflicting Findings ({}), not resolved:", _CONFLICT),
        lists.notes("Minor Notes ({}):"),
        f"Action: {_action_text(merged)}",
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def render_fix_request(merged: MergedReview) -> str:
    """Format the request to the implementer: every issue by priority, unresolved conflicts, notes."""
    lists = ReviewFormatter(merged, indent="")
    blocks = [
        _FIX_INTRODUCTION.format(
            how=" and ".join(_HOW[source] for source in Source if source not in merged.missing)
        ),
        lists.issues("Issues to fix ({}):"),
        lists.conflicts("Conflicting findings ({}), not resolved:", _FIX_CONFLICT),
        lists.notes("Minor notes ({}), not blocking:", _FIX_MINOR),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def render_result_text(result: ReviewResult) -> str:
    """Format one reviewer's findings in the same form."""
    sides = (result, None) if result.source is Source.SPEC else (None, result)
    merged = merge(*sides)
    lists = ReviewFormatter(merged, indent="  ")
    blocks = [
        _side_text(merged.spec or merged.code),
        strip_controls(result.summary).strip(),
        lists.issues("Issues ({}):"),
        lists.notes("Minor Notes ({}):"),
        "\n".join(["Checked:", *(f"  - {clean_line(item, len(item))}" for item in result.checked)])
        if result.checked
        else "",
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _side_text(side: ReviewerSummary | None) -> str:
    if side is None:
        return "missing"
    return side.verdict.value + (f" ({side.confidence.value} confidence)" if side.confidence else "")


def _action_text(merged: MergedReview) -> str:
    if merged.action is not None:
        return _ACTIONS[merged.action]
    reviews = " and ".join(f"the {source.value} review" for source in merged.missing)
    return f"Decide: {reviews} {'is' if len(merged.missing) == 1 else 'are'} missing"


class ReviewFormatter:
    """The numbered lists of a merged review; a number means the same issue in all of them."""

    def __init__(self, merged: MergedReview, indent: str) -> None:
        self._indent = indent
        self._minor = merged.minor
        self._plain = _by_priority(merged.groups)
        self._conflicting = [(finding, group) for group in merged.conflicts for finding in group.findings]
        numbered = enumerate([*self._plain, *self._conflicting], start=1)
        self._numbers = {finding: number for number, (finding, _) in numbered}

    def issues(self, title: str) -> str:
        """Format the issues without conflicts."""
        return self._block(title, self._plain)

    def conflicts(self, title: str, says: str) -> str:
        """Format the groups in which the reviewers contradict each other."""
        return self._block(title, self._conflicting, says)

    def notes(self, title: str, says: str = "") -> str:
        """Format the minor issues."""
        if not self._minor:
            return ""
        head = [title.format(len(self._minor)), *([self._indent + says] if says else [])]
        return "\n".join([*head, *(f"{self._indent}- {_note_text(note)}" for note in self._minor)])

    def _block(self, title: str, issues: Sequence[tuple[Finding, FindingGroup]], says: str = "") -> str:
        if not issues:
            return ""
        parts = [title.format(len(issues)), self._indent + says if says else ""]
        parts += ["\n".join(self._issue(finding, group)) for finding, group in issues]
        return "\n\n".join(part for part in parts if part)

    def _issue(self, finding: Finding, group: FindingGroup) -> Iterator[str]:
        number = f"{self._numbers[finding]}. "
        yield f"{self._indent}{number}{_headline(finding)}"
        for line in [*_summary_lines(finding), *self._related(finding, group)]:
            yield f"{self._indent}{' ' * len(number)}{line}".rstrip()

    def _related(self, finding: Finding, group: FindingGroup) -> list[str]:
        others = sorted(self._numbers[other] for other in group.findings if other != finding)
        return [f"Related: {', '.join(map(str, others))}"] if others else []


def _by_priority(groups: Sequence[FindingGroup]) -> list[tuple[Finding, FindingGroup]]:
    issues = [(finding, group) for group in groups for finding in group.findings]
    return sorted(issues, key=lambda issue: issue[0].priority)


def _headline(finding: Finding) -> str:
    tag = f"[{finding.source.value.capitalize()} {finding.severity.value.capitalize()}]"
    return f"{tag} {_place(finding.file, finding.line) or f'({clean_line(finding.type)})'}"


def _summary_lines(finding: Finding) -> Iterator[str]:
    yield from strip_controls(finding.description).splitlines()
    if finding.requirement:
        yield f'Requirement: "{clean_line(finding.requirement, len(finding.requirement))}"'
    if finding.fix:
        yield from f"Fix: {strip_controls(finding.fix)}".splitlines()
    elif finding.type == EXTRA_FEATURE:
        yield "Action: Remove or get approval to add"


def _note_text(note: MinorIssue) -> str:
    place = _place(note.file, note.line)
    return " - ".join(filter(None, [place, clean_line(note.description, len(note.description))]))


def _place(file: str | None, line: int | None) -> str:
    if not file:
        return ""
    return clean_line(file, _FILE_CHARACTERS) + (f":{line}" if line is not None else "")


def render_merged_xml(merged: MergedReview) -> str:
    """Format spec 4's ``<merged-review>``; a missing review has an element of its own."""
    from xml.etree import ElementTree as ET  # noqa: PLC0415  # only this answer pays for it

    root = ET.Element("merged-review")
    for source in merged.missing:
        _add_empty(root, "missing", {"source": source.value})
    _add(root, "overall-verdict", merged.overall)
    for source, side in ((Source.SPEC, merged.spec), (Source.CODE, merged.code)):
        if side is not None:
            facts = {"verdict": side.verdict, "confidence": side.confidence, "run": side.run_id}
            _add_empty(root, f"{source.value}-result", facts)
    _add_issues(root, merged)
    minor = _add_empty(root, "minor", {})
    for note in merged.minor:
        element = _add_empty(minor, "note", {})
        _add_location(element, note.file, note.line)
        _add(element, "description", note.description)
    _add(root, "action", merged.action)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n"


def _add_issues(root: "Element", merged: MergedReview) -> None:
    issues = _add_empty(root, "issues", {})
    marked = [(group, False) for group in merged.groups] + [(group, True) for group in merged.conflicts]
    for group, is_conflict in sorted(marked, key=lambda entry: entry[0].priority):
        parent = issues
        if group.is_related:
            marks = {"related": "true", "conflict": "true" if is_conflict else None}
            parent = _add_empty(issues, "issue-group", marks)
        for finding in group.findings:
            _add_issue(parent, finding)


def _add_issue(parent: "Element", finding: Finding) -> None:
    facts = {
        "source": finding.source,
        "priority": str(finding.priority),
        "type": finding.type,
        "severity": finding.severity,
    }
    issue = _add_empty(parent, "issue", facts)
    _add_location(issue, finding.file, finding.line)
    _add(issue, "description", finding.description)
    _add(issue, "requirement", finding.requirement)
    _add(issue, "fix", finding.fix)


def _add_location(parent: "Element", file: str | None, line: int | None) -> None:
    if file:
        _add_empty(parent, "location", {"file": file, "line": None if line is None else str(line)})


def _add(parent: "Element", name: str, text: str | None) -> None:
    if text is not None:
        _add_empty(parent, name, {}).text = _harmless(text)


def _add_empty(parent: "Element", name: str, attributes: Mapping[str, str | None]) -> "Element":
    from xml.etree.ElementTree import SubElement  # noqa: PLC0415  # only this answer pays for it

    cleaned = {key: _harmless(value) for key, value in attributes.items() if value is not None}
    return SubElement(parent, name, cleaned)


def _harmless(text: str) -> str:
    """Return the text without characters that XML cannot represent."""
    return strip_controls(text).replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd")
