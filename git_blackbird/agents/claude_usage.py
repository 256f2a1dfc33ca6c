"""What a run of Claude Code used and cost: its stream counts in several ways (AGENTS.md 2.2, 2.3)."""

from collections.abc import Iterable, Mapping

from git_blackbird.agents.json_values import amount_of, count_of, object_of, objects_of, text_of
from git_blackbird.agents.protocol import JsonObject
from git_blackbird.model.conversation import Usage

TOTAL_COST = "total_cost_usd"
TOTAL_OUTPUT = "model_output_tokens"
_SINCE = "model_usage_since_last_result"
_MAX_RECENT = 256
_Counts = tuple[int, int, int]
_NOTHING: _Counts = (0, 0, 0)


class UsageSoFar:
    """Counts the tokens of the model's messages while they come.

    A message comes in several events that tell the same: it counts once. What it says of its output is
    what was there when it began; partial messages, where they were asked for, tell the rest.
    """

    def __init__(self) -> None:
        self._total = _NOTHING
        self._recent: dict[str, _Counts] = {}
        self._begun: dict[str, str] = {}

    @property
    def usage(self) -> Usage:
        """The tokens of this run so far, its subagents' too."""
        return _usage(self._total)

    def take_message(self, message: JsonObject) -> bool:
        """Count a message; says whether that made a difference."""
        given, cached, made = _counts(object_of(message.get("usage")))
        return self._keep(text_of(message.get("id")), (given, cached, made))

    def take_partial(self, event: JsonObject) -> bool:
        """Count a part of a message; says whether that made a difference."""
        inner = object_of(event.get("event"))
        match inner.get("type"):
            case "message_start":
                message = object_of(inner.get("message"))
                if len(self._begun) < _MAX_RECENT:
                    self._begun[text_of(event.get("parent_tool_use_id"))] = text_of(message.get("id"))
                return self.take_message(message)
            case "message_delta":
                made = count_of(object_of(inner.get("usage")).get("output_tokens"))
                return self._keep(self._begun.pop(text_of(event.get("parent_tool_use_id")), ""), (0, 0, made))
            case _:
                return False

    def _keep(self, name: str, counts: _Counts) -> bool:
        before = self._recent.get(name, _NOTHING)
        given, cached, made = map(max, before, counts)
        now = (given, cached, made)
        if not name or now == before:
            return False
        self._recent[name] = now
        total = self._total
        self._total = (
            total[0] + given - before[0],
            total[1] + cached - before[1],
            total[2] + made - before[2],
        )
        if len(self._recent) > _MAX_RECENT:
            del self._recent[next(iter(self._recent))]
        return True


class Account:
    """Adds up the results of one run.

    There is one for each time that the model came to an end: what works in the background wakes it
    again. Newer versions count a session over its resumes, older ones a run, subagents included; what a
    result tells since the one before it settles that, and else the session's total from before.
    """

    def __init__(self, previous: Mapping[str, float]) -> None:
        self._previous = dict(previous)
        self._last: JsonObject = {}
        self._tells_since = True
        self._since = self._told = _NOTHING
        self._since_cost = 0.0

    def take(self, result: JsonObject) -> None:
        """Count one more result."""
        self._last = result
        self._tells_since = self._tells_since and isinstance(result.get(_SINCE), dict)
        parts = _parts(result, _SINCE)
        self._since = _sum((self._since, *map(_model_counts, parts)))
        self._since_cost += sum(amount_of(part.get("costUSD")) or 0.0 for part in parts)
        self._told = _sum((self._told, _counts(object_of(result.get("usage")))))

    @property
    def usage(self) -> Usage | None:
        """The tokens of this run alone; None when no result told of any."""
        parts = _parts(self._last, "modelUsage")
        if self._tells_since and self._since != _NOTHING:
            return _usage(self._since)
        if parts and not self._counts_session:
            return _usage(_sum(map(_model_counts, parts)))
        return _usage(self._told) if isinstance(self._last.get("usage"), dict) else None

    @property
    def cost_usd(self) -> float | None:
        """The US dollars of this run alone; None when no result named any."""
        if self._last and self._tells_since:
            return self._since_cost
        total = amount_of(self._last.get(TOTAL_COST))
        if total is None or not self._counts_session:
            return total
        before = self._previous.get(TOTAL_COST, 0.0)
        return total - before if total >= before else total

    @property
    def totals(self) -> dict[str, float]:
        """The counters as printed, for the difference at the next resume."""
        total, made = amount_of(self._last.get(TOTAL_COST)), _model_output(self._last)
        # A session that could not be opened counts from zero: the next resume still continues the old one.
        if not total:
            return dict(self._previous)
        return {TOTAL_COST: total, **({TOTAL_OUTPUT: float(made)} if made else {})}

    @property
    def _counts_session(self) -> bool:
        """Whether the totals may be those of the session, and not of this run alone.

        They are the run's when its models made no more than this conversation did, or less than the
        session had before: subagents are in the totals, and not in the usage.
        """
        made = _model_output(self._last)
        own = self._told[2]
        return not made or (made != own and made >= self._previous.get(TOTAL_OUTPUT, 0) + own)


def _model_output(result: JsonObject) -> int:
    return sum(count_of(part.get("outputTokens")) for part in _parts(result, "modelUsage"))


def _parts(result: JsonObject, name: str) -> list[JsonObject]:
    return objects_of(list(object_of(result.get(name)).values()))


def _counts(usage: JsonObject) -> _Counts:
    cached = count_of(usage.get("cache_read_input_tokens"))
    fresh = count_of(usage.get("input_tokens")) + count_of(usage.get("cache_creation_input_tokens"))
    return fresh + cached, cached, count_of(usage.get("output_tokens"))


def _model_counts(part: JsonObject) -> _Counts:
    cached = count_of(part.get("cacheReadInputTokens"))
    fresh = count_of(part.get("inputTokens")) + count_of(part.get("cacheCreationInputTokens"))
    return fresh + cached, cached, count_of(part.get("outputTokens"))


def _sum(counts: Iterable[_Counts]) -> _Counts:
    columns = list(zip(*counts, strict=True)) or [(), (), ()]
    return sum(columns[0]), sum(columns[1]), sum(columns[2])


def _usage(counts: _Counts) -> Usage:
    given, cached, made = counts
    return Usage(input_tokens=given, output_tokens=made, cached_tokens=cached)
