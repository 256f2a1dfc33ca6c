"""Find secrets in what programs print, and put marks of the same length in their place.

A mark takes as many bytes as the secret, so that a file is masked in place, also while a program adds to it
and others read it, and JSON stays JSON.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain
from typing import NamedTuple

from git_blackbird.model.base.secret_kinds import (
    CHARACTERS,
    LEAST_BYTES,
    MOST_BYTES,
    OPEN_KEY,
    Kind,
    Kinds,
    is_random,
    known_kinds,
)

_CREDENTIAL = re.compile(
    r"TOKEN(?!S|IZ)|SECRET|PASSW|PASSPHRASE|CREDENTIAL|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|_KEY$|_PASS$|_PWD$|_PAT$"
    r"|AUTH(?!OR)|COOKIE|_DSN$|CONNECTION_?STRING",
    re.IGNORECASE,
)
MARK = "[redacted"
_SHORT_MARK = "[mask"
# By these a mark without a name is told from what else has asterisks.
_NEIGHBOURS = frozenset(b":@/= ")
_LEAST_CHARACTERS = 8
# A path or an address is no secret; what an address holds is found by its form.
_PLACE = re.compile(r"[~.]?/.*|\w+://.*", re.DOTALL)
_WORD = re.compile(r"[A-Za-z0-9]+")
_RUN_IN_WORD = re.compile(r"[A-Z]*[a-z]+|[A-Z]+|[0-9]+")
_SHORT_RUN = 2
_WORDS_OF_PHRASE = 4
_LEAST_MIXTURE = 5
# What no name has: six consonants in a row, or a sign beside a digit in a text without blanks.
_UNPRONOUNCEABLE = re.compile(r"[bcdfghjklmnpqrstvwxz]{6}", re.IGNORECASE)
_WITH_SIGN = re.compile(r"(?=.*[0-9])(?=.*[!#$%^&?])\S+")
_AROUND = 60
# Of these alone are paths and the names in programs, and no token.
_OF_WORDS = b"abcdefghijklmnopqrstuvwxyz_-./"
_RUN = b"x" * LEAST_BYTES
_RUNS = bytes(_RUN[0] if byte in CHARACTERS else ord(" ") for byte in range(256))
_MARK = re.compile(rb"\[redacted:([\w.$-]{1,100})(?::([0-9]{1,9}))?\**\]")
_ANY_MARK = re.compile(rf"\[(?:{MARK[1:]}|{_SHORT_MARK[1:]})[\w.$:*-]*\]")
_MOST_NUMBERED = 10_000


class Span(NamedTuple):
    start: int
    end: int
    kind: str


def secret_values(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the values that look like credentials, of variables whose names say that they hold one."""
    return {
        name: value.strip()
        for name, value in environ.items()
        if _CREDENTIAL.search(name) and _looks_secret(value.strip())
    }


def _looks_secret(value: str) -> bool:
    """Whether a value is no name, host, path or number.

    In those a word changes seldom between letters, digits and capitals, and what is between two changes
    is longer than it is in a random text. Nor is it one if it has as many words as a passphrase.
    """
    if len(value) < _LEAST_CHARACTERS or _PLACE.fullmatch(value):
        return False
    is_phrase = len(value.split()) >= _WORDS_OF_PHRASE
    if is_phrase or _UNPRONOUNCEABLE.search(value) or _WITH_SIGN.fullmatch(value):
        return True
    mixture = 0
    for word in _WORD.finditer(value):
        runs = _RUN_IN_WORD.findall(word[0])
        if len(runs) > 1:
            mixture += len(runs) - 1 + sum(len(run) <= _SHORT_RUN for run in runs)
        if mixture >= _LEAST_MIXTURE:
            return True
    return False


