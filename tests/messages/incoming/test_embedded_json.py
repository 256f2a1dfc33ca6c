from typing import Any

from git_blackbird.messages.incoming.json_answer import TWICE, JsonFinder


def _objects_in(text: str) -> list[dict[str, Any]]:
    return JsonFinder().objects(text)


def test_the_outermost_objects_are_found_in_their_order() -> None:
    assert _objects_in('One {"a": {"b": 1}}, an empty one {}, and ```{"c": []}```.') == [
        {"a": {"b": 1.0}},
        {},
        {"c": []},
    ]


def test_what_is_no_object_is_passed_over() -> None:
    assert _objects_in('a "quote, a { brace, [1], {x: 1}, {"half": {"whole": null} and {"a" : "\\"{"}') == [
        {"whole": None},
        {"a": '"{'},
    ]


def test_a_key_that_stands_twice_is_told() -> None:
    assert _objects_in('{"a": 1, "b": 2, "a": 1}') == [{"a": TWICE, "b": 2.0}]


def test_several_texts_share_what_may_be_spent() -> None:
    finder = JsonFinder()
    assert finder.objects('{"a":' * 200_000) == []
    assert finder.objects('{"a":' * 200_000 + "0" + '{"b": 1}') == []
    assert _objects_in('{"b": 1}') == [{"b": 1.0}]
