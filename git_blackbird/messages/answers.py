"""What a person answers to an agent's questions, checked against what was asked."""

from collections.abc import Iterable, Mapping, Sequence

from git_blackbird.errors import RequestError, UsageError
from git_blackbird.model.commands import answer_options
from git_blackbird.model.conversation import Answer, Question


def parse_answer_options(texts: Iterable[str]) -> dict[str, str]:
    """Read options of the form ``ID=VALUE``.

    Raises UsageError when one has no ``=``, or two answer the same question.
    """
    answers: dict[str, str] = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator or not name:
            raise UsageError(f"--answer {text!r} is not ID=VALUE")
        if answers.setdefault(name, value) != value:
            raise UsageError(f'--answer says two things for "{name}"')
    return answers


def match_answers(questions: Sequence[Question], given: Mapping[str, str]) -> tuple[Answer, ...]:
    """Check answers against the questions; an option may be given by its number or its text.

    Raises RequestError naming the first that is missing, unknown or not among the options.
    """
    unknown = sorted(given.keys() - {question.id for question in questions})
    if unknown:
        asked = ", ".join(question.id for question in questions)
        raise RequestError(f'there is no question "{unknown[0]}"', hint=f"the questions are: {asked}")
    return tuple(Answer(id=question.id, value=match_answer(question, given)) for question in questions)


def match_answer(question: Question, given: Mapping[str, str]) -> str:
    """Give the answer to one question.

    Raises RequestError.
    """
    text = given.get(question.id, "")
    if text in question.options:
        return text
    text = text.strip()
    if not text:
        raise RequestError(
            f'answer required for question "{question.id}": {question.prompt}',
            hint=answer_options([question]).strip(),
        )
    if not question.options or text in question.options:
        return text
    if text.isdecimal():
        return _by_number(question, int(text))
    raise RequestError(
        f'answer "{text}" not in options for question "{question.id}"',
        hint=f"the options are: {', '.join(question.options)}",
    )


def _by_number(question: Question, number: int) -> str:
    if not 1 <= number <= len(question.options):
        raise RequestError(
            f'invalid option {number} for question "{question.id}"',
            hint=f"the options are 1 to {len(question.options)}",
        )
    return question.options[number - 1]
