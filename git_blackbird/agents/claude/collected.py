"""What a run of Claude Code amounts to: tokens and cost, background work, remarks, denials, edits."""

from collections import Counter
from collections.abc import Iterator, Mapping

from git_blackbird.agents.claude.events import Message, MessageEvent, Origin, Result, System, TokenUsage
from git_blackbird.agents.event_parser import Edits
from git_blackbird.clean import one_line
from git_blackbird.messages.incoming.questions import parse_tool_questions
from git_blackbird.model.run.parts import Question, Usage

# Nobody but us, or the program itself, began a turn with these.
_OURS = frozenset({"human", "sdk", "auto-continuation"})
_ENDED = frozenset({"completed", "failed", "killed", "paused"})
_MAX_TASKS = 100


def is_woken(origin: Origin) -> bool | None:
    """Whether a turn was begun by something other than our message; None if the program does not say."""
    return origin.kind not in _OURS if origin.kind else None


class LastMessage:
    """The text of the model's last message, which comes in one event for each block."""

    def __init__(self) -> None:
        self.text = self.id = ""

    def take(self, message: Message) -> None:
        text = "\n\n".join(block.text for block in message.content if block.type == "text" and block.text)
        if text and message.id and message.id == self.id:
            self.text = f"{self.text}\n\n{text}"
        elif text:
            self.text = text
        self.id = message.id


