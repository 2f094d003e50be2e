"""Short names of models."""

import pytest

from backscroll.conversation.model_names import short_model, short_models


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("claude-opus-4-5-20251101", "opus-4-5"),
        ("claude-opus-4-6", "opus-4-6"),
        ("claude-3-5-haiku-20241022", "3-5-haiku"),
        ("glm-4.6", "glm-4.6"),
        ("20251101", "20251101"),
        ("<synthetic>", "<synthetic>"),
        (None, "no model"),
    ],
)
def test_the_maker_and_the_date_are_left_out(model: str | None, expected: str) -> None:
    assert short_model(model) == expected


def test_two_models_are_never_called_the_same() -> None:
    models = ["claude-opus-4-20250514", "claude-opus-4-20250601", "claude-haiku-4-5-20251001"]
    assert list(short_models(models).values()) == ["opus-4-20250514", "opus-4-20250601", "haiku-4-5"]
