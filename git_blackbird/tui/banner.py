"""Action required: what is due from a person, counted, with the first of it named."""

from textual.widgets import Static

from git_blackbird.controller.overview import Overview
from git_blackbird.controller.required import Required
from git_blackbird.model.plan import Status
from git_blackbird.model.text import clean_line


class Banner(Static):
    """Is there only when something is due."""

    def show(self, wanted: tuple[Required, ...]) -> None:
        """Show what waits for a person."""
        self.display = bool(wanted)
        if wanted:
            first = wanted[0]
            lines = [f"Action required ({len(wanted)}): {first.task_id}: {first.what}  [a] goes there"]
            if first.why:
                lines.append(f"  {clean_line(first.why)}")
            self.update("\n".join(lines))


def summary(overview: Overview) -> str:
    """Count the plan in one line."""
    counts = overview.counts
    words = [
        f"{counts[status]} {status.value.replace('_', ' ')}"
        for status in Status
        if counts[status] and status is not Status.TODO
    ]
    if counts[Status.TODO]:
        words.append(f"{counts[Status.TODO]} todo ({len(overview.ready)} ready)")
    tasks = "1 task" if overview.leaves == 1 else f"{overview.leaves} tasks"
    return f"{tasks}: {', '.join(words)}" if words else "the plan has no tasks"
