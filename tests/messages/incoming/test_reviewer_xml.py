import pytest

from git_blackbird.messages.incoming.json_answer import AnswerError
from git_blackbird.messages.incoming.reviewer_xml import (
    MAX_CHARACTERS,
    MAX_TAGS,
    MAX_TEXT_CHARACTERS,
    parse_reviewer_answer,
)
from git_blackbird.model.run.findings import Confidence, Finding, MinorIssue, ReviewResult, Severity, Source
from git_blackbird.model.run.states import ReviewerVerdict

SPEC = """\
<spec-review>
  <verdict>ISSUES</verdict>
  <confidence>high</confidence>

  <issues>
    <issue type="missing_requirement" severity="critical">
      <location file="src/auth.ts" line="45"/>
      <description>Missing OAuth flow implementation</description>
      <requirement>Support OAuth 2.0 login</requirement>
    </issue>
    <issue type="extra_feature"
           severity="important">
      <location file="src/auth.ts" line="78"/>
      <description>Extra feature not in spec</description>
    </issue>
  </issues>

  <checked>
    <item>Requirement 1</item>
    <item>Requirement 2</item>
  </checked>

  <summary>The login is not there.</summary>
</spec-review>"""
CODE = """\
<code-review>
  <verdict>APPROVED_WITH_MINOR</verdict>
  <confidence>medium</confidence>

  <issues>
  </issues>

  <minor>
    <note>
      <location file="src/auth.ts" line="30"/>
      <description>Magic number could be constant</description>
    </note>
  </minor>

  <checked>
    <item>Error handling</item>
  </checked>

  <summary>Clean.</summary>
</code-review>"""
MISSING = Finding(
    source=Source.SPEC,
    type="missing_requirement",
    severity=Severity.CRITICAL,
    description="Missing OAuth flow implementation",
    file="src/auth.ts",
    line=45,
    requirement="Support OAuth 2.0 login",
)
EXTRA = Finding(
    source=Source.SPEC,
    type="extra_feature",
    severity=Severity.IMPORTANT,
    description="Extra feature not in spec",
    file="src/auth.ts",
    line=78,
)
SPEC_RESULT = ReviewResult(
    source=Source.SPEC,
    verdict=ReviewerVerdict.ISSUES,
    confidence=Confidence.HIGH,
    findings=(MISSING, EXTRA),
    checked=("Requirement 1", "Requirement 2"),
    summary="The login is not there.",
)
CODE_RESULT = ReviewResult(
    source=Source.CODE,
    verdict=ReviewerVerdict.APPROVED_WITH_MINOR,
    confidence=Confidence.MEDIUM,
    minor=(MinorIssue(description="Magic number could be constant", file="src/auth.ts", line=30),),
    checked=("Error handling",),
    summary="Clean.",
)


def _spec(text: str) -> ReviewResult:
    return parse_reviewer_answer(text, Source.SPEC)


def _code(text: str) -> ReviewResult:
    return parse_reviewer_answer(text, Source.CODE)


def _fault(text: str, source: Source = Source.SPEC) -> str:
    with pytest.raises(AnswerError) as caught:
        parse_reviewer_answer(text, source)
    return str(caught.value)


def _issue(inside: str, attributes: str = 'type="bug" severity="critical"') -> Finding:
    """The one issue of a code review with this inside it."""
    answer = (
        f"<code-review><verdict>ISSUES</verdict><issues><issue {attributes}>{inside}</issue></issues>"
        "</code-review>"
    )
    (found,) = _code(answer).findings
    return found


def _described(text: str) -> str:
    return _issue(f"<description>{text}</description>").description


def test_the_forms_of_the_document_are_read_whole() -> None:
    assert _spec(SPEC) == SPEC_RESULT
    assert _code(CODE) == CODE_RESULT


@pytest.mark.parametrize(
    "around",
    [
        "I looked at it all; 3 < 4 && a > b.\n{}\nThat is my review.",
        "```xml\n{}\n```\n",
        '<?xml version="1.0" encoding="UTF-8"?>\n{}',
        "<thinking>fine</thinking>{}<br>",
        "Here is the `<spec-review>` that you asked for, with `<issues>`:\n```\n{}\n```",
        "{0}\n\nOnce more:\n\n{0}",
    ],
)
def test_prose_a_fence_and_the_same_once_more_are_passed_over(around: str) -> None:
    assert _spec(around.format(SPEC)) == SPEC_RESULT
    assert _code(around.format(CODE.replace("\n", "\r\n"))) == CODE_RESULT


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("a && b", "a && b"),
        ("a &amp;&amp; b &lt; c", "a && b < c"),
        ("Map<string, T[]> & <div> at i < 3 > 2 ]]> x", "Map<string, T[]> & <div> at i < 3 > 2 ]]> x"),
        ("&nbsp; and &lol; stay text", "&nbsp; and &lol; stay text"),
        ("&#65;&#x42;", "AB"),
        ("<![CDATA[if (a < b && c) {}]]>", "if (a < b && c) {}"),
        ("seen <!-- not --> here", "seen  here"),
        ("<!DOCTYPE html> is missing", "<!DOCTYPE html> is missing"),
        ("no `<summary>`, no `</item>` & co", "no `<summary>`, no `</item>` & co"),
        ("\n      first\n        second\n      third\n    ", "first\n  second\nthird"),
        ("a\x1b[31mred\x00\u202eb", "a^[[31mred^@\ufffdb"),
        ("over &#x202E; there", "over \ufffd there"),
        ("x" * 5000, "x" * (MAX_TEXT_CHARACTERS - 3) + "..."),
        ("", "(not described)"),
    ],
)
def test_what_a_description_may_hold(written: str, read: str) -> None:
    assert _described(written) == read


