"""What an agent says in prose against the approval in its answer.

The rule: an answer that approves counts only where nothing beside it says otherwise. These say otherwise,
in any decoration (Markdown, tags, quotes, list marks), any case, with look-alike or invisible characters:

1. a verdict line: it begins with ISSUES, REJECTED, NOT APPROVED or CHANGES REQUESTED, and nothing or a colon,
   a dash or ``=`` follows, as in ``**Issues:** bad`` or ``## Issues found``;
2. a named verdict: "verdict", "result", "decision" and the like, then one of those words, FAILED or REJECT;
3. one of the form's words written in capitals anywhere in a sentence, as in "I found ISSUES";
4. an approval that is refused: "not approved", "cannot approve";
5. beside the answer, not in its summary, a clause that names a problem and does not deny it, as in
   "I found one issue" or "there is a critical bug in line 3".

Not among 1 to 4: a sentence that only uses such a word in lower case ("bad input is rejected"), a word in
capitals that is denied ("no ISSUES"), and a verdict line that lists nothing ("Issues: none").
"""

import html
import re
import unicodedata
from collections.abc import Iterator

from git_blackbird.model.base.sanitize import clean_line

_UNESCAPINGS = 3
_SHOWN_CHARACTERS = 80
_LOOK_ALIKES = str.maketrans(
    {
        **dict(zip("АВСЕНІЈКМОРЅТХҮԀԜӀՏՍ", "ABCEHIJKMOPSTXYDWISU", strict=True)),
        **dict(zip("авсеһіјкморѕтхуԁԝӏ", "abcehijkmopstxydwl", strict=True)),
        **dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαειικνορτυ", "ABEZHIKMNOPTYXaeiikvoptu", strict=True)),
        **dict(zip("ᴀʙᴄᴅᴇɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡ", "ABCDEGHIJKLMNOPRSTUVW", strict=True)),
        **dict(zip("ı∪⋃∣", "iUU|", strict=True)),  # noqa: RUF001
        **dict.fromkeys("∶ː׃꞉܃܄᛬⁝⁚", ":"),  # noqa: RUF001
        **dict.fromkeys("‐‑‒–—―−", "-"),  # noqa: RUF001
    }
)
_BREAKS = re.compile("[\n\v\f\r\x85\u2028\u2029]|<!--|-->|<!\\[CDATA\\[|\\]\\]>|</?[A-Za-z][^<>]{0,200}>")
_ESCAPE_SEQUENCE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\^\[\[[0-?]{0,20}[ -/]{0,4}[@-~]")
_CARET_BREAK = re.compile(r"\^[JKLM]")
_CARET = re.compile(r"\^[@-_?]")
_PLAIN = re.compile(r"[\n\t\v\f\r -~]*")
_INVISIBLE = frozenset({"Cc", "Cf", "Mn", "Me", "Cs", "Co"})


def _spelled(word: str) -> str:
    """Return the pattern of a word whose letters may be separated by spaces or Markdown."""
    drawn = {"i": "[il1|!]", "s": "[s5$]", "o": "[o0]", "e": "[e3]", " ": r"[\s_*-]{1,4}"}
    return r"[ ._*~`]{0,2}".join(drawn.get(letter, letter) for letter in word)


_HEADS = "|".join(
    map(_spelled, ("issues", "issue", "rejected", "not approved", "unapproved", "changes requested"))
)
_NAMED = rf"{_HEADS}|reject|fail(?:ed|s)?\b|disapproved|changes required"
_NOTHING = r"(?:none|no|nil|zero|0|n/?a|nothing)(?: found| at all| remain(?:ing)?)?[\W_]{0,9}$"
_COUNT = r"(?:\s{0,3}[(\[][^)\]]{0,40}[)\]])?"
_END = rf"[\W_]{{0,20}}?(?:$|[:=]+(?!\W{{0,9}}{_NOTHING})|\s-+\s|->)"
_FOLLOWING = r"\s{1,3}(?:found|remain\w{0,4}|identified|exist\w{0,3}|to fix|list)"
_FEW_WORDS = rf"(?:\s{{1,3}}[\w/-]{{1,30}}){{1,5}}[*_~`\"')\]]{{0,6}}\s{{0,3}}:(?!\W{{0,9}}{_NOTHING})"
_VERDICT_LINE = re.compile(
    rf"^(?:[a-z][.)]\s)?(?:{_HEADS}){_COUNT}(?:{_END}|(?:{_FOLLOWING}){_END}|{_FEW_WORDS})"
)
_NAMED_VERDICT = re.compile(
    r"(?:verdict|result|status|decision|conclusion|outcome|assessment|overall|recommendation|judge?ment|review)"
    rf"[\W_]{{0,20}}(?:[:=>|-]|\b(?:is|was|remains)\b)[\W_]{{0,20}}(?:{_NAMED})(?!\W{{0,9}}{_NOTHING})"
)
_IN_CAPITALS = re.compile(r"\b(?:ISSUES|REJECTED|NOT[\s_*-]{1,4}APPROVED)\b")
_DENIED = re.compile(
    r"\b(?:no|not|zero|without|any|nor|neither|0)\s{1,3}(?:[\w-]{1,30}\s{1,3}){0,2}$", re.IGNORECASE
)
_CLAUSE_ENDS = re.compile(r"[.;!?]\s|\n")
_PROBLEM = re.compile(
    r"\b(?:issues?|bugs?|problems?|defects?|flaws?|vulnerabilit(?:y|ies)|regressions?|blockers?|critical"
    r"|incorrect|broken|(?:must|should|needs? to) be (?:fixed|changed))\b"
)
_NO_PROBLEM = re.compile(
    r"\b(?:no|not|none|zero|0|without|nothing|never|any|nor|neither|fixes|resolves|were"
    r"|earlier|before|previous(?:ly)?|last round|free of"
    r"|(?:is|are|been|now|already|all)\s(?:fixed|resolved|mended|addressed))\b|n['\u2019]t\b"
    r"|\b(?:check|look|search|scan|review)\w{0,3}\s(?:\w+\s){0,4}for\b"
)
_REFUSED = re.compile(
    r"(?:\b(?:not|never|cannot|unable to)|n['\u2019]t)[\W_]{1,6}"
    r"(?:(?:be|yet|been|being|fully|i)[\W_]{1,6}){0,2}approved?\b"
)


def find_problem(prose: str) -> str | None:
    """Return the first clause of ``prose`` that names a problem, cleaned, or None."""
    for text in dict.fromkeys(_unmasked(prose)):
        for clause in _CLAUSE_ENDS.split(text):
            folded = clause.lower()
            if _PROBLEM.search(folded) is not None and _NO_PROBLEM.search(folded) is None:
                return clean_line(clause, _SHOWN_CHARACTERS)
    return None


def find_contrary(prose: str) -> str | None:
    """Return the first line of ``prose`` that contradicts an approval, cleaned, or None.

    No text takes long.
    """
    for text in dict.fromkeys(_unmasked(prose)):
        for line in text.split("\n"):
            if _is_contrary(line):
                return clean_line(line, _SHOWN_CHARACTERS)
    return None


def _is_contrary(line: str) -> bool:
    folded = line.lower()
    return (
        any(_VERDICT_LINE.search(start) for start in _starts(folded))
        or _NAMED_VERDICT.search(folded) is not None
        or _REFUSED.search(folded) is not None
        or any(
            _DENIED.search(line, max(0, word.start() - 80), word.start()) is None
            for word in _IN_CAPITALS.finditer(line)
        )
    )


def _starts(line: str) -> Iterator[str]:
    """Yield the line without the decoration before its first word: a mark, a digit, or a letter."""
    marks = {char for char in line if not char.isalpha()}
    yield line.lstrip("".join(marks))
    yield line.lstrip("".join(marks - set("1|!")))


def unmask(text: str) -> str:
    """Return the text as it looks: escapes resolved, look-alikes replaced, invisible characters removed."""
    for _ in range(_UNESCAPINGS):
        text = html.unescape(text)
    text = _ESCAPE_SEQUENCE.sub("", text)
    if _PLAIN.fullmatch(text):
        return text
    plain = unicodedata.normalize("NFKD", text.translate(_LOOK_ALIKES))
    return "".join(
        char
        for char in plain.translate(_LOOK_ALIKES)
        if char in "\n\t\v\f\r\x85" or (char != "\ufffd" and unicodedata.category(char) not in _INVISIBLE)
    )


def _unmasked(prose: str) -> Iterator[str]:
    """Yield the lines of a text, once without control characters, once with a line end for each."""
    lines = _BREAKS.sub("\n", unmask(prose))
    yield _CARET.sub("", _CARET_BREAK.sub("\n", lines))
    yield lines if prose.isascii() else _BREAKS.sub("\n", unmask(prose.replace("\ufffd", "\n")))
