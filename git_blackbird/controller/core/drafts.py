"""Unsent messages to agents: kept until they are recorded, and offered again.

Every user interface writes into these, so that what was begun on the screen is offered at the prompt, and
the other way round. A text is on disk a moment after each change, and at once when it is left.
"""

import asyncio
import json
import os
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path

from pydantic import Field, ValidationError

from git_blackbird.controller.core.editing import failed_editor
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.errors import BlackbirdError, RequestError
from git_blackbird.git.core.user_programs import edit_file, editor_command
from git_blackbird.messages.display.dialogue import Unsent
from git_blackbird.messages.patch.comments import comment_block, request_with
from git_blackbird.messages.patch.headers import unquoted
from git_blackbird.model.base.ids import PLANNING, TaskId
from git_blackbird.model.base.path_search import mentioned
from git_blackbird.model.base.record import Record
from git_blackbird.model.run.parts import Question, ReviewComment
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import APPROVALS, DecisionState, RunStatus
from git_blackbird.model.views.events import Decided
from git_blackbird.storage.drafts import DraftFile, load_text, remove_text, text_drafts
from git_blackbird.storage.files import SaveError

_SAVE_SECONDS = 0.2
_MESSAGE, _ANSWER, _REASON = "message", "answer-", "reason"
_FORM, _NEW_FORM = "form", "new-form"
# The draft of a new task has no task id: this file name is used for nothing else.
NO_TASK = TaskId("_")
_COMMENT, _COMMENTS, _REVIEW, _READING = "comment-", "comments-", "review-", "read-files"


