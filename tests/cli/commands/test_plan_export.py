"""``plan export``: the plan as a page, as a list with ticks, and as JSON, of which none loses a task."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from git_blackbird.clean import clean
from git_blackbird.controller.plan.export import export_plan
from git_blackbird.controller.plan.page import add_page
from git_blackbird.messages.forms.natural import read_page
from git_blackbird.messages.forms.page import parse_page
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.plan.status import Status
from tests.controller.plan.test_page import plan_of, plans
from tests.controller.support import open_at, put_plan
from tests.support import examples
from tests.trial.program import Trial

PAGE = """<!-- The plan, exported: the line at the end says that nothing is cut off -->

## The store
id: the-store
status: in_progress

### Tables
id: tables

Create `schema.sql`.

- [ ] there are tables

### Migration
id: migration
after: tables
status: done

Move *all* of `orders.csv`.

- [x] moved

## An API
id: an-api
after: the-store
status: failed
because the-store: it answers from it

<!-- 4 tasks -->
"""
LIST = r"""- [ ] The store *(in progress)* <!-- the-store -->
  - [ ] Tables <!-- tables -->
    - there are tables
  - [x] Migration <!-- migration -->
    - after tables
    - moved
- [ ] An API *(failed)* <!-- an-api -->
  - after the-store
"""


@pytest.fixture
def trial(repo: Path) -> Trial:
    trial = Trial(repo)
    trial.init()
    trial.expect(0, "add", "-", stdin=PAGE)
    trial.expect(0, "set-status", "an-api", "failed")
    return trial


def test_a_plan_is_exported_with_ticks_and_states(trial: Trial) -> None:
    assert trial.expect(0, "plan", "export") == PAGE
    assert trial.expect(0, "plan", "export", "--format", "markdown") == LIST
    plan = trial.expect(0, "plan", "export", "--format", "json")
    assert json.loads(plan)["items"].keys() == {"the-store", "tables", "migration", "an-api"}
    said = json.loads(trial.expect(0, "plan", "export", "--json"))
    assert said["command"] == "plan export"
    assert said["data"] == {"form": "page", "text": PAGE}


def test_hostile_titles_stay_one_item_of_the_list(repo: Path) -> None:
    trial = Trial(repo)
    trial.init()
    trial.expect(0, "add", "--id", "a-->b", "--title", "- [x] <!-- `rm` --> **@all**")
    assert trial.expect(0, "plan", "export", "--format", "markdown") == (
        r"- [ ] - \[x\] \<!-- \`rm\` --\> \*\*\@all\*\* <!-- a--&gt;b -->" + "\n"
    )


def test_no_character_hides_in_json_and_none_is_lost(trial: Trial) -> None:
    prompt = "a\u202eb\u2066c\u2069 \U000e0041\u200d\u007f\u009b d\t\u00e9"
    trial.expect(0, "edit", "tables", "--prompt", prompt)
    said = trial.expect(0, "plan", "export", "--format", "json")
    assert clean(said) == said
    assert json.loads(said) == json.loads((trial.repo / "blackbird.plan.json").read_bytes())
    assert json.loads(said)["items"]["tables"]["prompt"] == prompt


def with_done(tasks: tuple[Task, ...]) -> list[Task]:
    """Every second task without a parent or children is done."""
    done = [one.id for one in tasks if not one.children and one.parent is None][::2]
    return [replace(one, status=Status.DONE) if one.id in done else one for one in tasks]


@given(plans())
@settings(
    max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_what_was_exported_is_added_as_the_same_plan(repo: Path, tasks: tuple[Task, ...]) -> None:
    put_plan(repo, *with_done(tasks))
    before = open_at(repo).plan_state().plan
    page, plan = export_plan(before, "page"), export_plan(before, "json")
    put_plan(repo)
    add_page(open_at(repo), parse_page(page, is_whole=True))
    assert export_plan(plan_of(repo), "page") == page
    put_plan(repo)
    add_page(open_at(repo), read_page(plan))
    assert export_plan(plan_of(repo), "page") == page
