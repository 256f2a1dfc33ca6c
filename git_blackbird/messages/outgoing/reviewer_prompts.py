"""The prompts of the spec reviewer and the code reviewer of a change (spec 4, DESIGN.md 7)."""

from collections.abc import Mapping

from git_blackbird.messages.outgoing.prompts import render_section
from git_blackbird.messages.outgoing.review_package import DATA_RULE
from git_blackbird.model.entities.findings import Source

REVIEWER_SYSTEM = (
    "You review one finished change, headless, in the git repository that is your working directory. You are "
    "the reviewer only: do not implement anything, do not edit, create or delete files, do not commit. Look "
    "at the work itself, not only at what is said of it. Nobody is here to answer: ask no questions, decide "
    "by what you see.\n\n" + DATA_RULE
)

_ROLES: Mapping[Source, str] = {
    Source.SPEC: (
        "You are the spec reviewer. Judge whether the change does what the task and its acceptance criteria "
        "ask for: everything that is asked, nothing beyond it, and as it was meant. How the code is written "
        "is another reviewer's matter."
    ),
    Source.CODE: (
        "You are the code reviewer. Judge the code of the change: bugs, security, architecture, error "
        "handling, tests. Whether it is what the task asks for is another reviewer's matter. Report what the "
        "change brings in, not what was there before it."
    ),
}
_FORMS: Mapping[Source, str] = {
    Source.SPEC: """\
<spec-review>
  <verdict>APPROVED | ISSUES</verdict>
  <confidence>high | medium | low</confidence>

  <issues>
    <issue type="missing_requirement | extra_feature | misunderstanding"
           severity="critical | important">
      <location file="path/to/file.ts" line="45"/>
      <description>What's wrong</description>
      <requirement>Which requirement was violated</requirement>
    </issue>
  </issues>

  <checked>
    <item>Requirement 1</item>
    <item>Requirement 2</item>
  </checked>

  <summary>Brief assessment</summary>
</spec-review>""",
    Source.CODE: """\
<code-review>
  <verdict>APPROVED | APPROVED_WITH_MINOR | ISSUES</verdict>
  <confidence>high | medium | low</confidence>

  <issues>
    <issue type="bug | security | architecture | error_handling | testing"
           severity="critical | important">
      <location file="path/to/file.ts" line="52"/>
      <description>What's wrong and why</description>
      <fix>Concrete fix suggestion</fix>
    </issue>
  </issues>

  <minor>
    <note>
      <location file="path/to/file.ts" line="30"/>
      <description>Non-blocking observation</description>
    </note>
  </minor>

  <checked>
    <item>Error handling</item>
    <item>Type safety</item>
  </checked>

  <summary>Brief assessment</summary>
</code-review>""",
}
_FORM_RULES = (
    "Answer with exactly one such element and nothing else, neither before nor after it. Where words stand "
    "between bars, choose one. The verdict is ISSUES exactly when there is an issue; leave `<issues>` empty "
    "otherwise. One `<issue>` for each thing that must change, with the line of the file as it is now; leave "
    "`<location>` away where there is no one place. Critical is what makes the change unusable, wrong or "
    "unsafe. In texts write `&lt;` and `&amp;` for `<` and `&`."
)


def render_reviewer_prompt(source: Source, package: str, fault: str | None) -> str:
    """Format the prompt of one reviewer; ``package`` comes from ``render_package``.

    ``fault`` is the error in the previous answer of this reviewer; None at the first start.
    """
    tag = f"{source.value}-review"
    form = f"{_FORM_RULES}\n\n{_FORMS[source]}"
    parts = [
        REVIEWER_SYSTEM,
        f"# {source.value.capitalize()} review\n\n{_ROLES[source]}",
        render_section(f"How to answer: one `<{tag}>` element", [form]),
        package.rstrip("\n"),
        render_section("Your last answer could not be used", [fault or ""]),
        f"Now look at the change, and answer with one `<{tag}>` element.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"
