"""Output of the commands about configuration and agents."""

from collections.abc import Sequence
from typing import Any, ClassVar, Self

from pydantic import Field

from git_blackbird.cli.schema.base import CommandOutput, View, is_none
from git_blackbird.controller.config.edit import ConfigChange
from git_blackbird.controller.queries import agents as queries
from git_blackbird.model.config.keys import Value, ValueType
from git_blackbird.model.config.layers import KeyLayers, ValueEffect
from git_blackbird.model.config.settings import Layer, Setting
from git_blackbird.model.entities.findings import Source

_ORIGIN = "The file or variable that it comes from."
_LAYER = "Where the value comes from."


class SettingView(View):
    """A key, and the value that counts."""

    key: str = Field(description="Its name.")
    value: Value | None = Field(description="The value that counts.")
    layer: str = Field(description=_LAYER)
    origin: str = Field(description=_ORIGIN)
    default: Value | None = Field(description="The default.")
    type: ValueType = Field(description="The type of its values.")
    help: str = Field(description="What it is.")
    range: tuple[int, int] | None = Field(
        default=None, exclude_if=is_none, description="The smallest and the largest value, of an integer."
    )

    @classmethod
    def of(cls, setting: Setting) -> Self:
        """Make it of a setting."""
        return cls(**_setting_fields(setting))


def _setting_fields(setting: Setting) -> dict[str, Any]:
    key = setting.key
    return {
        "key": key.name,
        "value": setting.value,
        "layer": _layer_name(setting.layer),
        "origin": setting.origin,
        "default": key.default,
        "type": key.kind,
        "help": key.help,
        "range": (key.min, key.max) if key.kind is ValueType.INTEGER else None,
    }


def _layer_name(layer: Layer) -> str:
    return layer.name.lower()


class LayerValueView(View):
    """What one layer says of a key."""

    layer: str = Field(description=_LAYER)
    origin: str = Field(description=_ORIGIN)
    value: object = Field(description="The value.")
    effect: ValueEffect = Field(
        description="What becomes of it; `weaker` is a project's value that is less strict than your own."
    )
    problem: str | None = Field(description="What is wrong with it.")

    @classmethod
    def all_of(cls, layers: KeyLayers) -> tuple[Self, ...]:
        """Make one of each layer, the strongest first."""
        return tuple(
            cls(
                layer=_layer_name(told.given.layer),
                origin=told.given.origin,
                value=told.given.value if told.value is None else told.value,
                effect=effect,
                problem=None if told.problem is None else told.problem.what,
            )
            for told, effect in layers.effects()
        )


class LayeredSetting(SettingView):
    """A key, the value that counts, and what each layer says."""

    layers: tuple[LayerValueView, ...] = Field(description="What each layer says, the strongest first.")


class ConfigOutput(CommandOutput):
    """Keys with their values and origins."""

    schema_name: ClassVar[str] = "config-show"

    settings: tuple[LayeredSetting, ...] = Field(description="The keys.")

    @classmethod
    def of(cls, settings: Sequence[Setting], layers: Sequence[KeyLayers]) -> Self:
        """Make it of settings, and what the layers say of each."""
        return cls(
            settings=tuple(
                LayeredSetting(**_setting_fields(one), layers=LayerValueView.all_of(said))
                for one, said in zip(settings, layers, strict=True)
            )
        )


class ConfigChangeOutput(CommandOutput):
    """What was written, or removed."""

    schema_name: ClassVar[str] = "config-set"

    key: str = Field(description="The key.")
    value: Value | None = Field(description="Its value there; null when it was removed.")
    place: str = Field(description="The file.")
    overruled_by: str | None = Field(description="What counts instead, if something does.")

    @classmethod
    def of(cls, change: ConfigChange) -> Self:
        """Make it of a change."""
        stronger = change.overruled_by
        return cls(
            key=change.key,
            value=change.value,
            place=change.place,
            overruled_by=None if stronger is None else stronger.origin,
        )


