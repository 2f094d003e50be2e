import json
import string
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from backscroll.records.decode import Problem, decode_line, fields_of
from backscroll.redaction.patterns import compile_pattern
from backscroll.redaction.redactor import UNSEEN, Redactor, redact, redacted_value, usual_rules
from backscroll.redaction.rules import RULES, VERSION
from backscroll.redaction.screening import MAYBE_UNSEEN
from backscroll.render.terminal import clean
from tests.redaction.planting import PLANTED, Planted, planted

# What may stand around a secret: anything that does not make it a part of a longer word.
AROUND = st.sampled_from(
    ["", " ", "\n", '"', "'", "(", "<", "é", "漢字 ", "see: ", "\\n", "`", "{\n\t", "…", "\x1b[31m"]
)
ALL = usual_rules(emails=True)


def test_every_rule_has_a_secret_to_be_tried_with() -> None:
    assert {rule.name for rule in RULES} == set(PLANTED)


@pytest.mark.parametrize("name", sorted(PLANTED))
def test_a_secret_is_hidden_and_called_by_its_rule(name: str) -> None:
    @given(PLANTED[name])
    def holds(plant: Planted) -> None:
        text, counts = redact(f"before {plant.text}\nafter", ALL)
        assert plant.secret not in text
        assert text.startswith("before ")
        assert text.endswith("after") or name == "private-key"  # a word behind a key that was cut off could be its end
        assert f"[redacted: {name}" in text
        assert counts[name] >= 1

    holds()


@example(Planted("postgres://ada:54321/FGH4x7Q2z@db.example.org:5432/shop", "54321/FGH4x7Q2z"), "", "")
@example(Planted("db.example.org:5432:shop:ada:ABCDEF4x7Q2z", "ABCDEF4x7Q2z"), "(", "")
@given(planted(emails=True), AROUND, st.sampled_from(["", " ", "\n", '"', "'", ")", ">", "é", "\\n", "`", "\x1b[0m"]))
def test_a_secret_is_masked_in_any_context(plant: Planted, before: str, after: str) -> None:
    assert plant.secret not in redact(before + plant.text + after, ALL)[0]


@given(
    st.lists(st.one_of(planted(emails=True).map(lambda plant: plant.text), st.text(max_size=20), AROUND), max_size=6)
)
def test_hiding_twice_is_hiding_once(pieces: list[str]) -> None:
    once, _ = redact("".join(pieces), ALL)
    assert redact(once, ALL) == (once, Counter())


@given(planted())
def test_a_secret_is_hidden_in_a_text_that_is_json_in_json(plant: Planted) -> None:
    inner = json.dumps(json.dumps({"output": f"line one\n{plant.text}\n"}))
    assert json.dumps(plant.secret)[1:-1] not in redact(inner)[0]


def test_the_same_secret_reads_the_same_and_another_one_does_not() -> None:
    one, two = "ghp_" + "a1" * 18, "ghp_" + "b2" * 18
    text, counts = redact(f"{one} {two} {one}")
    assert text == "[redacted: github-token] [redacted: github-token 2] [redacted: github-token]"
    assert counts == {"github-token": 3}
    redactor = Redactor()
    assert redactor.text(two) == "[redacted: github-token]"
    assert redactor.value({"a": [one, two]}) == {"a": ["[redacted: github-token 2]", "[redacted: github-token]"]}
    assert redactor.secrets == {"github-token": 2}
    assert redactor.places == {"github-token": 3}


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=8,
)


@st.composite
def values_with_a_secret(draw: st.DrawFn) -> tuple[Any, Planted]:
    """A JSON value with a secret somewhere in it, as a value or as a key."""
    plant = draw(planted(emails=True))
    value: Any = plant.text
    for _ in range(draw(st.integers(0, 4))):
        beside = draw(JSON)
        value = draw(st.sampled_from([[value, beside], [beside, value], {"a": value, "b": beside}, {"text": value}]))
    if draw(st.booleans()):
        value = {plant.text: value}
    return value, plant


@given(values_with_a_secret())
def test_no_place_in_a_json_value_is_safe_for_a_secret(planted_in: tuple[Any, Planted]) -> None:
    value, plant = planted_in
    hidden = json.dumps(redacted_value(value, ALL))
    assert json.dumps(plant.secret)[1:-1] not in hidden


