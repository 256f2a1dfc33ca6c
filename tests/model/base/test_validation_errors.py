"""What pydantic finds, in our words and with its place."""

from typing import Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from git_blackbird.model.base.record import first_error


class Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

    kind: Literal["one", "two"]
    count: int = Field(ge=0)
    size: float = 0.0
    inner: tuple["Part", ...] = ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"kind": "three", "count": 1}', "kind: is \"three\", not 'one' or 'two'"),
        ('{"kind": "one", "count": 1.5}', "count: is 1.5, not a whole number"),
        ('{"kind": "one", "count": 1, "size": 1e999}', "size: is too large a number"),
        (
            '{"kind": "one", "count": 1, "inner": [{"kind": "one", "count": -1}]}',
            "inner.0.count: is -1: input should be greater than or equal to 0",
        ),
        ('{"kind": "one", "count": 1, "inner": [5]}', "inner.0: is 5, not an object"),
        ('{"kind": "one", "count": 1, "odd": 1}', "odd: is not known"),
        ('{"kind": "three", "count": 1.5}', "kind: is \"three\", not 'one' or 'two'"),
        ("[]", "the record: is a list, not an object"),
    ],
)
def test_the_first_fault_comes_with_its_place(text: str, said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Part.model_validate_json(text)
    assert first_error(caught.value) == said