class AbilitiesView(View):
    """What an agent can do."""

    resume: bool = Field(description="Continue a session.")
    schema_: bool = Field(alias="schema", description="Keep to a JSON Schema.")
    read_only: bool = Field(description="Run read-only.")
    name_session: bool = Field(description="Use a given session id.")
    report_cost: bool = Field(description="Report what a run cost.")


class _AgentFields(View):
    agent: str = Field(description="Its name.")
    chosen: bool = Field(description="Whether it is the one for new runs.")
    can_start: bool = Field(description="Whether nothing keeps it from starting.")
    program: str | None = Field(description="The path of its program.")
    version: str | None = Field(description="The version.")
    login: str | None = Field(description="Whether it is logged in.")
    blocked_reason: str | None = Field(description="Why it cannot start.")
    hint: str | None = Field(description="What to do about it.")
    powers: str | None = Field(description="What it may do as configured.")
    reviews: str | None = Field(description="What it may do as a reviewer.")
    reviewer_of: tuple[Source, ...] = Field(description="The reviews of changes that it makes.")
    remarks: tuple[str, ...] = Field(description="What else is worth knowing.")
    can: AbilitiesView = Field(description="What it can do at all.")
    settings: tuple[SettingView, ...] = Field(description="Its keys.")


class AgentView(_AgentFields):
    """One agent."""


class AgentOutput(CommandOutput, _AgentFields):
    """One agent; the exit code is 8 when it cannot start."""

    schema_name: ClassVar[str] = "agent-one"

    @classmethod
    def of(cls, view: queries.AgentView) -> Self:
        """Make it of what was found out."""
        return cls(**_agent_fields(view))


def _agent_fields(view: queries.AgentView) -> dict[str, Any]:
    found, can = view.inspection, view.abilities
    return {
        "agent": view.name,
        "chosen": view.is_chosen,
        "can_start": view.can_start,
        "program": found.program,
        "version": found.version or None,
        "login": found.login,
        "blocked_reason": found.blocked_reason,
        "hint": found.hint,
        "powers": found.powers or None,
        "reviews": found.reviews or None,
        "reviewer_of": tuple(one.source for one in view.reviews),
        "remarks": found.remarks,
        "can": AbilitiesView(
            resume=can.resume,
            schema_=can.schema,
            read_only=can.read_only,
            name_session=can.chooses_session,
            report_cost=can.reports_cost,
        ),
        "settings": tuple(map(SettingView.of, view.settings)),
    }


class ReviewerView(View):
    """Who makes one of the two reviews of a change."""

    source: Source = Field(description="Which review.")
    agent: str = Field(description="The agent.")
    model: str | None = Field(description="The model.")
    origin: str = Field(description=_ORIGIN)
    read_only: bool = Field(description="Whether it is held read-only in the worktree.")


class AgentsOutput(CommandOutput):
    """Every agent, and which is chosen."""

    schema_name: ClassVar[str] = "agent"

    chosen: str = Field(description="The agent for new runs.")
    origin: str = Field(description=_ORIGIN)
    layer: str = Field(description=_LAYER)
    agents: tuple[AgentView, ...] = Field(description="Every agent.")
    reviewers: tuple[ReviewerView, ...] = Field(
        description="Who reviews changes; empty where reviews are off."
    )

    @classmethod
    def of(cls, found: queries.AgentList) -> Self:
        """Make it of all agents."""
        return cls(
            chosen=str(found.choice.value),
            origin=found.choice.origin,
            layer=_layer_name(found.choice.layer),
            agents=tuple(AgentView(**_agent_fields(view)) for view in found.agents),
            reviewers=tuple(
                ReviewerView(
                    source=one.source,
                    agent=one.agent,
                    model=one.model,
                    origin=one.choice.origin,
                    read_only=one.read_only,
                )
                for one in found.reviewers
            ),
        )
