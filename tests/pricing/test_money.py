"""The exact cost of any request."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.pricing.money import Price, Rates, cost_of, microdollars, nanodollars_per_token
from backscroll.pricing.prices import Prices

RATES = Rates.of("0.1", "0.5", "0.125", "0.2", "0.01")
LONG = Rates.of("0.5", "2.5", "0.625", "1", "0.05")
FLAT = Price("claude-x", RATES, "test")
STEP = Price("claude-x", RATES, "test", long_from=100_000, long_rates=LONG)
tokens = st.integers(0, 10**9)
counts = st.tuples(tokens, tokens, tokens, tokens)
SPLITS = [
    (None, None, (90, 0)),  # older rows say only how many there were
    (0, 0, (90, 0)),
    (90, 0, (90, 0)),
    (0, 90, (0, 90)),
    (60, 30, (60, 30)),
    (None, 30, (60, 30)),
    (10, 30, (60, 30)),
    (0, 100, (0, 100)),  # more than there were: the split is believed
]


@pytest.mark.parametrize(("short", "hour", "expected"), SPLITS)
def test_what_does_not_stay_for_an_hour_stays_for_five_minutes(
    short: int | None, hour: int | None, expected: tuple[int, int]
) -> None:
    assert cost_of(FLAT, 0, 0, 90, 0, short, hour) == expected[0] * 125 + expected[1] * 200


@pytest.mark.parametrize(
    ("input_tokens", "cache_write", "cache_read", "is_long"),
    [
        (100_000, 0, 0, False),
        (100_001, 0, 0, True),
        (1, 40_000, 59_999, False),
        (1, 40_000, 60_000, True),
        (0, 100_001, 0, True),
        (0, 0, 100_001, True),
    ],
)
def test_a_long_prompt_pays_the_long_rate_for_every_token(
    input_tokens: int, cache_write: int, cache_read: int, is_long: bool
) -> None:
    rates = LONG if is_long else RATES
    expected = input_tokens * rates.input + 7 * rates.output + cache_read * rates.cache_read
    expected += cache_write * rates.cache_write_1h
    assert cost_of(STEP, input_tokens, 7, cache_write, cache_read, 0, cache_write) == expected


def test_a_long_answer_makes_no_long_prompt() -> None:
    assert cost_of(STEP, 10, 200_000, 0, 0) == 10 * RATES.input + 200_000 * RATES.output


def test_a_batch_is_half_the_us_a_tenth_more_and_a_search_a_cent() -> None:
    assert cost_of(FLAT, 1000, 0, 0, 0) == 100_000
    assert cost_of(FLAT, 1000, 0, 0, 0, tier="batch") == 50_000
    assert cost_of(FLAT, 1000, 0, 0, 0, geo="us") == 110_000
    assert cost_of(FLAT, 1000, 0, 0, 0, tier="batch", geo="us") == 55_000
    assert cost_of(FLAT, 1000, 0, 0, 0, tier="priority", geo="global") == 100_000
    assert cost_of(FLAT, 1000, 0, 0, 0, web_searches=3, tier="batch", geo="us") == 55_000 + 30_000_000


def test_the_columns_reach_the_sum_in_their_order() -> None:
    found = Prices().cost("claude-opus-4-6", None, 1, 2, 12, 3, 5, 7, 1, "batch", "fast", "us")
    nano = Fraction(1 * 30_000 + 2 * 150_000 + 5 * 37_500 + 7 * 60_000 + 3 * 3_000) * 11 / 20
    assert found == nano + 10_000_000


@given(counts=counts, hour=tokens, searches=st.integers(0, 100), batch=st.booleans(), us=st.booleans())
def test_a_cost_is_exact(counts: tuple[int, int, int, int], hour: int, searches: int, batch: bool, us: bool) -> None:
    asked, answered, short, read = counts
    found = cost_of(
        FLAT, asked, answered, short + hour, read, short, hour, searches, "batch" if batch else None, "us" if us else ""
    )
    dollars = (
        Fraction("0.1") * asked
        + Fraction("0.5") * answered
        + Fraction("0.125") * short
        + Fraction("0.2") * hour
        + Fraction("0.01") * read
    ) / 10**6
    dollars = dollars * (Fraction(1, 2) if batch else 1) * (Fraction(11, 10) if us else 1)
    # What is left of a nanodollar is rounded as Fraction rounds: half to even.
    assert found == round(dollars * 10**9) + searches * 10**7


@given(first=counts, second=counts)
def test_two_requests_cost_what_their_tokens_cost_together(
    first: tuple[int, int, int, int], second: tuple[int, int, int, int]
) -> None:
    asked, answered, written, read = (one + other for one, other in zip(first, second, strict=True))
    assert cost_of(FLAT, *first) + cost_of(FLAT, *second) == cost_of(FLAT, asked, answered, written, read)


@given(st.integers(-(10**15), 10**15))
def test_microdollars_are_rounded_half_to_even(nano: int) -> None:
    assert microdollars(nano) == round(Fraction(nano, 1000))


def test_a_rate_that_is_no_whole_number_of_nanodollars_is_refused() -> None:
    assert nanodollars_per_token("0.001") == 1
    assert nanodollars_per_token("1e2") == 100_000
    with pytest.raises(ValueError, match=r"0\.0625"):
        nanodollars_per_token("0.0625")
