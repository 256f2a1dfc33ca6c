import json
from typing import Any

from git_blackbird.messages.incoming.review_answer import (
    MAX_ENUM_CHARACTERS,
    MAX_ENUM_IDS,
    build_review_schema,
)
from git_blackbird.model.base.ids import TaskId

STRICT_KEYWORDS = {"type", "properties", "required", "additionalProperties", "items", "enum", "description"}


def _schema(*ids: str) -> dict[str, Any]:
    return build_review_schema([TaskId(one) for one in ids])


def test_the_schema_names_the_children_of_the_parent() -> None:
    assert _schema("b", "a") == {
        "type": "object",
        "properties": {
            "passed": {"type": "boolean", "description": "Whether the acceptance criteria are met."},
            "resumeTaskIds": {
                "type": "array",
                "items": {"type": "string", "enum": ["a", "b"]},
                "description": "The tasks to be worked on again; empty when passed.",
            },
            "feedbackForResume": {
                "type": "string",
                "description": "What must be fixed; empty when passed.",
            },
            "reviewResults": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "taskId": {"type": "string", "enum": ["a", "b"]},
                        "status": {"type": "string", "enum": ["passed", "failed"]},
                        "feedback": {
                            "type": ["string", "null"],
                            "description": "What is wrong with it; null when it passed.",
                        },
                    },
                    "required": ["taskId", "status", "feedback"],
                    "additionalProperties": False,
                },
                "description": "One entry for each child.",
            },
        },
        "required": ["passed", "resumeTaskIds", "feedbackForResume", "reviewResults"],
        "additionalProperties": False,
    }


def test_the_same_children_give_the_same_bytes_in_any_order() -> None:
    assert json.dumps(_schema("b", "a", "c")) == json.dumps(_schema("c", "b", "a", "b"))


def test_only_words_are_used_that_every_strict_mode_knows() -> None:
    def walk(schema: dict[str, Any]) -> None:
        assert set(schema) <= STRICT_KEYWORDS
        if schema["type"] == "object":
            assert schema["required"] == list(schema["properties"])
            assert schema["additionalProperties"] is False
        for inner in [*schema.get("properties", {}).values(), *filter(None, [schema.get("items")])]:
            walk(inner)

    walk(_schema("a"))


def test_more_children_than_an_enum_may_have_are_plain_texts() -> None:
    def items(ids: list[str]) -> Any:
        return _schema(*ids)["properties"]["resumeTaskIds"]["items"]

    most = [f"t{number:04}" for number in range(MAX_ENUM_IDS)]
    assert items(most)["enum"] == most
    assert items([*most, "one-more"]) == {"type": "string"}
    long = [f"{number:0100}" for number in range(MAX_ENUM_CHARACTERS // 100)]
    assert items(long)["enum"] == long
    assert items([*long, "x"]) == {"type": "string"}