class Redactor:
    """Masks the secrets of one run; different secrets get different numbers.

    ``counts`` has the number of different secrets of each kind; ``marks`` has the marks, with the kind of
    each.
    """

    def __init__(self, values: Mapping[str, str]) -> None:
        self.counts: dict[str, int] = {}
        self.marks: dict[str, str] = {}
        self._numbers: dict[bytes, int] = {}
        forms = {form: _kind(name) for name, value in values.items() for form in _forms(value)}
        # The longest first: one may be a part of another.
        self._forms = tuple(sorted(forms, key=len, reverse=True))
        self._values = tuple(Kind(forms[form], form, re.escape(form)) for form in self._forms)

    def mask(self, data: bytes) -> tuple[bytes, Sequence[Span]]:
        return self._apply(data, self._find(data))

    def mask_text(self, text: str) -> str:
        masked, spans = self.mask(text.encode(errors="surrogatepass"))
        return masked.decode(errors="replace") if spans else text

    def finds_any(self, texts: Iterable[str]) -> bool:
        """Whether there may be a secret in any of these texts."""
        # No form of a secret has to do with what stands beyond two line breaks, other than to be longer.
        return bool(self._find("\n\n".join(texts).encode(errors="surrogatepass")))

    def mask_decided(self, data: bytes) -> tuple[bytes, Sequence[Span]]:
        """Mask and return as much of the data as can be decided before more is printed."""
        spans = self._find(data)
        end = self._undecided(data)
        end = next((span.start for span in spans if span.start < end < span.end), end)
        return self._apply(data[:end], [span for span in spans if span.end <= end])

    def count_marks(self, data: bytes) -> None:
        """Count the marks that are in the data already."""
        for mark in _MARK.finditer(data):
            kind, number = mark[1].decode(), int(mark[2] or 1)
            self.counts[kind] = max(self.counts.get(kind, 0), number)

    def _apply(self, data: bytes, spans: Sequence[Span]) -> tuple[bytes, Sequence[Span]]:
        if not spans:
            return data, spans
        masked = bytearray(data)
        for start, end, kind in spans:
            mark = masked[start:end] = self._mark(data[start:end], kind)
            if not mark.startswith(b"["):
                around = (data[max(0, start - 1) : start], mark, data[end : end + 1])
                mark = b"".join(part for part in around if part is mark or _NEIGHBOURS.issuperset(part))
            if len(self.marks) < _MOST_NUMBERED:
                self.marks[mark.decode()] = kind
        return bytes(masked), spans

    def _mark(self, secret: bytes, kind: str) -> bytes:
        # A variable has one value, which is printed in several forms.
        same = kind.encode() if kind.startswith("$") else secret
        number = self._numbers.get(same)
        if number is None:
            number = self.counts[kind] = self.counts.get(kind, 0) + 1
            if len(self._numbers) < _MOST_NUMBERED:
                self._numbers[same] = number
        room = len(secret)
        for text in (f"{MARK}:{kind}{f':{number}' if number > 1 else ''}", MARK, _SHORT_MARK):
            if len(text) < room:
                return text.encode().ljust(room - 1, b"*") + b"]"
        return b"*" * room

    def _find(self, data: bytes) -> list[Span]:
        """Return the secrets in their order; of those that overlap, the first and its longest extent."""
        kinds, found = known_kinds(), list(_matches(self._values, data))
        found += _matches(kinds.anywhere, data)
        found += _near_long_words(kinds, data)
        spans: list[Span] = []
        for span in sorted(found, key=lambda span: (span.start, -span.end)):
            if not spans or span.start >= spans[-1].end:
                spans.append(span)
            elif span.end > spans[-1].end:
                spans[-1] = spans[-1]._replace(end=span.end)
        return spans

    def _undecided(self, data: bytes) -> int:
        """Return where a secret may begin of which the end is not in the data."""
        start = max(data.rfind(b"\n") + 1, data.rfind(b"\r") + 1, len(data) - MOST_BYTES)
        least = max(0, len(data) - MOST_BYTES)
        if (key := OPEN_KEY.search(data, least)) is not None:
            start = min(start, key.start())
        for form in self._forms:
            first, line_end, rest = form.partition(b"\n")
            at = data.rfind(first + line_end, least) if rest else -1
            if at >= 0 and form.startswith(data[at:]):
                start = min(start, at)
        return start


def masked_kinds(text: str, marks: Mapping[str, str]) -> tuple[str, ...]:
    """Return the kinds of the secrets for which marks of one run stand in a text, not what only looks so."""
    found = marks.keys() & set(_ANY_MARK.findall(text))
    found |= {mark for mark in marks if not mark.startswith("[") and mark in text}
    return tuple(sorted({marks[mark] for mark in found}))


def _kind(name: str) -> str:
    return f"${name}" if name.isascii() and name.isidentifier() else "variable"


def _forms(value: str) -> set[bytes]:
    """Return a value as it is printed: as it is, in a JSON text, and in one within another."""
    escaped = {value}
    for ascii_only in (True, False):
        once = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        escaped |= {once, json.dumps(once, ensure_ascii=ascii_only)[1:-1]}
    return {text.encode(errors="surrogateescape") for text in escaped}


def _matches(kinds: Iterable[Kind], data: bytes) -> Iterator[Span]:
    for kind in kinds:
        # Not by ``in``, which tries bytes as a number first, and makes an error of it each time.
        if data.find(kind.literal) >= 0:
            for match in kind.pattern.finditer(data):
                yield Span(*match.span(match.lastindex or 0), kind.name)


def _near_long_words(kinds: Kinds, data: bytes) -> Iterator[Span]:
    """Yield the tokens and the assigned values: they are near long words, which most text has few of."""
    regions = list(_regions(data, data.translate(_RUNS)))
    if not regions:
        return
    places = list(accumulate((end - start + 1 for start, end in regions), initial=0))
    joined = b"\n".join(data[start:end] for start, end in regions)
    lowered = joined.lower()
    assigned = _matches(kinds.if_random, lowered)
    random = (span for span in assigned if is_random(joined[span.start : span.end]))
    for start, end, name in chain(
        _matches(kinds.tokens, joined), _matches(kinds.in_lower_case, lowered), random
    ):
        index = bisect_right(places, start) - 1
        moved = regions[index][0] - places[index]
        yield Span(start + moved, end + moved, name)


def _regions(data: bytes, runs: bytes) -> Iterator[tuple[int, int]]:
    """Yield the surroundings of each long word, joined where they meet."""
    at, begin, last = runs.find(_RUN), 0, -1
    while at >= 0:
        end = runs.find(b" ", at + LEAST_BYTES)
        end = len(runs) if end < 0 else end
        if data[at:end].translate(None, _OF_WORDS):
            if last < 0:
                begin = max(0, at - _AROUND)
            elif at - _AROUND > last:
                yield begin, last
                begin = at - _AROUND
            last = min(len(runs), end + _AROUND)
        at = runs.find(_RUN, end)
    if last >= 0:
        yield begin, last
