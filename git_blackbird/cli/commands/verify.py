"""``verify`` holds what is done to its proof."""

from git_blackbird.cli.commands.run import build_ui, loop_runner
from git_blackbird.cli.output import CommandContext
from git_blackbird.cli.render.done import done_lines
from git_blackbird.controller.change.call import Call
from git_blackbird.controller.proof.done import verify_done
from git_blackbird.errors import ExitCode, UsageError
from git_blackbird.model.rules.scope import CallScope


def verify(call: CommandContext, *, done: bool) -> ExitCode:
    if not done:
        raise UsageError("say what to verify", hint="git blackbird verify --done")
    return _verify_done(call)


def _verify_done(call: CommandContext) -> ExitCode:
    workspace = call.workspace
    with build_ui(call, workspace, stream=False) as ui:
        looking = Call(workspace, ui, CallScope(only=frozenset(), starts_left=0))
        with loop_runner(workspace, call.command, looking) as runner:
            found = runner.run(verify_done(looking))
    if found is None:
        call.warn("interrupted; what passed or failed is kept", "git blackbird verify --done")
        return ExitCode.INTERRUPTED
    call.show(done_lines(found))
    if call.as_json:
        from git_blackbird.cli.printed.done import DoneEvent

        call.event("done_criteria", DoneEvent.of(found))
    return ExitCode.OK if all(one.result.has_passed for one in found) else ExitCode.FAILED
