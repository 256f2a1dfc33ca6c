"""Sessions of the demo agent that answer with a verdict or a plan."""

from __future__ import annotations

import json
import os
from html import escape

from git_blackbird.agents.demo.session import DemoSession, emit, read, split_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class DemoReview(DemoSession):
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
        path, text = split_text(required)
        emit("progress", kind="reads", text=name)
        if os.path.isfile(path) and text in read(path, "replace"):
            return None
        return name, text, second, third


class DemoParentReview(DemoReview):
    """One review of a parent: the children to resume, with their feedback."""

    do_review_answer = DemoReview.set_answer
    do_review_answer_once = DemoReview.set_answer_once

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


class DemoChangeReview(DemoReview):
    """One of the two reviews of a change."""

    do_answer = DemoReview.set_answer
    do_answer_once = DemoReview.set_answer_once

    def __init__(self, context: dict[str, Any]) -> None:
        self.kind = str(context["review"]["kind"])
        super().__init__(context, context["review"].get("fault"))
        self.issues: list[str] = []
        self.notes: list[str] = []

    def perform(self, lines: list[str], prefix: str = "") -> None:
        super().perform(lines, prefix or f"{self.kind}-")

    def do_wants(self, rest: str) -> None:
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
        name, _, text = rest.partition(" ")
        place = f'<location file="{escape(name)}" line="1"/>'
        self.notes.append(f"<note>{place}<description>{escape(text)}</description></note>")

    def verdict(self) -> str:
        minor = f"<minor>{''.join(self.notes)}</minor>" if self.kind == "code" else ""
        verdict = "ISSUES" if self.issues else ("APPROVED_WITH_MINOR" if self.notes else "APPROVED")
        findings = f"<issues>{''.join(self.issues)}</issues>{minor}<summary>Looked at it.</summary>"
        text = f"<verdict>{verdict}</verdict><confidence>high</confidence>{findings}"
        return f"<{self.kind}-review>{text}</{self.kind}-review>"


class DemoPlanning(DemoReview):
    """Plan: as the lines of the request say."""

    beside_questions = {"tasks": []}  # noqa: RUF012  # never changed
    do_plan_answer = DemoReview.set_answer
    do_plan_answer_once = DemoReview.set_answer_once

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
