"""The files and snippets of a change as lines."""

from collections.abc import Iterator

from git_blackbird.messages.display.format import render_path, render_totals
from git_blackbird.messages.document import Line, Style, styled
from git_blackbird.model.base.sanitize import escape_controls, strip_controls
from git_blackbird.model.run.summary import MAX_FILES, FileChange, Summary

_DIFF_STYLES = {"+": Style.ADDED, "-": Style.REMOVED, "@": Style.PLACE}


def snippet_lines(summary: Summary, indent: str) -> Iterator[Line]:
    """Return the beginnings of its diffs, each below its path."""
    for snippet in summary.snippets:
        yield styled(f"{indent}{render_path(snippet.file)}", Style.PLACE)
        for line in escape_controls(snippet.snippet).split("\n"):
            yield styled(f"{indent}  {line}", _DIFF_STYLES.get(line[:1], Style.PLAIN))


def file_lines(summary: Summary, indent: str) -> Iterator[Line]:
    """List each path once, with its status and the number of changed lines."""
    if summary.changes:
        texts = [_file_line(change) for change in summary.changes]
    elif lines := strip_controls(summary.diffstat).splitlines():
        # The Go program only has the numbers as formatted by git.
        texts = [line.strip() for line in lines]
    else:
        texts = [render_path(path) for path in summary.files]
    yield from (styled(indent + text) for text in texts[:MAX_FILES])
    if not texts:
        yield styled(f"{indent}(none)", Style.FAINT)
    if summary.totals.files > 1:
        yield styled(f"{indent}together: {render_totals(summary)}", Style.FAINT)


def _file_line(change: FileChange) -> str:
    name = render_path(change.path)
    if change.old_path is not None:
        name = f"{render_path(change.old_path)} -> {name}"
    lines = "binary" if change.binary else f"+{change.additions} -{change.deletions}"
    mode = f" (mode {change.old_mode} -> {change.new_mode})" if change.new_mode else ""
    return f"{change.status} {name}  {lines}{mode}"