class BackgroundTasks:
    """The commands and subagents that work in the background, as far as the stream shows them."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._names.values())

    def take(self, event: System) -> None:
        match event.subtype:
            case "background_tasks_changed":
                # A list of all.
                self._names.clear()
                for task in event.tasks:
                    self._add(task.task_id, task.description)
            case "task_started" if not event.ambient:
                self._add(event.task_id, event.description)
            case "task_updated" if event.patch.status in _ENDED:
                self._names.pop(event.task_id, None)
            case "task_notification":
                self._names.pop(event.task_id, None)
            case _:
                pass

    def _add(self, task_id: str, description: str) -> None:
        if len(self._names) < _MAX_TASKS:
            self._names[task_id] = one_line(description) or task_id


TOTAL_COST = "total_cost_usd"
TOTAL_OUTPUT = "model_output_tokens"
_MAX_RECENT = 256


class LiveUsage:
    """Count the tokens of the model's messages as they arrive.

    A message arrives in several events with equal figures, and counts once. Its output figure is the one from
    its beginning.
    """

    def __init__(self) -> None:
        self._total = Counter[str]()
        self._recent: dict[str, Counter[str]] = {}

    @property
    def usage(self) -> Usage:
        return Usage(**self._total)

    @property
    def known(self) -> Usage | None:
        """The same; None before the first message."""
        return self.usage if self._recent else None

    def take_message(self, message: Message) -> bool:
        """Count a message; return whether the figures changed."""
        if not message.id:
            return False
        old = self._recent.get(message.id, Counter())
        new = old | _count(message.usage)
        if new == old:
            return False
        self._recent[message.id] = new
        self._total += new - old
        if len(self._recent) > _MAX_RECENT:
            del self._recent[next(iter(self._recent))]
        return True


class UsageTotals:
    """Add up the results of one run.

    There is one result each time the model stops: background work wakes it again. Newer versions count a
    session over its resumes, older ones a single run, subagents included; the difference between two results
    reveals which, or else the earlier total of the session.
    """

    def __init__(self, previous: Mapping[str, float]) -> None:
        self._previous = dict(previous)
        self._last: Result | None = None
        # Whether each result had the figures since the one before it.
        self._has_since = True
        self._since = Counter[str]()
        self._reported = Counter[str]()
        self._since_cost = 0.0

    def take(self, result: Result) -> None:
        self._last = result
        self._has_since = self._has_since and result.model_usage_since_last_result is not None
        for model in (result.model_usage_since_last_result or {}).values():
            self._since += _count(model)
            self._since_cost += model.cost_usd or 0.0
        if result.usage is not None:
            self._reported += _count(result.usage)

    @property
    def usage(self) -> Usage | None:
        """The tokens of this run alone; None if no result had any."""
        if self._last is None:
            return None
        if self._has_since and self._since:
            return Usage(**self._since)
        if self._last.model_usage and not self._counts_session:
            return Usage(**sum(map(_count, self._last.model_usage.values()), Counter()))
        return Usage(**self._reported) if self._last.usage is not None else None

    @property
    def cost_usd(self) -> float | None:
        """The US dollars of this run alone; None if no result had any."""
        if self._last is None:
            return None
        if self._has_since:
            return self._since_cost
        total = self._last.total_cost_usd
        if total is None or not self._counts_session:
            return total
        before = self._previous.get(TOTAL_COST, 0.0)
        return total - before if total >= before else total

    @property
    def totals(self) -> dict[str, float]:
        """The counters as printed, which the next resume subtracts."""
        # A session that could not be opened counts from zero: the next resume continues the old one.
        if self._last is None or not self._last.total_cost_usd:
            return dict(self._previous)
        output = self._model_output
        return {TOTAL_COST: self._last.total_cost_usd, **({TOTAL_OUTPUT: float(output)} if output else {})}

    @property
    def _counts_session(self) -> bool:
        """Whether the totals may be those of the session, not of this run alone.

        They are the run's if its models produced no more than this conversation did, or less than the session
        had before: subagents are in the totals, but not in the usage.
        """
        output, own = self._model_output, self._reported["output_tokens"]
        return not output or (output != own and output >= self._previous.get(TOTAL_OUTPUT, 0) + own)

    @property
    def _model_output(self) -> int:
        return sum(model.output_tokens for model in self._last.model_usage.values()) if self._last else 0


def _count(usage: TokenUsage) -> Counter[str]:
    """Return the tokens by the fields of Usage, in which the input includes its cached part."""
    cached = usage.cache_read_input_tokens
    total = usage.input_tokens + usage.cache_creation_input_tokens + cached
    return Counter(input_tokens=total, output_tokens=usage.output_tokens, cached_tokens=cached)


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
                    yield one_line(f"a subagent {_CUT_OFF[event.status]}: {description or event.task_id}")
            case System() if event.subtype in _REFUSALS:
                yield one_line(f"{_SAFETY}: {event.content}" if event.content else _SAFETY)
            case _:
                pass

    def _texts_at_start(self, event: System) -> Iterator[str]:
        mode = _SAME.get(event.permission_mode, one_line(event.permission_mode, _MAX_NAME_CHARACTERS))
        if self._mode and mode and mode != self._mode:
            yield (
                f"its permission mode was {mode}, not {self._mode} as asked: a setting refuses that,"
                " such as one of your organisation"
            )
        failed = [server.name for server in event.mcp_servers if server.status == "failed"]
        if failed:
            servers = "the MCP server" if len(failed) == 1 else "the MCP servers"
            yield one_line(f"{servers} {', '.join(failed)} failed at the start", _MAX_LINE_CHARACTERS)


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
        denied = list(filter(None, self._tools.values()))
        calls = "1 tool call was" if len(denied) == 1 else f"{len(denied)} tool calls were"
        return one_line(f"{calls} denied: {', '.join(sorted(set(denied)))}") if denied else ""


EDIT_TOOLS = ("Edit", "Write", "MultiEdit", "NotebookEdit")


class ClaudeEdits(Edits):
    """Collects the files of tool calls whose results report success."""

    def take(self, event: MessageEvent) -> None:
        for block in event.message.content:
            if block.type == "tool_result":
                self.end(block.tool_use_id, is_done=not block.is_error)
            elif block.type == "tool_use" and block.name in EDIT_TOOLS:
                self.begin(block.id, block.input.file_path or block.input.notebook_path)
