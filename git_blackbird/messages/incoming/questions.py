"""Questions of an agent to a person, found at the end of its messages, and the answers to them.

A headless agent cannot ask in another way: the prompt requires ``QUESTION_FORM``. The form of the Go program,
``AskUserQuestion``, is accepted as well, and so are envelopes around either, and a denied call of that tool.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    model_validator,
)

from git_blackbird.clean import one_line
from git_blackbird.errors import RequestError, UsageError
from git_blackbird.model.base.lenient import Fallback, Part, Several, Text, Valid, replace_surrogates
from git_blackbird.model.base.sanitize import quoted
from git_blackbird.model.run.parts import Answer, Question
from git_blackbird.model.run.run import Run

MAX_QUESTIONS = 20
MAX_OPTIONS = 50
MAX_TEXT_BYTES = 4096
MAX_ID_CHARACTERS = 64
QUESTION_FORM = """\
If you cannot continue without an answer from a person, do not guess: end your final message with one JSON
object of this form, and nothing after it:

{"questions": [{"id": "short-name", "prompt": "What you need to know?", "options": ["one", "other"]}]}

Omit "options" if the answer is free text; a person may also give an answer that is not listed.
You will get the answers and can then continue. If you have no question, do not use this form."""

_WINDOW_CHARACTERS = 256 * 1024
_MAX_ENVELOPES = 3
_TOOL_NAMES = frozenset({"askuserquestion", "ask_user_question"})
_CLOSING_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})\s*\Z")
_OPENERS = {"}": "{", "]": "["}
_ENDS = (*_OPENERS, "`", "~")


def _bound(text: str) -> str:
    data = text.encode()
    return text if len(data) <= MAX_TEXT_BYTES else data[:MAX_TEXT_BYTES].decode(errors="ignore")


def _require_typeable(text: str) -> str:
    """Raise ValueError for an id that a person cannot type in ``--answer ID=VALUE``."""
    if not text.isprintable() or "=" in text or " " in text:
        raise ValueError("cannot be typed")
    return text


_Id = Annotated[str, Field(max_length=MAX_ID_CHARACTERS), AfterValidator(_require_typeable), Fallback("")]
_Words = Annotated[str, AfterValidator(_bound), Fallback("")]
_Option = Annotated[
    _Words, BeforeValidator(lambda option: option.get("label") if isinstance(option, dict) else option)
]


class _Entry(BaseModel):
    """One question, in our form or that of the tool."""

    model_config = ConfigDict(coerce_numbers_to_str=True, str_strip_whitespace=True)

    id: _Id
    prompt: _Words
    question: _Words
    options: Several[_Option]
    destructive: Any = None

    @model_validator(mode="before")
    @classmethod
    def _without_form(cls, entry: Any) -> Any:
        return {"prompt": entry} if isinstance(entry, str) else entry

    @property
    def text(self) -> str:
        return self.prompt or self.question


class _Closing(_Entry):
    """An object at the end of a message: the form, a call of the tool, or an envelope around either."""

    questions: Annotated[tuple[Valid[_Entry], ...] | None, Fallback(None)]
    tool: Text
    name: Text
    input: Any = None
    result: Any = None
    content: Any = None

    @property
    def is_call(self) -> bool:
        return bool({self.tool.lower(), self.name.lower()} & _TOOL_NAMES)


_CLOSING: TypeAdapter[_Closing] = TypeAdapter(Part[_Closing])


def parse_questions(final_text: str) -> tuple[Question, ...]:
    """Return the questions at the end of the message; () if there are none.

    They count only as the last thing in the message, except for a closing code fence: earlier ones are
    quotations. Never raises; takes time proportional to the message.
    """
    entries: list[_Entry] = []
    for value in _closing_values(final_text):
        group = [entry for entry in _entries(value, _MAX_ENVELOPES) if entry.text]
        if not group:
            break
        entries = [*group, *entries]
    return _with_unique_ids(entries[:MAX_QUESTIONS])


class _Decided(BaseModel):
    """What an agent decided about one of its questions."""

    model_config = ConfigDict(coerce_numbers_to_str=True, str_strip_whitespace=True)

    id: _Id
    decision: _Words
    reason: _Words


class _Rulings(BaseModel):
    rulings: Several[_Decided]


_RULINGS: TypeAdapter[_Rulings] = TypeAdapter(Part[_Rulings])


def parse_rulings(final_text: str) -> dict[str, tuple[str, str | None]]:
    """Return what an agent decided, and why, by question id, from the end of its message. Never raises."""
    values = (_RULINGS.validate_python(value) for value in _closing_values(final_text))
    decided = (each for value in values for each in value.rulings)
    return {each.id: (each.decision, each.reason or None) for each in decided if each.id and each.decision}


class StandingForms:
    """The forms that stand at the end of a run, in whichever of its messages: what it asks, what it decided.

    Its last questions stand, without those that it ruled on since; prose takes none of them back.
    """

    def __init__(self) -> None:
        self.questions: tuple[Question, ...] = ()
        self.rulings: dict[str, tuple[str, str | None]] = {}
        self._last = ""

    def take(self, message: str) -> None:
        """Add a message; the same one twice is as once."""
        if message == self._last:
            return
        self._last = message
        rulings = parse_rulings(message)
        self.rulings |= rulings
        self.questions = tuple(each for each in self.questions if each.id not in rulings)
        self.ask(parse_questions(message))

    def ask(self, questions: tuple[Question, ...]) -> None:
        """Let these stand in place of earlier ones, and of rulings on them; () changes nothing."""
        self.questions = questions or self.questions
        for question in questions:
            self.rulings.pop(question.id, None)


def stray_rulings(run: Run, decided: Mapping[str, tuple[str, str | None]]) -> Iterator[str]:
    """Name what an agent that was to decide its questions decided under an id that none of them has."""
    asked = [ruling.question.id for ruling in run.rulings]
    for name in (name for name in decided if asked and name not in asked):
        named = f"{quoted(name)} ({one_line(decided[name][0], 100)})"
        yield f"it decided {named}, which it did not ask; its questions are: {', '.join(asked)}"


def parse_tool_questions(tool_name: str, tool_input: object) -> tuple[Question, ...]:
    """Return the questions in a call of a tool; () if that is not the tool for asking. Never raises."""
    call = {"tool": tool_name, "input": tool_input}
    entries = [entry for entry in _entries(call, 0) if entry.text] if isinstance(tool_input, dict) else []
    return _with_unique_ids(entries[:MAX_QUESTIONS])


def _closing_values(text: str) -> Iterator[Any]:
    """Yield the JSON values that end the message, last first, separated by white space only."""
    rest = text[-_WINDOW_CHARACTERS:].rstrip()
    if not rest.endswith(_ENDS):
        return
    rest = replace_surrogates(rest)
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

    Backwards, because text before the value, such as a stray quote in prose, then cannot change how it is
    parsed.
    """
    if not text or text[-1] not in _OPENERS:
        return None
    expected: list[str] = []
    at = len(text) - 1
    while at >= 0:
        char = text[at]
        if char == '"':
            at = _string_start(text, at)
        elif char in _OPENERS:
            expected.append(_OPENERS[char])
        elif char in "{[":
            if expected.pop() != char:
                return None
            if not expected:
                return at
        at -= 1
    return None


