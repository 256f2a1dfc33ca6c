from git_blackbird.model.config.config import KEYS
from git_blackbird.model.config.layers import Layer, RawSetting
from git_blackbird.model.config.settings import KeyLayers, Settings, ValueEffect, merge_layers

MINUTES, PATH = "execution.timeoutMinutes", "claude.path"


def settings() -> Settings:
    return merge_layers(
        [
            RawSetting(MINUTES, "1440", Layer.GIT_GLOBAL, "git global"),
            RawSetting(MINUTES.upper(), "soon", Layer.GIT_LOCAL, "git local"),
            RawSetting(MINUTES, 9999, Layer.PROJECT, "project"),
            RawSetting(MINUTES, 7, Layer.GLOBAL, "mine"),
            RawSetting(PATH, "./evil", Layer.PROJECT, "project"),
            RawSetting("Agnet", "x", Layer.PROJECT, "project"),
            RawSetting("agnet", "y", Layer.GLOBAL, "mine"),
            RawSetting("agent", "claude", Layer.GIT_LOCAL, "first"),
            RawSetting("agent", "demo", Layer.GIT_LOCAL, "second"),
        ],
    )


def standings(layers: KeyLayers) -> list[tuple[str, object, ValueEffect]]:
    return [(setting.origin, setting.value, setting.effect) for setting in layers.values]


def test_layers_of_a_key_come_strongest_first_with_what_becomes_of_them() -> None:
    layers = settings().layers_of(KEYS[MINUTES])
    assert standings(layers) == [
        ("git local", None, ValueEffect.IGNORED),
        ("project", 1440, ValueEffect.APPLIED),
        ("git global", 1440, ValueEffect.OVERRULED),
        ("mine", 7, ValueEffect.OVERRULED),
    ]
    assert layers.applied is not None
    assert (layers.applied.value, layers.applied.origin) == (1440, "project")
    assert layers.values[0].problem is not None


def test_what_takes_a_protection_away_is_weaker() -> None:
    given = [RawSetting(MINUTES, 60, Layer.PROJECT, "project"), RawSetting(MINUTES, 7, Layer.GLOBAL, "mine")]
    layers = merge_layers(given).layers_of(KEYS[MINUTES])
    assert standings(layers) == [("project", 60, ValueEffect.WEAKER), ("mine", 7, ValueEffect.APPLIED)]
    assert layers.values[0].problem is not None
    here = RawSetting(MINUTES, "90", Layer.GIT_LOCAL, "clone")
    layers = merge_layers([*given, here]).layers_of(KEYS[MINUTES])
    assert standings(layers) == [
        ("clone", 90, ValueEffect.APPLIED),
        ("project", 60, ValueEffect.OVERRULED),
        ("mine", 7, ValueEffect.OVERRULED),
    ]


def test_of_two_values_in_one_layer_the_later_counts() -> None:
    assert standings(settings().layers_of(KEYS["agent"])) == [
        ("second", "demo", ValueEffect.APPLIED),
        ("first", "claude", ValueEffect.OVERRULED),
    ]


def test_a_value_that_does_not_count_is_there_as_it_was_given() -> None:
    (setting,) = settings().layers_of(KEYS[PATH]).values
    assert (setting.value, setting.raw, setting.effect) == (None, "./evil", ValueEffect.IGNORED)


def test_names_that_are_no_keys_are_named_with_their_places_and_count_for_nothing() -> None:
    unknown = (problem for problem in settings().problems if problem.what == "unknown key")
    assert [(problem.key, problem.origin) for problem in unknown] == [("agnet", "mine"), ("Agnet", "project")]
    assert all(setting.key.name in KEYS for setting in settings().values)


def test_the_default_counts_where_nothing_is_told() -> None:
    layers = merge_layers([]).layers_of(KEYS[PATH])
    assert layers.values == ()
    assert layers.applied is not None
    assert layers.applied.layer is Layer.DEFAULT
