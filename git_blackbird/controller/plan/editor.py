"""Edit tasks as a page in the user's editor, without losing text."""

import contextlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol

from git_blackbird.controller.core.editing import failed_editor
from git_blackbird.controller.core.guards import require_not_busy
from git_blackbird.controller.core.workspace import Workspace, find_task
from git_blackbird.controller.plan.edit import named_parent
from git_blackbird.controller.plan.page import PageResult, RemovedError, add_page, edit_page, preview_page
from git_blackbird.controller.plan.page_reading import PageConflictError, page_of
from git_blackbird.errors import BlackbirdError, InterruptedByUserError, RequestError, UnusableError
from git_blackbird.git.core.user_programs import edit_file, editor_command
from git_blackbird.messages.forms.page import (
    PageError,
    PageFault,
    PageTask,
    has_faults,
    is_blank,
    parse_page,
    render_page,
    with_faults,
)
from git_blackbird.model.base.ids import TaskId
from git_blackbird.storage.drafts import (
    create_draft,
    drafts_of,
    drop_draft,
    hold_draft,
    load_base,
    load_draft,
    save_base,
    save_draft,
)

_FORM = (
    "## Title of a task; ### that of one below it",
    "Below it, one a line: `id:` `after: OTHER, OTHER` `agent:` `model:` `description:` `notes:`",
    "Then what its agent is to do, in as many lines as you like, and `- [ ] what must hold in the end`.",
)
_EARLIER_TEXT = PageFault.of(
    "This is your earlier text, which was not accepted yet. Save it, or empty the file to drop it."
)


class Asks(Protocol):
    """What a person is asked about a page. Raises InterruptedByUserError when that is broken off."""

    def wants_again(self, fault: RequestError) -> bool: ...

    def agrees_to_delete(self, removed: RemovedError) -> bool:
        """Whether tasks are to be deleted that a page has no longer."""
        ...

    def agrees_to_add(self, planned: PageResult) -> bool: ...


class NobodyAsks:
    """Asks nobody: a page is added, and nothing is edited again or deleted."""

    def wants_again(self, fault: RequestError) -> bool:  # noqa: ARG002  # whatever it is
        return False

    def agrees_to_delete(self, removed: RemovedError) -> bool:  # noqa: ARG002  # whatever it is
        return False

    def agrees_to_add(self, planned: PageResult) -> bool:  # noqa: ARG002  # whatever it is
        return True


class AgreesToDelete(NobodyAsks):
    """Asks nobody; agrees to delete only the tasks that a person has seen listed."""

    def __init__(self, seen: Collection[TaskId]) -> None:
        self._seen = frozenset(seen)

    def agrees_to_delete(self, removed: RemovedError) -> bool:
        return self._seen.issuperset(removed.task_ids)


class _Document(NamedTuple):
    """What is edited: the name of its drafts, comments for its top, the page as it is, how it is taken."""

    name: str
    about: tuple[str, ...]
    page: tuple[PageTask, ...]
    take: Callable[[Sequence[PageTask], Sequence[PageTask]], PageResult]

    def render(self, page: Sequence[PageTask], remarks: Sequence[str] = ()) -> str:
        comments = (*self.about, *_FORM, *remarks)
        if page:
            return render_page(page, comments)
        return "".join(f"<!-- {line} -->\n" for line in comments) + "\n"


@dataclass(frozen=True)
class _Offer:
    """An open page: its text, the page it is compared with, and the previous error.

    ``is_left``: an earlier call left it behind.
    """

    text: str
    base: tuple[PageTask, ...]
    fault: RequestError | None = None
    is_left: bool = False

    @property
    def is_new(self) -> bool:
        """Whether it is a new page without an error: if nothing is written in it, nothing changes."""
        return self.fault is None and not self.is_left


