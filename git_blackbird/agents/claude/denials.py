"""The tool calls that Claude Code denied to its model."""

from git_blackbird.agents.claude.events import Result
from git_blackbird.messages.incoming.questions import parse_tool_questions
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.run.parts import Question

_MAX_DENIALS = 1000


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
