from git_blackbird.model.config.layers import (
    EVERYWHERE,
    HERE,
    KeyLayers,
    ValueEffect,
    layers_of,
    unknown_names,
)
from git_blackbird.model.config.settings import Layer, RawSetting, Settings, merge_layers

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
        ]
    )


def standings(layers: KeyLayers) -> list[tuple[str, object, ValueEffect]]:
    return [(told.given.origin, told.value, state) for told, state in layers.effects()]


def test_layers_of_a_key_come_strongest_first_with_what_becomes_of_them() -> None:
    layers = layers_of(settings(), MINUTES)
    assert standings(layers) == [
        ("git local", None, ValueEffect.IGNORED),
        ("project", 1440, ValueEffect.APPLIED),
        ("git global", 1440, ValueEffect.OVERRULED),
        ("mine", 7, ValueEffect.OVERRULED),
    ]
    assert layers.applied is not None
    assert (layers.applied.value, layers.applied.origin) == (1440, "project")
    assert layers.is_faulty


def test_what_takes_a_protection_away_is_weaker() -> None:
    given = [RawSetting(MINUTES, 60, Layer.PROJECT, "project"), RawSetting(MINUTES, 7, Layer.GLOBAL, "mine")]
    layers = layers_of(merge_layers(given), MINUTES)
    assert standings(layers) == [("project", 60, ValueEffect.WEAKER), ("mine", 7, ValueEffect.APPLIED)]
    here = layers.of(HERE)
    assert here is not None
    assert (here.given.origin, here.is_valid, layers.is_faulty) == ("project", False, True)
    layers = layers_of(merge_layers([*given, RawSetting(MINUTES, "90", Layer.GIT_LOCAL, "clone")]), MINUTES)
    assert standings(layers) == [
        ("clone", 90, ValueEffect.APPLIED),
        ("project", 60, ValueEffect.OVERRULED),
        ("mine", 7, ValueEffect.OVERRULED),
    ]


def test_of_two_values_in_one_layer_the_later_counts() -> None:
    assert standings(layers_of(settings(), "agent")) == [
        ("second", "demo", ValueEffect.APPLIED),
        ("first", "claude", ValueEffect.OVERRULED),
    ]


def test_a_column_shows_what_counts_of_its_layers_else_what_does_not() -> None:
    minutes, path = layers_of(settings(), MINUTES), layers_of(settings(), PATH)
    here, everywhere, ignored = minutes.of(HERE), minutes.of(EVERYWHERE), path.of(HERE)
    assert here is not None
    assert here.given.origin == "project"
    assert everywhere is not None
    assert everywhere.given.origin == "git global"
    assert ignored is not None
    assert (ignored.value, ignored.given.value) == (None, "./evil")
    assert path.of(EVERYWHERE) is None


def test_names_that_are_no_keys_are_named_once_and_count_for_nothing() -> None:
    assert unknown_names(settings()) == ("Agnet",)
    layers = layers_of(settings(), "Agnet")
    assert (layers.key, layers.applied) == (None, None)
    assert standings(layers) == [("project", None, ValueEffect.IGNORED), ("mine", None, ValueEffect.IGNORED)]


def test_the_default_counts_where_nothing_is_told() -> None:
    layers = layers_of(merge_layers([]), PATH)
    assert (layers.told, layers.is_faulty) == ((), False)
    assert layers.applied is not None
    assert layers.applied.layer is Layer.DEFAULT
