"""Variables in prompts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.errors import UsageError
from backscroll.library.prompts.template import fill, variables_of, with_variables


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("no variable", ()),
        ("{{b}} then {{a}} then {{b}}", ("b", "a")),
        ("{{ spaced }} and {{größe}} and {{目录}} and {{two-words}}", ("spaced", "größe", "目录", "two-words")),
        ("${{ secrets.TOKEN }} ${{matrix}} {{a.b}} {{1st}} {{}} {{ }} {a}", ()),
        (r"\{{literal}} {{real}}", ("real",)),
        ("{{{mustache}}}", ("mustache",)),
        ("{{line\nbreak}}", ()),
        (f"{{{{{'x' * 51}}}}}", ()),
    ],
)
def test_variables_are_found_in_their_order(text: str, names: tuple[str, ...]) -> None:
    assert variables_of(text) == names


def test_values_are_inserted_as_they_are() -> None:
    assert fill(r"{{a}}-{{ b }}-\{{c}}", {"a": "{{b}}", "b": r"\1 $1 \{{x"}) == r"{{b}}-\1 $1 \{{x-{{c}}"
    assert fill("{{a}}", {"a": ""}) == ""


def test_a_missing_and_an_unknown_variable_are_named() -> None:
    with pytest.raises(UsageError, match="no value for b, c") as missing:
        fill("{{a}} {{b}} {{c}}", {"a": "1"})
    assert missing.value.hint == "give b=VALUE c=VALUE"
    with pytest.raises(UsageError, match="no variable typo") as unknown:
        fill("{{a}}", {"a": "1", "typo": "2"})
    assert unknown.value.hint == "its variables are: a"
    with pytest.raises(UsageError, match="no variable a"):
        fill("nothing", {"a": "1"})


def test_words_become_variables() -> None:
    text = "merge main into main-2, then delete main"
    assert with_variables(text, {"to": "main-2", "from": "main"}) == "merge {{from}} into {{to}}, then delete {{from}}"
    assert with_variables("ab", {"a": "b", "b": "a"}) == "{{b}}{{a}}"
    with pytest.raises(UsageError, match="is not in the prompt"):
        with_variables(text, {"x": "absent"})
    with pytest.raises(UsageError, match="cannot be the name of a variable"):
        with_variables(text, {"a b": "main"})


@given(st.lists(st.tuples(st.text(alphabet="ab \n\u00df"), st.sampled_from(["a", "b-2", "\u00df"]), st.text())))
def test_every_place_gets_its_value_and_nothing_else_changes(parts: list[tuple[str, str, str]]) -> None:
    values = {name: value for _, name, value in parts}
    text = "".join(f"{before}{{{{{name}}}}}" for before, name, _ in parts)
    assert fill(text, values) == "".join(before + values[name] for before, name, _ in parts)