class Draft:
    """One unsent text; ``fault`` says why the last save failed, if it did."""

    def __init__(self, file: DraftFile) -> None:
        self._file = file
        self._text = self._saved = file.load()
        self._timer: asyncio.TimerHandle | None = None
        self._asked_about = ""
        self.fault: SaveError | None = None

    @property
    def text(self) -> str:
        return self._text

    @text.setter
    def text(self, text: str) -> None:
        """Change the text; it is saved within a fraction of a second. Needs a running event loop."""
        self._text = text
        if self._timer is None and text != self._saved:
            self._timer = asyncio.get_running_loop().call_later(_SAVE_SECONDS, self.save)

    @property
    def path(self) -> Path:
        return self._file.path

    def unknown_paths(self, *folders: str | Path | None) -> tuple[str, ...]:
        """Return what the text names with ``@`` and no folder has; of one text only once."""
        if self._text == self._asked_about:
            return ()
        self._asked_about = self._text
        tops = [Path(folder) for folder in folders if folder is not None]
        return tuple(
            name
            for name in dict.fromkeys(map(unquoted, mentioned(self._text)))
            if not any(os.path.lexists(top / name) for top in tops)
        )

    def save(self) -> None:
        """Save it now; where that fails, it stays in memory, and ``fault`` says why."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        try:
            self._file.save(self._text)
        except SaveError as error:
            self.fault = error
        else:
            self._saved, self.fault = self._text, None

    def replace(self, text: str) -> None:
        """Change the text, and save it now."""
        self._text = text
        self.save()

    def drop(self) -> None:
        """Remove the draft: it was recorded, or is no longer wanted."""
        self._text = ""
        self.save()

    def refresh(self) -> None:
        """Load the text that another process saved, unless something here is not saved yet."""
        if self._timer is None and self.fault is None:
            self._text = self._saved = self._file.load()

    def edit(self, workspace: Workspace) -> None:
        """Let a person edit the draft's file in git's editor.

        Raises RequestError if the editor fails; what it has saved is kept.
        """
        editor = editor_command(workspace.repo)
        self.save()
        code = edit_file(workspace.repo, editor, self._file.prepare())
        self._text = self._saved = self._file.load()
        if code != 0:
            kept = f"what it has saved is kept in {self.path}" if self._text.strip() else None
            raise failed_editor(editor, code, kept)


class SavedComments(Record):
    """The file of unsent comments; ``inserted`` are the parts of a change request made of them before."""

    comments: tuple[ReviewComment, ...] = ()
    inserted: tuple[str, ...] = ()


class CommentDraft:
    def __init__(self, draft: Draft) -> None:
        self._draft = draft

    @property
    def _saved(self) -> SavedComments:
        try:
            return SavedComments.from_json(self._draft.text.encode(errors="replace"))
        except ValidationError:
            # None yet, or a file that a hand edited.
            return SavedComments()

    @property
    def items(self) -> tuple[ReviewComment, ...]:
        """All comments, oldest first."""
        return self._saved.comments

    def put(self, comment: ReviewComment) -> None:
        """Add or replace the comment on its lines; one without a text is removed."""
        saved = self._saved
        others = [other for other in saved.comments if other.place != comment.place]
        place = next(
            (index for index, other in enumerate(saved.comments) if other.place == comment.place), len(others)
        )
        kept = [comment] if comment.text.strip() else []
        self._keep(saved.updated(comments=(*others[:place], *kept, *others[place:])))

    def insert_into(self, text: str) -> str:
        """Return a change request with the comments; once sent or kept, none is inserted again."""
        saved = self._saved
        if not saved.comments and not saved.inserted:
            return text
        blocks = tuple(map(comment_block, saved.comments))
        self._keep(saved.updated(inserted=blocks))
        return request_with(text, saved.comments, saved.inserted)

    def _keep(self, saved: SavedComments) -> None:
        self._draft.text = json.dumps(saved.to_json(), ensure_ascii=False)

    def save(self) -> None:
        self._draft.save()


class SavedReading(Record):
    """``files`` were read, each with its content then; the paths ``left_out`` are not to be approved.

    ``edits_left_out`` are those of other files, by their content.
    """

    files: dict[str, str] = Field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    edits_left_out: dict[str, tuple[str, ...]] = Field(default_factory=dict)


class ReadingDraft:
    """What a person marked in a task's change, in all its rounds, until it is decided."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft

    def load(self) -> SavedReading:
        try:
            return SavedReading.from_json(self._draft.text.encode(errors="replace"))
        except ValidationError:
            # None yet, or a file that a hand edited.
            return SavedReading()

    def keep(
        self, files: Mapping[str, str], left_out: Iterable[str], edits: Mapping[str, Iterable[str]]
    ) -> None:
        """Save what is marked a moment from now. Needs a running event loop."""
        saved = SavedReading(
            files=dict(files),
            left_out=tuple(sorted(left_out)),
            edits_left_out={path: tuple(sorted(keys)) for path, keys in edits.items()},
        )
        is_empty = saved == SavedReading()
        self._draft.text = "" if is_empty else json.dumps(saved.to_json(), ensure_ascii=False)


