r"""The program of the ``demo`` agent. Standard library only: it is imported as a file of no package.

Reads a context pack from standard input and carries out the lines of ``task.prompt`` in order:

    write PATH TEXT...          the file's text; ``\n`` is a line end
    append PATH TEXT...         a line at the end, unless it is already there
    delete PATH
    say TEXT...                 a step in the output, and the final message
    ask ID PROMPT [| OPTION]... a question, unless the context has an answer of that ID
    answered ID PATH            the answer, as the file's text
    sleep SECONDS
    fail CODE                   end with that status
    fail-once CODE              the same, unless the task has been run before
    commit MESSAGE              commit what has changed
    on-feedback DIRECTIVE       carried out only with ``feedback``

A resume with ``feedback``, which may come from a parent's review, carries out the ``on-feedback`` lines only;
without any, it appends the feedback to the first file that the prompt writes. Other lines are prose. Paths
stay below the current directory.

As the reviewer of a parent it carries out these lines of the parent's prompt, as well as ``ask``, ``sleep``
and ``fail``, and answers with a verdict:

    require PATH TEXT... [| CHILD [| FEEDBACK]]  unless the file has the text, CHILD, or else every
                                                 child, is to be resumed with that feedback
    review-say TEXT...                           prose before the verdict
    review-answer TEXT...                        the answer, instead of a verdict
    review-answer-once TEXT...                   the same, unless the context has an error of an answer

As one of the two reviewers of a change it carries out the lines of the task's prompt beginning with ``spec-``
or ``code-``, and answers with its XML:

    spec-wants PATH TEXT... [| SEVERITY [| DESCRIPTION]]  an issue at PATH unless the file has the text
    code-notes PATH TEXT...                               a minor note
    spec-answer TEXT...                                   the answer, instead of XML
    spec-answer-once TEXT...                              the same, unless the context has an error of one
    spec-sleep SECONDS, spec-fail CODE, spec-ask ID PROMPT

As the agent that plans it carries out these lines of the request, and of what is to be different, as well as
``ask``, ``sleep`` and ``fail``, and answers with a plan:

    - TITLE [| PROMPT]           a new task, which is below the line ``- TITLE`` above it with two more blanks
    after ID OTHER [| REASON]    task ID comes after OTHER
    set ID FIELD TEXT            a field of the plan's form
    drop ID                      task ID is deleted
    plan-answer TEXT             the answer, instead of a plan
    plan-answer-once TEXT        the same, unless the context has an error of an answer

To infer dependencies, a task comes after each that its texts name.
"""

from __future__ import annotations

import json
import os
import sys
import time

# Every run waits for it: what is slow to load is loaded where it is needed.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

INTERRUPTED_STATUS = 130
REFUSED_STATUS = 1


class DemoExit(Exception):  # noqa: N818  # the end of a session is not always an error
    """The session is over, with this exit status."""

    def __init__(self, status: int, error: str) -> None:
        super().__init__(error)
        self.status = status


class _DemoSession:
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
        for verb, rest in map(_split, lines):
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
        emit("progress", kind="note", text=f"waiting {rest} s")
        time.sleep(float(rest))

    def do_fail(self, rest: str) -> None:
        raise DemoExit(int(rest or 1), f"told to fail with status {rest or 1}")


