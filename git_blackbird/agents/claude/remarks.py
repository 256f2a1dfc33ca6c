"""Remarks on a run of Claude Code: what it began without, was denied, and what was cut off."""

from collections.abc import Iterator

from git_blackbird.agents.claude.events import Result, System
from git_blackbird.messages.incoming.questions import parse_tool_questions
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.run.parts import Question

_MAX_SUBAGENTS = 1000
_MAX_REMARKS = 20
_MAX_DENIALS = 1000
_MAX_NAME_CHARACTERS = 100
_MAX_LINE_CHARACTERS = 500
_CUT_OFF = {"failed": "failed", "stopped": "was stopped", "killed": "was killed"}
_REFUSALS = frozenset({"model_refusal_no_fallback", "model_refusal_fallback"})
_SAFETY = "the model stopped for safety reasons"
# A mode with two names.
_SAME = {"manual": "default"}


class Remarks:
    """Collect what a run began without, subagents that did not finish, and refusals for safety reasons.

    ``mode`` is the permission mode that was asked for; "" if that is not known. ``at_start`` are the remarks
    on what it began without.
    """

    def __init__(self, mode: str = "") -> None:
        self.texts: list[str] = []
        self.at_start: tuple[str, ...] = ()
        self._mode = _SAME.get(mode, mode)
        self._has_started = False
        self._subagents: dict[str, str] = {}

    def take(self, event: System | Result) -> Iterator[str]:
        """Yield the remarks on an event, each text once."""
        for text in self._texts_for(event):
            if text not in self.texts and len(self.texts) < _MAX_REMARKS:
                self.texts.append(text)
                yield text

    def _texts_for(self, event: System | Result) -> Iterator[str]:
        match event:
            case System(subtype="init") if not self._has_started:
                self._has_started = True
                self.at_start = tuple(self._texts_at_start(event))
                yield from self.at_start
            case Result(stop_reason="refusal") if not any(text.startswith(_SAFETY) for text in self.texts):
                yield _SAFETY
            case System(subtype="task_started") if event.subagent_type or event.task_type == "local_agent":
                if len(self._subagents) < _MAX_SUBAGENTS:
                    self._subagents[event.task_id] = event.description
            case System(subtype="task_notification") if event.task_id in self._subagents:
                description = self._subagents.pop(event.task_id)
                if event.status in _CUT_OFF:
                    yield clean_line(f"a subagent {_CUT_OFF[event.status]}: {description or event.task_id}")
            case System() if event.subtype in _REFUSALS:
                yield clean_line(f"{_SAFETY}: {event.content}" if event.content else _SAFETY)
            case _:
                pass

    def _texts_at_start(self, event: System) -> Iterator[str]:
        mode = _SAME.get(event.permission_mode, clean_line(event.permission_mode, _MAX_NAME_CHARACTERS))
        if self._mode and mode and mode != self._mode:
            yield (
                f"its permission mode was {mode}, not {self._mode} as asked: a setting refuses that,"
                " such as one of your organisation"
            )
        failed = [server.name for server in event.mcp_servers if server.status == "failed"]
        if failed:
            servers = "the MCP server" if len(failed) == 1 else "the MCP servers"
            yield clean_line(f"{servers} {', '.join(failed)} failed at the start", _MAX_LINE_CHARACTERS)


class Denials:
    """Collect the denied calls of a run; a call of the tool for questions asks them."""

    def __init__(self) -> None:
        self._tools: dict[str, str] = {}

    def take(self, result: Result) -> tuple[Question, ...]:
        """Add those of a result; return the questions that were denied."""
        asked: tuple[Question, ...] = ()
        for denial in result.permission_denials:
            # A later result of the same run repeats the earlier denials.
            call = denial.tool_use_id or str(len(self._tools))
            if call in self._tools or len(self._tools) >= _MAX_DENIALS:
                continue
            questions = parse_tool_questions(denial.tool_name, denial.tool_input)
            asked = questions or asked
            self._tools[call] = "" if questions else denial.tool_name
        return asked

    @property
    def text(self) -> str:
        """How many calls were denied, and of which tools; "" if none were."""
        denied = list(filter(None, self._tools.values()))
        calls = "1 tool call was" if len(denied) == 1 else f"{len(denied)} tool calls were"
        return clean_line(f"{calls} denied: {', '.join(sorted(set(denied)))}") if denied else ""
