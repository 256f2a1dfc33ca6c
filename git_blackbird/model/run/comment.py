"""A person's comment on lines of a change."""

from enum import StrEnum

from git_blackbird.model.base.record import Record


class Side(StrEnum):
    """Whether lines are numbered as before the change or after it."""

    OLD = "old"
    NEW = "new"


class ReviewComment(Record):
    """A comment on the lines ``start`` to ``end`` of a file; both are 0 for one on the file as a whole.

    ``quoted`` has these lines as the patch has them, each with its mark; a long range is cut.
    """

    path: str
    side: Side
    start: int
    end: int
    quoted: str = ""
    text: str = ""

    @property
    def place(self) -> tuple[str, Side, int, int]:
        """Where it stands: there is one comment at a place."""
        return self.path, self.side, self.start, self.end

    @property
    def is_on_file(self) -> bool:
        """Whether it is about the file as a whole."""
        return self.end == 0

    def overlaps(self, other: "ReviewComment") -> bool:
        """Whether both are about one line."""
        is_one_file = (self.path, self.side) == (other.path, other.side)
        return is_one_file and self.start <= other.end and other.start <= self.end
