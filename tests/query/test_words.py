"""Terms of a text beyond its words, compared with a plain implementation of the same rules."""

from hypothesis import given
from hypothesis import strategies as st

from backscroll.query.signs import command_word
from backscroll.query.words import BLOB, CUT_TEXT, NAME, Preparation, camel_parts, normal, pairs_of, split_scripts

PIECES = ("camelCase", "HTTPServer", "getUser2Name", "x1A", "snake_case", "Ünïcode", "éA", "日本語", "한국", "ไทย", "—",
          "…", "🙂", "aB", "A", "b", "9", " ", "\n", "_", ".", "/", "\ud800", "ﬁle", "ＦｕｌｌＷｉｄｔｈ")  # fmt: skip


@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=5)), max_size=12).map("".join))
def test_the_parts_of_every_camel_case_name_are_found(text: str) -> None:
    prepared, found = Preparation().prepare(text)
    expected = {part for name in NAME.findall(BLOB.sub(" ", normal(text))) for part in camel_parts(name)}
    assert prepared == normal(text)
    assert expected <= set(found.split())


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_every_pair_of_a_script_without_spaces_is_found(text: str) -> None:
    found = set(Preparation().prepare(text)[1].split())
    runs = [run for run, is_unspaced in split_scripts(normal(text)) if is_unspaced]
    assert {pair for run in runs for pair in pairs_of(run)} <= found


@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=6).map("".join), max_size=6))
def test_what_was_prepared_before_changes_nothing(texts: list[str]) -> None:
    together = Preparation()
    assert [together.prepare(text) for text in texts] == [Preparation().prepare(text) for text in texts]


def test_plain_words_have_no_parts() -> None:
    assert Preparation().prepare("plain words, snake_case and UPPER 12 — é")[1] == ""


def test_a_slash_command_is_not_about_the_tags_around_it() -> None:
    typed = (
        "<command-name>/exit</command-name>\n<command-message>exit</command-message>\n<command-args>now</command-args>"
    )
    assert Preparation().prepare(typed)[0].split() == ["/exit", "exit", "now"]
    assert Preparation().prepare(typed)[1].split() == [command_word("exit"), CUT_TEXT]
    said = "the client writes <command-name>/exit</command-name>"
    assert Preparation().prepare(said)[0] == said


def test_a_text_of_which_a_part_has_no_words_says_so() -> None:
    assert Preparation().prepare("a " + "QUJD+x/9" * 60 + " b") == ("a   b", CUT_TEXT)
    assert Preparation().prepare("a " + "QUJD+x/9" * 40 + " b")[1] != CUT_TEXT


def test_letters_with_and_without_an_accent_are_the_same() -> None:
    assert normal("Ёлка, ёлка, βάση, край") == "Елка, елка, βαση, край"
