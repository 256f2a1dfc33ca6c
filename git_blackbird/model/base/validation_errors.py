"""Errors that pydantic finds in files and answers, as a place and a message."""

from collections.abc import Mapping

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from git_blackbird.model.base.sanitize import short_json

_EXPECTED: Mapping[str, str] = {
    "bool_type": "true or false",
    "dict_type": "an object",
    "float_type": "a number",
    "int_from_float": "a whole number",
    "int_type": "a whole number",
    "list_type": "a list",
    "model_type": "an object",
    "string_type": "a text",
    "tuple_type": "a list",
}
_WITHOUT_VALUE: Mapping[str, str] = {
    "extra_forbidden": "is not known",
    "finite_number": "is too large a number",
    "missing": "is missing",
}


def first_error(error: ValidationError) -> str:
    """Format the first error on one line: the path of a value, or what the whole is, and what is wrong."""
    details = error.errors(include_url=False)[0]
    return f"{'.'.join(map(str, details['loc'])) or 'the record'}: {_what(details)}"


def _what(details: ErrorDetails) -> str:
    kind, context = details["type"], details.get("ctx", {})
    if kind in _WITHOUT_VALUE:
        return _WITHOUT_VALUE[kind]
    shown = describe(details["input"])
    if kind in _EXPECTED:
        return f"is {shown}, not {_EXPECTED[kind]}"
    if kind in {"enum", "literal_error"}:
        return f"is {shown}, not {context['expected']}"
    if kind == "value_error":
        return f"is {shown}, {context['error']}"
    return f"is {shown}: {details['msg'][:1].lower()}{details['msg'][1:]}"


def describe(value: object) -> str:
    """Name an invalid value in a message: an object or a list by its kind, anything else as JSON."""
    if isinstance(value, dict | list | tuple):
        return "an object" if isinstance(value, dict) else "a list"
    return short_json(value)
