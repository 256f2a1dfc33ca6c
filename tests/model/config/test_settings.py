"""Configuration: layers, types, ranges, and what a clone may not choose."""

import shlex
from operator import attrgetter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_blackbird.model.config.config import KEYS, Config, find_key, keys_with, nearest_key
from git_blackbird.model.config.keys import ValueType, quoted_for_git
from git_blackbird.model.config.layers import ConfigProblem, Layer, RawSetting
from git_blackbird.model.config.settings import Settings, merge_layers
from tests.support import examples

LAYERS = [layer for layer in Layer if layer != Layer.DEFAULT]
STOP = "execution.stopAfterEachTask"
MINUTES = "execution.timeoutMinutes"
AGENTS = "claude, codex, command, demo, gemini, opencode"


def removed(key: str, option: str = "") -> str:
    return f"; `git blackbird config --unset {key}{option}` removes it"


def settings_with(key: str, value: object, layer: Layer = Layer.GIT_LOCAL) -> Settings:
    return merge_layers([RawSetting(key, value, layer, "somewhere")])


def the_problem(found: Settings) -> ConfigProblem:
    (problem,) = found.problems
    return problem


def test_every_key_has_a_valid_default_that_counts_where_nothing_is_set() -> None:
    found = merge_layers([])
    assert found.problems == ()
    assert found.config == Config()
    for name, key in KEYS.items():
        setting = found.applied[name]
        assert (setting.value, setting.layer) == (key.default, Layer.DEFAULT)
        text = quoted_for_git(key.default) if isinstance(key.default, bool | int) else key.default
        if text is not None and key.type is not ValueType.WORDS:
            assert settings_with(name, str(text)).applied[name].value == key.default


def test_each_layer_wins_over_the_weaker_ones_and_says_where_it_is_from() -> None:
    given_values = [RawSetting(MINUTES, str(layer + 1), layer, f"from {layer.name}") for layer in LAYERS]
    given_values = [
        one._replace(raw=int(str(one.raw))) if one.layer in {Layer.PROJECT, Layer.GLOBAL} else one
        for one in given_values
    ]
    for place in range(len(LAYERS)):
        for order in (given_values[place:], given_values[place:][::-1]):
            setting = merge_layers(order).applied[MINUTES]
            assert (setting.value, setting.layer) == (LAYERS[place] + 1, LAYERS[place])
            assert setting.origin == f"from {LAYERS[place].name}"


def test_the_last_value_within_a_layer_counts_as_in_git() -> None:
    twice = [RawSetting(MINUTES, value, Layer.GIT_LOCAL, "git") for value in ("5", "6")]
    assert merge_layers(twice).config.execution.timeout_minutes == 6


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((text, True) for text in ("true", "TRUE", "yes", "On", "1", "2", "-1", "1k", "0x1", "007")),
        *((text, False) for text in ("false", "No", "OFF", "0", "", "00", "0x0", "0k")),
    ],
)
def test_booleans_are_read_as_git_reads_them(text: str, value: bool) -> None:
    found = settings_with(STOP, text)
    assert (found.config.execution.stop_after_each_task, found.problems) == (value, ())


@pytest.mark.parametrize("text", ["y", "n", "t", "maybe", "1.0", "tru", " ", "1 0", "true "])
def test_what_git_takes_for_no_boolean(text: str) -> None:
    problem = the_problem(settings_with(STOP, text))
    assert (problem.what, problem.fatal) == (f'"{text}" is not a boolean', True)
    assert problem.hint == f"use true or false{removed(STOP)}"


@pytest.mark.parametrize(
    ("text", "value"),
    [("90", 90), ("+90", 90), ("1k", 1024), ("1K", 1024), ("0x10", 16), ("010", 8), (" 5", 5)],
)
def test_integers_are_read_as_git_reads_them(text: str, value: int) -> None:
    assert settings_with(MINUTES, text).config.execution.timeout_minutes == value


@pytest.mark.parametrize(
    "key", ["check.results", "check.coverage", "check.tests", "check.protect", "check.a.paths"]
)
def test_globs_that_can_match_nothing_are_refused(key: str) -> None:
    problem = the_problem(settings_with(key, "'out/*.xml' ../x"))
    assert (problem.what, problem.fatal) == ('"../x" is no path below the top of the repository', True)
    assert problem.hint == f"use one such as docs, *.py or out/**/*.xml{removed(key)}"
    assert settings_with(key, "out/*.xml .").problems[0].fatal
    assert not settings_with(key, "'out/*.xml' ./docs/").problems