def test_an_ampersand_in_an_attribute_is_one() -> None:
    assert _issue('<location file="R&D/x.ts" line="3"/>').file == "R&D/x.ts"
    assert _issue("<location file='./a>b.ts'/>").file == "a>b.ts"


@pytest.mark.parametrize(
    ("line", "read"),
    [
        *[("45", 45), (" 7 ", 7), ("007", 7)],
        *((text, None) for text in ("0", "-3", "0-3", "", "x", "9" * 40, "٣", "1.5")),
    ],
)
def test_a_line_that_is_no_positive_number_is_none(line: str, read: int | None) -> None:
    found = _issue(f'<location file="a.py" line="{line}"/>')
    assert (found.file, found.line) == ("a.py", read)


@pytest.mark.parametrize(
    ("attributes", "kind", "severity"),
    [
        ('type="bug" severity="critical"', "bug", Severity.CRITICAL),
        ('type="bug" severity=" Critical "', "bug", Severity.CRITICAL),
        ('type="race" severity="blocker"', "race", Severity.IMPORTANT),
        ('severity="minor" extra="1"', "unspecified", Severity.IMPORTANT),
        ("", "unspecified", Severity.IMPORTANT),
    ],
)
def test_an_unknown_severity_is_important_and_an_unknown_type_stays(
    attributes: str, kind: str, severity: Severity
) -> None:
    found = _issue("", attributes)
    assert (found.type, found.severity) == (kind, severity)


def test_issues_without_an_issue_is_one_made_of_the_summary() -> None:
    answer = "<spec-review><verdict>ISSUES</verdict>{}</spec-review>"
    for inside, description in {
        "<issues/><summary>It is late.</summary>": "It is late.",
        "": "The reviewer found issues and named none.",
    }.items():
        (found,) = _spec(answer.format(inside)).findings
        assert found == Finding(
            source=Source.SPEC, type="unspecified", severity=Severity.IMPORTANT, description=description
        )


def test_an_approval_with_issues_counts_by_its_issues() -> None:
    result = _spec(SPEC.replace(">ISSUES<", ">APPROVED<"))
    assert (result.verdict, result.counted_verdict) == (ReviewerVerdict.APPROVED, ReviewerVerdict.ISSUES)
    assert result.findings == SPEC_RESULT.findings


def test_an_unknown_confidence_is_none() -> None:
    assert _spec(SPEC.replace(">high<", ">very<")).confidence is None
    assert _spec(SPEC.replace("<confidence>high</confidence>", "")).confidence is None


