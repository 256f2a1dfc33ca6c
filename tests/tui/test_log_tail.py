"""The runs of other processes are followed to their end."""

import subprocess
from pathlib import Path
from typing import Any, cast

from git_blackbird.agents.process.signals import identity
from git_blackbird.controller.core.workspace import hold_controller
from git_blackbird.controller.queries.status import build_overview
from git_blackbird.controller.queries.watcher import ViewState
from git_blackbird.model.run.agent_io import Progress
from git_blackbird.model.run.states import RunStatus
from git_blackbird.model.views.events import RunEnded, RunStarted
from git_blackbird.tui.log_tail import LogTailer
from git_blackbird.tui.widgets.live_log import LivePane
from tests.cli.golden_harness import save, store_at
from tests.cli.plans import FIRST_RUN, run, task
from tests.controller.support import open_at
from tests.support import write

LOG = f".git/blackbird/streams/t1.{FIRST_RUN}.stdout"


def says(text: str) -> str:
    return f'{{"type": "progress", "kind": "says", "text": "{text}"}}'


class Lines:
    """A pane that writes down what it is told."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def handle_event(self, event: RunStarted | RunEnded) -> None:
        self.said.append("started" if isinstance(event, RunStarted) else event.run.status.value)

    def add_run(self, *_: object) -> None:
        pass

    def add_step(self, _: str, step: Progress) -> None:
        self.said.append(step.text)

    def remove_run(self, _: str) -> None:
        self.said.append("gone")


def test_a_run_is_followed_until_its_record_is_closed_not_only_until_its_agent_ends(repo: Path) -> None:
    workspace, pane = open_at(repo), Lines()
    tailer = LogTailer(cast(LivePane, pane))

    def poll() -> None:
        state = workspace.plan_state()
        tailer.poll(workspace, ViewState(state, build_overview(workspace, state), {}))

    with subprocess.Popen(["sleep", "600"]) as agent, hold_controller(workspace, "execute"):
        own: dict[str, Any] = {"pid": agent.pid, "process_identity": identity(agent.pid)}
        save(repo, [task("t1")], [run("t1", status=RunStatus.RUNNING, **own)])
        write(repo, {LOG: f"{says('one')}\n"})
        poll()
        agent.kill()
        agent.wait()
        with (repo / LOG).open("a") as log:
            log.write(f"{says('two')}\n")
        poll()
        assert pane.said == ["started", "one", "two"]
        with (repo / LOG).open("a") as log:
            log.write(says("three"))
        with store_at(repo).transaction() as transaction:
            transaction.save_run(run("t1", status=RunStatus.SUCCESS))
    poll()
    poll()
    assert pane.said == ["started", "one", "two", "three", "success"]


def test_a_run_of_a_cluster_is_shown_with_its_worker(repo: Path) -> None:
    workspace, pane = open_at(repo), LivePane(id="live")
    tailer = LogTailer(pane)
    with hold_controller(workspace, "execute"):
        save(repo, [task("t1")], [run("t1", status=RunStatus.RUNNING, cluster=True)])
        for worker, about in ((None, "t1"), ("rack", "t1 on rack")):
            with store_at(repo).transaction() as transaction:
                transaction.save_run(run("t1", status=RunStatus.RUNNING, cluster=True, worker=worker))
            state = workspace.plan_state()
            tailer.poll(workspace, ViewState(state, build_overview(workspace, state), {}))
            assert [name for name, _ in pane.at_work.runs] == [about]


def test_a_run_that_nobody_is_left_to_close_is_followed_no_more(repo: Path) -> None:
    workspace, pane = open_at(repo), Lines()
    tailer = LogTailer(cast(LivePane, pane))
    with subprocess.Popen(["sleep", "600"]) as agent:
        own: dict[str, Any] = {"pid": agent.pid, "process_identity": identity(agent.pid)}
        save(repo, [task("t1")], [run("t1", status=RunStatus.RUNNING, **own)])
        state = workspace.plan_state()
        tailer.poll(workspace, ViewState(state, build_overview(workspace, state), {}))
        agent.kill()
    state = workspace.plan_state()
    tailer.poll(workspace, ViewState(state, build_overview(workspace, state), {}))
    assert pane.said == ["started", "gone"]
