"""``verify`` holds what is done to its proof."""

from git_blackbird.cli.commands.run import build_ui, loop_runner
from git_blackbird.cli.output import CommandContext
from git_blackbird.cli.render.done import done_lines
from git_blackbird.controller.proof.done import DoneSession
from git_blackbird.errors import ExitCode, UsageError


def verify(call: CommandContext, *, done: bool) -> ExitCode:
    if not done:
        raise UsageError("say what to verify", hint="git blackbird verify --done")
    return _verify_done(call)


def _verify_done(call: CommandContext) -> ExitCode:
    workspace = call.workspace
    with build_ui(call, workspace, stream=False) as ui:
        session = DoneSession(workspace, ui)
        with loop_runner(workspace, call.command, session) as runner:
            found = runner.run(session.run())
    if found is None:
        return ExitCode.INTERRUPTED
    call.show(done_lines(found))
    if call.as_json:
        from git_blackbird.cli.printed.done import DoneEvent

        call.event("done_criteria", DoneEvent.of(found))
    return ExitCode.OK if all(one.result.has_passed for one in found) else ExitCode.FAILED
