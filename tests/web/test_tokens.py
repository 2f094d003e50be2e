"""Keys: a link opens once, a cookie is not a token, and nothing is good that was not made here."""

import secrets

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.errors import UsageError
from backscroll.web.tokens import Keys

CHOSEN = "correct-horse-battery"


def test_a_code_is_good_once() -> None:
    keys = Keys()
    code = keys.new_code()
    assert keys.take(code)
    assert not keys.take(code)
    assert keys.take(keys.new_code())


def test_a_token_that_was_chosen_opens_one_link_and_stays_good_for_programs() -> None:
    keys = Keys(CHOSEN)
    assert keys.first_code() == CHOSEN
    assert keys.take(CHOSEN)
    assert not keys.take(CHOSEN)
    assert keys.is_token(CHOSEN)


def test_a_token_that_was_made_stands_in_no_link() -> None:
    keys = Keys()
    assert keys.first_code() != keys.token
    assert not keys.take(keys.token)
    assert keys.is_token(keys.token)


def test_code_cookie_token_secret_and_proof_cannot_stand_for_one_another() -> None:
    keys = Keys(CHOSEN)
    made = {keys.cookie, keys.secret, keys.proof(""), keys.proof("x"), keys.new_code()}
    assert len({*made, keys.token}) == 6
    for value in made - {keys.cookie}:
        assert not keys.is_cookie(value)
    assert not any(keys.is_token(value) for value in made)
    assert not any(keys.take(value) for value in {keys.cookie, keys.secret, keys.proof("")})


def test_who_knows_the_secret_makes_codes_and_who_does_not_makes_none() -> None:
    keys = Keys()
    assert keys.take(Keys(secret=keys.secret).new_code())
    assert not keys.take(Keys().new_code())


@given(st.text())
def test_nothing_else_is_good(text: str) -> None:
    keys = Keys()
    assert not keys.take(text)
    assert not keys.is_cookie(text)
    assert not keys.is_token(text)
    code = keys.new_code()
    assert not keys.take(code + text) or not text
    assert not keys.take(code[:-1] + text) or text == code[-1]


def test_a_code_with_a_character_changed_is_not_good() -> None:
    keys = Keys()
    code = keys.new_code()
    for at, character in enumerate(code):
        assert not keys.take(code[:at] + ("x" if character != "x" else "y") + code[at + 1 :])
    assert keys.take(code)


@pytest.mark.parametrize(
    "token", ["", "short", "x" * 15, "x" * 257, "with a space in it", "ümläute-sind-schön", "a\nb" * 9]
)
def test_a_token_must_be_hard_to_guess_and_fit_into_a_header(token: str) -> None:
    with pytest.raises(UsageError):
        Keys(token)


def test_every_server_has_a_secret_of_its_own() -> None:
    assert len({Keys().secret for _ in range(50)} | {Keys().token for _ in range(50)}) == 100
    assert len(secrets.token_urlsafe(16)) == 22
