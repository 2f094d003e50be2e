"""Which price a request had: by model, day and speed."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from backscroll.pricing.names import plain_name
from backscroll.pricing.overrides import our_prices
from backscroll.pricing.prices import Prices
from backscroll.pricing.snapshot import snapshot

# USD for a million tokens: input, output, cache writes for 5 minutes and for an hour, cache reads.
RATES = """
claude-3-5-haiku-20241022    0.8  4    1      1.6  0.08
claude-haiku-4-5-20251001    1    5    1.25   2    0.1
claude-haiku-5-5             0.1  0.5  0.125  0.2  0.01
claude-3-5-sonnet-20241022   3    15   3.75   6    0.3
claude-3-7-sonnet-20250219   3    15   3.75   6    0.3
claude-sonnet-4-20250514     3    15   3.75   6    0.3
claude-sonnet-4-5-20250929   3    15   3.75   6    0.3
claude-sonnet-4-6            3    15   3.75   6    0.3
claude-sonnet-5              2    10   2.5    4    0.2
claude-sonnet-5-5            2    10   2.5    4    0.1
claude-3-opus-20240229       15   75   18.75  30   1.5
claude-opus-4-20250514       15   75   18.75  30   1.5
claude-opus-4-1-20250805     15   75   18.75  30   1.5
claude-opus-4-5-20251101     5    25   6.25   10   0.5
claude-opus-4-6              5    25   6.25   10   0.5
claude-opus-4-7              5    25   6.25   10   0.5
claude-opus-4-8              5    25   6.25   10   0.5
claude-opus-5                5    25   6.25   10   0.5
claude-opus-5-5              4    20   5      8    0.2
claude-fable-5               10   50   12.5   20   1
claude-mythos-5              10   50   12.5   20   1
claude-fable-5-1             10   50   12.5   20   0.25
claude-mythos-5-1            10   50   12.5   20   0.25
claude-fable-5-2             8    40   10     16   0.2
claude-mythos-5-2            8    40   10     16   0.2
"""
FAST = """
claude-opus-4-6    30  150  37.5  60  3
claude-opus-4-7    30  150  37.5  60  3
claude-opus-4-8    10  50   12.5  20  1
claude-opus-5      10  50   12.5  20  1
claude-opus-5-5    8   40   10    16  0.4
claude-fable-5-2   16  80   20    32  0.4
claude-mythos-5-2  16  80   20    32  0.4
"""
MILLION = 1_000_000
DOLLAR = 10**9
UNKNOWN = [
    "<synthetic>",
    "",
    "gpt-5",
    "claude",
    "claude-opus",
    "claude-opus-4-9",
    "claude-opus-6",
    "opus",
    "my-claude-opus-5",
]


def lines(table: str) -> list[list[str]]:
    return [line.split() for line in table.strip().splitlines()]


@pytest.mark.parametrize("row", lines(RATES), ids=lambda row: row[0])
def test_every_model_has_its_rates(row: list[str]) -> None:
    check(row, None)


@pytest.mark.parametrize("row", lines(FAST), ids=lambda row: row[0])
def test_fast_mode_has_rates_of_its_own(row: list[str]) -> None:
    check(row, "fast")


def check(row: list[str], speed: str | None) -> None:
    """Ask for one token of each kind, a million times."""
    model, *rates = row
    prices = Prices()
    counts = [(1, 0, 0, 0, 0, 0), (0, 1, 0, 0, 0, 0), (0, 0, 1, 0, 1, 0), (0, 0, 1, 0, 0, 1), (0, 0, 0, 1, 0, 0)]
    for count, rate in zip(counts, rates, strict=True):
        cost = prices.cost(model, None, *count, speed=speed)
        assert cost is not None
        assert cost * MILLION == float(rate) * DOLLAR


@pytest.mark.parametrize("model", UNKNOWN)
def test_an_unknown_model_has_no_price_rather_than_a_price_of_0(model: str) -> None:
    assert Prices().price_of(model) is None
    assert Prices().cost(model, None, 1, 1, 1, 1) is None
    assert Prices().cost(None, None, 1, 1, 1, 1) is None


def test_fast_mode_without_a_known_price_has_none() -> None:
    assert Prices().price_of("claude-sonnet-5", speed="fast") is None
    assert Prices().price_of("claude-sonnet-5", speed="standard") is not None


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("claude-opus-4-5-20251101", "claude-opus-4-5"),
        ("claude-opus-4-5-20251101[1m]", "claude-opus-4-5"),
        ("Claude-Opus-4.5 ", "claude-opus-4-5"),
        ("anthropic/claude-opus-4.5", "claude-opus-4-5"),
        ("openrouter/anthropic/claude-opus-4.5:thinking", "claude-opus-4-5"),
        ("claude-opus-4-5@20251101", "claude-opus-4-5"),
        ("claude-opus-4-6@default", "claude-opus-4-6"),
        ("us.anthropic.claude-opus-4-5-20251101-v1:0", "claude-opus-4-5"),
        ("us-gov.anthropic.claude-opus-4-5-20251101-v1:0", "claude-opus-4-5"),
        ("global.anthropic.claude-opus-4-6-v1", "claude-opus-4-6"),
        ("anthropic.claude-opus-4-5-20251101-v1:0[1m]", "claude-opus-4-5"),
        ("arn:aws:bedrock:us-east-1:1:inference-profile/eu.anthropic.claude-sonnet-4-20250514-v1:0", "claude-sonnet-4"),
        ("claude-sonnet-4-20250514", "claude-sonnet-4"),
        ("claude-sonnet-4-0", "claude-sonnet-4"),
        ("claude-4-sonnet-20250514", "claude-sonnet-4"),
        ("claude-sonnet-4@20250514", "claude-sonnet-4"),
        ("claude-3-5-haiku-20241022", "claude-3-5-haiku"),
        ("claude-3-5-haiku-latest", "claude-3-5-haiku"),
        ("claude-3-5-sonnet-v2@20241022", "claude-3-5-sonnet"),
        ("us.anthropic.claude-3-5-sonnet-20241022-v2:0", "claude-3-5-sonnet"),
        ("claude-haiku-3.5", "claude-3-5-haiku"),
        ("claude-sonnet-5", "claude-sonnet-5"),
        ("claude-sonnet-5-5-20260901", "claude-sonnet-5-5"),
        ("claude-opus-4-9", "claude-opus-4-9"),
        ("My-Model", "my-model"),
        ("<synthetic>", "<synthetic>"),
    ],
)
def test_every_spelling_of_a_model_is_that_model(written: str, name: str) -> None:
    assert plain_name(written) == name
    assert plain_name(name) == name


def test_a_price_is_the_one_of_the_day() -> None:
    prices = Prices()
    before = datetime(2026, 3, 12, 23, 59, 59, tzinfo=UTC)
    after = before + timedelta(seconds=1)
    old, new = prices.price_of("claude-sonnet-4-6", before), prices.price_of("claude-sonnet-4-6", after)
    assert old is not None
    assert new is not None
    assert (old.since, old.long_from) == (None, 200_000)
    assert (new.since, new.long_from) == (date(2026, 3, 13), None)
    assert prices.price_of("claude-sonnet-4-6") == new
    assert prices.price_of("claude-sonnet-4-6", before.replace(tzinfo=None)) == old
    assert prices.price_of("claude-sonnet-4-6", after.astimezone(timezone(timedelta(hours=-8)))) == new
    for when, cost in ((before, 6000), (after, 3000), (None, 3000)):
        time_us = None if when is None else int(when.timestamp()) * MILLION
        assert prices.cost("claude-sonnet-4-6", time_us, 200_001, 0, 0, 0) == cost * 200_001


def test_ours_win_over_the_snapshot_and_the_users_over_all() -> None:
    def source(model: str, prices: Prices, speed: str | None = None) -> str:
        found = prices.price_of(model, speed=speed)
        assert found is not None
        return found.source

    taken = f"{snapshot().package} {snapshot().version}"
    assert source("claude-opus-5", Prices()) == taken
    assert source("claude-opus-5", Prices(), "fast") == source("claude-mythos-5", Prices()) == "backscroll"
    own = Prices({"claude-opus-5-20260801": {"input": 1.0, "output": 2}, "local": {"input": 0, "output": 0}})
    assert (
        source("claude-opus-5", own) == source("anthropic/claude-opus-5[1m]", own) == source("Local", own) == "settings"
    )
    assert source("claude-opus-5", own, "fast") == "backscroll"
    assert own.cost("local", None, 5, 5, 5, 5) == 0


def test_a_price_of_the_users_is_flat_and_its_cache_rates_follow_the_input() -> None:
    own = Prices({"claude-haiku-5-5": {"input": 0.1, "output": 0.5}, "whole": dict(zip(NAMES, GIVEN, strict=True))})
    found = own.price_of("claude-haiku-5-5", datetime(2020, 1, 1, tzinfo=UTC))
    assert found is not None
    rates = found.rates
    assert (rates.cache_write_5m, rates.cache_write_1h, rates.cache_read) == (125, 200, 10)
    assert own.cost("claude-haiku-5-5", None, MILLION, 0, 0, 0) == MILLION * 100
    whole = own.price_of("whole")
    assert whole is not None
    assert [getattr(whole.rates, name) for name in NAMES] == [1, 2001, 300, 4000, 5]


NAMES = ("input", "output", "cache_write_5m", "cache_write_1h", "cache_read")
GIVEN = (0.001, 2.001, 0.3, 4, 0.005)


def test_the_fingerprint_changes_with_any_price_and_with_nothing_else() -> None:
    plain = {"claude-opus-5": {"input": 5.0, "output": 25.0}}
    dearer = {"claude-opus-5": {"input": 5.0, "output": 25.001}}
    another = {"claude-opus-5": {"input": 5.0, "output": 25.0}, "x": {"input": 5.0, "output": 25.0}}
    assert Prices(plain).fingerprint == Prices(dict(plain)).fingerprint
    assert len({Prices(own).fingerprint for own in (dearer, another, {})}) == 3
    # These are the prices that the table has.
    assert Prices(plain).fingerprint == Prices().fingerprint


def test_ours_are_only_what_the_snapshot_lacks() -> None:
    taken = {(price.model, price.is_fast) for price in snapshot().prices}
    assert [price.model for price in our_prices() if (price.model, price.is_fast) in taken] == []


def test_every_price_is_under_the_name_that_is_looked_for() -> None:
    assert [price.model for price in Prices().all() if plain_name(price.model) != price.model] == []
