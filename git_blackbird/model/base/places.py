"""What this program keeps at the top of a worktree, which is no part of any change."""

PLAN_NAME = "blackbird.plan.json"
STATE_NAME = ".blackbird"
HIDDEN = (STATE_NAME, PLAN_NAME)