@pytest.mark.parametrize("text", ["64m", "64M", "67108864", "65536k", "0x4000000"])
def test_integers_with_units(text: str) -> None:
    assert (
        settings_with("snapshot.maxUntrackedBytes", text).config.snapshot.max_untracked_bytes == 64 * 1024**2
    )


def test_gigabytes() -> None:
    assert (
        settings_with("snapshot.maxUntrackedBytes", "2g").config.snapshot.max_untracked_bytes == 2 * 1024**3
    )


@pytest.mark.parametrize("text", ["", "k", "x", "1.5", "1_000", "1e3", "1kk", "1 k", "\u0663", "09", "--1"])
def test_what_git_takes_for_no_integer(text: str) -> None:
    problem = the_problem(settings_with(MINUTES, text))
    assert (problem.what, problem.fatal) == (f'"{text}" is not an integer', True)
    assert problem.hint == f"use an integer from 1 to 1440{removed(MINUTES)}"


@pytest.mark.parametrize(("text", "value"), [("0", 1), ("-5", 1), ("99999", 1440), ("9" * 40, 1440)])
def test_what_is_out_of_range_is_clamped_with_a_warning(text: str, value: int) -> None:
    found = settings_with(MINUTES, text)
    problem = the_problem(found)
    assert found.config.execution.timeout_minutes == value
    assert problem.what == f"{int(text)} is out of range; {value} is used"
    assert (problem.hint, problem.fatal) == (f"use 1 to 1440{removed(MINUTES)}", False)


def test_a_clamped_value_still_wins_over_weaker_layers() -> None:
    found = merge_layers(
        [RawSetting(MINUTES, 0, Layer.PROJECT, "project"), RawSetting(MINUTES, 30, Layer.GLOBAL, "global")],
    )
    assert (found.config.execution.timeout_minutes, found.applied[MINUTES].origin) == (1, "project")


@pytest.mark.parametrize(
    ("key", "value", "shown", "kind"),
    [
        (STOP, "true", '"true"', "boolean"),
        (STOP, 1, "1", "boolean"),
        (STOP, None, "null", "boolean"),
        (STOP, {"x": 1}, '{"x": 1}', "boolean"),
        (MINUTES, "60", '"60"', "integer"),
        (MINUTES, True, "true", "integer"),
        (MINUTES, 1.5, "1.5", "integer"),
        ("claude.model", 5, "5", "text"),
        ("claude.model", [], "[]", "text"),
    ],
)
@pytest.mark.parametrize("layer", [Layer.PROJECT, Layer.GLOBAL])
def test_a_wrong_type_in_a_file_is_named_and_fatal(
    key: str, value: object, shown: str, kind: str, layer: Layer
) -> None:
    found = settings_with(key, value, layer)
    problem = the_problem(found)
    assert (problem.origin, problem.key, problem.what, problem.fatal) == (
        "somewhere",
        key,
        f"{shown} is not {'an' if kind == 'integer' else 'a'} {kind}",
        True,
    )
    assert found.applied[key].layer == Layer.DEFAULT


@pytest.mark.parametrize("value", ["-v", [1], ["a", None], {"a": "b"}])
def test_a_list_in_a_file_is_a_list_of_texts(value: object) -> None:
    assert the_problem(settings_with("claude.args", value, Layer.GLOBAL)).fatal
    assert settings_with("claude.args", ["-v", "a b"], Layer.GLOBAL).applied["claude.args"].value == (
        "-v",
        "a b",
    )


def test_a_list_in_git_is_split_as_a_shell_splits() -> None:
    assert settings_with("claude.args", "-v 'a b'").applied["claude.args"].value == ("-v", "a b")
    assert (
        the_problem(settings_with("claude.args", "'never closed")).what
        == '"\'never closed": No closing quotation'
    )


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("execution.stopAfterEachTasks", f"did you mean {STOP}?"),
        ("Execution.stop_after_each_task", f"did you mean {STOP}?"),
        ("agnet", "did you mean agent?"),
        ("zzzzzz", "`git blackbird config` lists every key"),
    ],
)
def test_an_unknown_key_is_named_with_the_nearest_one(typed: str, meant: str) -> None:
    problem = the_problem(settings_with(typed, "x"))
    assert (problem.key, problem.what, problem.fatal) == (typed, "unknown key", True)
    assert problem.hint.startswith(meant)
    assert nearest_key(typed) == meant


