"""The answer of a spec or code reviewer: XML, read strictly and safely, or spec 4's old form."""

from git_blackbird.model.findings import ReviewResult, Source


class ReviewerAnswerError(ValueError):
    """An answer that is no review; the message says why, for people and for the reviewer's next start."""


def parse_reviewer_answer(text: str, source: Source) -> ReviewResult:
    """Read the one review in ``text``. Raises ReviewerAnswerError for an answer that is none."""
    raise ReviewerAnswerError(f"the answer has no <{source.value}-review> element")
