"""The type of options that take a text: one that is kept, told to agents, and must be one."""

import click


def text(value: str) -> str:
    """Give what was typed, unchanged; what is not UTF-8 would come out as another text.

    Raises BadParameter, to which click adds the name of the option. Help shows this function's name.
    """
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise click.BadParameter("it is not UTF-8") from error
    return value