def test_keys_are_compared_as_git_compares_them() -> None:
    assert settings_with("EXECUTION.STOPAFTEREACHTASK", "true").config.execution.stop_after_each_task
    assert find_key("Claude.Path") is KEYS["claude.path"]
    assert find_key("claude") is None


REDACT = "records.redact"
UNSAFE = {key.name: key for key in keys_with(["check.web"]) if not key.clone_safe}


def test_what_names_programs_flags_and_permissions_is_not_for_a_clone() -> None:
    assert [
        *("check.command", "check.coverage", "check.criteria", "check.protect", "check.results"),
        *("check.slots", "check.tests"),
        *("check.web.command", "check.web.coverage", "check.web.paths", "check.web.results"),
        *("claude.args", "claude.path", "claude.permissionMode", "cluster.address", "cluster.remote"),
        *("codex.args", "codex.path", "codex.sandbox", "command.run", "command.schema"),
        *("execution.agents", "execution.onLimit", "execution.questions", "execution.wrapper"),
        *("execution.wrapperStop", "gemini.args", "gemini.path", "gemini.permissions"),
        *("notify.command", "opencode.args", "opencode.path", "opencode.permissions"),
        *("records.redact", "tui.keymap"),
        *("worktree.copy", "worktree.dir", "worktree.setup"),
    ] == sorted(UNSAFE)


@pytest.mark.parametrize("name", sorted(UNSAFE))
def test_the_project_file_cannot_choose_what_runs_here(name: str) -> None:
    found = settings_with(
        name.upper(), ["x; rm"] if UNSAFE[name].type is ValueType.WORDS else "evil; rm -rf ~", Layer.PROJECT
    )
    problem = the_problem(found)
    assert found.applied[name].layer == Layer.DEFAULT
    assert (problem.key, problem.fatal) == (name, False)
    refused = "take protection away" if name == REDACT else "choose what runs on this machine"
    assert problem.what == f"ignored: a repository's own file must not {refused}"
    assert problem.hint.startswith(f"to use it in this clone: git config blackbird.{name} '")


def test_the_command_that_trusts_a_value_keeps_it_as_it_is() -> None:
    hint = the_problem(settings_with("claude.args", ["-v", "a b", "it's"], Layer.PROJECT)).hint
    command = "to use it in this clone: git config blackbird.claude.args "
    assert hint == command + "'-v '\\''a b'\\'' '\\''it'\\''\\'\\'''\\''s'\\'''"
    (value,) = shlex.split(hint.removeprefix(command))
    assert settings_with("claude.args", value).applied["claude.args"].value == ("-v", "a b", "it's")


def test_an_unknown_choice_is_named_with_the_choices() -> None:
    problem = the_problem(settings_with("agent", "gpt"))
    assert problem.what == "unknown value 'gpt'"
    assert problem.hint == f"use one of: {AGENTS}{removed('agent')}"
    assert str(problem) == "somewhere: agent: unknown value 'gpt'"


@pytest.mark.parametrize(
    ("key", "words", "unknown"),
    [
        ("execution.wrapper", "box {run} --in={worktre}", "{worktre}"),
        ("execution.wrapperStop", "box kill {session}", "{session}"),
        (
            "execution.wrapper",
            "{run} {task} {worktree} {git} {session} {scratch} {environment} {tty}",
            "",
        ),
        ("execution.wrapperStop", "box {run} {task} {worktree} ${HOME} {} {{names}} '{ print $1 }'", ""),
    ],
)
def test_what_nothing_is_filled_in_for_is_refused(key: str, words: str, unknown: str) -> None:
    problems = settings_with(key, words, Layer.GIT_LOCAL).problems
    assert [problem.what for problem in problems] == [f"nothing is filled in for {unknown}"][: bool(unknown)]
    assert all("use {run}, {task}, {worktree}" in problem.hint for problem in problems)


