"""Check a person's answers to an agent's questions."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from git_blackbird.errors import RequestError, UsageError
from git_blackbird.model.entities.cli_hints import answer_options
from git_blackbird.model.entities.run import Answer, Question

ReadAnswer = Callable[[Question, str], str]
OTHER = "Other..."
"""Listed below the options of a question, for another answer."""


def parse_answer_options(texts: Iterable[str]) -> dict[str, str]:
    """Parse options of the form ``ID=VALUE``.

    Raises UsageError if one has no ``=``, or two answer the same question.
    """
    answers: dict[str, str] = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator or not name:
            raise UsageError(f"--answer {text!r} is not ID=VALUE")
        if answers.setdefault(name, value) != value:
            raise UsageError(f'--answer gives two values for "{name}"')
    return answers


def match_answers(
    questions: Sequence[Question], given: Mapping[str, str], read: ReadAnswer
) -> tuple[Answer, ...]:
    """Match answers to the questions, each parsed by ``read``.

    Raises RequestError naming the first that is missing, unknown or unusable.
    """
    unknown = sorted(given.keys() - {question.id for question in questions})
    if unknown:
        asked = ", ".join(question.id for question in questions)
        raise RequestError(f'there is no question "{unknown[0]}"', hint=f"the questions are: {asked}")
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
            hint=answer_options([question]).strip(),
        )
    return text.strip()


def parse_answer(question: Question, text: str) -> str:
    """Parse a typed answer: an option by its number or label, else the text itself.

    Raises RequestError for a blank one, and for the number of no option.
    """
    answer = take_answer(question, text)
    if not question.options or answer in question.options or not answer.isdecimal():
        return answer
    return _by_number(question, int(answer))


def _by_number(question: Question, number: int) -> str:
    if not 1 <= number <= len(question.options):
        raise RequestError(
            f'invalid option {number} for question "{question.id}"',
            hint=f"the options are 1 to {len(question.options)}; write another answer in words",
        )
    return question.options[number - 1]
