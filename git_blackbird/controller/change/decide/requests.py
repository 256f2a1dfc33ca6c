"""Change requests: written in an editor, below the lines of the diff, or overruling rulings."""

from collections.abc import Mapping

from git_blackbird.controller.change.decide.checkpoint import find_pending
from git_blackbird.controller.change.decide.record import require_words
from git_blackbird.controller.change.trees import change_of
from git_blackbird.controller.core.drafts import Drafts
from git_blackbird.controller.core.workspace import Workspace, find_task
from git_blackbird.errors import RequestError
from git_blackbird.git.change.changes import diff_text
from git_blackbird.messages.forms.review_form import (
    ReviewForm,
    ReviewFormError,
    parse_review_form,
    render_review_form,
)
from git_blackbird.messages.outgoing.prompts import join_messages, render_suggestion
from git_blackbird.messages.outgoing.rulings import render_overruled
from git_blackbird.messages.patch.parse import Patch
from git_blackbird.model.base.ids import RunId
from git_blackbird.model.base.next_steps import Sentence, ShellLine
from git_blackbird.model.base.sanitize import quoted
from git_blackbird.model.change.change import Change
from git_blackbird.model.rules.reviews import merged_or_none
from git_blackbird.storage.drafts import MAX_BYTES


def edit_request(workspace: Workspace, task_id: str, run_id: RunId | None) -> ReviewForm:
    """Let a person write a change request in git's editor.

    The form begins with earlier text and comments. Raises RequestError if nothing is requested or if part of
    it is not understood; the text is kept then, and offered again.
    """
    state = workspace.plan_state()
    run = find_pending(state, find_task(state.plan, task_id).id, run_id)
    pair = change_of(workspace, state, run.task_id).trees
    patch = Patch("" if pair is None else diff_text(workspace.repo, pair).decode(errors="replace"))
    drafts = Drafts(workspace)
    comments, draft, message = (
        drafts.comments(run).items,
        drafts.review_form(run),
        drafts.message(run.task_id),
    )
    if not draft.text.strip():
        text = message.text or render_suggestion(run, merged_or_none(run)) or ""
        form = render_review_form(text, patch, comments)
        if len(form.encode(errors="replace")) > MAX_BYTES:
            raise RequestError(
                "the diff is too large to be commented in an editor",
                hint=Sentence(
                    "comment it on the screen, ", ShellLine("git blackbird"), ", or say it with -m"
                ),
            )
        draft.replace(form)
        # From now on it is a part of the form.
        message.drop()
    draft.edit(workspace)
    try:
        edited = parse_review_form(draft.text, patch, comments)
    except ReviewFormError as error:
        raise RequestError(
            f"the review is not understood: {error}",
            hint=(
                f"understood before: {error.understood.words}",
                f"all of it is kept in {draft.path}; the same command continues it",
            ),
        ) from None
    if edited.is_empty:
        draft.drop()
        raise RequestError("the request is empty: nothing was done")
    return edited


def overruling_request(
    workspace: Workspace, task_id: str, given: Mapping[str, str], words: str | None
) -> str:
    """Return the change request that overrules rulings on a task, by question id; then ``words``.

    Raises RequestError for a blank text, and for an id of no task or no ruling.
    """
    history = workspace.store.records.history(find_task(workspace.store.plan(), task_id).id)
    rulings = {ruling.question.id: ruling for ruling in Change.of(history).rulings}
    for name in given:
        if name not in rulings:
            known = (
                f"its rulings are: {', '.join(rulings)}" if rulings else "its agent decided nothing itself"
            )
            raise RequestError(f"{task_id} has no ruling {quoted(name)}", hint=known)
    texts = [render_overruled(rulings[name], text) for name, text in given.items()]
    for text in texts:
        require_words(rulings.values(), text)
    return join_messages(*texts, words or "")