@pytest.mark.parametrize(
    ("value", "layer", "what"),
    [
        ("nobody", Layer.GIT_LOCAL, "unknown value 'nobody'"),
        ("codex,gemini", Layer.GIT_LOCAL, "unknown value 'codex,gemini'"),
        ("codex gemini codex", Layer.GIT_LOCAL, "codex is there twice"),
        (["codex", "x"], Layer.GLOBAL, "unknown value 'x'"),
        ("codex", Layer.GLOBAL, '"codex" is not a list of texts'),
    ],
)
def test_each_name_of_a_list_is_one_of_the_choices(value: object, layer: Layer, what: str) -> None:
    problem = the_problem(settings_with("execution.agents", value, layer))
    form = "a list of names" if layer is Layer.GLOBAL else "names, separated by spaces,"
    option = " --global" if layer is Layer.GLOBAL else ""
    assert (problem.what, problem.fatal) == (what, True)
    assert problem.hint == f"use {form} from: {AGENTS}{removed('execution.agents', option)}"
    assert settings_with("execution.agents", "codex gemini").config.execution.agents == ("codex", "gemini")


@pytest.mark.parametrize(
    ("layer", "origin", "command"),
    [
        (Layer.ENVIRONMENT, "BLACKBIRD_AGENT_PROVIDER", "unset BLACKBIRD_AGENT_PROVIDER"),
        (Layer.GIT_LOCAL, "git config (local)", "git blackbird config --unset execution.onLimit"),
        (
            Layer.GIT_LOCAL,
            "git config (worktree)",
            "git config --worktree --unset-all blackbird.execution.onLimit",
        ),
        (
            Layer.GIT_GLOBAL,
            "git config (global)",
            "git config --global --unset-all blackbird.execution.onLimit",
        ),
        (Layer.GLOBAL, "/home/x/config.json", "git blackbird config --unset execution.onLimit --global"),
        (Layer.FLAG, "--on-limit", None),
        (Layer.GIT_LOCAL, "git config (command)", None),
    ],
)
def test_a_wrong_value_is_named_with_the_command_that_removes_it(
    layer: Layer, origin: str, command: str | None
) -> None:
    wrong = RawSetting("execution.onlimit", "maybe", layer, origin)
    removes = f"; `{command}` removes it" if command else ""
    assert the_problem(merge_layers([wrong])).hint == f"use one of: wait, stop, other-agent{removes}"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(sorted(KEYS)) | st.text(max_size=10)


@given(st.lists(st.tuples(NAMES, JSON, st.sampled_from(LAYERS)), max_size=6))
@settings(max_examples=examples(300), deadline=None)
def test_whatever_is_configured_every_key_keeps_a_usable_value(
    values: list[tuple[str, object, Layer]],
) -> None:
    found = merge_layers([RawSetting(name, value, layer, "x") for name, value, layer in values])
    for name, key in KEYS.items():
        setting = found.applied[name]
        attribute = attrgetter(".".join(key.path))(found.config)
        assert attribute == setting.value
        match key.type:
            case ValueType.BOOLEAN:
                assert isinstance(attribute, bool)
            case ValueType.INTEGER:
                low, high = key.row.limits or (0, 0)
                assert key.default is attribute is None or low <= attribute <= high
            case ValueType.NUMBER:
                low, high = key.row.limits or (0, 0)
                assert attribute is None or low <= attribute <= high
            case ValueType.TEXT:
                assert isinstance(attribute, str | None)
            case ValueType.WORDS:
                assert all(isinstance(word, str) for word in attribute)
    assert all(str(problem) and problem.hint for problem in found.problems)


