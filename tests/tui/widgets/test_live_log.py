"""The log of agents at work: what it costs to show more of it."""

import asyncio

from textual.app import App, ComposeResult
from textual.screen import Screen

from git_blackbird.messages.document import styled
from git_blackbird.tui.widgets.live_log import LiveLog

LINES = [styled(f"line {number}") for number in range(100)]


class LogApp(App[None]):
    """One log on a screen of its own."""

    CSS = "LiveLog { overflow-x: hidden; scrollbar-gutter: stable; }"

    def compose(self) -> ComposeResult:
        yield LiveLog(id="log")


def test_more_lines_lay_out_nothing_but_move_the_bar() -> None:
    layouts: list[Screen[object]] = []

    async def story() -> None:
        app = LogApp()
        async with app.run_test(size=(40, 10)) as pilot:
            log = app.query_one(LiveLog)
            log.add(LINES)
            await pilot.pause()
            assert (log.scroll_y, log.max_scroll_y) == (90, 90)
            app.screen.screen_layout_refresh_signal.subscribe(log, layouts.append)
            log.add(LINES)
            await pilot.pause()
            assert (log.scroll_y, log.max_scroll_y) == (190, 190)
            assert log.vertical_scrollbar.window_virtual_size == 200
            assert layouts == []
            log.focus()
            await pilot.press("up")
            await pilot.pause()
            log.add(LINES)
            await pilot.pause()
            assert (log.scroll_y, log.max_scroll_y) == (189, 290)
            log.replace(LINES[:3])
            await pilot.pause()
            assert (log.show_vertical_scrollbar, log.max_scroll_y) == (False, 0)

    asyncio.run(story())