class Drafts:
    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._drafts: dict[tuple[TaskId, str], Draft] = {}

    def message(self, task_id: TaskId) -> Draft:
        """Return the request or message to a task's agent, without recorded parts."""
        draft = self._open(task_id, _MESSAGE)
        while draft.text and _is_recorded(self._workspace, task_id, draft.text):
            draft.drop()
            draft.refresh()
        return draft

    def answer(self, task_id: TaskId, question: Question) -> Draft:
        """Return the draft of an answer to a question of a task's latest run, and of that run only."""
        run = self._workspace.store.records.history(task_id).latest
        digest = sha256(f"{question.id}\0{question.prompt}".encode(errors="replace")).hexdigest()
        return self._open(task_id, f"{_answer_prefix(run)}{digest[:16]}")

    def comments(self, run: Run) -> CommentDraft:
        return CommentDraft(self._open(run.task_id, f"{_COMMENTS}{run.id}"))

    def comment(self, run: Run, comment: ReviewComment) -> Draft:
        """Return a comment as it is in a person's editor, or as that left it when the program was killed."""
        digest = sha256(repr(comment.place).encode(errors="replace")).hexdigest()
        return self._open(run.task_id, f"{_COMMENT}{digest[:16]}-{run.id}")

    def reading(self, task_id: TaskId) -> ReadingDraft:
        return ReadingDraft(self._open(task_id, _READING))

    def review_form(self, run: Run) -> Draft:
        """Return the change request on a run as a file to edit, with the diff below it."""
        return self._open(run.task_id, f"{_REVIEW}{run.id}")

    def request(self, run: Run, suggestion: str | None) -> Draft:
        """Return the change request that was begun on a run, with the comments on lines of its change.

        With comments, one that was not begun starts with ``suggestion``. Needs a running event loop.
        """
        draft, comments = self.message(run.task_id), self.comments(run)
        before = draft.text or (suggestion or "" if comments.items else "")
        text = comments.insert_into(before)
        if text != before:
            draft.text = text
        comments.save()
        return draft

    def unsent(self, run: Run) -> Unsent:
        has_request = bool(self.message(run.task_id).text.strip())
        return Unsent(has_request, len(self.comments(run).items))

    def reason(self, task_id: TaskId) -> Draft:
        return self._open(task_id, _REASON)

    def revision(self) -> Draft:
        """Return what is to be different in a plan that an agent proposes."""
        return self._open(PLANNING, _REASON)

    def form(self, task_id: TaskId | None) -> Draft:
        """Return the unsaved form of a task; None for a new task."""
        return self._open(NO_TASK, _NEW_FORM) if task_id is None else self._open(task_id, _FORM)

    def _open(self, task_id: TaskId, name: str) -> Draft:
        draft = self._drafts.get((task_id, name))
        if draft is None:
            draft = Draft(DraftFile(self._workspace.paths, task_id, name))
            self._drafts[task_id, name] = draft
        else:
            draft.refresh()
        return draft

    def settle(self, decided: Decided) -> None:
        """Drop the drafts for a run that was decided on here."""
        for name in (_MESSAGE, f"{_COMMENTS}{decided.run_id}"):
            draft = self._drafts.get((decided.task_id, name))
            if draft is not None and not decided.elsewhere:
                draft.drop()

    def save(self) -> None:
        for draft in self._drafts.values():
            draft.save()


def write_message(workspace: Workspace, task_id: TaskId) -> str:
    """Open the editor for a message to a task's agent, with its draft. Raises RequestError for none."""
    draft = Drafts(workspace).message(task_id)
    draft.edit(workspace)
    text = draft.text
    if not text.strip():
        draft.drop()
        raise RequestError("the message is empty: nothing was done")
    return text


def drop_recorded_drafts(workspace: Workspace) -> None:
    """Remove recorded drafts and answers to closed questions; failures are ignored."""
    for task_id, path in text_drafts(workspace.paths):
        try:
            if _is_obsolete(workspace, task_id, path):
                remove_text(path)
        except BlackbirdError:
            continue


def _answer_prefix(run: Run | None) -> str:
    return _ANSWER if run is None else f"{_ANSWER}{run.id}-"


def _is_recorded(workspace: Workspace, task_id: TaskId, message: str) -> bool:
    """Whether the records keep a message to a task: then it is heard, now or by the next start."""
    runs = workspace.store.records.history(task_id).work_runs
    return any(message in {run.message, run.decision_feedback, *run.messages_while_working} for run in runs)


def _is_obsolete(workspace: Workspace, task_id: TaskId, path: Path) -> bool:
    if path.name.startswith(_ANSWER):
        latest = workspace.store.records.history(task_id).latest
        is_awaited = latest is not None and latest.status is RunStatus.WAITING_USER
        return not (is_awaited and path.name.startswith(_answer_prefix(latest)))
    if path.name.startswith((_COMMENT, _COMMENTS, _REVIEW)):
        runs = workspace.store.records.history(task_id).work_runs
        return not any(run.is_pending and path.stem.endswith(f"-{run.id}") for run in runs)
    if path.name.startswith(_READING):
        latest = workspace.store.records.history(task_id).latest
        return latest is None or latest.decision_state in {*APPROVALS, DecisionState.REJECTED}
    text = load_text(path)
    return path.name.startswith(_MESSAGE) and text is not None and _is_recorded(workspace, task_id, text)