INCOMPLETE = "is part of no complete form: the answer is cut off, or a tag is broken"
OPEN = "<spec-review><verdict>APPROVED</verdict>"
CLOSE = "</spec-review>"


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ("", "the answer has no <spec-review> element"),
        ("Looks fine to me. APPROVED.", "the answer has no <spec-review> element"),
        (CODE, "the answer is a <code-review>; expected a <spec-review>"),
        (SPEC + CODE, "the answer is a <code-review>; expected a <spec-review>"),
        (SPEC + OPEN + CLOSE, "the answer has 2 different reviews; expected exactly one"),
        (SPEC[:-5], f'"<spec-review>" {INCOMPLETE}'),
        (SPEC[20:], f'"</verdict>" {INCOMPLETE}'),
        ("<spec-review/>", f'"<spec-review/" {INCOMPLETE}'),
        (CLOSE + SPEC, f'"</spec-review>" {INCOMPLETE}'),
        (f"<spec-review>{CLOSE}", "<verdict> is missing"),
        (f"<spec-review>{OPEN}{CLOSE}{CLOSE}", f'"<spec-review>" {INCOMPLETE}'),
        (
            f"{OPEN}<issues><issue></issues></issue>{CLOSE}",
            "the XML is not well-formed: mismatched tag: line 1, column 57",
        ),
        (
            SPEC.replace(">ISSUES<", ">APPROVED_WITH_MINOR<"),
            'the verdict is "APPROVED_WITH_MINOR"; expected one of: APPROVED, ISSUES',
        ),
        (SPEC.replace(">ISSUES<", "><"), 'the verdict is ""; expected one of: APPROVED, ISSUES'),
        (
            SPEC.replace(">ISSUES<", ">APPROVED | ISSUES<"),
            'the verdict is "APPROVED | ISSUES"; expected one of: APPROVED, ISSUES',
        ),
        (f"{OPEN}<verdict>ISSUES</verdict>{CLOSE}", "<verdict> appears twice in one <spec-review>"),
        (f"{OPEN}<issues/><issues/>{CLOSE}", "<issues> appears twice in one <spec-review>"),
        (f"{OPEN}<issue/>{CLOSE}", "<issue> stands in <spec-review>, where it does not belong"),
        (
            f"{OPEN}<summary>see <issue/></summary>{CLOSE}",
            "<issue> stands in <summary>, where it does not belong",
        ),
        (
            f"{OPEN}<issues><isue>It leaks.</isue></issues>{CLOSE}",
            '<issues> holds "<isue>It leaks.</isue>", which is no element of the form',
        ),
        (
            f'{OPEN}<issues><issue type="bug severity="critical"/></issues>{CLOSE}',
            '<issues> holds "<issue type="bug severity="critical"/>", which is no element of the form',
        ),
        (
            f"{OPEN}No, it is bad.{CLOSE}",
            '<spec-review> holds "No, it is bad.", which is no element of the form',
        ),
        (
            f"{OPEN}<!-- <issues><issue/></issues> -->{CLOSE}",
            "a comment or CDATA section holds tags of the form",
        ),
        (
            f"{OPEN}<summary><![CDATA[</summary><issues/>]]></summary>{CLOSE}",
            "a comment or CDATA section holds tags of the form",
        ),
        (
            '<!DOCTYPE spec-review SYSTEM "file:///etc/passwd">' + SPEC,
            f'"<!DOCTYPE spec-review" {INCOMPLETE}',
        ),
        (f'{SPEC}<!DOCTYPE x [<!ENTITY lol "lol">]>', f'"<!ENTITY" {INCOMPLETE}'),
        (
            f'{OPEN}<!ENTITY a SYSTEM "http://x/">{CLOSE}',
            '<spec-review> holds "<!ENTITY a SYSTEM "http://x/">", which is no element of the form',
        ),
        (
            f"{OPEN}<summary>&#0;</summary>{CLOSE}",
            "the XML is not well-formed: reference to invalid character number: line 1, column 49",
        ),
        (
            f'{OPEN}<issues><issue type="a" type="b"/></issues>{CLOSE}',
            "the XML is not well-formed: duplicate attribute: line 1, column 64",
        ),
        ("x" * (MAX_CHARACTERS + 1), f"the answer is longer than {MAX_CHARACTERS} characters"),
        (
            f"{OPEN}<checked>{'<item>' * 2000}{'</item>' * 2000}</checked>{CLOSE}",
            "<item> stands in <item>, where it does not belong",
        ),
        (f"{OPEN}{'<item/>' * MAX_TAGS}{CLOSE}", f"the answer has more than {MAX_TAGS} tags"),
        (OPEN + "<![CDATA[" * 300 + CLOSE, "the answer has too many comments or CDATA sections"),
    ],
)
def test_an_answer_without_one_sound_review_is_none(answer: str, fault: str) -> None:
    assert _fault(answer) == fault


def test_a_bomb_is_no_review() -> None:
    levels = "".join(f'<!ENTITY l{n + 1} "{f"&l{n};" * 10}">' for n in range(9))
    bomb = f'<!DOCTYPE z [<!ENTITY l0 "lol">{levels}]>{OPEN}<summary>&l9;</summary>{CLOSE}'
    assert _fault(bomb) == f'"<!ENTITY" {INCOMPLETE}'


def test_the_old_form() -> None:
    approved = ReviewResult(source=Source.CODE, verdict=ReviewerVerdict.APPROVED, summary="All is well.")
    assert _code("\nAPPROVED: All is well.\n") == approved
    assert _code("APPROVED:").summary == ""
    result = _spec("ISSUES:\nThese:\n- No login.\n- No logout,\n  neither at the door\n\n  - A third.\n")
    assert result == ReviewResult(
        source=Source.SPEC,
        verdict=ReviewerVerdict.ISSUES,
        findings=tuple(
            Finding(source=Source.SPEC, type="unspecified", severity=Severity.IMPORTANT, description=text)
            for text in ("No login.", "No logout,\nneither at the door", "A third.")
        ),
    )
    (only,) = _spec("ISSUES: It is late.").findings
    assert only.description == "It is late."


