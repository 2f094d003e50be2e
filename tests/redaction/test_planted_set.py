"""How many of the planted secrets are hidden. The half that was not tuned on tells how good the rules are."""

import pytest

from backscroll.redaction.redactor import redact, redacted_value
from tests.redaction.planted_set import PlantedCase, planted_set

SEEDS = range(1, 6)


def leaking(cases: list[PlantedCase]) -> list[str]:
    return [f"{case.number} {case.title}" for case in cases if case.leaks(redact(case.text)[0])]


@pytest.mark.parametrize("seed", SEEDS)
def test_all_secrets_of_the_half_for_tuning_are_hidden(seed: int) -> None:
    cases = [case for case in planted_set(seed) if case.is_for_tuning]
    assert len(cases) == 75
    assert leaking(cases) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_at_least_95_of_100_are_hidden_in_the_half_that_was_not_tuned_on(seed: int) -> None:
    cases = [case for case in planted_set(seed) if not case.is_for_tuning]
    assert len(cases) == 75
    assert len(leaking(cases)) <= 0.05 * len(cases)  # counted, not named: what is named would be tuned on


def test_a_mask_says_of_what_kind_the_secret_was() -> None:
    for case in planted_set():
        if case.is_for_tuning:
            assert "[redacted: " in redact(case.text)[0], case.title


def test_a_planted_secret_is_hidden_in_a_field_too() -> None:
    """A text in a record stands in a JSON value; the result of a tool often in another."""
    for case in planted_set():
        if case.is_for_tuning:
            hidden = redacted_value({"content": [{"type": "text", "text": case.text}]})
            assert case.leaks(hidden["content"][0]["text"]) == [], case.title


def test_without_redaction_every_planted_secret_leaks() -> None:
    assert all(len(case.leaks(case.text)) == len(case.secrets) for case in planted_set())