class _DemoTask(_DemoSession):
    """Work on a task."""

    text = "Done."

    def final_message(self) -> str:
        return self.text

    def run(self) -> None:
        lines = str(self.task.get("prompt") or "").splitlines()
        plain = [line for line in lines if _split(line)[0] != "on-feedback"]
        changes = [rest for verb, rest in map(_split, lines) if verb == "on-feedback" and rest]
        written = (rest.split()[0] for verb, rest in map(_split, plain) if verb == "write" and rest)
        first = next(written, None)
        is_resumed = _is_resume() and (first is None or os.path.exists(first))
        if not self.feedback or not is_resumed:
            self.perform(plain)
        if self.feedback and not self.questions:
            # By default the feedback becomes visible in a file.
            request = " ".join(self.feedback.splitlines()[0].replace("-->", "").split())
            default = [f"append {first} <!-- changed as asked: {request} -->"] if first else []
            self.perform(changes or default)

    def do_write(self, rest: str) -> None:
        path, text = _split_text(rest)
        _save(path, text if text.endswith("\n") else text + "\n")

    def do_append(self, rest: str) -> None:
        path, text = _split_text(rest)
        before = _read(path, "surrogateescape") if os.path.exists(path) else ""
        if not before.endswith("\n" + text + "\n") and before != text + "\n":
            gap = "" if not before or before.endswith("\n") else "\n"
            _save(path, f"{before}{gap}{text}\n")

    def do_delete(self, rest: str) -> None:
        path = _confined(rest)
        if os.path.lexists(path):
            os.unlink(path)
        emit("progress", kind="edits", text=rest)

    def do_say(self, rest: str) -> None:
        self.text = rest
        emit("progress", kind="says", text=rest)

    def do_answered(self, rest: str) -> None:
        name, _, path = rest.partition(" ")
        _save(_confined(path.strip()), self.answers.get(name, "") + "\n")

    def do_fail_once(self, rest: str) -> None:
        from pathlib import Path

        records = Path(".blackbird/runs") / str(self.task.get("id", ""))
        own = os.environ.get("BLACKBIRD_RUN_ID", "")
        if not _is_resume() and all(path.stem == own for path in records.glob("*.json")):
            self.do_fail(rest)

    def do_commit(self, rest: str) -> None:
        import subprocess  # few commit, and all the others start sooner

        emit("progress", kind="runs", text=f"git commit -m {rest}")
        for command in (["add", "-A", "--", ".", ":(exclude).blackbird"], ["commit", "-q", "-m", rest]):
            completed = subprocess.run(["git", *command], check=False, capture_output=True, text=True)  # noqa: S607
            if completed.returncode:
                raise DemoExit(
                    REFUSED_STATUS,
                    f"git {command[0]}: {completed.stderr.strip() or completed.stdout.strip()}",
                )


class _DemoReview(_DemoSession):
    """A review; ``previous_fault`` is the error of an answer before this one."""

    def __init__(self, context: dict[str, Any], previous_fault: object) -> None:
        super().__init__(context)
        self.previous_fault = previous_fault
        # An answer instead of the verdict.
        self.fixed_answer: str | None = None

    def final_message(self) -> str:
        return self.verdict() if self.fixed_answer is None else self.fixed_answer

    def verdict(self) -> str:
        """Return the answer that the directives amount to."""
        raise NotImplementedError

    def set_answer(self, rest: str) -> None:
        self.fixed_answer = rest

    def set_answer_once(self, rest: str) -> None:
        if not self.previous_fault:
            self.fixed_answer = rest

    def _lacking(self, rest: str) -> tuple[str, str, str, str] | None:
        """Return the parts of ``PATH TEXT [| SECOND [| THIRD]]``; None if the file has the text."""
        required, second, third = (*(part.strip() for part in rest.split("|", 2)), "", "")[:3]
        name = required.partition(" ")[0]
        path, text = _split_text(required)
        emit("progress", kind="reads", text=name)
        if os.path.isfile(path) and text in _read(path, "replace"):
            return None
        return name, text, second, third


