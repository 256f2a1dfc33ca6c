"""Questions of an agent to a person, found at the end of its final message.

A headless agent has no other way to ask: the prompt lays down ``QUESTION_FORM``. The form that the Go
program knows, ``AskUserQuestion``, is read as well, and so are envelopes around either.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from git_blackbird.model.conversation import Question
from git_blackbird.model.run import Run

MAX_QUESTIONS = 20
MAX_OPTIONS = 50
MAX_TEXT_BYTES = 4096
MAX_ID_CHARACTERS = 64
QUESTION_FORM = """\
If you cannot go on without an answer from a person, do not guess: end your final message with one JSON
object of this form, and nothing after it:

{"questions": [{"id": "short-name", "prompt": "What you need to know?", "options": ["one", "other"]}]}

Leave "options" out when the answer is free text; a person may also give an answer that is none of them.
You will get the answers and can then go on. When you have no question, do not use this form."""

# Id, prompt and options; the id may be missing as "".
_Draft = tuple[str, str, tuple[str, ...]]
_WINDOW_CHARACTERS = 256 * 1024
_MAX_ENVELOPES = 3
_TOOL_NAMES = frozenset({"askuserquestion", "ask_user_question"})
_CLOSING_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})\s*\Z")
_OPENERS = {"}": "{", "]": "["}
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def parse_questions(final_text: str) -> tuple[Question, ...]:
    """Give the questions with which the message ends; () when it ends with anything else.

    They count only as the last thing in the message, a closing code fence apart: what is quoted further
    up asks nothing. Never raises; takes time in proportion to the message.
    """
    drafts: list[_Draft] = []
    for value in _closing_values(final_text):
        asked = list(_drafts(value, _MAX_ENVELOPES))
        if not asked:
            break
        drafts = [*asked, *drafts]
    return _named(drafts[:MAX_QUESTIONS])


def _closing_values(text: str) -> Iterator[Any]:
    """Give the JSON values that end the message, last first, while only white space is between them."""
    rest = text[-_WINDOW_CHARACTERS:].rstrip()
    fence = _CLOSING_FENCE.search(rest[-80:])
    if fence:
        rest = rest[: len(rest) - len(fence.group())].rstrip()
    for _ in range(MAX_QUESTIONS):
        start = _opening(rest)
        if start is None:
            return
        try:
            yield json.loads(rest[start:])
        except (ValueError, RecursionError):
            return
        rest = rest[:start].rstrip()


def _opening(text: str) -> int | None:
    """Find the bracket that matches the one at the end of ``text``, reading backwards.

    Backwards, because nothing that stands before the value, such as a stray quote in prose, can then
    change how it is read.
    """
    if not text or text[-1] not in _OPENERS:
        return None
    wanted: list[str] = []
    at = len(text) - 1
    while at >= 0:
        char = text[at]
        if char == '"':
            at = _string_start(text, at)
        elif char in _OPENERS:
            wanted.append(_OPENERS[char])
        elif char in "{[":
            if wanted.pop() != char:
                return None
            if not wanted:
                return at
        at -= 1
    return None


def _string_start(text: str, end: int) -> int:
    """Find the quote that opens the string which closes at ``end``; -1 when there is none."""
    at = text.rfind('"', 0, end)
    while at > 0 and _is_escaped(text, at):
        at = text.rfind('"', 0, at)
    return at


def _is_escaped(text: str, at: int) -> bool:
    before = at
    while before > 0 and text[before - 1] == "\\":
        before -= 1
    return (at - before) % 2 == 1


def _drafts(value: Any, envelopes: int) -> Iterator[_Draft]:
    """Give the questions in one closing value."""
    if isinstance(value, list):
        for part in value:
            if _is_tool_call(part):
                yield from _drafts(part, envelopes)
    elif not isinstance(value, dict):
        return
    elif isinstance(value.get("questions"), list):
        yield from _listed(value["questions"])
    elif _is_tool_call(value):
        inner = value.get("input")
        yield from _drafts(inner, 0) if isinstance(inner, dict) else _listed([value])
    elif envelopes:
        yield from _enveloped(value, envelopes - 1)


def _enveloped(value: dict[str, Any], envelopes: int) -> Iterator[_Draft]:
    for key in ("result", "content"):
        inner = value.get(key)
        for closing in reversed(list(_closing_values(inner))) if isinstance(inner, str) else [inner]:
            yield from _drafts(closing, envelopes)


def _is_tool_call(value: Any) -> bool:
    return isinstance(value, dict) and any(
        isinstance(value.get(key), str) and value[key].lower() in _TOOL_NAMES for key in ("tool", "name")
    )


def _listed(entries: list[Any]) -> Iterator[_Draft]:
    for entry in entries:
        asked = {"prompt": entry} if isinstance(entry, str) else entry
        if not isinstance(asked, dict):
            continue
        prompt = _text(asked.get("prompt")) or _text(asked.get("question"))
        if prompt:
            yield _usable_id(asked.get("id")), prompt, _options(asked.get("options"))


def _options(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        return ()
    texts = (_text(part.get("label") if isinstance(part, dict) else part) for part in value[:MAX_OPTIONS])
    return tuple(dict.fromkeys(filter(None, texts)))


def _text(value: Any) -> str:
    """Give a bounded text that can be written as UTF-8; "" for what is neither text nor number."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    text = _LONE_SURROGATE.sub("\ufffd", str(value)).strip()
    data = text.encode()
    return text if len(data) <= MAX_TEXT_BYTES else data[:MAX_TEXT_BYTES].decode(errors="ignore")


def _usable_id(value: Any) -> str:
    """Give the id if a person can type it in ``--answer ID=VALUE``, else ""."""
    text = _text(value)
    typed = text.isprintable() and "=" not in text and " " not in text and len(text) <= MAX_ID_CHARACTERS
    return text if typed else ""


def _named(drafts: list[_Draft]) -> tuple[Question, ...]:
    """Give each question an id of its own: its own where it is the first to have it."""
    taken = {name for name, _, _ in drafts}
    met: set[str] = set()
    questions = []
    for number, (name, prompt, options) in enumerate(drafts, 1):
        final = name if name and name not in met else _free_id(name, number, taken)
        taken.add(final)
        met.add(final)
        questions.append(Question(id=final, prompt=prompt, options=options))
    return tuple(questions)


def _free_id(name: str, number: int, taken: set[str]) -> str:
    candidate = f"{name}-{number}" if name else f"q{number}"
    while candidate in taken:
        candidate += "x"
    return candidate


def questions_of(run: Run) -> tuple[Question, ...]:
    """Give what a run asked; the Go program's records hold it in their output only."""
    return run.questions or parse_questions(run.stdout or "")
