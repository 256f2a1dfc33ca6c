import json
import random
import string

import pytest

from git_blackbird.model.base.redaction import Redactor, masked_kinds, secret_values
from git_blackbird.model.base.secret_kinds import MOST_BYTES
from tests.planted_secrets import hidden_part, make_secrets

AROUND = {
    "alone": "{}",
    "in a line": "the key is {}, as you asked",
    "in a text of JSON": json.dumps({"type": "text", "text": "the key:\n{}\nis it"}),
    "in a text in a text of JSON": json.dumps({"output": json.dumps({"text": "see:\n{}\n"})}),
    "in a command": "export X='{}'",
    "in colour": "\x1b[1;32m{}\x1b[0m",
    "in a quotation": "> {}",
}


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("seed", range(3))
def test_each_form_is_masked_wherever_it_is(around: str, seed: int) -> None:
    for name, secret in make_secrets(seed).items():
        said = secret.replace("\n", "\n> ") if "quotation" in around else secret
        text = AROUND[around].replace("{}", said if "JSON" not in around else json.dumps(said)[1:-1])
        masked, spans = Redactor({}).mask(text.encode())
        assert spans, (name, text)
        assert Redactor({}).finds_any(["token", text, "next"]), (name, text)
        assert len(masked) == len(text)
        assert hidden_part(secret) not in masked.decode(), (name, masked)
        assert Redactor({}).mask(masked) == (masked, []), name


def test_a_key_of_aws_is_masked_with_few_digits() -> None:
    line = b"aws_secret_access_key = eyyZF/doNmRRSubfz/eIcAfCQOCVbcepynNpFioS"
    masked, spans = Redactor({}).mask(line)
    assert [span.kind for span in spans] == ["aws-secret"]
    assert b"eyyZF" not in masked


def test_a_short_password_in_an_address_is_masked() -> None:
    masked, spans = Redactor({}).mask(b"postgres://app:x@db redis://:short@cache/0")
    assert masked == b"postgres://app:*@db redis://:*****@cache/0"
    assert [span.kind for span in spans] == ["password-in-url"] * 2
    assert Redactor({}).mask(masked)[1] == []


@pytest.mark.parametrize("name", ["DB_PASSWORD=", "--password ", "X-API-Key: ", "SIGNING_KEY=", "<passwd>"])
def test_most_random_values_are_masked(name: str) -> None:
    drawn = random.Random(name)
    values = ["".join(drawn.choices(string.ascii_letters + string.digits, k=20)) for _ in range(200)]
    assert sum(bool(Redactor({}).mask(f"{name}{value}\n".encode())[1]) for value in values) >= 180


@pytest.mark.parametrize("key", ["pem", "key cut", "key found", "key in source", "key numbered", "putty"])
def test_a_masked_key_leaves_json_whole(key: str) -> None:
    lines = make_secrets(1)[key].splitlines()
    events: list[dict[str, object]] = [{"lines": lines, "next": lines[-1]}]
    events += [{"text": line} for line in lines]
    masked = Redactor({}).mask("\n".join(map(json.dumps, events)).encode())[0].decode()
    assert [set(json.loads(line)) for line in masked.splitlines()] == [set(event) for event in events]


def test_a_line_that_is_written_over_is_decided_on() -> None:
    assert Redactor({}).mask_decided(b"10 %\r20 %")[0] == b"10 %\r"


@pytest.mark.parametrize(
    "line",
    [
        "a line of text with the/path/of/a/file.py, a sha 9fceb02d0ae598e95dc970b74767f19372d61af8 and a",
        '{"usage": {"input_tokens": 1234567890123456}, "session_id": "0199f3a0-c000-4001-8000-00005e551011"}',
        "token = request.headers.get_token_of_user  # task-management-of-2024-and-2025 disk-0123456789",
        "https://example.com:8080/path@v1 git@github.com:owner/name.git user@example.com ${U}:${PASS}@host",
        "token: 0199f3a0-c000-4001-8000-00005e551011 password=/run/secrets/db_2024",
        "secret: ~/keys/of-2024/key-123.pem, token = src/app/v123/auth.py https://user:password@host",
        "The form begins with -----BEGIN RSA PRIVATE KEY----- and ends with -----END RSA PRIVATE KEY-----.",
        "secretKeyRef: my-cluster-secret-2024-prod, service-account-token: default-token-x7k2p9",
        "next_token=aHR0cHM6Ly9leGFtcGxlLmNvbS8xMjM0 password = utf8_to_utf16_dup(value) token: ${TOKEN}",
        "user_pass = PasswordEncoder2 private_key: ed25519.Ed25519PrivateKey token->nextTokenOfV2Key",
        'curl -u "$USER:$PASS" x; curl -u user:password https://example.com; login with password of',
        "ports: 127.0.0.1:5432:5432 arn:aws:logs:*:*:*:log/x Key 12: of_a_long_name_that_is_no_share_of_keys",
        "dict_keys_b64: [] vcp_memory_write_is_blocked_here see sl.some_name_of_an_attribute AKIDs, 1//0x",
        "data:text/plain;base64,aGVsbG8gd29ybGQ base64:no Private-Lines: 14 of price:$1$ 2 a:$5$x0123456789",
        "postgres postgresql development /home/user/.config 2026-11-28T12:00:00Z sha256-47DEQpj8HBSa+/TImW",
    ],
)
def test_ordinary_lines_are_left_alone(line: str) -> None:
    assert Redactor(secret_values(ORDINARY)).mask(line.encode()) == (line.encode(), [])