class _DemoParentReview(_DemoReview):
    """One review of a parent: the children to resume, with their feedback."""

    do_review_answer = _DemoReview.set_answer
    do_review_answer_once = _DemoReview.set_answer_once

    def __init__(self, context: dict[str, Any]) -> None:
        review = context["parentReview"]
        super().__init__(context, review.get("faultOfLastAnswer"))
        self.children = [str(child["childId"]) for child in review.get("children") or ()]
        self.requests: dict[str, list[str]] = {}
        self.prose: list[str] = []

    def final_message(self) -> str:
        return "\n".join([*self.prose, super().final_message()])

    def do_review_say(self, rest: str) -> None:
        self.prose.append(rest)
        emit("progress", kind="says", text=rest)

    def do_require(self, rest: str) -> None:
        if lacking := self._lacking(rest):
            name, text, child, feedback = lacking
            request = feedback.replace("\\n", "\n") or f"{name} has to contain: {text}"
            for reopened in [child] if child else self.children:
                self.requests.setdefault(reopened, []).append(request)

    def verdict(self) -> str:
        requests = {child: "\n".join(feedback) for child, feedback in sorted(self.requests.items())}
        results = [
            {
                "taskId": child,
                "status": "failed" if child in requests else "passed",
                "feedback": requests.get(child),
            }
            for child in self.children
        ]
        verdict = {
            "passed": not requests,
            "resumeTaskIds": list(requests),
            "feedbackForResume": "\n".join(dict.fromkeys(requests.values())),
            "reviewResults": results,
        }
        return json.dumps(verdict)


class _DemoChangeReview(_DemoReview):
    """One of the two reviews of a change: its spec or its code review."""

    do_answer = _DemoReview.set_answer
    do_answer_once = _DemoReview.set_answer_once

    def __init__(self, context: dict[str, Any]) -> None:
        self.kind = str(context["review"]["kind"])
        super().__init__(context, context["review"].get("fault"))
        self.issues: list[str] = []
        self.notes: list[str] = []

    def perform(self, lines: list[str], prefix: str = "") -> None:
        super().perform(lines, prefix or f"{self.kind}-")

    def do_wants(self, rest: str) -> None:
        from html import escape

        if lacking := self._lacking(rest):
            name, text, severity, description = lacking
            kind = "missing_requirement" if self.kind == "spec" else "bug"
            self.issues.append(
                f'<issue type="{kind}" severity="{escape(severity or "important")}">'
                f'<location file="{escape(name)}" line="1"/>'
                f"<description>{escape(description or f'{name} has to contain: {text}')}</description>"
                "</issue>"
            )

    def do_notes(self, rest: str) -> None:
        from html import escape

        name, _, text = rest.partition(" ")
        place = f'<location file="{escape(name)}" line="1"/>'
        self.notes.append(f"<note>{place}<description>{escape(text)}</description></note>")

    def verdict(self) -> str:
        minor = f"<minor>{''.join(self.notes)}</minor>" if self.kind == "code" else ""
        verdict = "ISSUES" if self.issues else ("APPROVED_WITH_MINOR" if self.notes else "APPROVED")
        findings = f"<issues>{''.join(self.issues)}</issues>{minor}<summary>Looked at it.</summary>"
        text = f"<verdict>{verdict}</verdict><confidence>high</confidence>{findings}"
        return f"<{self.kind}-review>{text}</{self.kind}-review>"


