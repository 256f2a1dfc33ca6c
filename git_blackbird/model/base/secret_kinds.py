"""The forms of secrets that are known: tokens of services, keys, passwords in addresses and assignments.

Each begins with one of some literals, which a regular expression finds a hundred times as fast as it finds
alternatives; ``^`` before one: only at the beginning of a word, as other words and Base64 have it inside.
Each is a search through all output, so forms with the same beginning share one.
All quantifiers are bounded, so that no match is longer than ``MOST_BYTES``.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

MOST_BYTES = 16 * 1024
LEAST_BYTES = 16
"""How many characters of ``CHARACTERS`` in a row each token and each assigned value has, at least."""
CHARACTERS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+/=.~")
_Forms = Mapping[str, str]
"""What follows a literal, and the literals with the names of their kinds: ``NAME=LITERAL,LITERAL``."""

# Enough digits that it is no name in a program and no word.
_MIXED = r"(?=(?:[\w+/=.~-]{0,99}?[0-9]){3})(?=[\w+/=.~-]{0,99}?[a-z])"

_QUOTE = r"(?:\\*[\"'])?"
_IS = rf"{_QUOTE}[ \t]{{0,3}}(?::=|=>|[:=]|(?<!-)>)[ \t]{{0,3}}{_QUOTE}"
# The shares of an unseal key; a list of them is masked as one text.
_SHARE = r"[\w+/=]{40,68}"
_SHARES = rf"{_SHARE}(?:\\*\",(?:\s|\\+n){{0,40}}\\*\"{_SHARE}){{0,30}}"

_KEY = r"[A-Z0-9 ]{0,20}PRIVATE KEY(?: BLOCK)?-----"
# How a line of a key begins where it is quoted, numbered, found by grep, or a text in source code.
_SIGNS = r"(?:[\s0-9>|\"',;+:)*#/]|\\+(?:[nrt\"']|u2192|u2502)?|\xe2\x86\x92|\xe2\x94\x82){0,24}+"
_NEXT = rf"[ \t\"',;+)\\]{{0,9}}(?:[\r\n]|\\+[rn]){_SIGNS}(?:[\w./~][^\s\"'\\<>{{}}]{{0,98}}?[:-])?{_SIGNS}-?"
_WHOLE_LINE = r"[A-Za-z0-9+/=]{32,80}(?=\s|\\+[nr]|\\*[\"']|\Z)"
_KEY_HEADERS = rf"(?:{_NEXT}[A-Z][\w-]{{2,20}}: [^\r\n\\\"']{{1,80}}){{0,4}}(?:{_NEXT}(?=[\r\n\\]))?"
_LAST_LINE = r"[A-Za-z0-9+/=]{1,80}(?![\w-])"
_CUT_KEY = (
    rf"{_KEY_HEADERS}(?:{_NEXT}{_WHOLE_LINE}){{1,60}}(?:{_NEXT}{_LAST_LINE})?(?:{_NEXT}-----END {_KEY})?"
)

_TOKENS: _Forms = {
    r"[\w-]{19,500}": """
        anthropic-key=sk-ant- figma-token=figd_ gitlab-token=GR1348941 google-key=^AIza
        google-secret=GOCSPX- google-token=ya29. heroku-key=HRKU- nvidia-key=nvapi- pypi-token=pypi-AgE
        slack-token=xapp- supabase-key=sbp_,sb_secret_ tailscale-key=tskey-
    """,
    r"\w{30,500}": """
        buildkite-token=bkua_ clojars-token=CLOJARS_ digitalocean-token=dop_v1_,doo_v1_,dor_v1_
        facebook-token=EAACEdEose0cBA github-token=github_pat_ grafana-token=glsa_,glc_ groq-key=gsk_
        hugging-face-token=^hf_,api_org_ netlify-token=nfp_ notion-token=ntn_,^secret_ perplexity-key=pplx-
        pulumi-token=^pul- replicate-token=^r8_ rubygems-key=rubygems_ stripe-key=whsec_ xai-key=xai-
    """,
    r"[op]at_[\w-]{19,500}": "docker-token=dckr_",
    r"(?:pat|dt|ft|soat|rt|cbt|ptt|oas|agent|imt)-[\w-]{19,500}": "gitlab-token=gl",
    r"(?:AK|JS|II|AA)-[\w-]{19,500}": "new-relic-key=NR",
    r"(?:proj|svcacct|admin|or-v1)-[\w-]{19,500}": "openai-key=sk-",
    r"[bsr]\.[\w-]{19,500}": "vault-token=hv",
    r"(?:PAT|PRJ)_\w{30,500}": "circleci-token=CCI",
    r"[oprsu]_\w{30,500}": "github-token=gh",
    r"(?:api|oauth)_\w{30,500}": "linear-key=lin_",
    r"[su]_\w{30,500}": "sentry-token=sntry",
    r"(?:at|ca|pa|ss)_\w{30,500}": "shopify-token=shp",
    r"(?:pt|st|ct|sa|scim|audit)\.[\w.=+/-]{24,1000}": "doppler-token=dp.",
    r"[cs]01\.[\w.=+/-]{24,1000}": "dynatrace-token=dt0",
    r"(?:tkn|pw|oauth)_[\w.=+/-]{24,1000}": "planetscale-token=pscale_",
    r"\w{16,300}": "stripe-key=sk_live_,rk_live_,sk_test_,rk_test_",
    r"[0-9a-f]{32,64}(?![0-9a-f])": "databricks-token=^dapi mailgun-key=^key-,pubkey- twilio-key=^SK,^AC",
    r"[\w.=+/-]{24,1000}": """
        atlassian-token=ATATT3,ATCTT3,^ATBB fly-token=fm1_,fm2_,fo1_ sendinblue-key=xkeysib-
        terraform-token=.atlasv1.
    """,
    rf"{_MIXED}[\w-]{{20,300}}": "secret-key=^sk-",
    r"[0-9A-Z]{50,60}": "age-key=AGE-SECRET-KEY-1",
    r"[A-Za-z0-9]{14}\.[0-9a-f]{64}": "airtable-token=^pat",
    r"[A-Za-z0-9]{36}": "npm-token=npm_",
    r"[acikpr]_[A-Za-z0-9]{24,200}": "vercel-token=^vc",
    r"(?:[A-Za-z0-9]{12}|[A-Za-z0-9]{20})(?![A-Za-z0-9])": "alibaba-key=^LTAI",
    r"[A-Za-z0-9]{32}(?![A-Za-z0-9])": "tencent-key=^AKID",
    r"[A-Za-z0-9]{4,5}(?<=([A-Za-z0-9]{84}))(?![A-Za-z0-9])": "azure-devops-token=AZDO",
    r"(?:[A-Za-z0-9+/]{43}=|[A-Za-z0-9+/]{22}==)(?![\w+/=])": "laravel-key=base64:",
    r"[\w+/=-]{50,5000}": "1password-token=ops_eyJ",
    r"[\w-]{35,300}": "google-token=^1//0",
    r"(?:u\.)?[\w-]{60,2000}": "dropbox-token=^sl.",
    rf" (?<=[ly] Key )[0-9]{{1,2}}{_IS}({_SHARE})": "vault-unseal-key=Key",
    rf"(?:b64|hex|base64){_IS}\[(?:\s|\\+n){{0,40}}\\*\"({_SHARES})": "vault-unseal-key=keys_",
    rf" [0-9]{{1,3}}{_CUT_KEY}": "private-key=Private-Lines:",
    r"(?:[1567y]|2[aby]|gy|apr1|argon2id)\$([\w./$=,+-]{20,300})": "password-hash=:$",
    r"[A-Z0-9]{16}(?![A-Z0-9])": "aws-key=^AKIA,^ASIA,^ABIA,^ACCA",
    r"=([A-Za-z0-9+/]{40,100}={0,2})": "azure-key=AccountKey,SharedAccessKey",
    r"[\w~.-]{31,34}": "azure-secret=Q~",
    r"(?<![A-Za-z]sig=)([\w%+/-]{40,100}=?)": "azure-signature=sig=",
    r"[0-9a-f]{24}-[0-9a-f]{34,200}": "cloudflare-key=v1.0- postman-key=PMAK-",
    r"[\w-]{23,27}\.[\w-]{6}\.[\w-]{27,45}": "discord-token=^M,^N,^O",
    r"[0-9]{17,20}/([\w-]{50,100})": "discord-webhook=/api/webhooks/",
    r"[A-Za-z0-9]{60,300}": "facebook-token=^EAAG,^EAAB square-token=^EAAA",
    r"[\w-]{8,5000}\.[\w-]{8,5000}(?:\.[\w-]{0,2000})?": "json-web-token=^eyJ",
    r"[0-9](?<=([0-9a-f]{32})-us[0-9])": "mailchimp-key=-us",
    r"[\w-]{16,32}\.[\w-]{32,64}": "sendgrid-key=SG.",
    r"[a-z](?:\.xox[a-z])?-[\w-]{10,500}": "slack-token=xox",
    r"[a-z]{4,12}/([\w/+-]{20,200})": "slack-webhook=hooks.slack.com/",
    r"[a-z]{3}-[\w-]{22,60}": "square-token=sq0",
    r"[\w-]{33}(?<=[0-9]:AA[\w-]{33})(?![\w-])": "telegram-token=:AA",
}
_LINE = r"(?:[\s>]|\\+[nrt]){1,9}"
_NO_EXAMPLE = r"(?!(?i:pass|passw(?:or)?d|pwd|secret|token)(?:[@\s\"'\\]|\Z))"
_WORD = r"[^\s:\"'\\<>\[\]]{1,100}"
_PASSWORD = rf"({_NO_EXAMPLE}[^\s\"'\\<>\[\]{{}}$*]{{1,200}})"
_ANYWHERE: _Forms = {
    rf" {_KEY}(?:(?:[^<\"'-]|-(?!----)){{40,15000}}-?-----END {_KEY}|{_CUT_KEY})": """
        private-key=-----BEGIN
    """,
    rf"(?:\*|{_WORD}):{_WORD}:{_PASSWORD}": "pgpass-password=:5432:",
    rf"{_WORD}:{_PASSWORD}": "pgpass-password=*:*:*:",
    rf"(?:[^\s:/@\"'\\<>\[\]]{{0,100}}:({_NO_EXAMPLE}[^\s/@\"'\\<>\[\]{{}}$*]{{1,200}})"
    rf"|({_MIXED}[\w-]{{20,300}}))@": "password-in-url=://",
    rf"[^\n|;&]{{0,100}}? (?:-[A-Za-z]{{0,5}}u|--user)[ =]{_QUOTE}{_WORD}:{_PASSWORD}": "curl-password=curl",
    rf"{_LINE}{_WORD}{_LINE}login{_LINE}{_WORD}{_LINE}password{_LINE}{_PASSWORD}": "netrc-password=machine",
}
_WORDS = r"(?>[A-Z]++[a-z]{2,}+|[a-z]{3,}+|\b[A-Za-z][a-z]|[A-Z]++|[0-9]++|[/_-])++"
_RANDOM = re.compile(
    r"(?=(?:.*?[0-9]){3})(?=.*?[A-Za-z])"
    rf"|(?!{_WORDS}\Z)(?=.*?[0-9])(?=.*?[a-z])(?=.*?[A-Z])[^.]+\Z".encode()
)
# A path, an id, my-cluster-2024 and module1.name3: Base64 has no dots, and seldom begins with a slash.
_ORDINARY = re.compile(
    r"~?\.{0,2}/[\w.-]+/[\w./-]*|(?=.*?/)[\w/-]++\.[a-z]{1,5}"
    r"|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|[a-z]{2,}(?:[._-](?:[a-z]+[0-9]{0,2}|[0-9]+))*(?:-[a-z0-9]{1,10})?"
    rf"|{_WORDS}(?:\.{_WORDS})+".encode()
)
# Not followed by what a call and an index have.
_VALUE = r"([\w+/=.~-]{16,300}+)(?![(\[])"
_LONG_VALUE = r"([\w+/=.~-]{16,3000}+)"
_BLANK = rf"(?:[ ]{{1,3}}|\\*[\"'],[ ]?){_QUOTE}"
_ASSIGNED = rf"[\w-]{{0,20}}{_IS}{_VALUE}"
# The place in a list is no secret, nor is the number of a key.
_NO_PLACE = "(?<!next.token)(?<!nexttoken)(?<!page.token)(?<!pagetoken)"
_SECRET_KEY = "|".join(
    rf"(?<={name}{blank}key)"
    for name in ("access", "api", "auth", "encryption", "master", "private", "signing")
    for blank in ("", ".")
)
_IF_RANDOM: _Forms = {
    _NO_PLACE + _ASSIGNED: "assigned-secret=token",
    _ASSIGNED: "assigned-secret=secret,pass,pwd,credential",
    rf"(?:{_SECRET_KEY})(?!_id){_ASSIGNED}": "assigned-secret=key",
    rf"(?<![a-z]auth){_IS}{_VALUE}": "assigned-secret=auth",
    rf"[\w-]{{0,30}}(?:token|secret|passw|api.?key)[\w-]{{0,20}}{_BLANK}{_VALUE}": """
        assigned-secret=^--
    """,
    rf"[ ]{{1,3}}{_LONG_VALUE}": "authorization=bearer,basic",
    rf"{_IS}(?:[a-z]{{1,20}}[ ]{{1,3}})?{_LONG_VALUE}": "authorization=authorization",
}
_IN_LOWER_CASE: _Forms = {
    rf"{_IS}([a-z0-9+/]{{40}})(?![a-z0-9+/])": """
        aws-secret=secret_access_key,secret-access-key,secretaccesskey
    """,
    rf"{_IS}basic[ ]([a-z0-9+/]{{14,3000}}[a-z0-9+/=]{{2}})(?![\w(.-])": "authorization=authorization",
}


@dataclass(frozen=True)
class Kind:
    """A form of secrets with ``literal`` in it; the secret is the group of ``regex``, if that has any.

    It is compiled once the literal occurs: compiling all of them at once would delay a screen.
    """

    name: str
    literal: bytes
    regex: bytes

    @cached_property
    def pattern(self) -> re.Pattern[bytes]:
        """What finds the secrets of this form in data that has its literal."""
        return re.compile(self.regex)


class Kinds(NamedTuple):
    """All forms: those of a token, those to be looked for anywhere, and those of text in lower case.

    Those of ``if_random`` are of text in lower case, too; ask ``is_random`` about what they find.
    """

    tokens: tuple[Kind, ...]
    anywhere: tuple[Kind, ...]
    in_lower_case: tuple[Kind, ...]
    if_random: tuple[Kind, ...]


@cache
def known_kinds() -> Kinds:
    return Kinds(*(tuple(_kinds_of(forms)) for forms in (_TOKENS, _ANYWHERE, _IN_LOWER_CASE, _IF_RANDOM)))


def _kinds_of(forms: _Forms) -> Iterator[Kind]:
    # What is before a word's beginning, also after an escape of JSON or a colour.
    before = (r"(?<![A-Za-z0-9_-]", r"(?<=\\[nrt]", "(?<=[0-9]m")
    for rest, named in forms.items():
        for entry in named.split():
            name, _, literals = entry.partition("=")
            for literal in literals.split(","):
                word = literal.removeprefix("^")
                behind = "|".join(f"{place}.{{{len(word)}}})" for place in before)
                begins = "" if word == literal else f"(?:{behind})"
                yield Kind(name, word.encode(), (re.escape(word) + begins + rest).encode())


def is_random(value: bytes) -> bool:
    """Whether an assigned value looks like a secret: no name, path or id."""
    return _RANDOM.match(value) is not None and _ORDINARY.fullmatch(value) is None


OPEN_KEY = re.compile(
    rf"(?:-----BEGIN {_KEY}|Private-Lines:)"
    rf"(?:(?!-----|Private-MAC)[^{{}}<])*(?:-----[A-Z0-9 ]{{0,40}}-{{0,4}})?\Z".encode()
)
"""A private key of which the end has not been printed yet."""
