"""The context window: known by the model or by what was seen, else not known at all."""

import pytest

from backscroll.conversation.context_window import LARGE, STANDARD, context_window


@pytest.mark.parametrize(
    "model",
    [
        "claude-opus-4-5-20251101", "claude-opus-4-1-20250805", "claude-opus-4-20250514", "claude-3-5-sonnet-20241022",
        "claude-3-7-sonnet-20250219", "claude-haiku-4-5-20251001", "us.anthropic.claude-opus-4-5-20251101-v1:0",
        "anthropic/claude-opus-4.5", "claude-3-opus-20240229",
    ],
)  # fmt: skip
def test_models_that_only_ever_had_the_standard_window(model: str) -> None:
    assert context_window(model, 50_000) == STANDARD


@pytest.mark.parametrize(
    "model", ["claude-sonnet-4-5-20250929", "claude-opus-4-6", "claude-sonnet-4-20250514", "o3", None]
)
def test_of_other_models_only_what_was_seen_tells(model: str | None) -> None:
    assert context_window(model, 50_000) is None
    assert context_window(model, 200_001) == LARGE
    assert context_window(model, 167_000, 167_000) == STANDARD
    assert context_window(model, 50_000, 50_000) is None  # compacted by hand
    assert context_window(model, 1_000_001) is None
