"""``report``: what was done, proven and spent, and what waits, as text, JSON and a page."""

import json
import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

from git_blackbird.cli.render.plan_picture import remark_on
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.plan.layers import Edge, layered_graph
from git_blackbird.model.plan.plan import Plan
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.states import DecisionState, RunStatus, RunType
from tests.cli.golden_harness import Program, program, save
from tests.cli.plans import run, task
from tests.support import set_config

__all__ = ["program"]

HOSTILE = "<script>alert(1)</script>\" onload='x' &amp; \x1b[2J\u202e</svg></title><img src=http://x/>"
OUT = {"superseded_at": "2026-01-02T02:01:05Z", "superseded_by": "agent_unavailable"}
SHOWN = "<script>alert(1)</script>\" onload='x' &amp; \ufffd</svg></title><img src=http://x/>"


def planned(repo: Path) -> None:
    """A task that was done, reworked and checked; one that failed, one that waits, one that left the plan."""
    tasks = [
        task("page", HOSTILE, status=Status.DONE, parent="web"),
        task("style", "Style it", status=Status.WAITING_USER, deps=("page",)),
        task("link", "Link it", status=Status.FAILED),
        task("ship", "Ship it", deps=("page", "style")),
        task("web", "The web", status=Status.DONE, children=("page",)),
    ]
    usage = {"input_tokens": 12_000, "output_tokens": 345}
    runs = [
        run("page", "019b7c4e52000001", provider="codex", usage=usage),
        run(
            "page",
            "019b7c4e52000002",
            startedAt="2026-01-02T02:30:00Z",
            completedAt="2026-01-02T02:45:00Z",
            usage=usage,
            cost_usd=1.5,
            check={"outcome": "passed"},
            decision_state=DecisionState.APPROVED_CONTINUE,
        ),
        run(
            "style",
            "019b7c4e52000003",
            cost_usd=0.25,
            check={"outcome": "failed", "exit_code": 1},
            decision_required=True,
            decision_state=DecisionState.PENDING,
        ),
        run("link", "019b7c4e52000004", RunStatus.FAILED, error="it <b>broke</b>", cost_usd=0.0),
        run("gone", "019b7c4e52000005", cost_usd=0.5),
        run("web", "019b7c4e52000006", run_type=RunType.REVIEW, parent_review_passed=True),
        run("ship", "019b7c4e52000007", RunStatus.FAILED, terminal_reason="agent_unavailable", **OUT),
    ]
    save(repo, tasks, runs)
    set_config(repo, {"execution.parentReviewEnabled": "false"})


def test_the_text_and_what_programs_are_told(program: Program, repo: Path) -> None:
    program.run("report")
    planned(repo)
    program.run("report")
    program.run("report", "--since", "2026-01-02 02:40")
    program.run("report", "--since", "2026-01-02 02:40", "--json")
    program.run("report", "--since", "soon")
    program.run("report", "--html", "nowhere/page.html")
    program.check("report")


class Page(HTMLParser):
    """The tags, attributes and texts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: Counter[str] = Counter()
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes.update(name for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_the_page_needs_nothing_else_and_takes_texts_as_texts(program: Program, repo: Path) -> None:
    planned(repo)
    (repo / "page.html").write_text("before")
    assert program.run("report", "--html", "page.html", "--json") == 0
    assert json.loads(program.transcript[-3])["data"]["page"] == "page.html"
    text = (repo / "page.html").read_text()
    page = Page(text)
    assert page.tags.keys().isdisjoint({"script", "img", "link", "iframe", "object", "a"})
    assert page.attributes.keys().isdisjoint({"src", "href", "onload", "xlink:href", "style"})
    assert not re.search(r"url\(|@import|https?:", text.replace("src=http://x/", ""))
    assert "default-src 'none'" in text.replace("&#x27;", "'")
    assert "prefers-color-scheme: dark" in text
    assert page.tags["svg"] == 4
    assert SHOWN in page.texts
    assert "it <b>broke</b>" in "".join(page.texts)
    assert "\x1b" not in text
    assert "\u202e" not in text
    headings = [text for text in page.texts if text in {"Done", "Waits for you", "When", "Plan"}]
    assert headings == ["Waits for you", "Done", "When", "Plan"]
    assert [path.name for path in repo.glob("*page.html*")] == ["page.html"]


def test_a_graph_has_layers_without_implied_edges_and_is_bounded() -> None:
    chain = [task(f"t{number}", deps=(f"t{number - 1}",) if number else ()) for number in range(300)]
    also = [task("top", children=("low",), deps=("t0",)), task("low", parent="top"), task("alone")]
    also.append(task("end", deps=("t0", "t1", "t2", "top")))
    plan = Plan({one.id: one for one in (*chain[:3], *also)})
    graph = layered_graph(plan, [], 200)
    assert [set(layer) for layer in graph.layers] == [
        {"t0", "low", "alone"},
        {"t1", "top"},
        {"t2"},
        {"end"},
    ]
    pairs = [("t0", "t1"), ("t1", "t2"), ("t2", "end"), ("t0", "top"), ("low", "top"), ("top", "end")]
    assert set(graph.edges) == {Edge(TaskId(first), TaskId(then)) for first, then in pairs}
    long = Plan({one.id: replace(one, status=Status.DONE) for one in chain})
    bounded = layered_graph(long, [TaskId("t299"), TaskId("t7")], 200)
    shown = [task_id for layer in bounded.layers for task_id in layer]
    assert (len(shown), bounded.left_out) == (200, 100)
    assert {"t299", "t7"} <= set(shown)
    assert "200 tasks of 300" in remark_on(bounded)
