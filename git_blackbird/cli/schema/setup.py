"""Output of the commands about configuration and agents, and of those that install and remove."""

from collections.abc import Collection, Mapping

from git_blackbird.cli.schema.base import AdoptableView, DataOutput, PathText, StepView, View, field, is_none
from git_blackbird.controller.setup.install import HookAction, HookState
from git_blackbird.model.base.ids import RunId
from git_blackbird.model.config.keys import Value, ValueType
from git_blackbird.model.config.layers import Layer
from git_blackbird.model.config.settings import KeyLayers, Setting, ValueEffect
from git_blackbird.model.run.findings import Source
from git_blackbird.model.views.doctor import Mend

_ORIGIN = "The file or variable that it comes from."
_LAYER = "Where the value comes from."


def _layer_name(layer: Layer) -> str:
    return layer.name.lower()


def _or_none(text: str | None) -> str | None:
    return text or None


class SettingView(View):
    """A key, and the value that counts."""

    key: str = field("Its name.", "key.name")
    value: Value | None = field("The value that counts.")
    layer: str = field(_LAYER, "layer", using=_layer_name)
    origin: str = field(_ORIGIN)
    default: Value | None = field("The default.", "key.default")
    type: ValueType = field("The type of its values.", "key.type")
    help: str = field("What it is.", "key.row.help")
    range: tuple[int | float, int | float] | None = field(
        "The smallest and the largest value, of a number.",
        "key.row.limits",
        default=None,
        exclude_if=is_none,
    )


def _value(setting: Setting) -> object:
    return setting.raw if setting.value is None else setting.value


class LayerValueView(View):
    """What one layer says of a key."""

    layer: str = field(_LAYER, "layer", using=_layer_name)
    origin: str = field(_ORIGIN)
    value: object = field("The value.", using=_value)
    effect: ValueEffect = field(
        "What becomes of it; `weaker` is a project's value that is less strict than your own."
    )
    problem: str | None = field("What is wrong with it.", "problem.what")


class LayeredSetting(SettingView):
    """A key, the value that counts, and what each layer says."""

    layers: tuple[LayerValueView, ...] = field("What each layer says, the strongest first.")

    @classmethod
    def read(cls, value: KeyLayers, given: Collection[str] = frozenset()) -> dict[str, object]:
        """Read the setting that counts, and what each layer says."""
        return {**super().read(value.applied, {*given, "layers"}), "layers": value.values}


class ConfigOutput(DataOutput, schema_name="config-show"):
    """Keys with their values and origins."""

    settings: tuple[LayeredSetting, ...] = field("The keys.")


class ConfigChangeOutput(DataOutput, schema_name="config-set"):
    """What was written, or removed."""

    key: str = field("The key.")
    value: Value | None = field("Its value there; null when it was removed.")
    place: str = field("The file.")
    overruled_by: str | None = field("What counts instead, if something does.", "overruled_by.origin")


class AbilitiesView(View):
    """What an agent can do."""

    resume: bool = field("Continue a session.")
    schema_: bool = field("Keep to a JSON Schema.", "schema", alias="schema")
    read_only: bool = field("Run read-only.")
    name_session: bool = field("Use a given session id.", "chooses_session")
    report_cost: bool = field("Report what a run cost.", "reports_cost")


class AgentReport(View):
    """One agent."""

    agent: str = field("Its name.", "name")
    chosen: bool = field("Whether it is the one for new runs.", "is_chosen")
    can_start: bool = field("Whether nothing keeps it from starting.")
    program: str | None = field("The path of its program.", "inspection.program")
    version: str | None = field("The version.", "inspection.version", using=_or_none)
    login: str | None = field("Whether it is logged in.", "inspection.login")
    blocked_reason: str | None = field("Why it cannot start.", "inspection.blocked_reason")
    hint: str | None = field("What to do about it.", "inspection.hint")
    powers: str | None = field("What it may do as configured.", "inspection.powers", using=_or_none)
    reviews: str | None = field("What it may do as a reviewer.", "inspection.reviews", using=_or_none)
    reviewer_of: tuple[Source, ...] = field("The reviews of changes that it makes.", "reviews", each="source")
    remarks: tuple[str, ...] = field("What else is worth knowing.", "inspection.remarks")
    can: AbilitiesView = field("What it can do at all.", "abilities")
    settings: tuple[SettingView, ...] = field("Its keys.")


class AgentOutput(AgentReport, DataOutput, schema_name="agent-one"):
    """One agent; the exit code is 8 when it cannot start."""


