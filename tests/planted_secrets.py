"""Made-up secrets in the forms of services, put together so that no scanner of secrets finds them here."""

import random
import string
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.support import git

_ALL = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"
_KEY = "RSA PRIV" + "ATE KEY-----"
_UPPER = string.ascii_uppercase + string.digits
# The beginning, then characters and their number, or more text that is the same in all.
_FORMS: dict[str, tuple[object, ...]] = {
    "age": ("AGE-SECRET-", "KEY-1", (_UPPER, 58)),
    "alibaba": ("LT", "AI5t", (_ALL, 18)),
    "airtable": ("pat", (_ALL, 14), ".", (_HEX, 64)),
    "anthropic": ("sk-", "ant-api03-", (_ALL, 95)),
    "atlassian": ("ATAT", "T3x", (_ALL, 60)),
    "aws": ("AK", "IA", (_UPPER, 16)),
    "aws secret": ("aws_secret_access", "_key = ", (_ALL + "/+", 30), "x1y2z3A4B5"),
    "azure": ("Account", "Key=", (_ALL + "+/", 86), "=="),
    "azure devops": ((_ALL, 52), "JQ", "QJ99", (_ALL, 18), "AZ", "DO", (_ALL, 4)),
    "azure signature": ("?", "sig=", (_ALL, 43), "%3D"),
    "basic": ("Authorization: ", "Basic ", (_ALL, 24)),
    "bearer": ("Authorization: ", "Bearer ", (_HEX, 20), "0a1b2c3d"),
    "buildkite": ("bk", "ua_", (_HEX, 40)),
    "circleci": ("CCI", "PAT_", (_ALL, 22), "_", (_HEX, 40)),
    "curl": ("curl -u ", "user:", (_ALL, 12), " https://example.com"),
    "databricks": ("da", "pi", (_HEX, 32)),
    "digitalocean": ("dop", "_v1_", (_HEX, 64)),
    "discord": ("M", (_ALL, 25), ".", (_ALL, 6), ".", (_ALL, 38)),
    "docker": ("dckr", "_pat_", (_ALL, 27)),
    "docker login": ('"au', 'th": "', (_ALL, 40), '"'),
    "doppler": ("dp.", "pt.", (_ALL, 43)),
    "dropbox": ("s", "l.u.", (_ALL + "-_", 130)),
    "figma": ("fi", "gd_", (_ALL, 40)),
    "github": ("gh", "p_", (_ALL, 36)),
    "github fine": ("github", "_pat_", (_ALL, 82)),
    "gitlab": ("gl", "pat-", (_ALL, 20)),
    "google": ("AI", "za", (_ALL + "-_", 35)),
    "google refresh": ("1/", "/0", (_ALL + "-_", 100)),
    "google secret": ("GOC", "SPX-", (_ALL, 28)),
    "grafana": ("gl", "sa_", (_ALL, 32), "_1a2b3c4d"),
    "groq": ("gs", "k_", (_ALL, 52)),
    "hugging face": ("h", "f_", (_ALL, 34)),
    "in a header": ("Authorization: ", "token ", (_HEX, 37), "0a1"),
    "json web token": ("ey", "J", (_ALL, 30), ".ey", "J", (_ALL, 60), ".", (_ALL + "-_", 43)),
    "key cut": (f"-----BEGIN {_KEY}\n", (_ALL, 64), "\n", (_ALL, 64)),
    "key found": (f"a/b-c.pem:1:-----BEGIN {_KEY}\na/b-c.pem-2-", (_ALL, 64), "\na/b-c.pem-3-", (_ALL, 64)),
    "key in source": (f'"-----BEGIN {_KEY}\\n"\n  "', (_ALL, 64), '\\n" +\n  "', (_ALL, 64), '\\n"'),
    "key numbered": (f"     1\t-----BEGIN {_KEY}\n     2\t", (_ALL, 64), "\n     3\t", (_ALL, 64)),
    "laravel": ("APP_KEY=base64", ":", (_ALL + "+/", 43), "="),
    "linear": ("lin", "_api_", (_ALL, 40)),
    "mailchimp": ((_HEX, 32), "-u", "s12"),
    "mailgun": ("ke", "y-", (_HEX, 32)),
    "new relic": ("NR", "AK-", (_UPPER, 27)),
    "netrc": ("machine example.com login me ", "password ", (_ALL, 12)),
    "notion": ("nt", "n_", (_ALL, 46)),
    "npm": ("np", "m_", (_ALL, 36)),
    "npmrc": ("//example.com/:", "_auth=", (_ALL, 40)),
    "one password": ("ops", "_ey", "J", (_ALL, 300)),
    "openai": ("s", "k-", (_ALL, 20), "T3Blb", "kFJ", (_ALL, 20)),
    "openai project": ("sk-", "proj-", (_ALL + "-_", 120)),
    "option": ("--", "password ", (_ALL, 15), "1xQ7z"),
    "password": ("DB_", "PASS=", (_ALL, 15), "1xQ7z"),
    "password hash": ("root:$", "6$", (_ALL, 16), "$", (_ALL + "./", 86), ":19000:0:99999:7:::"),
    "password in XML": ("<pass", "word>", (_ALL, 15), "1xQ7z</password>"),
    "password in a url": ("postgres://app:", (_ALL, 16), "@db.example.com/app"),
    "pem": (f"-----BEGIN {_KEY}\n", (_ALL, 64), "\n", (_ALL, 64), f"\n-----END {_KEY}"),
    "pgpass": ("db.example.com:54", "32:app:me:", (_ALL, 12)),
    "pgpass for all": ("*:*:", "*:me:", (_ALL, 12)),
    "planetscale": ("pscale", "_tkn_", (_ALL, 43)),
    "postman": ("PM", "AK-", (_HEX, 24), "-", (_HEX, 34)),
    "putty": ("Private-", "Lines: 2\n", (_ALL, 64), "\n", (_ALL, 40), "\nPrivate-MAC: 0a1b2c"),
    "pypi": ("py", "pi-AgEIcHlwaS5vcmc", (_ALL, 100)),
    "rubygems": ("ruby", "gems_", (_HEX, 48)),
    "sendgrid": ("S", "G.", (_ALL, 22), ".", (_ALL, 43)),
    "shopify": ("sh", "pat_", (_HEX, 32)),
    "slack": ("xo", "xb-", ("0123456789", 12), "-", ("0123456789", 13), "-", (_ALL, 24)),
    "slack webhook": ("hooks.slack", ".com/services/T", (_UPPER, 8), "/B", (_UPPER, 8), "/", (_ALL, 24)),
    "square": ("sq0", "csp-", (_ALL + "-_", 43)),
    "stripe": ("sk", "_live_", (_ALL, 24)),
    "telegram": (("0123456789", 10), ":A", "A", (_ALL + "-_", 33)),
    "tencent": ("AK", "ID", (_ALL, 32)),
    "terraform": ((_ALL, 14), ".atlas", "v1.", (_ALL, 67)),
    "token in a url": ("https://", (_HEX, 37), "0a1@example.com"),
    "twilio": ("S", "K", (_HEX, 32)),
    "unseal": ("Unseal ", "Key 1: ", (_ALL + "+/", 44)),
    "unseal list": ('"unseal_keys', '_b64": ["', (_ALL + "+/", 44), '", "', (_ALL + "+/", 44), '"]'),
    "vault": ("hv", "s.", (_ALL, 90)),
    "vercel": ("vc", "p_", (_ALL, 24)),
}  # fmt: skip


