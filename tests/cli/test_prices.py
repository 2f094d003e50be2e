"""prices, as a user runs it, and the prices that the user sets."""

import json
import os
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.support.command import run_command

OWN = """
[prices."claude-opus-5-20260801"]
input = 4
output = 20.5

[prices."our-model"]
input = 0.1
output = 0.5
cache_write_5m = 0.2
cache_write_1h = 0.3
cache_read = 0.025
"""


def run(*arguments: str, settings: Path | None = None) -> CompletedProcess[str]:
    environment = {**os.environ, **({"BACKSCROLL_SETTINGS": str(settings)} if settings else {})}
    return run_command("prices", *arguments, environment=environment)


def answer(*arguments: str, settings: Path | None = None) -> Any:  # noqa: ANN401 - whatever JSON says
    done = run(*arguments, "--json", settings=settings)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_todays_prices_of_models_in_use_are_listed_and_the_others_with_all() -> None:
    now = answer()["prices"]
    everything = answer("--all")["prices"]
    assert {price["model"] for price in now} > {"claude-opus-4-5", "claude-mythos-5", "claude-haiku-5-5"}
    assert not any(price["retired"] or not price["current"] for price in now)
    assert [price for price in everything if price["current"] and not price["retired"]] == now
    assert {"claude-3-5-haiku", "claude-opus-4"} <= {price["model"] for price in everything if price["retired"]}


def test_a_model_in_any_spelling_shows_all_it_ever_had() -> None:
    found = answer("us.anthropic.claude-opus-4-6-v1")
    assert [(price["from"], price["long_from"], price["fast"], price["current"]) for price in found["prices"]] == [
        (None, 200_000, False, False),
        ("2026-03-13", None, False, True),
        (None, None, True, True),
    ]
    first, second, fast = found["prices"]
    assert (first["input"], first["cache_write_5m"], first["long"]["output"]) == (5, 6.25, 37.5)
    assert (second["long"], second["cache_read"]) == (None, 0.5)
    assert (fast["input"], fast["source"]) == (30, "backscroll")
    assert second["source"] == f"{found['snapshot']['package']} {found['snapshot']['version']}"


def test_people_get_a_table() -> None:
    lines = run("claude-haiku-5-5").stdout.splitlines()
    assert lines[0].split() == "MODEL INPUT OUTPUT WRITE 5M WRITE 1H READ WHEN FROM SOURCE".split()
    assert lines[1].split()[:6] == "claude-haiku-5-5 0.1 0.5 0.125 0.2 0.01".split()
    assert lines[2].split()[:8] == "claude-haiku-5-5 0.5 2.5 0.625 1.0 0.05 over 100k".split()
    assert "fast mode" in run().stdout
    assert run("--quiet").stderr == ""


@pytest.mark.parametrize("model", ["<synthetic>", "claude-opus-9", "gpt"])
def test_a_model_without_a_price_is_said_to_have_none(model: str) -> None:
    done = run(model)
    assert done.returncode == 3
    assert f"no price is known for {model}" in done.stderr
    assert f'[prices."{model}"]' in done.stderr


def test_prices_can_be_set(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(OWN)
    (opus, fast) = answer("claude-opus-5", settings=file)["prices"]
    assert (opus["input"], opus["output"], opus["cache_write_5m"], opus["source"]) == (4, 20.5, 5, "settings")
    assert (fast["fast"], fast["source"]) == (True, "backscroll")
    own = next(price for price in answer(settings=file)["prices"] if price["model"] == "our-model")
    assert (own["cache_write_1h"], own["cache_read"], own["current"]) == (0.3, 0.025, True)


@pytest.mark.parametrize(
    "written",
    [
        "prices = 5",
        "prices.x = 5",
        "[prices.x]\ninput = 1",
        "[prices.x]\ninput = 1\noutput = 1\ncolour = 1",
        "[prices.x]\ninput = 1\noutput = '1'",
        "[prices.x]\ninput = true\noutput = 1",
        "[prices.x]\ninput = nan\noutput = 1",
        "[prices.x]\ninput = inf\noutput = 1",
        "[prices.x]\ninput = -1\noutput = 1",
        "[prices.x]\ninput = 0.0001\noutput = 1",
    ],
)
def test_a_price_that_makes_no_sense_is_named(tmp_path: Path, written: str) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(written)
    done = run(settings=file)
    assert done.returncode == 2
    assert str(file) in done.stderr