@given(JSON)
def test_what_holds_no_secret_stays_the_same_object(value: Any) -> None:  # noqa: ANN401
    assert redacted_value(value) is value


@pytest.mark.parametrize(
    "value",
    [
        {"password": "hunter2!secret"},
        {"env": {"SHOP_API_KEY": "9f8e7d6c5b4a39281706"}},
        [{"name": "DB_PASSWORD", "value": "corr3ct, horse"[:7] + "x9y8"}],
        {"headers": {"Authorization": "Bearer 9f8e7d6c5b4a39281706"}},
        {"headers": {"Cookie": "sid=9f8e7d6c5b4a39281706"}},
        {"token": "a,b'c9f8e7d6c5b4\"a3928"},
    ],
)
def test_the_name_of_a_field_marks_its_value_as_secret(value: Any) -> None:  # noqa: ANN401
    assert "redacted: " in json.dumps(redacted_value(value))


@pytest.mark.parametrize(
    "text",
    [
        "input_tokens: 1234567890123", "token: string", "password: str | None = None", "tokenizer=BertTokenizerFast12",
        "api_key = os.environ['API_KEY']", "secret: ${{ secrets.DEPLOY_KEY_2 }}", "password=$DB_PASSWORD1",
        "token = config.auth.token2", "PASSWORD=changeme123", "api-key: your-api-key-123",
        "Authorization: Bearer <token1>",
        "Authorization: Bearer ${TOKEN_2}", "bearer authentication is used", "basic understanding of things",
        "postgres://user:${PASSWORD}@host/db", "https://example.org:8080/path@2x", "git@github.com:ada/shop.git",
        "the cookie jar", "Set-Cookie: theme=dark", "token_path=/home/ada/.config/token2.json", "task-force-of-people",
        "sk-learn", "AKIA", "-----BEGIN PRIVATE KEY-----", "const token = await getToken();",
        "if password == stored_pw:",
        "password_reset_token_2: view", "a secret: never tell", "key: abcdefgh12345678",
        "commit 9f8e7d6c5b4a39281706aabb",
        "PublicKeyToken=b77a5c561934e089", 'publicKeyToken="31bf3856ad364e35"', "next_page_token=CAUQAA4f7Q2z9k8w",
        'password: "Enter the new password, please"', "private_key: Ed25519PrivateKey", "https://abc:xyz@example.org",
        '"AWS::IAM::AccessKey": "131af5b439192da2"', '"encryptionKey": "arn:aws:kms:us-west-2:123:alias/aws/s3"',
        '"RequestToken": "5a1b2c3d-0000-4d5e-8f90-aabbccddeeff"', "their positions--pass `key=lambda x1: x1[0]`.",
        "httpvoqozuhfet5kzxoxf-a-response-8gf",
        "msbuild /p:Configuration=Release", "root:*:0:0:root:/root:/bin/bash", "src/main.c:5432:12:error:no9member",
        "the password is required2", "use --password option", "print(f'password={password!r}')",
        "<password>\\[rB]@\\[rB]<host>", "if data['password'] != data['confirm']:",
        "token: 550", "eyJhbGciOiJIUzI1NiJ9", "uuid 550e8400-e29b-41d4-a716-446655440000", "mysql -u root -p",
    ],
)  # fmt: skip
def test_code_and_prose_are_left_alone(text: str) -> None:
    assert redact(text) == (text, Counter())


def test_a_secret_with_colours_in_it_is_hidden_where_the_colours_would_be_left_out() -> None:
    split = "\x1b[01;31m\x1b[Kghp_\x1b[m\x1b[K" + "a1B2" * 9
    assert "a1B2a1B2" not in redact(split)[0]
    assert "a1B2a1B2" not in redact("ghp\\_" + "a1B2" * 9)[0]
    assert "a1B2a1B2" not in redact("\x1b]0;ghp_" + "a1B2" * 9 + "\x07title")[0]
    coloured = "\x1b[31mred\x1b[0m token"
    assert redact(coloured)[0] == coloured