class ReviewerView(View):
    """The agent of one of the two reviews of a change."""

    source: Source = field("Which review.")
    agent: str = field("The agent.")
    model: str | None = field("The model.")
    origin: str = field(_ORIGIN, "choice.origin")
    read_only: bool = field("Whether it is held read-only in the worktree.")


class AgentsOutput(DataOutput, schema_name="agent"):
    """Every agent, and which is chosen."""

    chosen: str = field("The agent for new runs.", "choice.value")
    origin: str = field(_ORIGIN, "choice.origin")
    layer: str = field(_LAYER, "choice.layer", using=_layer_name)
    agents: tuple[AgentReport, ...] = field("Every agent.")
    reviewers: tuple[ReviewerView, ...] = field("Who reviews changes; empty where reviews are off.")


class HooksOutput(DataOutput, schema_name="hooks"):
    """The state of the post-commit hook."""

    outcome: HookAction | None = field("What `install` or `uninstall` did.", default=None, exclude_if=is_none)
    path: PathText = field("The path of the hook.")
    state: HookState = field("Whose it is.")
    other: bool = field("Whether a hook of someone else's is in use.")
    backup: PathText | None = field("The path of the previous hook.")
    runs_backup: bool = field("Whether the previous hook runs first.", "runs_aside")
    blocked_reason: str | None = field("Why the hook cannot be installed.")
    missing_programs: tuple[str, ...] = field("What the hook would start and is not there.")
    shared: str | None = field("Whom the folder of hooks serves besides this repository.")
    merge_driver: bool = field("Whether git merges the plan by task and field.")


class DeinitOutput(DataOutput, schema_name="deinit"):
    """What was removed from the repository."""

    removed: tuple[str, ...] = field("What there was, in words.")


class FindingView(View):
    """Something that is not as it should be."""

    subject: str = field("What was looked at, in a word.")
    what: str = field("What is wrong.")
    where: str = field("The path or reference.")
    mend: Mend | None = field("What `doctor --fix` does about it; null where it can do nothing.")
    next: tuple[StepView, ...] = field("What a person may do.", "steps")


class DiskUseView(View):
    """How much room the runs take."""

    records: int = field("How many records there are.")
    references: int = field("How many references below `refs/blackbird/`.")
    disk_bytes: int = field("The room of records, copies and logs.")


class ProbedAgent(View):
    """An agent as it was probed; `agent NAME` says more."""

    agent: str = field("Its name.", "name")
    version: str | None = field("The version.", "inspection.version", using=_or_none)
    enforced: tuple[str, ...] = field("What it can be held to in reviews: `read-only`, `schema`.")
    blocked_reason: str | None = field("Why it cannot start.", "inspection.blocked_reason")
    powers: str | None = field("What it may do as configured.", "inspection.powers", using=_or_none)


class DoctorOutput(DataOutput, schema_name="doctor"):
    """What is wrong in the repository; the exit code is 1 unless `findings` is empty."""

    findings: tuple[FindingView, ...] = field("What is wrong.")
    mended: tuple[FindingView, ...] = field("What was wrong, and was mended.")
    agents: tuple[ProbedAgent, ...] = field("Every agent.")
    disk_use: DiskUseView | None = field("How much room runs take; null if that is unknown.")


class AdoptOutput(DataOutput, schema_name="adopt"):
    """What another program or clone left below `.blackbird/`, and what became of it."""

    items: tuple[AdoptableView, ...] = field("What could count here.", using=tuple)
    taken: bool = field("Whether it counts now.")
    left: bool = field("Whether it was left: it is not asked about again.")


class PruneOutput(DataOutput, schema_name="prune"):
    """What nothing needs any more."""

    removed: bool = field("Whether it was removed.")
    runs: tuple[RunId, ...] = field("The runs whose records nothing needs.", "runs", each="id")
    logs: tuple[PathText, ...] = field("The logs of old runs.")
    log_bytes: int = field("The size of these logs.")
    references: tuple[str, ...] = field("The references of runs without a record.")


class CompletionOutput(DataOutput, schema_name="completion"):
    """The completion script of a shell."""

    shell: str = field("The shell.")
    script: str = field("The script.")


class SchemaOutput(DataOutput, schema_name="schema"):
    """A JSON Schema, or the names of all."""

    names: tuple[str, ...] = field("The names.")
    schema_: Mapping[str, object] | None = field(
        "The schema of that name; null where none was named.", alias="schema"
    )
