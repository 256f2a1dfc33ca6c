import asyncio
from pathlib import Path

from git_blackbird.controller.core.waiting import race_external_change
from tests.controller.support import configure, execute, leaf, open_at, put_plan, runs_of


def test_who_is_interrupted_before_asking_has_asked_nobody(repo: Path) -> None:
    configure(repo, agent="demo")
    put_plan(repo, leaf("a"))
    execute(repo)
    asked = []

    async def ask() -> None:
        asked.append("a")

    async def interrupted() -> None:
        asking = asyncio.ensure_future(race_external_change(open_at(repo), ask, runs_of(repo, "a")[0]))
        asking.cancel()
        await asyncio.wait([asking])

    asyncio.run(interrupted())
    assert asked == []
