"""Read what a check leaves of its tests: JUnit XML, as many runners write it, each a little differently."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from git_blackbird.clean import clean, one_line
from git_blackbird.messages.incoming.xml import parse_xml
from git_blackbird.model.run.evidence import CaseResults, CaseState, FailedCase

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_NAME_CHARACTERS = 300
_MESSAGE_CHARACTERS = 500
_OUTPUT_CHARACTERS = 2_000
_AROUND = ("testsuites", "testsuite")
# Node's runner gives all tests the same class; what goes says of a failure is below lines with these marks.
_NO_CLASS = (None, "test")
_SAYS_NOTHING = ("", "failed", "test failed", "collection failure")
_MARKS = ("=== ", "--- ")
_NOT_RUN = ("skipped", "disabled")
_Suites = tuple[str, ...]
_RANK = {state: rank for rank, state in enumerate(CaseState)}


def read_junit(files: Iterable[tuple[str, bytes]]) -> CaseResults:
    """Read the tests in files, given by name and content. Raises UnusableError for one that is none."""
    states: dict[str, CaseState] = {}
    failures: dict[str, FailedCase] = {}
    for file, data in files:
        fault = f"the results in {file} are no JUnit XML"
        root = parse_xml(data, fault, "see which files check.results names")
        for suites, case in _cases(root):
            name = _name(suites, case)
            failure = next((part for part in case if part.tag in {"failure", "error"}), None)
            state = CaseState.PASSED
            if failure is not None:
                state = CaseState.FAILED
                failures.setdefault(name, _failed(name, failure))
            elif any(part.tag in _NOT_RUN for part in case) or case.get("status") in _NOT_RUN:
                state = CaseState.SKIPPED
            states[name] = max(states.get(name, state), state, key=_RANK.__getitem__)
    return CaseResults(states=states, failures=tuple(failures.values()))


def _cases(root: "Element") -> "Iterator[tuple[_Suites, Element]]":
    """Yield each test with the names of the suites around it, in order."""
    left: list[tuple[_Suites, Element]] = [((), root)]
    while left:
        suites, element = left.pop()
        if element.tag == "testcase":
            yield suites, element
        elif element.tag in _AROUND:
            within = (*suites, element.get("name") or "") if element.tag == "testsuite" else suites
            left += [(within, child) for child in reversed(element)]


def _name(suites: "_Suites", case: "Element") -> str:
    """Return what tells a test from all others: its class, or its file and suites where it is in none."""
    of, own = case.get("classname"), case.get("name")
    parts = (case.get("file"), *suites) if of in _NO_CLASS else (of,)
    # Jest's runner gives the whole name twice.
    name = ".".join(filter(None, (*parts, own) if of != own else (own,)))
    return one_line(name.strip() or "a test without a name", _NAME_CHARACTERS)


def _failed(name: str, failure: "Element") -> FailedCase:
    text = clean(failure.text or "").strip()
    message = (failure.get("message") or "").strip()
    says = text if message.lower() in _SAYS_NOTHING else message
    first = next((line for line in says.splitlines() if not line.startswith(_MARKS)), message)
    message = one_line(first, _MESSAGE_CHARACTERS)
    return FailedCase(name=name, message=message or None, output=text[-_OUTPUT_CHARACTERS:] or None)
