"""What is taken over of a run."""

from git_blackbird.model.entities.run import Run, RunFields


def test_of_a_run_from_elsewhere_nothing_but_the_go_programs_fields_is_taken_over() -> None:
    names = list(RunFields.model_fields)
    ours = set(names[names.index("recorder") :])
    whole = {
        "id": "9f86d081884c7d65",
        "taskId": "a",
        "startedAt": "2026-01-02T03:04:05Z",
        "status": "success",
        "decision_state": "pending",
        "worktree": "../hotfix",
        "landing": "due",
        "head_tree": "1" * 40,
        "base_tree": "2" * 40,
        "commits": ["3" * 40],
        "pid": 1,
        "of_the_future": 1,
    }
    taken = Run.from_value(whole).taken_over()
    kept = {name for name in ours if getattr(taken, name) not in {None, ()}}
    assert kept == {"recorder"}
    assert taken.model_extra == {}
    assert (taken.id, taken.decision_state) == ("9f86d081884c7d65", "pending")
