"""``verify`` holds commits to decisions, which ``records publish`` publishes, and tasks to their criteria."""

from functools import partial

import click

from git_blackbird.cli.commands.run import run_looking
from git_blackbird.cli.output import CommandContext
from git_blackbird.cli.render.done import done_lines
from git_blackbird.controller.proof.checked import check_commits
from git_blackbird.controller.proof.decisions import publish_decisions
from git_blackbird.controller.proof.done import verify_done
from git_blackbird.controller.proof.verify import Asked
from git_blackbird.controller.proof.verify import verify as verify_commits
from git_blackbird.errors import ExitCode, UsageError
from git_blackbird.messages.display.quantities import counted
from git_blackbird.messages.display.verified import (
    fault_lines,
    summary_line,
    verification_page,
    verified_row,
)
from git_blackbird.messages.document import table
from git_blackbird.model.run.published import SHARED_REFS


def publish(call: CommandContext) -> ExitCode:
    found = publish_decisions(call.open((), takes_bare=True))
    call.print(f"published {counted(len(found.published), 'decision')}; {found.known} were before")
    call.lines(f"not published: {line}" for line in found.left_out)
    call.lines(f"verify --since {tag} holds on to them" for tag in found.last)
    if found.published:
        call.print(f"git push origin '{SHARED_REFS}' shares them")
    call.data(found)
    return ExitCode.FAILED if found.left_out else ExitCode.OK


def verify(
    call: CommandContext,
    commits: str | None,
    *,
    done: bool,
    check: bool,
    signers: str | None,
    since: str | None,
    is_strict: bool,
    page: bool,
) -> ExitCode:
    if done:
        if commits is not None or check or is_strict or page or signers is not None or since is not None:
            raise UsageError("--done is about tasks, and takes nothing that is about commits")
        return _verify_done(call)
    place = None if signers is None else call.environment.cwd / signers
    repo = call.open((), takes_bare=not check).repo
    found = verify_commits(repo, Asked(commits or "HEAD", place, since, is_strict))
    if check:
        checked = run_looking(call, partial(check_commits, found=found))
        if checked is None:
            return ExitCode.INTERRUPTED
        found = checked
    if page and not call.as_json:
        click.echo(verification_page(found), nl=False)
    else:
        call.show([table(map(verified_row, found.commits), 3)] if found.commits else [])
        for one in found.faulty:
            call.lines(fault_lines(one))
        call.lines(dict.fromkeys(filter(None, (*found.broken, found.rolled_back))))
        call.print(summary_line(found))
    call.data(found)
    return ExitCode.OK if found.holds else ExitCode.FAILED


def _verify_done(call: CommandContext) -> ExitCode:
    found = run_looking(call, verify_done)
    if found is None:
        call.warn("interrupted; what passed or failed is kept", "git blackbird verify --done")
        return ExitCode.INTERRUPTED
    call.show(done_lines(found.criteria))
    call.event("done_criteria", found)
    return ExitCode.OK if all(one.result.has_passed for one in found.criteria) else ExitCode.FAILED
