"""The quick looks that spare most texts the rules: they change nothing in what is masked."""

from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from backscroll.redaction.patterns import AnyOf
from backscroll.redaction.redactor import Redactor, redact, usual_rules
from backscroll.redaction.rule import leads
from backscroll.redaction.screening import Screen
from tests.redaction.planted_set import planted_set
from tests.redaction.planting import planted
from tests.support.samples import TRY_ALL

ALL = usual_rules(emails=True)
SECRETS = planted(emails=True).map(lambda plant: plant.text) | st.sampled_from([case.text for case in planted_set()])
INSERTED = st.sampled_from(
    [
        "",
        "\n",
        "\\n",
        " ",
        '"',
        "'",
        ": ",
        "=",
        "[redacted: jwt 2]",
        "\x1b[31m",
        "\u200b",
        "\t",
        "é",
        "\\_",
        "for x is ",
    ]
)


@st.composite
def altered(draw: st.DrawFn) -> str:
    """A text with a secret, which something comes into."""
    text = draw(SECRETS)
    at = draw(st.integers(0, len(text)))
    return text[:at] + draw(INSERTED) + text[at:]


NAMES = st.sampled_from(["text", "name", "key", "value", "password", "api_token", "type", "data"]) | altered()
VALUES = st.recursive(
    st.none() | st.text(max_size=8) | altered(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=8,
)


@example({"type": "image/png", "base64": "iVBORw0KGgo="})
@example({"name": "API_TOKEN", "value": "4x7Q2z9k8w7v"})
@example(["machine [redacted: jwt] login [redacted: jwt 2] password 4x7Q2z9k"])
@given(VALUES)
def test_a_value_is_masked_as_if_every_text_of_it_were_looked_at(value: Any) -> None:  # noqa: ANN401
    screened = Redactor(ALL)
    found = screened.value(value)
    with patch.object(Screen, "is_clean", lambda *_: False):
        searched = Redactor(ALL)
        assert searched.value(value) == found
    assert screened.places == searched.places


@example("chpasswd\" <<< 'root:B3VWEObepZqT'")
@example("the password for [redacted: jwt 2] is 4x7Q2z9k!")
@given(altered())
def test_hints_pass_over_no_secret(text: str) -> None:
    found = redact(text, ALL)
    with patch.object(AnyOf, "found", lambda *_: [*range(len(ALL))]):
        assert redact(text, ALL) == found


@pytest.mark.parametrize(
    ("pattern", "lead"),
    [
        (r"(?i:bearer)\s+([a-z]+)", r"(?i:bearer)\s+"),
        (r"[(\]]\((x)", r"[(\]]\("),
        (r"[^](]+(x)", r"[^](]+"),
        ("plain", "plain"),
    ],
)
def test_a_lead_is_what_comes_before_the_group(pattern: str, lead: str) -> None:
    assert leads([pattern]) == (lead,)


def test_real_sessions_are_masked_as_if_every_text_of_them_were_looked_at(corpus: Path) -> None:
    paths = sorted(corpus.rglob("*.jsonl"))[: 40 if TRY_ALL else 8]
    lines = [line for path in paths for line in path.read_bytes().splitlines()]
    screened, searched = Redactor(), Redactor()
    screen = Screen(usual_rules())
    clean = 0
    for line in lines:
        try:
            value = msgspec.json.decode(line)
        except msgspec.DecodeError:
            continue
        clean += screen.is_clean(value)
        found = screened.value(value)
        with patch.object(Screen, "is_clean", lambda *_: False):
            assert searched.value(value) == found
    assert clean > 0.9 * len(lines)