def edit_in_editor(workspace: Workspace, task_id: str, asks: Asks) -> PageResult:
    """Let a person edit a task in the editor that git would use; no lock is held meanwhile.

    What others change in the plan meanwhile is kept, field by field. A text that cannot be taken is offered
    again with what is wrong on top, if that is wanted; else it stays in a file that the error names. What an
    earlier call left behind, however that ended, is offered first.
    """
    workspace.environment.forbid_agents("edit tasks")
    plan = workspace.store.plan()
    task = find_task(plan, task_id)
    require_not_busy(workspace, task)
    below = "" if task.parent is None else f", below {task.parent}"
    about = f"Task {task.id} ({task.status.value}{below})"
    take = partial(_take_edited, workspace, asks, task_id=task.id)
    return _edit(workspace, _Document(task.id, (about,), page_of(plan, {task.id}), take), asks)


def edit_plan_in_editor(workspace: Workspace, asks: Asks) -> PageResult:
    """Open the whole plan in the editor, with the guarantees of ``edit_in_editor``."""
    workspace.environment.forbid_agents("edit tasks")
    page = page_of(workspace.store.plan())
    return _edit(workspace, _plan_document(workspace, asks, page), asks)


def _plan_document(workspace: Workspace, asks: Asks, page: tuple[PageTask, ...]) -> _Document:
    if not page:
        return _new_document(workspace, None, asks)
    return _Document(".plan", ("The plan",), page, partial(_take_edited, workspace, asks, task_id=None))


def add_in_editor(workspace: Workspace, parent: str | None, asks: Asks) -> PageResult:
    """Open an empty page for new tasks in the editor, with the guarantees of ``edit_in_editor``."""
    return _edit(workspace, _new_document(workspace, parent, asks), asks)


def _new_document(workspace: Workspace, parent: str | None, asks: Asks) -> _Document:
    above = None if parent is None else named_parent(workspace.store.plan(), parent)
    where = "at the top of the plan" if above is None else f"below {above}"

    def take(_: Sequence[PageTask], page: Sequence[PageTask]) -> PageResult:
        if len(page) > 1 and not asks.agrees_to_add(preview_page(workspace, page, parent)):
            raise RequestError("the tasks of the page were not added")
        return add_page(workspace, page, parent)

    return _Document(".new", (f"New tasks {where}",), (), take)


def keep_page(
    workspace: Workspace, base: Sequence[PageTask], page: Sequence[PageTask], remarks: Sequence[str] = ()
) -> Path:
    """Keep a page of the plan that nobody has accepted yet: the next edit of the plan offers it first.

    Raises SaveError.
    """
    document = _plan_document(workspace, NobodyAsks(), tuple(base))
    draft = create_draft(workspace.paths, document.name, document.render(page, remarks))
    save_base(workspace.paths, draft, document.render(base))
    return draft


def edit_page_in_editor(
    workspace: Workspace, base: Sequence[PageTask], draft: Path, asks: Asks
) -> PageResult:
    """Open a kept page in the editor, with the guarantees of ``edit_in_editor``."""
    document = _plan_document(workspace, asks, tuple(base))
    with hold_draft(workspace.paths, draft):
        offer = _Offer(_load(draft) or "", tuple(base), is_left=True)
        return _Session(workspace, document, offer, draft).run(asks)


def _take_edited(
    workspace: Workspace,
    asks: Asks,
    base: Sequence[PageTask],
    page: Sequence[PageTask],
    *,
    task_id: str | None,
) -> PageResult:
    parent = None if task_id is None else find_task(workspace.store.plan(), task_id).parent
    try:
        return edit_page(workspace, base, page, parent)
    except RemovedError as removed:
        if not asks.agrees_to_delete(removed):
            raise
        return edit_page(workspace, base, page, parent, removed.task_ids)


def _edit(workspace: Workspace, document: _Document, asks: Asks) -> PageResult:
    with contextlib.ExitStack() as stack:
        offered = _take_up(workspace, document, stack)
        if offered is None:
            kept = drafts_of(workspace.paths, document.name)
            text = document.render(document.page, [f"Another draft of it is kept in {path}" for path in kept])
            draft = create_draft(workspace.paths, document.name, text)
            stack.enter_context(hold_draft(workspace.paths, draft))
            offered = _Offer(text, document.page), draft
        return _Session(workspace, document, *offered).run(asks)