def _old_issues(listed: str) -> list[tuple[str | None, int | None, str]]:
    return [
        (finding.file, finding.line, finding.description) for finding in _code(f"ISSUES:\n{listed}").findings
    ]


@pytest.mark.parametrize(
    ("item", "file", "line", "text"),
    [
        ("- src/auth.ts:45: No login.", "src/auth.ts", 45, "No login."),
        ("* ./src/auth.ts:45: No login.\n  Not even one.", "src/auth.ts", 45, "No login.\nNot even one."),
        ("1. `src/auth.ts:45`: No login.", "src/auth.ts", 45, "No login."),
        ("2) `src/auth.ts`:45-52: No login.", "src/auth.ts", 45, "No login."),
        ("- src/auth.ts:45:7: No login.", "src/auth.ts", 45, "No login."),
        ("- src/auth.ts:L45 - No login.", "src/auth.ts", 45, "No login."),
        ("- src/auth.ts:0: No login.", "src/auth.ts", None, "No login."),
        ("- Makefile:3: ", None, None, "Makefile:3:"),
        ("- At 10:30: No login.", None, None, "At 10:30: No login."),
        ("- 10:30: No login.", None, None, "10:30: No login."),
        ("- https://example.org:8080/x says so.", None, None, "https://example.org:8080/x says so."),
        ("- No login: see auth.ts:45: there.", None, None, "No login: see auth.ts:45: there."),
    ],
)
def test_an_issue_of_the_old_form_has_its_place(
    item: str, file: str | None, line: int | None, text: str
) -> None:
    assert _old_issues(item) == [(file, line, text)]


@pytest.mark.parametrize(
    ("listed", "texts"),
    [
        ("* One.\n* Two.", ["One.", "Two."]),
        ("1. One.\n2. Two.\n10. Ten.", ["One.", "Two.", "Ten."]),
        ("- One.\n* Two.\n3. Three.", ["One.", "Two.", "Three."]),
        ("1. One:\n   - why\n   - how\n2. Two.", ["One:\n- why\n- how", "Two."]),
        (
            "- One:\n  1. why\n- Two of 3. 4.\n  1.5 is no item\n-neither",
            ["One:\n1. why", "Two of 3. 4.\n  1.5 is no item\n-neither"],
        ),
        ("**All** is late.\n-\n", ["**All** is late.\n-"]),
    ],
)
def test_the_lists_of_the_old_form(listed: str, texts: list[str]) -> None:
    assert [text for _, _, text in _old_issues(listed)] == texts


@pytest.mark.parametrize(
    ("written", "line"),
    [
        ("10-12", 10),
        ("10 - 12", 10),
        ("10\u201312", 10),
        ("L11", 11),
        ("L11-L14", 11),
        ("line 11", 11),
        ("lines 11-14", 11),
        ("10:5", 10),
        ("10, 40", 10),
        (" 0010 ", 10),
        ("about 10", None),
        ("10-" + "9" * 5000, None),
    ],
)
def test_a_range_of_lines_is_its_first(written: str, line: int | None) -> None:
    assert _issue(f'<location file="a.py" line="{written}"/>').line == line


@pytest.mark.parametrize(
    ("file", "line", "place"),
    [
        ("a.py:10", "", ("a.py", 10)),
        ("./d/a.py:10-12", "", ("d/a.py", 10)),
        ("a.py:10:5", " ", ("a.py", 10)),
        ("a.py:10", "12", ("a.py:10", 12)),
        ("a:b.py", "", ("a:b.py", None)),
        (":10", "", (":10", None)),
        ("x" * 5000 + ":10", "", ("x" * 397 + "...", None)),
    ],
)
def test_a_line_may_stand_behind_the_file(file: str, line: str, place: tuple[str, int | None]) -> None:
    found = _issue(f'<location file="{file}" line="{line}"/>')
    assert (found.file, found.line) == place


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ("Well: APPROVED: yes", "the answer has no <spec-review> element"),
        ("APPROVED", "the answer has no <spec-review> element"),
        ("approved: yes", "the answer has no <spec-review> element"),
        ("APPROVED: yes\n\nISSUES:\n- no", "the answer says more than one of APPROVED: and ISSUES:"),
        ("APPROVED: yes\n<SPEC-REVIEW>", f'"<SPEC-REVIEW>" {INCOMPLETE}'),
        ("APPROVED: yes\n<spec-review <", f'"<spec-review" {INCOMPLETE}'),
        ("APPROVED: yes\n<verdict>ISSUES", f'"<verdict>" {INCOMPLETE}'),
    ],
)
def test_what_is_neither_form_is_refused(answer: str, fault: str) -> None:
    assert _fault(answer) == fault
