"""The key that identifies a file."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.files.source_key import SourceKey

texts = st.text(st.characters(), max_size=12) | st.sampled_from(["|", "%", "%7C", "%25", "a|b%", "/h//x", ""])
keys = st.builds(SourceKey, texts, texts, texts, st.none() | st.integers(1, 999_999_999))


@given(keys)
def test_an_id_is_taken_apart_into_what_it_was_made_of(key: SourceKey) -> None:
    assert SourceKey.parse(key.id) == key


@given(keys, keys)
def test_two_files_never_have_the_same_id(one: SourceKey, other: SourceKey) -> None:
    assert (one.id == other.id) == (one == other)


@given(texts)
def test_any_text_can_be_asked_for(text: str) -> None:
    assert SourceKey.parse(text).id is not None


@pytest.mark.parametrize(("version", "name"), [(None, "/h/p/x.jsonl"), (2, "/h/p/x.jsonl@v2")])
def test_people_read_a_path(version: int | None, name: str) -> None:
    key = SourceKey("laptop", "/h", "p/x.jsonl", version)
    assert (key.origin, key.name) == ("/h/p/x.jsonl", name)
    assert key.current == SourceKey("laptop", "/h", "p/x.jsonl")
