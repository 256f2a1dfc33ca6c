"""What agents are told of a project that has only a README."""

import pytest

from git_blackbird.messages.outgoing.prompts import MAX_BYTES, first_section

ABOUT = "It does things."


@pytest.mark.parametrize(
    ("text", "section"),
    [
        (f"# Thing\n\n{ABOUT}\n\n## Install\n\nmuch", f"# Thing\n\n{ABOUT}"),
        (f"Thing\n=====\n\n{ABOUT}\n\nInstall\n-------\nmuch", f"Thing\n=====\n\n{ABOUT}"),
        (
            f"# Thing\n[![b](c)](d)\n<p>\n## What\n{ABOUT}\n## No",
            f"# Thing\n## What\n{ABOUT}",
        ),
        (f"[![CI](https://a/b.svg)](https://a)\n\n# Thing\n\n{ABOUT}", f"# Thing\n\n{ABOUT}"),
        (f"# Thing [![CI](a)](b) ![v](c)\n\n![x][y] [![z][y]][y]\n\n{ABOUT}", f"# Thing\n\n{ABOUT}"),
        (
            f"<h1 align=center>\n<img src=a>\n</h1>\n\n> [!NOTE]\n> It is new.\n\n{ABOUT}",
            f"> It is new.\n\n{ABOUT}",
        ),
        (
            "# Thing\n[See](a) what it does.\n```md\n![b](c)\n```",
            "# Thing\n[See](a) what it does.\n```md\n![b](c)\n```",
        ),
        (
            f"# Thing\n{ABOUT}\n```sh\n# no heading\n```\nmore\n# No",
            f"# Thing\n{ABOUT}\n```sh\n# no heading\n```\nmore",
        ),
        (f"# Thing\n{ABOUT}\n\n---\n\nmore\n## No", f"# Thing\n{ABOUT}\n\n---\n\nmore"),
        (f"{ABOUT}\n\nNo headings\nat all", f"{ABOUT}\n\nNo headings\nat all"),
        ("# Thing\n## Install", "# Thing\n## Install"),
        (f"#hash\n{ABOUT}", f"#hash\n{ABOUT}"),
        ("", ""),
    ],
)
def test_the_section_that_says_what_it_is(text: str, section: str) -> None:
    assert first_section(text) == section


def test_without_headings_it_ends_with_a_paragraph() -> None:
    paragraph = "word " * 100
    section = first_section("\n\n".join([paragraph] * 50))
    assert section.endswith("word")
    assert MAX_BYTES - 600 < len(section) <= MAX_BYTES


def test_one_endless_line_is_cut() -> None:
    assert len(first_section("ü" * 100_000).encode()) == MAX_BYTES
