"""The type of options that take a text: one that is kept, told to agents, and must be one."""

import click


class Text(click.ParamType):
    """Text as it was typed; what is not UTF-8 would come out as another text."""

    name = "text"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Give the text unchanged. Raises BadParameter, which names the option."""
        try:
            value.encode()
        except UnicodeEncodeError:
            self.fail("it is not UTF-8", param, ctx)
        return value


TEXT = Text()
