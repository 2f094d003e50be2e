"""Treemaps: nothing is lost, areas are in proportion, and no tile lies on another."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.render.html.treemap import GROUPS, OTHERS, Box, Tile, grouped, squares, treemap

PARTS = st.lists(st.sampled_from(("src", "a", "b", "docs", "t", "x y")), min_size=1, max_size=5)
TILES = st.dictionaries(PARTS.map(lambda parts: "/" + "/".join(parts)), st.integers(1, 1000), max_size=60).map(
    lambda found: [Tile(path, value, f"{value} edits", f"/files?path={number}") for number, (path, value) in
                   enumerate(found.items())]
)  # fmt: skip


@given(st.lists(st.floats(0.01, 1e6), min_size=1, max_size=60))
def test_boxes_fill_their_place_in_proportion(values: list[float]) -> None:
    values = sorted(values, reverse=True)
    whole = Box(10, 20, 300, 200)
    found = squares(values, whole)
    assert len(found) == len(values)
    for box, value in zip(found, values, strict=True):
        expected = value / sum(values) * whole.width * whole.height
        assert math.isclose(box.width * box.height, expected, rel_tol=1e-6, abs_tol=1e-6)
        assert whole.x - 1e-6 <= box.x <= box.x + box.width <= whole.x + whole.width + 1e-6
        assert whole.y - 1e-6 <= box.y <= box.y + box.height <= whole.y + whole.height + 1e-6


@given(TILES)
def test_every_folder_is_in_exactly_one_group(tiles: list[Tile]) -> None:
    groups = grouped(tiles)
    assert sorted(tile.path for group in groups for tile in group.tiles) == sorted(tile.path for tile in tiles)
    assert len(groups) <= GROUPS + 1
    for group in groups:
        if group.name != OTHERS:
            assert all(f"{tile.path}/".startswith(f"{group.path}/") for tile in group.tiles)


@given(TILES)
def test_every_folder_that_is_drawn_leads_somewhere(tiles: list[Tile]) -> None:
    page = treemap(tiles, label="Folders")
    small = sum(int(number) for number in re.findall(r"<title>(\d+) smaller folders", page))
    assert page.count("<a ") + small == len(tiles)
    assert page.count('tabindex="-1"') == page.count("<a ")


def test_a_part_with_nearly_everything_is_divided() -> None:
    paths = {"/home/ada/shop/src": 50, "/home/ada/shop/tests": 30, "/home/ada/blog": 5, "/tmp": 2}
    groups = grouped([Tile(path, value, "") for path, value in paths.items()])
    assert [group.name for group in groups] == ["src", "tests", "blog", "tmp"]


@pytest.mark.parametrize("tiles", [[], [Tile("/x", 0, "")]])
def test_nothing_is_said_to_be_nothing(tiles: list[Tile]) -> None:
    assert "No data." in treemap(tiles, label="Folders")


def test_windows_paths_are_a_tree_too() -> None:
    groups = grouped([Tile(f"C:\\work\\{name}\\src", 1, "") for name in ("shop", "blog")])
    assert sorted(group.path for group in groups) == ["C:/work/blog/src", "C:/work/shop/src"]
