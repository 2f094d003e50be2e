"""Keys: a link opens once, a cookie is not a token, and nothing is good that was not made here."""

import os
import secrets
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.errors import BackscrollError, UsageError
from backscroll.httpd.keys import AccessKeys, chosen_token

CHOSEN = "correct-horse-battery"


def test_a_code_is_good_once() -> None:
    keys = AccessKeys()
    code = keys.new_code()
    assert keys.take(code)
    assert not keys.take(code)
    assert keys.take(keys.new_code())


@pytest.mark.parametrize("token", [None, CHOSEN])
def test_a_token_stands_in_no_link(token: str | None) -> None:
    keys = AccessKeys(token)
    assert keys.token not in keys.new_code()
    assert not keys.take(keys.token)
    assert keys.is_token(keys.token)


def test_code_cookie_token_secret_and_proof_cannot_stand_for_one_another() -> None:
    keys = AccessKeys(CHOSEN)
    made = {keys.cookie, keys.secret, keys.proof(""), keys.proof("x"), keys.new_code(), keys.fingerprint("")}
    assert len({*made, keys.token}) == 7
    for value in made - {keys.cookie}:
        assert not keys.is_cookie(value)
    assert not any(keys.is_token(value) for value in made)
    assert not any(keys.take(value) for value in {keys.cookie, keys.secret, keys.proof("")})


def test_who_knows_the_secret_makes_codes_and_who_does_not_makes_none() -> None:
    keys = AccessKeys()
    assert keys.take(AccessKeys(secret=keys.secret).new_code())
    assert not keys.take(AccessKeys().new_code())


@given(st.text())
def test_nothing_else_is_good(text: str) -> None:
    keys = AccessKeys()
    assert not keys.take(text)
    assert not keys.is_cookie(text)
    assert not keys.is_token(text)
    code = keys.new_code()
    assert not keys.take(code + text) or not text
    assert not keys.take(code[:-1] + text) or text == code[-1]


def test_a_code_with_a_character_changed_is_not_good() -> None:
    keys = AccessKeys()
    code = keys.new_code()
    for at, character in enumerate(code):
        assert not keys.take(code[:at] + ("x" if character != "x" else "y") + code[at + 1 :])
    assert keys.take(code)


@pytest.mark.parametrize(
    "token", ["", "short", "x" * 15, "x" * 257, "with a space in it", "ümläute-sind-schön", "a\nb" * 9]
)
def test_a_token_must_be_hard_to_guess_and_fit_into_a_header(token: str) -> None:
    with pytest.raises(UsageError):
        AccessKeys(token)


def test_every_server_has_a_secret_of_its_own() -> None:
    assert len({AccessKeys().secret for _ in range(50)} | {AccessKeys().token for _ in range(50)}) == 100
    assert len(secrets.token_urlsafe(16)) == 22


def test_a_token_comes_from_a_file_that_only_its_owner_can_read(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{CHOSEN}\nand a remark\n")
    for mode in (0o644, 0o640, 0o604, 0o660):
        file.chmod(mode)
        with pytest.raises(UsageError, match="other users can read"):
            chosen_token(file, {})
    file.chmod(0o600)
    assert chosen_token(file, {}) == CHOSEN
    assert chosen_token(file, {"BACKSCROLL_TOKEN": "another-good-token"}) == CHOSEN
    file.write_text("short")
    with pytest.raises(UsageError, match="16 to 256"):
        chosen_token(file, {})


def test_what_is_no_file_of_ours_is_no_token(tmp_path: Path) -> None:
    with pytest.raises(BackscrollError, match="cannot read"):
        chosen_token(tmp_path / "none", {})
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe, 0o600)
    with pytest.raises(UsageError, match="not a regular file"):
        chosen_token(pipe, {})


def test_a_token_comes_from_the_environment() -> None:
    assert chosen_token(None, {}) is None
    assert chosen_token(None, {"BACKSCROLL_TOKEN": ""}) is None
    assert chosen_token(None, {"BACKSCROLL_TOKEN": CHOSEN}) == CHOSEN
    with pytest.raises(UsageError):
        chosen_token(None, {"BACKSCROLL_TOKEN": "short"})