@given(planted(), st.integers(0, 10_000), st.sampled_from(["\x1b[1m", "\u200b", "\x00", "\u00ad", "\r", "\x1b[0;31m"]))
def test_invisible_characters_do_not_hide_a_secret(plant: Planted, at: int, unseen: str) -> None:
    at %= len(plant.text)
    split = plant.text[:at] + unseen + plant.text[at:]
    assert plant.secret not in clean(redact(split)[0])


@given(st.text())
def test_the_fast_check_for_invisible_characters_misses_nothing(text: str) -> None:
    if UNSEEN.search(text):
        assert compile_pattern(MAYBE_UNSEEN).search(text.encode("utf-8", "surrogatepass"))


def test_the_quick_look_finds_every_character_that_is_not_seen() -> None:
    for character in map(chr, range(0x110000)):
        if UNSEEN.search(character):
            assert compile_pattern(MAYBE_UNSEEN).search(character.encode("utf-8", "surrogatepass")), repr(character)


def test_emails_are_hidden_only_where_that_is_asked_for() -> None:
    text = "ask ada@example.org or git@example.org, see icon@2x.png"
    assert redact(text)[0] == text
    assert redact(text, ALL)[0] == "ask [redacted: email] or git@example.org, see icon@2x.png"


def test_a_signed_address_keeps_nothing_that_opens_it() -> None:
    token, signature = "IQoJb3JpZ2luX2VjEJ7aCXVz" * 2 + "%2FLPx8h310D%2FAvx0%2FZxsDq1", "0a1b2c3d" * 8
    address = f"https://s3.example.org/x?X-Amz-Security-Token={token}&X-Amz-Signature={signature}&v=1"
    first, second = "[redacted: aws-secret]", "[redacted: aws-secret 2]"
    assert redact(address)[0] == address.replace(token, first).replace(signature, second)


def test_odd_values_are_no_trouble() -> None:
    deep: Any = "ghp_" + "a1" * 18
    for _ in range(400):
        deep = [deep]
    assert "ghp_" not in json.dumps(redacted_value(deep))
    assert redact("\ud800 ghp_" + "a1" * 18)[0] == "\ud800 [redacted: github-token]"
    assert redact("", ALL) == ("", Counter())


def test_the_rules_are_such_as_take_time_in_proportion_to_the_text() -> None:
    for rule in RULES:
        assert rule.look
        for pattern in rule.patterns:
            assert compile_pattern(pattern).groups <= 1, pattern


@pytest.mark.parametrize(
    "piece",
    ["token=", "password: ", "-----BEGIN PRIVATE KEY-----", "ghp_", "://a:", "eyJ.", "bearer ", "curl -u a:", "a@b."],
)
def test_work_grows_with_the_text_and_not_faster(piece: str) -> None:
    """Counted in calls of the engine, which is linear itself."""
    counts = []
    for size in (1000, 2000):
        calls = 0

        def count(frame: Any, event: str, _: Any) -> None:  # noqa: ANN401
            nonlocal calls
            calls += event == "call" and frame.f_code.co_name == "search"

        sys.setprofile(count)
        try:
            redact(piece * size, ALL)
        finally:
            sys.setprofile(None)
        counts.append(calls)
    assert counts[1] <= 2 * counts[0] + 100


def test_real_sessions_have_nothing_hidden_that_is_no_secret(corpus: Path) -> None:
    """They were cleaned before they were given to us: whatever is found in them is found wrongly."""
    redactor = Redactor()
    for path in sorted(corpus.rglob("*.jsonl"))[:30]:
        for line in path.read_bytes().splitlines():
            record = decode_line(line)
            if not isinstance(record, Problem):
                redactor.value(fields_of(record))
    assert redactor.places.total() <= 2, redactor.places


def test_every_rule_and_the_version_are_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "redaction.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert [line.split(" |")[0] for line in rows] == [f"| `{rule.name}`" for rule in RULES]
    assert all(rule.what in line for rule, line in zip(RULES, rows, strict=True))
    assert f"Version {VERSION} of the rules" in page


def test_every_letter_around_an_assignment_is_fine() -> None:
    for letter in string.printable:
        assert "4x7Q2z9k8w7v" not in redact(f"{letter} API_TOKEN=4x7Q2z9k8w7v{letter}")[0]