def _take_up(
    workspace: Workspace, document: _Document, stack: contextlib.ExitStack
) -> tuple[_Offer, Path] | None:
    """Offer again the first draft that was left behind, against the page that it was made from."""
    for path in drafts_of(workspace.paths, document.name):
        form, text = load_base(path), _load(path)
        if form is None or text is None or not stack.enter_context(hold_draft(workspace.paths, path)):
            continue
        if text == form or is_blank(text):
            # Nothing was written in it.
            drop_draft(path)
            continue
        try:
            base = parse_page(form)
        except PageError:
            continue
        again = text if has_faults(text) else with_faults(text, [_EARLIER_TEXT])
        save_draft(path, again)
        return _Offer(again, base, is_left=True), path
    return None


class _Session:
    """The editing of one page, from its first text to the change or to a saved draft."""

    def __init__(self, workspace: Workspace, document: _Document, offer: _Offer, draft: Path) -> None:
        self._workspace = workspace
        self._document = document
        self._offer = offer
        self._editor = editor_command(workspace.repo)
        self._draft = draft

    def run(self, asks: Asks) -> PageResult:
        """Edit until the page can be taken or the person gives up."""
        while True:
            text = self._text_from_editor()
            try:
                result = self._take(text)
            except RequestError as fault:
                self._offer = self._next_offer(text, fault)
                save_draft(self._draft, self._offer.text)
                save_base(self._workspace.paths, self._draft, self._document.render(self._offer.base))
                try:
                    is_wanted = asks.wants_again(fault)
                except InterruptedByUserError as error:
                    raise _with_draft_hint(error, self._draft) from None
                if not is_wanted:
                    raise _with_draft_hint(fault, self._draft) from None
            except BlackbirdError as error:
                raise _with_draft_hint(error, self._draft) from None
            else:
                drop_draft(self._draft)
                return result

    def _text_from_editor(self) -> str:
        """Return the edited text; on an error, remove a draft that is not worth keeping."""
        code = edit_file(self._workspace.repo, self._editor, self._draft)
        text = _load(self._draft)
        untouched = text == self._offer.text
        if code != 0:
            hint = "nothing was changed; core.editor in git's configuration, or GIT_EDITOR, chooses another"
            error = failed_editor(self._editor, code, hint)
            raise self._kept_draft_error(error, worthless=untouched and self._offer.is_new)
        if text is None:
            raise RequestError("the editor left no file behind", hint="nothing was changed")
        if is_blank(text):
            raise self._kept_draft_error(
                RequestError("the page is empty: nothing was changed"), worthless=True
            )
        fault = self._offer.fault
        if untouched and fault is not None and not isinstance(fault, PageConflictError):
            raise _with_draft_hint(fault, self._draft)
        return text

    def _take(self, text: str) -> PageResult:
        base = self._offer.base
        page = base if text == self._offer.text and self._offer.is_new else None
        return self._document.take(base, page or parse_page(text, is_whole=bool(base)))

    def _next_offer(self, text: str, fault: RequestError) -> _Offer:
        """Put the faults on top of the text; after a conflict, on top of both people's changes merged."""
        if isinstance(fault, PageConflictError):
            faults = [PageFault.of(line) for line in fault.theirs()]
            page, base = fault.merged, fault.base(self._offer.base)
            return _Offer(with_faults(self._document.render(page), faults), base, fault)
        faults = list(fault.faults) if isinstance(fault, PageError) else [PageFault.of(fault.message)]
        return _Offer(with_faults(text, faults), self._offer.base, fault)

    def _kept_draft_error(self, error: RequestError, *, worthless: bool) -> BlackbirdError:
        if worthless:
            drop_draft(self._draft)
            return error
        return _with_draft_hint(error, self._draft)


def _load(draft: Path) -> str | None:
    try:
        return load_draft(draft)
    except OSError as error:
        raise UnusableError(f"cannot read {draft}: {error.strerror}", hint="nothing was changed") from error


def _with_draft_hint(error: BlackbirdError, draft: Path) -> BlackbirdError:
    error.ways_out = (*error.ways_out, f"your text is kept in {draft}")
    return error
