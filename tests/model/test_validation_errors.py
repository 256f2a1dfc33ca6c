"""Every fault that pydantic finds, in our words and with its place."""

from typing import Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from git_blackbird.model.base.record import FieldError, field_errors, first_error


class Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

    kind: Literal["one", "two"]
    count: int = Field(ge=0)
    size: float = 0.0
    inner: tuple["Part", ...] = ()


def test_all_faults_come_with_their_places() -> None:
    with pytest.raises(ValidationError) as caught:
        Part.model_validate_json(
            '{"kind": "three", "count": 1.5, "size": 1e999, "odd": 1, '
            '"inner": [{"kind": "one", "count": -1}, 5]}'
        )
    assert list(field_errors(caught.value)) == [
        FieldError(("kind",), "is \"three\", not 'one' or 'two'"),
        FieldError(("count",), "is 1.5, not a whole number"),
        FieldError(("size",), "is too large a number"),
        FieldError(("inner", 0, "count"), "is -1: input should be greater than or equal to 0"),
        FieldError(("inner", 1), "is 5, not an object"),
        FieldError(("odd",), "is not known"),
    ]


def test_a_fault_of_the_whole_is_told_of_what_it_is() -> None:
    with pytest.raises(ValidationError) as caught:
        Part.model_validate_json("[]")
    assert first_error(caught.value, "the file") == "the file: is a list, not an object"