def _string_start(text: str, end: int) -> int:
    """Find the quote that opens the string which closes at ``end``; -1 if there is none."""
    at = text.rfind('"', 0, end)
    while at > 0 and _is_escaped(text, at):
        at = text.rfind('"', 0, at)
    return at


def _is_escaped(text: str, at: int) -> bool:
    before = at
    while before > 0 and text[before - 1] == "\\":
        before -= 1
    return (at - before) % 2 == 1


def _entries(value: Any, envelopes: int) -> Iterator[_Entry]:
    """Yield the questions in one closing value."""
    if isinstance(value, list):
        for part in value:
            if _CLOSING.validate_python(part).is_call:
                yield from _entries(part, envelopes)
        return
    closing = _CLOSING.validate_python(value)
    if closing.questions is not None:
        yield from closing.questions
    elif closing.is_call:
        yield from _entries(closing.input, 0) if isinstance(closing.input, dict) else (closing,)
    elif envelopes:
        for inner in (closing.result, closing.content):
            for part in reversed(list(_closing_values(inner))) if isinstance(inner, str) else [inner]:
                yield from _entries(part, envelopes - 1)


def _with_unique_ids(entries: list[_Entry]) -> tuple[Question, ...]:
    """Return each question with a unique id: its own for the first with that id."""
    taken = {entry.id for entry in entries}
    used: set[str] = set()
    questions = []
    for number, entry in enumerate(entries, 1):
        question_id = entry.id
        if not question_id or question_id in used:
            question_id = f"{entry.id}-{number}" if entry.id else f"q{number}"
            while question_id in taken:
                question_id += "x"
        taken.add(question_id)
        used.add(question_id)
        options = tuple(dict.fromkeys(filter(None, entry.options[:MAX_OPTIONS])))
        harmless: Literal[False] | None = False if entry.destructive is False else None
        question = Question(id=question_id, prompt=entry.text, options=options, destructive=harmless)
        questions.append(question)
    return tuple(questions)


