import subprocess
from pathlib import Path

from git_blackbird.agents.environment import GIT_LOCAL_VARIABLES, child_environ


def test_what_binds_git_to_a_repository_is_what_git_says() -> None:
    done = subprocess.run(
        ["git", "rev-parse", "--local-env-vars"], capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) <= set(GIT_LOCAL_VARIABLES)


def test_a_child_gets_everything_but_what_binds_it_to_this_process() -> None:
    ours = dict.fromkeys(
        (
            *GIT_LOCAL_VARIABLES,
            *("CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PID"),
            *("CODEX_THREAD_ID", "CODEX_CI", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED"),
            *("BLACKBIRD_SESSION_ID", "BLACKBIRD_RESUME", "BLACKBIRD_RUN_ID"),
        ),
        "outer",
    )
    kept = {
        "PATH": "/bin",
        "GIT_AUTHOR_NAME": "Ada",
        "CLAUDE_CONFIG_DIR": "/c",
        "CODEX_HOME": "/x",
        "EMPTY": "",
    }
    given = child_environ(
        ours | kept,
        task_id="t1",
        run_id="r1",
        tmp_dir=Path("/work/tmp"),
        extra={"EXTRA": "1", "PATH": "/usr/bin"},
    )
    assert given == {
        **kept,
        "PATH": "/usr/bin",
        "EXTRA": "1",
        "BLACKBIRD_TASK_ID": "t1",
        "BLACKBIRD_RUN_ID": "r1",
        "TMPDIR": "/work/tmp",
    }
