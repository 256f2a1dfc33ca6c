"""The forms in which tasks are imported."""

from collections.abc import Mapping
from enum import StrEnum


class TaskForm(StrEnum):
    """A form of tasks. What stands below each is what becomes of it, for the documents."""

    PAGE = "page"
    """what `add -F` makes of it"""
    SPEC_KIT = "spec-kit"
    """phases are parents, one after the other; their tasks come one after the other, those with `[P]` side by
    side; `(depends on T003)` replaces that order"""
    TASK_MASTER = "task-master"
    """subtasks are children (`2.1`); `details` are the prompt, `testStrategy` is a criterion; tags other than
    `master` are parents"""
    BEADS = "beads"
    """`blocks` is an order, `parent-child` makes children; `design` is added to the prompt; memories and
    other records are counted"""
    GITHUB = "github"
    """issue 7 is `gh-7`; `Depends on #3` in its text is an order, `- [ ]` lines are criteria"""
    BACKLOG = "backlog"
    """sections are the prompt, `- [ ]` lines criteria"""
    CHECKLIST = "checklist"
    """items below items and headings are children, other bullets criteria"""


SOURCES: Mapping[TaskForm, str] = {
    TaskForm.PAGE: "a page, or JSON as `add -F` takes it",
    TaskForm.SPEC_KIT: "`tasks.md` of spec-kit",
    TaskForm.TASK_MASTER: "`tasks.json` of Task Master",
    TaskForm.BEADS: "JSONL of Beads",
    TaskForm.GITHUB: "what `gh issue list --json number,title,body,labels,state` prints",
    TaskForm.BACKLOG: "task files of Backlog.md or their folder",
    TaskForm.CHECKLIST: "a Markdown list with ticks",
}
