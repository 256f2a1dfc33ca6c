r"""The program of the ``demo`` agent. Standard library only, for each run waits for it.

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

from git_blackbird.agents.demo.session import (
    REFUSED_STATUS,
    DemoExit,
    DemoSession,
    confined,
    emit,
    is_resume,
    read,
    save,
    split,
    split_text,
)

# Every run waits for it: what is slow to load is loaded where it is needed.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

INTERRUPTED_STATUS = 130


class _DemoTask(DemoSession):
    text = "Done."

    def final_message(self) -> str:
        return self.text

    def run(self) -> None:
        lines = str(self.task.get("prompt") or "").splitlines()
        plain = [line for line in lines if split(line)[0] != "on-feedback"]
        changes = [rest for verb, rest in map(split, lines) if verb == "on-feedback" and rest]
        written = (rest.split()[0] for verb, rest in map(split, plain) if verb == "write" and rest)
        first = next(written, None)
        is_resumed = is_resume() and (first is None or os.path.exists(first))
        if not self.feedback or not is_resumed:
            self.perform(plain)
        if self.feedback and not self.questions:
            # By default the feedback becomes visible in a file.
            request = " ".join(self.feedback.splitlines()[0].replace("-->", "").split())
            default = [f"append {first} <!-- changed as asked: {request} -->"] if first else []
            self.perform(changes or default)

    def do_write(self, rest: str) -> None:
        path, text = split_text(rest)
        save(path, text if text.endswith("\n") else text + "\n")

    def do_append(self, rest: str) -> None:
        path, text = split_text(rest)
        before = read(path, "surrogateescape") if os.path.exists(path) else ""
        if not before.endswith("\n" + text + "\n") and before != text + "\n":
            gap = "" if not before or before.endswith("\n") else "\n"
            save(path, f"{before}{gap}{text}\n")

    def do_delete(self, rest: str) -> None:
        path = confined(rest)
        if os.path.lexists(path):
            os.unlink(path)
        emit("progress", kind="edits", text=rest)

    def do_say(self, rest: str) -> None:
        self.text = rest
        emit("progress", kind="says", text=rest)

    def do_answered(self, rest: str) -> None:
        name, _, path = rest.partition(" ")
        save(confined(path.strip()), self.answers.get(name, "") + "\n")

    def do_fail_once(self, rest: str) -> None:
        from pathlib import Path

        records = Path(".blackbird/runs") / str(self.task.get("id", ""))
        own = os.environ.get("BLACKBIRD_RUN_ID", "")
        if not is_resume() and all(path.stem == own for path in records.glob("*.json")):
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


def main() -> int:
    emit("session", session_id=os.environ.get("BLACKBIRD_SESSION_ID", ""))
    data = sys.stdin.read()
    try:
        session = _session_for(json.loads(data))
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


def _session_for(context: dict[str, Any]) -> DemoSession:
    if not context.keys() & {"planning", "parentReview", "review"}:
        return _DemoTask(context)
    from git_blackbird.agents.demo import reviews  # only these wait for it

    if "planning" in context:
        return reviews.DemoPlanning(context)
    if "parentReview" in context:
        return reviews.DemoParentReview(context)
    return reviews.DemoChangeReview(context)