# What protects its user: a loose value, and a strict one.
PROTECTING = {
    "execution.stopAfterEachTask": (False, True),
    "execution.acceptNoChange": (True, False),
    "execution.commit": ("checked", "approved"),
    "execution.parentReviewEnabled": (False, True),
    "execution.jobs": (8, 2),
    "execution.maxPendingDecisions": (100, 3),
    "execution.timeoutMinutes": (1440, 10),
    "execution.idleMinutes": (60, 2),
    "execution.stopGraceSeconds": (120, 0),
    "budget.call.usd": (20.5, 5.0),
    "budget.call.tokens": (2_000_000, 1000),
    "budget.call.minutes": (600, 30),
    "budget.task.usd": (20.5, 5.0),
    "budget.task.tokens": (2_000_000, 1000),
    "budget.task.minutes": (600, 30),
    "budget.plan.usd": (20.5, 5.0),
    "budget.plan.tokens": (2_000_000, 1000),
    "budget.plan.minutes": (600, 30),
    "check.timeoutSeconds": (60, 1200),
    "check.mode": ("show", "gate"),
    "check.prove": (False, True),
    "check.redGreen": (False, True),
    "check.maxRounds": (20, 0),
    "landing.maxRounds": (20, 0),
    "reviews.mode": ("off", "parallel"),
    "reviews.maxIterations": (20, 2),
    "reviews.timeoutSeconds": (3600, 60),
    "snapshot.timeoutSeconds": (1, 300),
    "snapshot.maxUntrackedBytes": (0, 10**9),
}


def test_every_key_that_protects_is_known_to() -> None:
    protecting = {name for name, key in KEYS.items() if key.row.stricter is not None}
    assert protecting == {*PROTECTING, REDACT}
    assert KEYS[REDACT].is_stricter(True, False)
    assert all(KEYS[name].clone_safe for name in PROTECTING)


@pytest.mark.parametrize("layer", [Layer.GIT_GLOBAL, Layer.GLOBAL])
@pytest.mark.parametrize("name", PROTECTING)
def test_of_what_protects_the_stricter_of_project_and_user_counts(name: str, layer: Layer) -> None:
    loose, strict = PROTECTING[name]

    def merged(project: object, user: object, *more: RawSetting) -> Settings:
        said = str(user).lower() if layer is Layer.GIT_GLOBAL else user
        return merge_layers(
            [RawSetting(name, project, Layer.PROJECT, "p"), RawSetting(name, said, layer, "u"), *more]
        )

    weaker, stricter, same = merged(loose, strict), merged(strict, loose), merged(strict, strict)
    assert (weaker.applied[name].value, weaker.applied[name].origin) == (strict, "u")
    (problem,) = weaker.problems
    assert str(problem) == (
        f"p: {name}: {quoted_for_git(loose)} is not used: your own {quoted_for_git(strict)} in u is stricter"
    )
    assert problem.hint == f"to use it in this clone: git config blackbird.{name} {quoted_for_git(loose)}"
    assert not problem.fatal
    for found in (stricter, same):
        assert (found.applied[name].value, found.applied[name].origin) == (strict, "p")
        assert found.problems == ()
    for here in (Layer.FLAG, Layer.GIT_LOCAL):
        said = str(loose).lower() if here is Layer.GIT_LOCAL else loose
        settled = merged(loose, strict, RawSetting(name, said, here, "here"))
        assert (settled.applied[name].value, settled.applied[name].origin) == (loose, "here")
        assert settled.problems == ()


def test_where_the_user_set_nothing_the_project_counts() -> None:
    for name, (loose, _) in PROTECTING.items():
        settings = merge_layers([RawSetting(name, loose, Layer.PROJECT, "p")])
        assert (settings.applied[name].value, settings.problems) == (loose, ())


def test_of_the_users_own_values_the_stronger_one_is_compared_whatever_the_weaker_says() -> None:
    settings = merge_layers(
        [
            RawSetting("reviews.mode", "off", Layer.PROJECT, "p"),
            RawSetting("reviews.mode", "off", Layer.GIT_GLOBAL, "git"),
            RawSetting("reviews.mode", "parallel", Layer.GLOBAL, "file"),
        ],
    )
    assert (settings.applied["reviews.mode"].origin, settings.problems) == ("p", ())


def test_of_two_spellings_in_a_project_the_one_that_is_not_weaker_counts() -> None:
    settings = merge_layers(
        [
            RawSetting("reviews.timeoutSeconds", 30, Layer.PROJECT, "p"),
            RawSetting("REVIEWS.timeoutSeconds", 3600, Layer.PROJECT, "p"),
            RawSetting("reviews.timeoutSeconds", 60, Layer.GLOBAL, "u"),
        ],
    )
    assert settings.applied["reviews.timeoutSeconds"].value == 30
    assert len(settings.problems) == 1
