import json
from pathlib import Path

import pytest

from backscroll.files.names import project_folder
from tests.support.homes import LONG_CWD, LONG_FOLDER


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        ("/home/ada/shop", "-home-ada-shop"),
        ("/home/ada/my_shop.v2", "-home-ada-my-shop-v2"),
        ("/home/ada/b-c", "-home-ada-b-c"),
        ("/home/ada/b/c", "-home-ada-b-c"),
        (r"C:\Users\ada\shop", "C--Users-ada-shop"),
        ("/home/ada/Größe 🦊", "-home-ada-Gr--e---"),
        ("/Ⅷ٣²", "----"),
        ("/\ud800", "--"),
        ("", ""),
    ],
)
def test_all_but_ascii_letters_and_digits_become_dashes(path: str, folder: str) -> None:
    assert project_folder(path) == folder


def test_a_character_beyond_16_bits_is_two_dashes() -> None:
    assert project_folder("/🦊") == "---"


def test_a_letter_and_its_accent_are_one_dash() -> None:
    assert project_folder("/e\u0301") == project_folder("/é") == "--"


def test_a_long_path_is_cut_and_distinguished_by_a_hash() -> None:
    assert project_folder(LONG_CWD) == LONG_FOLDER


def test_exactly_200_characters_are_kept_whole() -> None:
    assert project_folder("/" + "a" * 199) == "-" + "a" * 199
    assert project_folder("/" + "a" * 200).startswith("-" + "a" * 199 + "-")


def test_the_length_counts_16_bit_units() -> None:
    assert project_folder("🦊" * 100) == "-" * 200
    assert len(project_folder("🦊" * 101)) > 201


def test_real_folders_are_named_after_the_first_working_directory_inside(corpus: Path) -> None:
    told = {
        (folder.name, cwd)
        for folder in (corpus / "home" / "projects").iterdir()
        for session in folder.glob("*.jsonl")
        if (cwd := first_cwd(session))
    }
    assert len({folder for folder, _ in told}) > 20
    assert [(folder, cwd) for folder, cwd in sorted(told) if project_folder(cwd) != folder] == []


def first_cwd(session: Path) -> str | None:
    for line in session.read_bytes().split(b"\n"):
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict) and isinstance(row.get("cwd"), str):
            return str(row["cwd"])
    return None


@pytest.mark.parametrize(
    ("cwd", "folder"),
    [
        ("/home/mara/src/tide-table", "-home-mara-src-tide-table"),
        ("/home/mara/src/tide/table", "-home-mara-src-tide-table"),
        ("/a/.b_c d/größe", "-a--b-c-d-gr--e"),
        ("/a/🚀", "-a---"),
        ("/" + "x" * 199, "-" + "x" * 199),
        # Computed with the client's own arithmetic, in JavaScript: (h << 5) - h + unit | 0, then toString(36).
        ("/" + "x" * 200, "-" + "x" * 199 + "-d0i18x"),
    ],
)
def test_a_folder_is_named_by_the_rule_of_the_client(cwd: str, folder: str) -> None:
    assert project_folder(cwd) == folder
