"""What holding commits against decisions found, as lines for people and as a page for a pull request."""

from collections.abc import Iterator

from git_blackbird.clean import one_line
from git_blackbird.messages.display.quantities import counted
from git_blackbird.model.base.sanitize import shell_word
from git_blackbird.model.run.published import SHARED_REFS
from git_blackbird.model.views.verified import Verification, VerifiedCommit

_OID = 12
_MOST_PATHS = 10


def verified_row(verified: VerifiedCommit) -> tuple[str, ...]:
    """Return in short whether a commit holds, what it is, what was decided, and with which evidence."""
    decided = [f"{each.text.decided.words}, published by {each.by}" for each in verified.decisions]
    signed = [f"signed by {signer}" for signer in verified.signers]
    evidence = ", ".join(check.words for check in verified.evidence) or "no check"
    if _is_elsewhere(verified):
        evidence += ", on other files"
    return (
        "no" if verified.fault is not None else "yes",
        verified.commit.oid[:_OID],
        ", ".join(verified.commit.tasks) or "-",
        ", ".join(dict.fromkeys((*decided, *signed))) or "-",
        evidence if verified.fault is None else "-",
    )


def _is_elsewhere(verified: VerifiedCommit) -> bool:
    return verified.fault is None and bool(verified.evidence) and not verified.has_evidence


def fault_lines(verified: VerifiedCommit) -> Iterator[str]:
    """Yield what is wrong with a commit, and where."""
    yield f"{verified.commit.oid[:_OID]} {verified.commit.subject}: {verified.fault}"
    yield from (f"  {path}" for path in verified.paths[:_MOST_PATHS])
    if (more := len(verified.paths) - _MOST_PATHS) > 0:
        yield f"  and {counted(more, 'file')} more"


def summary_line(found: Verification) -> str:
    """Return how many commits there are of each kind."""
    good = sum(each.fault is None for each in found.commits)
    elsewhere = sum(map(_is_elsewhere, found.commits))
    on_others = f", {elsewhere} of them checked on other files" if elsewhere else ""
    parts = [
        f"{counted(good, 'commit')} as decided{on_others}",
        f"{len(found.commits) - good} not" if good < len(found.commits) else "",
        counted(found.others, "other") if found.others else "",
        "" if found.is_signed or not found.commits else "no signatures were asked for",
    ]
    return "; ".join(filter(None, parts))


def verification_page(found: Verification) -> str:
    """Return a page in Markdown: what holds, what does not, and how anyone sees the same."""
    return "\n".join(_page_lines(found)) + "\n"


def _page_lines(found: Verification) -> Iterator[str]:
    yield f"**Verified: {'yes' if found.holds else 'no'}** ({summary_line(found)})"
    for one in found.faulty:
        first, *more = fault_lines(one)
        yield from ("", f"- {_cell(first)}", *(f"  - {_cell(line)}" for line in more))
    if found.commits:
        yield from ("", "| as decided | commit | task | decision | evidence |", f"|{'---|' * 5}")
    for one in found.commits:
        yield f"| {' | '.join(map(_cell, verified_row(one)))} |"
    yield from ("", "To see the same in a clone:", "", "```sh")
    yield f"git fetch origin '{SHARED_REFS}'"
    yield from (f"git blackbird verify {shell_word(found.range)}", "```")


def _cell(text: str) -> str:
    """Return a text of anybody's as Markdown that is that text, in a line."""
    text = one_line(text, 300)
    return "".join(f"\\{char}" if char in "\\`*_{}[]<>()#+!|~@" else char for char in text)
