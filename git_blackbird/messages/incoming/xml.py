"""Read XML that programs of others wrote, without what it could make a reader do."""

from typing import TYPE_CHECKING
from xml.etree.ElementTree import ParseError

from git_blackbird.errors import UnusableError

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


def parse_xml(data: bytes, fault: str, hint: str | None = None) -> "Element":
    """Return the root of what is to be XML. Raises UnusableError, which begins with ``fault``."""
    from defusedxml import DefusedXmlException  # only where a check leaves XML
    from defusedxml.ElementTree import fromstring

    try:
        # A DTD is not loaded, and what it declares is refused.
        root: Element = fromstring(data)
    except DefusedXmlException as error:
        raise UnusableError(f"{fault}: it declares entities", hint=hint) from error
    except (ParseError, ValueError) as error:
        raise UnusableError(f"{fault}: {error}", hint=hint) from error
    return root


def is_xml(data: bytes) -> bool:
    try:
        parse_xml(data, "")
    except UnusableError:
        return False
    return True
