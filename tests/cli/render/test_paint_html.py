"""Documents as HTML: nothing of a text is a tag, and what belongs together is one paragraph."""

from git_blackbird.cli.render.paint_html import paint_html
from git_blackbird.messages.document import Span, Style, line, section, table
from git_blackbird.model.base.next_steps import TaskCommand

HOSTILE = "<script>\x1b[2J&</script>"
ESCAPED = "&lt;script&gt;&amp;&lt;/script&gt;"


def test_every_text_is_escaped() -> None:
    parts = section(
        "", [HOSTILE, line(Span(HOSTILE, Style.WARNING)), table([[Span("A", Style.HEADING)], [HOSTILE]])]
    ).parts
    assert "".join(paint_html(parts)) == (
        f'<p>{ESCAPED}</p><p><span class="wait">{ESCAPED}</span></p><div class="scroll"><table>'
        f"<tr><th>A</th></tr><tr><td>{ESCAPED}</td></tr></table></div>"
    )


def test_what_is_indented_belongs_to_the_line_above() -> None:
    step = line("    ", TaskCommand("retry", "a", remark="begins \x1b[2J<again>"))
    shown = '<code>git blackbird retry a</code> <span class="dim">begins &lt;again&gt;</span>'
    assert list(paint_html(section("", ["a  failed", step, "b"]).parts)) == [
        f'<p class="item">a  failed<br>{shown}</p>',
        "<p>b</p>",
    ]
