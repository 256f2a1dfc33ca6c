"""What all sessions of the demo agent have in common: directives, questions, and files of the worktree."""

from __future__ import annotations

import json
import os
import sys
import time

# Every run waits for it: what is slow to load is loaded where it is needed.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

REFUSED_STATUS = 1


class DemoExit(Exception):  # noqa: N818  # the end of a session is not always an error
    """The session is over, with this exit status."""

    def __init__(self, status: int, error: str) -> None:
        super().__init__(error)
        self.status = status


class DemoSession:
    """One start on one task: its context, questions and messages."""

    def __init__(self, context: dict[str, Any]) -> None:
        self.context = context
        self.task: dict[str, Any] = context.get("task") or {}
        self.answers = {str(answer["id"]): str(answer["value"]) for answer in context.get("answers") or ()}
        # The feedback of a person, and of a parent's review.
        sources = (context, context.get("parentReviewFeedback") or {})
        self.feedback = "\n".join(filter(None, (str(source.get("feedback") or "") for source in sources)))
        self.questions: list[dict[str, Any]] = []

    # What an answer has beside questions.
    beside_questions: dict[str, Any] = {}  # noqa: RUF012  # never changed

    def final_message(self) -> str:
        """Return the answer of a session without questions."""
        raise NotImplementedError

    def run(self) -> None:
        """Carry out the directives of the prompt; raises DemoExit if one of them ends the session."""
        self.perform(str(self.task.get("prompt") or "").splitlines())

    def perform(self, lines: list[str], prefix: str = "") -> None:
        """Carry out those lines that are directives: ``fail-once`` is the method ``do_fail_once``."""
        for verb, rest in map(split, lines):
            name = verb.removeprefix(prefix).replace("-", "_")
            directive = getattr(self, f"do_{name}", None) if verb.startswith(prefix) else None
            # Consecutive questions are asked together; the session stops at an open one.
            if directive is not None and (not self.questions or directive == self.do_ask):
                directive(rest)

    def do_ask(self, rest: str) -> None:
        name, _, wording = rest.partition(" ")
        prompt, *options = (part.strip() for part in wording.split("|"))
        if name not in self.answers:
            self.questions.append({"id": name, "prompt": prompt, **({"options": options} if options else {})})

    def do_sleep(self, rest: str) -> None:
        emit("progress", kind="note", text=f"waiting {rest} s", lasts=True)
        time.sleep(float(rest))

    def do_fail(self, rest: str) -> None:
        raise DemoExit(int(rest or 1), f"told to fail with status {rest or 1}")


def is_resume() -> bool:
    return os.environ.get("BLACKBIRD_RESUME") == "1"


def split(line: str) -> tuple[str, str]:
    words = line.split(None, 1)
    return (words[0], words[1].rstrip()) if len(words) > 1 else (line.strip(), "")


def emit(event: str, **fields: Any) -> None:
    sys.stdout.write(json.dumps({"type": event, **fields}) + "\n")
    sys.stdout.flush()


def confined(name: str) -> str:
    """Return the path that a directive names. Raises DemoExit if it leads out of the current directory."""
    path = os.path.realpath(name)
    parts = _relative_path(path).split(os.sep)
    if parts[0] in {os.curdir, os.pardir} or ".git" in parts:
        raise DemoExit(REFUSED_STATUS, f"refusing to touch {name}: it is not a file of this worktree")
    return path


def _relative_path(path: str) -> str:
    return os.path.relpath(path, os.path.realpath(os.curdir))


def split_text(rest: str) -> tuple[str, str]:
    """Return the path and the text of a directive. Raises DemoExit as ``confined``."""
    name, _, text = rest.partition(" ")
    return confined(name), text.replace("\\n", "\n")


def read(path: str, errors: str) -> str:
    with open(path, encoding="utf-8", errors=errors) as file:
        return file.read()


def save(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    emit("progress", kind="edits", text=_relative_path(path))