class _DemoPlanning(_DemoReview):
    """Plan: as the lines of the request say."""

    beside_questions = {"tasks": []}  # noqa: RUF012  # never changed
    do_plan_answer = _DemoReview.set_answer
    do_plan_answer_once = _DemoReview.set_answer_once

    def __init__(self, context: dict[str, Any]) -> None:
        self.planning: dict[str, Any] = context["planning"]
        super().__init__(context, self.planning.get("fault"))
        self.tasks: dict[str, dict[str, Any]] = {}
        self.deleted: list[str] = []
        # The lines of tasks that one further in would be below.
        self.above: list[tuple[int, str]] = []

    def run(self) -> None:
        if self.planning["kind"] == "deps infer":
            self._infer()
        lines = "\n".join(str(self.planning.get(name) or "") for name in ("request", "change"))
        for line in lines.splitlines():
            if line.lstrip().startswith("- "):
                self._add(line)
            else:
                self.perform([line])

    def _add(self, line: str) -> None:
        depth = len(line) - len(line.lstrip())
        title, _, prompt = (part.strip() for part in line.strip()[2:].partition("|"))
        self.above = [one for one in self.above if one[0] < depth]
        name = "-".join("".join(c if c.isalnum() else " " for c in title.lower()).split())
        task = self._task(name)
        task |= {"title": title, "prompt": prompt or None}
        if name not in (one["id"] for one in self.planning.get("tasks") or ()):
            task["criteria"] = [f"{title}: done"]
        if self.above:
            task["parent"] = self.above[-1][1]
        self.above.append((depth, name))

    def _task(self, name: str) -> dict[str, Any]:
        return self.tasks.setdefault(name, {"id": name})

    def do_after(self, rest: str) -> None:
        names, _, reason = (part.strip() for part in rest.partition("|"))
        name, other = names.split()
        task = self._task(name)
        task["after"] = [*task.get("after", ()), other]
        if reason:
            task["because"] = [*task.get("because", ()), {"task": other, "reason": reason}]

    def do_set(self, rest: str) -> None:
        name, field, text = rest.split(None, 2)
        self._task(name)[field] = text.replace("\\n", "\n")

    def do_drop(self, rest: str) -> None:
        self.deleted.append(rest)

    def _infer(self) -> None:
        tasks = self.planning.get("tasks") or []
        for task in tasks:
            text = f"{task.get('prompt', '')} {task.get('description', '')}".split()
            after, name = task.get("after", []), task["id"]
            missing = {one["id"] for one in tasks} & set(text) - {name, *after}
            if missing and name in self.planning.get("only", [name]):
                for other in (*after, *sorted(missing)):
                    self.do_after(f"{name} {other} | it names {other}")

    def verdict(self) -> str:
        answer: dict[str, Any] = {"tasks": list(self.tasks.values())}
        return json.dumps({**answer, "delete": self.deleted} if self.deleted else answer)


def _is_resume() -> bool:
    return os.environ.get("BLACKBIRD_RESUME") == "1"


def _split(line: str) -> tuple[str, str]:
    """Return the first word of a line, and the rest."""
    words = line.split(None, 1)
    return (words[0], words[1].rstrip()) if len(words) > 1 else (line.strip(), "")


def emit(event: str, **fields: Any) -> None:
    """Print one line of output."""
    sys.stdout.write(json.dumps({"type": event, **fields}) + "\n")
    sys.stdout.flush()


def _confined(name: str) -> str:
    """Return the path that a directive names. Raises DemoExit if it leads out of the current directory."""
    path = os.path.realpath(name)
    parts = _relative_path(path).split(os.sep)
    if parts[0] in {os.curdir, os.pardir} or ".git" in parts:
        raise DemoExit(REFUSED_STATUS, f"refusing to touch {name}: it is not a file of this worktree")
    return path


def _relative_path(path: str) -> str:
    return os.path.relpath(path, os.path.realpath(os.curdir))


def _split_text(rest: str) -> tuple[str, str]:
    name, _, text = rest.partition(" ")
    return _confined(name), text.replace("\\n", "\n")


def _read(path: str, errors: str) -> str:
    with open(path, encoding="utf-8", errors=errors) as file:
        return file.read()


def _save(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    emit("progress", kind="edits", text=_relative_path(path))


def main() -> int:
    """Run one session; return the exit status."""
    emit("session", session_id=os.environ.get("BLACKBIRD_SESSION_ID", ""))
    data = sys.stdin.read()
    try:
        context = json.loads(data)
        if "planning" in context:
            session: _DemoSession = _DemoPlanning(context)
        elif "parentReview" in context:
            session = _DemoParentReview(context)
        else:
            session = _DemoChangeReview(context) if "review" in context else _DemoTask(context)
        session.run()
    except DemoExit as ending:
        emit("result", ok=False, error=str(ending))
        return ending.status
    except KeyboardInterrupt:
        return INTERRUPTED_STATUS
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        emit("result", ok=False, error=f"{type(error).__name__}: {error}")
        return REFUSED_STATUS
    text = session.final_message()
    if session.questions:
        text = json.dumps({"questions": session.questions, **session.beside_questions})
    usage = {"input_tokens": len(data) // 4, "output_tokens": len(text) // 4}
    emit("result", ok=True, text=text, usage=usage, cost_usd=0.0)
    return 0
