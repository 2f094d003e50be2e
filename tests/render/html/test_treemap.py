"""Treemaps: nothing is lost, areas are in proportion, and no tile lies on another."""

import math
import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.render.html.treemap import GROUPS, OTHERS, Box, FolderValue, grouped, squares, tiles_of, treemap

PARTS = st.lists(st.sampled_from(("src", "a", "b", "docs", "t", "x y")), min_size=1, max_size=5)
FOLDERS = st.dictionaries(PARTS.map(lambda parts: "/" + "/".join(parts)), st.integers(0, 1000), max_size=60).map(
    lambda found: [FolderValue(path, value, f"{value} edits") for path, value in found.items()]
)


def drawing(folders: Sequence[FolderValue]) -> str:
    return treemap(folders, label="Folders", unit="edits", link=lambda path: f"/files?path={path}")


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


@given(FOLDERS, st.integers(1, 20))
def test_nothing_is_lost_in_groups_and_tiles(folders: list[FolderValue], most: int) -> None:
    some = [folder for folder in folders if folder.value]
    groups = grouped(folders)
    assert len(groups) <= GROUPS + 1
    assert sum(group.value for group in groups) == sum(folder.value for folder in some)
    assert sum(tree.folders for group in groups for tree in group.trees) == len(some)
    for group in groups:
        tiles = tiles_of(group, most)
        assert len(tiles) <= most
        assert sum(tile.value for tile in tiles) == group.value
        assert sum(tile.folders for tile in tiles) == sum(tree.folders for tree in group.trees)
        assert [tile.value for tile in tiles] == sorted((tile.value for tile in tiles), reverse=True)


@given(FOLDERS)
def test_tiles_are_drawn_for_people_with_a_pointer_only(folders: list[FolderValue]) -> None:
    page = drawing(folders)
    assert page.count('tabindex="-1"') == page.count("<a ")
    assert page.count('class="tile') - page.count("other folders\n") == page.count("<a ")


def test_a_part_with_nearly_everything_is_divided() -> None:
    paths = {"/home/ada/shop/src": 50, "/home/ada/shop/tests": 30, "/home/ada/blog": 5, "/tmp": 2}
    groups = grouped([FolderValue(path, value, "") for path, value in paths.items()])
    assert [group.name for group in groups] == ["src", "tests", "blog", "tmp"]


def test_many_small_parts_have_one_colour_that_is_no_name() -> None:
    groups = grouped([FolderValue(f"/home/ada/p{number}", 100 - number, "") for number in range(20)])
    assert [group.name for group in groups] == [*(f"ada/p{number}" for number in range(GROUPS)), OTHERS]


def test_folders_that_are_too_many_are_drawn_as_the_folder_above_them() -> None:
    page = drawing([FolderValue(f"/a/p{number % 4}/q{number}", 1, "1 edit") for number in range(2000)])
    titles = re.findall(r"<title>(/a/p\d)\n([^<]*)</title>", page)
    assert sorted(titles) == [(f"/a/p{number}", "500 edits in 500 folders") for number in range(4)]


@pytest.mark.parametrize("folders", [[], [FolderValue("/x", 0, "")]])
def test_nothing_is_said_to_be_nothing(folders: list[FolderValue]) -> None:
    assert "No data." in drawing(folders)


def test_windows_paths_are_a_tree_too() -> None:
    groups = grouped([FolderValue(f"C:\\work\\{name}\\src", 1, "") for name in ("shop", "blog")])
    assert sorted(group.path for group in groups) == ["C:/work/blog/src", "C:/work/shop/src"]
