from pathlib import Path

from git_blackbird.agents.registry import child_environ


def test_a_child_gets_everything_but_what_binds_it_to_this_process() -> None:
    ours = dict.fromkeys(
        (
            *("AI_AGENT", "CLAUDECODE", "CLAUDE_CODE_CHILD_NOTES_DIR", "CLAUDE_CODE_CHILD_SESSION"),
            *("CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_EXECPATH", "CLAUDE_CODE_MESSAGING_SOCKET"),
            *("CLAUDE_CODE_MESSAGING_TOKEN", "CLAUDE_CODE_SESSION_ATTENDED", "CLAUDE_CODE_SESSION_ID"),
            *("CLAUDE_CODE_SSE_PORT", "CLAUDE_EFFORT", "CLAUDE_PID", "CODEX_CI", "CODEX_MANAGED_BY_NPM"),
            *("CODEX_APPLY_PATCH_PRESERVE_LINE_ENDINGS", "CODEX_MANAGED_PACKAGE_ROOT", "CODEX_SESSION_ID"),
            *("CODEX_THREAD_ID", "CODEX_TOOL_CALL_ID", "CODEX_VERSION", "CODEX_SANDBOX"),
            "CODEX_SANDBOX_NETWORK_DISABLED",
            *("BLACKBIRD_SESSION_ID", "BLACKBIRD_RESUME", "BLACKBIRD_RUN_ID"),
        ),
        "outer",
    )
    kept = {
        "PATH": "/bin",
        "GIT_AUTHOR_NAME": "Ada",
        "CLAUDE_CONFIG_DIR": "/c",
        "CLAUDE_CODE_MAX_RETRIES": "3",
        "CLAUDE_CODE_USE_BEDROCK": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CODEX_HOME": "/x",
        "CODEX_API_KEY": "k",
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
