"""Syntax of the commands in which an agent plans."""

from click import Choice, Option, Path

from git_blackbird.cli.syntax.registry import CommandSpec, flag, text
from git_blackbird.model.config.layers import AGENT_NAMES

AGENT = Option(["--agent"], type=Choice(AGENT_NAMES), help="The agent that plans.")
YES = flag("Accept what is proposed, if it can be, without a question.", "-y", "--yes")
STREAM = flag("Show what the agent does and says as it happens.", "--stream")
_OPTIONS = (
    Option(["-m", "--message"], type=text, help="What is wanted."),
    Option(
        ["-F", "--file", "message_file"],
        type=Path(dir_okay=False, allow_dash=True),
        help="Read what is wanted from a file; - is standard input.",
    ),
    YES,
    AGENT,
    STREAM,
)

generate = CommandSpec(
    "generate",
    "planning:generate",
    """Let an agent make tasks of what you describe.

    It reads the repository, may ask you, and changes nothing. What it proposes is shown; you accept it, say
    what should be different, edit it as a page, or stop. Without -m or -F your editor opens.
    """,
    *_OPTIONS,
    short_help="Let an agent make tasks of a description.",
)
refine = CommandSpec(
    "refine",
    "planning:refine",
    """Let an agent change the plan as you describe.

    As `plan generate`. Tasks that are done, skipped or being worked on stay as they are.
    """,
    *_OPTIONS,
    short_help="Let an agent change the plan.",
)
