"""Judge the structure of the plan."""

from collections.abc import Sequence

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.model.rules.lint import LintFinding, RequirementSource, lint_plan


def judge_plan(workspace: Workspace, sources: Sequence[RequirementSource] = ()) -> tuple[LintFinding, ...]:
    """Return what is doubtful in the plan, and which requirements of the sources it does not cover."""
    plan = workspace.plan_state().plan
    return lint_plan(plan, sources, has_check=bool(workspace.check_command))
