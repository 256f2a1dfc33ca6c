"""What this program keeps at the top of a worktree, which is no part of any change."""

PLAN_NAME = "blackbird.plan.json"
STATE_NAME = ".blackbird"
HIDDEN = (STATE_NAME, PLAN_NAME)
# How the names of files begin that are on their way to their place; a random number follows.
TEMPORARY = ".blackbird-"
