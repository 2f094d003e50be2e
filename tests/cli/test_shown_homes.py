"""Which homes are shown: the table of docs/why/scope.md, row by row."""

import shutil
from pathlib import Path
from typing import Final

import pytest

from tests.support.computer import Computer
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_path, write_home

PAGE: Final = Path(__file__).parents[2] / "docs" / "why" / "scope.md"
CHAT: Final = "{name}1 <- - user: about {name}\n{name}2 <- {name}1 assistant({name}3): so be it"


def table() -> list[list[str]]:
    """The cells of each row, without the head."""
    rows = [line.strip("|").split("|") for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row] for row in rows][1:]


def home_with(folder: Path, name: str) -> Path:
    return write_home(folder, {session_path(name): jsonl(draw(CHAT.format(name=name), session=name))})


@pytest.fixture
def ada(tmp_path: Path) -> Computer:
    """A computer whose library has a usual home, two others, of which one is gone, and a home of another computer."""
    far = Computer(tmp_path, "far")
    home_with(far.home, "far")
    far.run("update")
    far.run("archive", "backup", tmp_path / "usb")
    far.put_away()
    ada = Computer(tmp_path, "near")
    ada.run("archive", "restore-backup", tmp_path / "usb")
    for name in ("usual", "work", "gone"):
        home_with(ada.home if name == "usual" else ada.user_folder / name, name)
        ada.run("update", *(() if name == "usual" else ("--home", ada.user_folder / name)))
    shutil.rmtree(ada.user_folder / "gone")
    return ada


def look(ada: Computer, case: str) -> tuple[str, tuple[object, ...]]:
    """The chat of the home in use in this case, and how to ask; the homes are brought into that state."""
    work = ada.user_folder / "work"
    if "no such folder" in case:
        shutil.rmtree(ada.home)
    if case == "named, gone, and in the library":
        return "gone", ("--home", ada.user_folder / "gone")
    if case.startswith("named, neither"):
        return "nowhere", ("--home", "/nowhere/.claude")
    if case == "named by `CLAUDE_CONFIG_DIR`":
        ada.variables["CLAUDE_CONFIG_DIR"] = str(work)
        return "work", ()
    if case == "named by `--home`":
        return "work", ("--home", work)
    if case == "named by `homes` in the settings":
        settings = ada.user_folder / ".config" / "backscroll" / "settings.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text(f'homes = ["{work}"]\n')
        return "work", ()
    assert case.startswith("`~/.claude`"), case
    return "usual", ()


def test_the_table_has_every_kind_of_home() -> None:
    assert len(table()) == 7
    assert {len(row) for row in table()} == {5}


@pytest.mark.parametrize("row", table(), ids=lambda row: str(row[0]).replace("`", ""))
def test_a_home_is_shown_as_the_table_says(ada: Computer, row: list[str]) -> None:
    case, *cells = row
    own, options = look(ada, case)
    if set(cells) == {"an error"}:
        assert f"no Claude Code home at {options[1]}" in ada.run("list", *options, code=3).stderr
        return
    another = "work" if own != "work" else "usual"
    names = dict(zip([own, another, "gone", "far"], cells, strict=True))
    names["gone"] = cells[2]
    shown = {session_uuid(name) for name, said in names.items() if said == "shown"}
    assert set(cells) <= {"shown", "hidden"}
    assert ada.listed(*options) == shown
    found = ada.json("search", "about", *options)["chats"]
    assert {chat["id"] for chat in found} == shown
    assert {session_uuid(name) for name, said in names.items() if said == "hidden"}.isdisjoint(shown)