ORDINARY = {
    "COOKIE_DOMAIN": "app-1.example.com:8443",
    "DB_PASSWORD": "postgres",
    "GIT_AUTHOR_NAME": "A. N. Other",
    "MAX_OUTPUT_TOKENS": "1234567890123456",
    "PWD": "/home/user/.config",
    "SECRETS_DIR": "/path/of/a/file.py",
    "SORT_KEY": "created_at",
    "SSH_AUTH_SOCK": "/home/user/.config",
    "TOKEN_URL": "https://example.com:8080/path@v1",
    "USER": "a line of text",
}


def test_values_of_credentials_are_masked_as_they_are_and_as_json_has_them() -> None:
    values = secret_values(
        {"API_KEY": 'a "s3cr3t"\tkey', "X_AUTH": "  0x1f2e3d4c ", "\udce9_TOKEN": "0f-n0-n4me"}
    )
    redactor = Redactor(values)
    once = json.dumps('the a "s3cr3t"\tkey')
    for text in ('the a "s3cr3t"\tkey', once, json.dumps(once), "0x1f2e3d4c,", "0f-n0-n4me"):
        masked, spans = redactor.mask(text.encode())
        assert (len(spans), len(masked)) == (1, len(text))
    assert redactor.counts == {"$API_KEY": 1, "$X_AUTH": 1, "variable": 1}


NAMES = "created_at createdAt example.com us-east-1 ed25519-key hunter22 x86_64-linux-gnu 0123456789"
SECRETS = "tr0ub4dor&3 Summer2024! xK9#mPq2 zQ8wkL4tRv2x JBSWY3DPEHPK3PXP qzjwkxvbnmlptrgh 9f86d081884c"


def test_a_variable_holds_a_secret_where_its_value_looks_like_one() -> None:
    held = [*NAMES.split(), *SECRETS.split(), "a phrase of four"]
    values = {f"A{number}_KEY": value for number, value in enumerate(held)}
    assert list(secret_values(values).values()) == [*SECRETS.split(), "a phrase of four"]
    assert secret_values({"SOME_NAME": SECRETS}) == {}


@pytest.mark.parametrize(("size", "least"), [(8, 0.7), (12, 0.9), (16, 0.97), (24, 0.99)])
def test_most_random_values_look_like_secrets(size: int, least: float) -> None:
    drawn = random.Random(size)
    values = ["".join(drawn.choices(string.ascii_letters + string.digits, k=size)) for _ in range(1000)]
    assert sum(bool(secret_values({"SOME_KEY": value})) for value in values) >= least * len(values)


def test_marks_of_this_run_are_told_from_what_looks_like_them() -> None:
    redactor = Redactor({"SORT_KEY": "zQ8wkL4tRv2x", "SALT": "x1Q9z7k2"})
    said = b"sort by zQ8wkL4tRv2x, salt x1Q9z7k2, see [redacted:github-token****] and postgres://app:x@db *"
    masked = redactor.mask(said)[0].decode()
    assert masked_kinds(masked, redactor.marks) == ("$SALT", "$SORT_KEY", "password-in-url")
    assert masked_kinds("[redacted:github-token****] * bold **", redactor.marks) == ()


@pytest.mark.parametrize("unit", ["eyJ", " eyJ", "token=", "-----BEGIN RSA PRIVATE KEY----- "])
def test_much_that_looks_like_a_beginning_is_released(unit: str) -> None:
    data = (unit * MOST_BYTES).encode()
    masked, _ = Redactor({}).mask_decided(data)
    assert len(masked) >= len(data) - 2 * MOST_BYTES
