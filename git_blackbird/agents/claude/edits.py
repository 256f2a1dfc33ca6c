"""The files that Claude Code's tools wrote."""

from git_blackbird.agents.claude.events import MessageEvent
from git_blackbird.agents.edits import Edits

EDIT_TOOLS = ("Edit", "Write", "MultiEdit", "NotebookEdit")


class ClaudeEdits(Edits):
    """Collect the files of calls of these tools, once their results say that they went through."""

    def take(self, event: MessageEvent) -> None:
        """Note the calls in a message, or their results."""
        for block in event.message.content:
            if block.type == "tool_result":
                self.end(block.tool_use_id, is_done=not block.is_error)
            elif block.type == "tool_use" and block.name in EDIT_TOOLS:
                self.begin(block.id, block.input.file_path or block.input.notebook_path)
