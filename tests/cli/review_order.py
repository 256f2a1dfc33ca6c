"""What two reviewers that work at the same time are told of, in an order that stays."""

import re

_OF_REVIEWERS = re.compile(r"(running )?(spec|code) review of ")


def in_order(text: str) -> list[str]:
    lines = text.splitlines(keepends=True)
    ordered: list[str] = []
    block: list[str] = []
    for line in lines:
        if _OF_REVIEWERS.match(line):
            block.append(line)
            continue
        ordered += [*sorted(block, key=_place), line]
        block = []
    return ordered + sorted(block, key=_place)


def _place(line: str) -> tuple[bool, bool, str]:
    return not line.startswith("running"), "spec review" not in line, line
