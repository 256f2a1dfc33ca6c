"""The ``gemini`` agent: Gemini CLI, headless, with its event stream."""

from collections.abc import Mapping, Sequence

from git_blackbird.agents.gemini.parser import GeminiParser
from git_blackbird.agents.permissions import PermittedAgent
from git_blackbird.agents.probe import Requirements
from git_blackbird.agents.protocol import Capabilities, LaunchSpec, RunRequest
from git_blackbird.messages.outgoing.prompts import as_plain_text

_POLICY = "policy.toml"
_READS = ("read_file", "read_many_files", "list_directory", "glob", "grep_search")
_EDITS = (*_READS, "write_file", "replace", "write_todos", "update_topic")


class GeminiAgent(PermittedAgent):
    """Start and resume Gemini CLI, with the prompt on standard input."""

    name = "gemini"
    abilities = Capabilities(
        resume=True, read_only=True, reads_only_files=True, chooses_session=True, prints_events=True
    )
    parser_type = GeminiParser
    needs = Requirements(
        ("--help",),
        (
            *("--output-format", "--approval-mode", "--skip-trust", "--session-id", "--resume"),
            "--admin-policy",
        ),
        ("--include-directories",),
        # The program says of itself only that it has no login, when it starts.
        ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA"),
    )
    # It leaves a file in its folder of settings whenever it starts outside of a project.
    query_environ: Mapping[str, str] = {"GEMINI_CLI_HOME": "/dev/null"}
    reviews = (
        "read the files of the worktree, run nothing and write nothing; gemini.args and the repository's"
        " settings are ignored, not its GEMINI.md"
    )
    remarks = (
        "it follows the GEMINI.md of the repository that it works in, and its settings where you trust it",
        "it reports tokens, and no cost",
        "git in its commands runs no hooks and does not see your own configuration",
    )

    def _start(self, request: RunRequest) -> LaunchSpec:
        tools = _READS if request.read_only else _EDITS if self.mode == "edit" else ()
        # The model may leave every approval mode by itself: only a policy of this rank holds.
        policy = ("auto_edit", "--admin-policy", f"{request.scratch}/{_POLICY}") if tools else ("yolo",)
        session = ("--resume" if request.resume else "--session-id", request.session or "")
        argv = (
            *(self._settings.path, "--output-format", "stream-json", "--skip-trust"),
            *("--approval-mode", *policy, *self._model_args),
            *(("--include-directories", request.folder) if request.read_only else session),
        )
        prompt = as_plain_text(request.prompt).encode(errors="replace")
        return LaunchSpec(argv, prompt, files=_policy(tools))

    def launch_by_hand(self, session: str) -> LaunchSpec:
        """Return the launch of its own interface, which asks a person for what it needs."""
        argv = (self._settings.path, "--resume", session, *self._model_args, *self._settings.args)
        return LaunchSpec(argv, b"")


def _policy(tools: Sequence[str]) -> dict[str, bytes]:
    """Return the file with the policy that allows these tools alone; none for all tools."""
    names = ", ".join(f'"{tool}"' for tool in tools)
    policy = (
        '[[rule]]\ntoolName = "*"\ndecision = "deny"\npriority = 900\n\n'
        f'[[rule]]\ntoolName = [{names}]\ndecision = "allow"\npriority = 999\n'
    )
    return {_POLICY: policy.encode()} if tools else {}
