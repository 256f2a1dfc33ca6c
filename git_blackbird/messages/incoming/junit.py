"""Read what a check leaves of its tests: JUnit XML, as many runners write it, each a little differently."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING
from xml.etree.ElementTree import ParseError

from git_blackbird.clean import clean, one_line
from git_blackbird.errors import UnusableError
from git_blackbird.model.run.evidence import CaseResults, CaseState
from git_blackbird.model.run.parts import FailedCase

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_NAME_CHARACTERS = 300
_MESSAGE_CHARACTERS = 500
_OUTPUT_CHARACTERS = 2_000
_NOT_RUN = ("skipped", "disabled")
_RANK = {state: rank for rank, state in enumerate(CaseState)}


def read_junit(files: Iterable[tuple[str, bytes]]) -> CaseResults:
    """Read the tests in files, given by name and content. Raises UnusableError for one that is none."""
    states: dict[str, CaseState] = {}
    failures: dict[str, FailedCase] = {}
    for file, data in files:
        for case in _cases(file, data):
            name = _name(case)
            failure = next((part for part in case if part.tag in {"failure", "error"}), None)
            state = CaseState.PASSED
            if failure is not None:
                state = CaseState.FAILED
                failures.setdefault(name, _failed(name, failure))
            elif any(part.tag in _NOT_RUN for part in case) or case.get("status") in _NOT_RUN:
                state = CaseState.SKIPPED
            states[name] = max(states.get(name, state), state, key=_RANK.__getitem__)
    return CaseResults(states=states, failures=tuple(failures.values()))


def _cases(file: str, data: bytes) -> "Iterator[Element]":
    from defusedxml import DefusedXmlException  # only where a check leaves results
    from defusedxml.ElementTree import fromstring

    try:
        return fromstring(data, forbid_dtd=True).iter("testcase")
    except (ParseError, DefusedXmlException, ValueError) as error:
        raise UnusableError(
            f"the results in {file} are no JUnit XML: {error}", hint="see which files check.results names"
        ) from error


def _name(case: "Element") -> str:
    parts = (case.get("classname") or case.get("file"), case.get("name"))
    return one_line(".".join(filter(None, parts)) or "a test without a name", _NAME_CHARACTERS)


def _failed(name: str, failure: "Element") -> FailedCase:
    text = clean(failure.text or "").strip()
    first = next(iter((failure.get("message") or text).strip().splitlines()), "")
    message = one_line(first, _MESSAGE_CHARACTERS)
    return FailedCase(name=name, message=message or None, output=text[-_OUTPUT_CHARACTERS:] or None)