def make_secrets(seed: int) -> dict[str, str]:
    """Return one secret of each form."""
    drawn = random.Random(seed)

    def text(part: object) -> str:
        return "".join(drawn.choices(part[0], k=part[1])) if isinstance(part, tuple) else str(part)

    return {name: "".join(map(text, parts)) for name, parts in _FORMS.items()}


def leaks(repo: Path, parts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Find what is left of secrets below .git and .blackbird, in objects and in the trace beside them."""
    files = [path for folder in (".git", ".blackbird") for path in (repo / folder).rglob("*")]
    contents = {str(path): path.read_bytes() for path in (*files, repo.parent / "trace") if path.is_file()}
    objects = git(repo, "cat-file", "--batch-all-objects", "--batch")
    contents["objects"] = objects.encode(errors="surrogateescape")
    wanted = [part.encode() for part in parts]
    for name, data in contents.items():
        yield from ((name, part.decode()) for part in wanted if part in data)


def hidden_part(secret: str) -> str:
    """Return what must be left nowhere: the end of a secret, whose beginning may say only what it is."""
    line = secret.split("\n")[1 if "\n" in secret else 0].partition("@")[0]
    for words in (
        "=",
        "Basic ",
        "Bearer ",
        "password ",
        "token ",
        "app:",
        "me:",
        ":AA",
        ".atlasv1.",
        "/services/",
    ):
        line = line.partition(words)[2] if words in line[:45] else line
    return line.strip()[5:]
