"""Output of the commands about configuration and agents, and of those that install and remove."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

from git_blackbird.cli.json_values import Fields, Printed
from git_blackbird.cli.printed.base import FoundRecord, Step, as_step
from git_blackbird.controller.config.settings import ConfigChange
from git_blackbird.controller.doctor.diagnosis import Diagnosis
from git_blackbird.controller.doctor.prune import Removable
from git_blackbird.controller.queries.agents import AgentList, AgentView, Reviewer
from git_blackbird.controller.setup.install import HookAction, HookStatus
from git_blackbird.model.base.ids import RunId
from git_blackbird.model.base.shown import Shown
from git_blackbird.model.config.keys import Value, ValueType
from git_blackbird.model.config.settings import KeyLayers, Setting, ValueEffect
from git_blackbird.model.run.findings import Source
from git_blackbird.model.run.history import Adoptable
from git_blackbird.model.views.doctor import DiskUse, Finding, Mend

_ORIGIN = "The file or variable that it comes from."
_LAYER = "Where the value comes from."


class AppliedSetting(Printed[Setting]):
    """A key, and the value that counts."""

    field = Fields[Setting]()
    key: str = field("Its name.", lambda it: it.key.name)
    value: Value | None = field("The value that counts.", lambda it: it.value)
    layer: str = field(_LAYER, lambda it: it.layer.name.lower())
    origin: str = field(_ORIGIN, lambda it: it.origin)
    default: Value | None = field("The default.", lambda it: it.key.default)
    type: ValueType = field("The type of its values.", lambda it: it.key.type)
    help: str = field("What it is.", lambda it: it.key.row.help)
    range: tuple[int | float, int | float] | None = field(
        "The smallest and the largest value, of a number.", lambda it: it.key.row.limits, or_absent=True
    )


class LayerValue(Printed[Setting]):
    """What one layer says of a key."""

    field = Fields[Setting]()
    layer: str = field(_LAYER, lambda it: it.layer.name.lower())
    origin: str = field(_ORIGIN, lambda it: it.origin)
    value: object = field("The value.", lambda it: it.raw if it.value is None else it.value)
    effect: ValueEffect = field(
        "What becomes of it; `weaker` is a project's value that is less strict than your own.",
        lambda it: it.effect,
    )
    problem: str | None = field(
        "What is wrong with it.", lambda it: None if it.problem is None else it.problem.what
    )


class LayeredSetting(AppliedSetting):
    """A key, the value that counts, and what each layer says."""

    def __init__(self, layers: KeyLayers) -> None:
        super().__init__(layers.applied)
        self.layers = tuple(map(LayerValue, layers.values))

    layers: Annotated[tuple[LayerValue, ...], Shown("What each layer says, the strongest first.")]


class ConfigOutput(Printed[Sequence[KeyLayers]]):
    """Keys with their values and origins."""

    field = Fields[Sequence[KeyLayers]]()
    settings: tuple[LayeredSetting, ...] = field("The keys.", lambda it: tuple(map(LayeredSetting, it)))


class ConfigChangeOutput(Printed[ConfigChange]):
    """What was written, or removed."""

    field = Fields[ConfigChange]()
    key: str = field("The key.", lambda it: it.key)
    value: Value | None = field("Its value there; null when it was removed.", lambda it: it.value)
    place: str = field("The file.", lambda it: it.place)
    overruled_by: str | None = field(
        "What counts instead, if something does.",
        lambda it: None if it.overruled_by is None else it.overruled_by.origin,
    )


class Abilities(Printed[AgentView]):
    """What an agent can do."""

    field = Fields[AgentView]()
    resume: bool = field("Continue a session.", lambda it: it.abilities.resume)
    schema_: bool = field("Keep to a JSON Schema.", lambda it: it.abilities.schema, "schema")
    read_only: bool = field("Run read-only.", lambda it: it.abilities.read_only)
    name_session: bool = field("Use a given session id.", lambda it: it.abilities.chooses_session)
    report_cost: bool = field("Report what a run cost.", lambda it: it.abilities.reports_cost)


class AgentReport(Printed[AgentView]):
    """One agent."""

    field = Fields[AgentView]()
    agent: str = field("Its name.", lambda it: it.name)
    chosen: bool = field("Whether it is the one for new runs.", lambda it: it.is_chosen)
    can_start: bool = field("Whether nothing keeps it from starting.", lambda it: it.can_start)
    program: str | None = field("The path of its program.", lambda it: it.inspection.program)
    version: str | None = field("The version.", lambda it: it.inspection.version or None)
    login: str | None = field("Whether it is logged in.", lambda it: it.inspection.login)
    blocked_reason: str | None = field("Why it cannot start.", lambda it: it.inspection.blocked_reason)
    hint: str | None = field("What to do about it.", lambda it: it.inspection.hint)
    powers: str | None = field("What it may do as configured.", lambda it: it.inspection.powers or None)
    reviews: str | None = field("What it may do as a reviewer.", lambda it: it.inspection.reviews or None)
    reviewer_of: tuple[Source, ...] = field(
        "The reviews of changes that it makes.", lambda it: tuple(one.source for one in it.reviews)
    )
    remarks: tuple[str, ...] = field("What else is worth knowing.", lambda it: it.inspection.remarks)
    can: Abilities = field("What it can do at all.", Abilities)
    settings: tuple[AppliedSetting, ...] = field(
        "Its keys.", lambda it: tuple(map(AppliedSetting, it.settings))
    )


class AgentOutput(AgentReport):
    """One agent; the exit code is 8 when it cannot start."""


class ChangeReviewer(Printed[Reviewer]):
    """The agent of one of the two reviews of a change."""

    field = Fields[Reviewer]()
    source: Source = field("Which review.", lambda it: it.source)
    agent: str = field("The agent.", lambda it: it.agent)
    model: str | None = field("The model.", lambda it: it.model)
    origin: str = field(_ORIGIN, lambda it: it.choice.origin)
    read_only: bool = field("Whether it is held read-only in the worktree.", lambda it: it.read_only)


class AgentsOutput(Printed[AgentList]):
    """Every agent, and which is chosen."""

    field = Fields[AgentList]()
    chosen: str = field("The agent for new runs.", lambda it: str(it.choice.value))
    origin: str = field(_ORIGIN, lambda it: it.choice.origin)
    layer: str = field(_LAYER, lambda it: it.choice.layer.name.lower())
    agents: tuple[AgentReport, ...] = field("Every agent.", lambda it: tuple(map(AgentReport, it.agents)))
    reviewers: tuple[ChangeReviewer, ...] = field(
        "Who reviews changes; empty where reviews are off.",
        lambda it: tuple(map(ChangeReviewer, it.reviewers)),
    )


class InitOutput(NamedTuple):
    """What `init` created."""

    plan: Annotated[Path, Shown("The path of the plan file.")]
    created: Annotated[bool, Shown("Whether it was created now.")]
    config: Annotated[Path | None, Shown("The path of the configuration that was written.")]
    hook: Annotated[HookAction | None, Shown("What was done with the hook; null when it was not touched.")]


class HooksOutput(NamedTuple):
    """The state of the post-commit hook."""

    outcome: Annotated[HookAction | None, Shown("What `install` or `uninstall` did.", or_absent=True)]
    status: Annotated[HookStatus, Shown("", is_spread=True)]
    merge_driver: Annotated[bool, Shown("Whether git merges the plan by task and field.")]


class Problem(Printed[Finding]):
    """Something that is not as it should be."""

    field = Fields[Finding]()
    subject: str = field("What was looked at, in a word.", lambda it: it.subject)
    what: str = field("What is wrong.", lambda it: it.what)
    where: str = field("The path or reference.", lambda it: it.where)
    mend: Mend | None = field(
        "What `doctor --fix` does about it; null where it can do nothing.", lambda it: it.mend
    )
    next: tuple[Step, ...] = field("What a person may do.", lambda it: tuple(map(as_step, it.steps)))


class ProbedAgent(Printed[AgentView]):
    """An agent as it was probed; `agent NAME` says more."""

    field = Fields[AgentView]()
    agent: str = field("Its name.", lambda it: it.name)
    version: str | None = field("The version.", lambda it: it.inspection.version or None)
    enforced: tuple[str, ...] = field(
        "What it can be held to in reviews: `read-only`, `schema`.", lambda it: it.enforced
    )
    blocked_reason: str | None = field("Why it cannot start.", lambda it: it.inspection.blocked_reason)
    powers: str | None = field("What it may do as configured.", lambda it: it.inspection.powers or None)


class DoctorOutput(Printed[Diagnosis]):
    """What is wrong in the repository; the exit code is 1 unless `findings` is empty."""

    field = Fields[Diagnosis]()
    findings: tuple[Problem, ...] = field("What is wrong.", lambda it: tuple(map(Problem, it.findings)))
    mended: tuple[Problem, ...] = field(
        "What was wrong, and was mended.", lambda it: tuple(map(Problem, it.mended))
    )
    agents: tuple[ProbedAgent, ...] = field("Every agent.", lambda it: tuple(map(ProbedAgent, it.agents)))
    disk_use: DiskUse | None = field(
        "How much room runs take; null if that is unknown.", lambda it: it.disk_use
    )


class AdoptOutput(Printed[Sequence[Adoptable]]):
    """What another program or clone left below `.blackbird/`, and what became of it."""

    def __init__(self, items: Sequence[Adoptable], *, taken: bool, left: bool) -> None:
        super().__init__(items)
        self.taken, self.left = taken, left

    field = Fields[Sequence[Adoptable]]()
    items: tuple[FoundRecord, ...] = field("What could count here.", lambda it: tuple(map(FoundRecord, it)))
    taken: Annotated[bool, Shown("Whether it counts now.")]
    left: Annotated[bool, Shown("Whether it was left: it is not asked about again.")]


class PruneOutput(Printed[Removable]):
    """What nothing needs any more."""

    def __init__(self, found: Removable, *, removed: bool) -> None:
        super().__init__(found)
        self.removed = removed

    field = Fields[Removable]()
    removed: Annotated[bool, Shown("Whether it was removed.")]
    runs: tuple[RunId, ...] = field(
        "The runs whose records nothing needs.", lambda it: tuple(one.id for one in it.runs)
    )
    logs: tuple[Path, ...] = field("The logs of old runs.", lambda it: it.logs)
    log_bytes: int = field("The size of these logs.", lambda it: it.log_bytes)
    references: tuple[str, ...] = field("The references of runs without a record.", lambda it: it.references)