def questions_of(run: Run) -> tuple[Question, ...]:
    """Return the questions of a run; the Go program's records have them in their output only."""
    return run.questions or parse_questions(run.stdout or "")


OTHER = "Other..."
"""Listed below the options of a question, for another answer."""


def parse_texts(option: str, texts: Iterable[str], form: str = "ID=VALUE") -> dict[str, str]:
    """Parse values of an option of a form such as ``ID=VALUE``.

    Raises UsageError if one has another form, or two have different values under one name.
    """
    answers: dict[str, str] = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator or not name:
            raise UsageError(f"{option} {text!r} is not {form}")
        if answers.setdefault(name, value) != value:
            raise UsageError(f'{option} gives two values for "{name}"')
    return answers


def match_answers(
    questions: Sequence[Question], given: Mapping[str, str], read: Callable[[Question, str], str]
) -> tuple[Answer, ...]:
    """Match answers to the questions, each parsed by ``read``.

    Raises RequestError naming the first that is missing, unknown or unusable.
    """
    unknown = sorted(given.keys() - {question.id for question in questions})
    if unknown:
        known = ", ".join(question.id for question in questions)
        raise RequestError(f'there is no question "{unknown[0]}"', hint=f"the questions are: {known}")
    return tuple(
        Answer(id=question.id, value=read(question, given.get(question.id, ""))) for question in questions
    )


def take_answer(question: Question, text: str) -> str:
    """Return an answer that was chosen or given in full, unchanged.

    Raises RequestError for a blank one.
    """
    if text in question.options:
        return text
    if not text.strip():
        raise RequestError(
            f'answer required for question "{question.id}": {question.prompt}',
            hint=f"one of: {' | '.join(question.options)}" if question.options else None,
        )
    return text.strip()


def parse_answer(question: Question, text: str) -> str:
    """Parse a typed answer: an option by its number or label, else the text itself.

    Raises RequestError for a blank one, and for the number of no option.
    """
    answer = take_answer(question, text)
    if not question.options or answer in question.options or not answer.isdecimal():
        return answer
    number = int(answer)
    if not 1 <= number <= len(question.options):
        raise RequestError(
            f'invalid option {number} for question "{question.id}"',
            hint=f"the options are 1 to {len(question.options)}; write another answer in words",
        )
    return question.options[number - 1]
