"""A treemap of folders: a tile's area is the value of its folder, its colour marks the part of the tree.

Folders are divided into their subfolders, the largest first, as long as there is room for more tiles. The layout is
squarified: tiles are put in rows along the shorter side, as long as that makes them squarer.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from backscroll.render.html.axes import percent, pixels
from backscroll.render.html.element import NOTHING, Html, el
from backscroll.render.html.figures import BEFORE, figure, series_class
from backscroll.render.projects import names_of
from backscroll.render.terminal import clean_line, plural

HEIGHT: Final = 420
WIDTH: Final = 1000
"""Width that the layout is made for; it is drawn as wide as the page."""
GROUPS: Final = 7
TILES: Final = 80
LEAST_TILES: Final = 3
"""Number of tiles in all, and the least number in a part of the tree."""
LARGE: Final = 0.5
"""Share of the whole from which on a part of the tree is divided further."""
OTHERS: Final = "Elsewhere"
NAME_SIZE, TOLD_SIZE = (44, 20), (120, 38)
"""Least width and height of a tile with a name, and of a tile with its value, too."""
ON_A_PHONE: Final = 2.6
"""Factor by which a tile must be wider for that on a phone."""


class FolderValue(NamedTuple):
    """A folder, and the value of its own files."""

    path: str
    value: int
    told: str
    """The value in words."""


@dataclass
class FolderTree:
    """A folder with everything below it, or without that."""

    path: str
    own: FolderValue | None = None
    children: dict[str, "FolderTree"] = field(default_factory=dict)
    value: int = 0
    folders: int = 0
    """Number of folders that have files of their own."""

    def divided(self) -> list["FolderTree"]:
        """Return its folders, and itself for its own files."""
        own = [FolderTree(self.path, self.own, {}, self.own.value, 1)] if self.own else []
        return own + [_deepest(child) for child in self.children.values()]


class FolderGroup(NamedTuple):
    """Folders that have one colour. The path is empty for folders that are elsewhere."""

    name: str
    path: str
    trees: list[FolderTree]

    @property
    def value(self) -> int:
        """Sum of all folders in the group."""
        return sum(tree.value for tree in self.trees)


class Box(NamedTuple):
    """A place in the drawing."""

    x: float
    y: float
    width: float
    height: float


def treemap(folders: Sequence[FolderValue], *, label: str, unit: str, link: Callable[[str], str | None],
            note: str = "") -> Html:  # fmt: skip
    """Return the folders as tiles; `unit` is the unit of the values, `link` returns the address of a path.

    A table with the same values must stand beside it: the drawing is hidden from screen readers.
    """
    groups = grouped(folders)
    if not groups:
        return figure("treemap", label, el("p", "No data.", class_="muted"), NOTHING, note=note)
    whole = sum(group.value for group in groups)
    drawn: list[Html] = []
    boxes = squares([group.value for group in groups], Box(0, 0, WIDTH, HEIGHT))
    for number, (group, box) in enumerate(zip(groups, boxes, strict=True)):
        tiles = tiles_of(group, max(LEAST_TILES, TILES * group.value // whole))
        inner = Box(box.x, box.y + 1, max(0.1, box.width - 2), max(0.1, box.height - 2))
        places = squares([tile.value for tile in tiles], inner)
        names = names_of([tile.path for tile in tiles])
        drawn += [
            _tile(tile, names[tile.path], place, number, is_other=not group.path, unit=unit, link=link)
            for tile, place in zip(tiles, places, strict=True)
        ]
    drawing = el("svg", drawn, class_="treemap", height=HEIGHT, aria_hidden="true", focusable="false")
    return figure(
        "treemap", label, drawing, NOTHING, note=note, legend=[group.name for group in groups],
        colours=[number if group.path else BEFORE for number, group in enumerate(groups)],
    )  # fmt: skip


def grouped(folders: Sequence[FolderValue]) -> list[FolderGroup]:
    """Return the parts of the tree that the folders are in, the largest first: a few, none of them nearly all."""
    root = FolderTree("")
    for folder in folders:
        if folder.value > 0:
            for tree in _path_to(root, folder):
                tree.value += folder.value
                tree.folders += 1
    if not root.folders:
        return []
    parts = [_deepest(root)]
    for _ in range(GROUPS):
        if not parts[0].children or (len(parts) > 1 and parts[0].value <= LARGE * root.value):
            break
        parts = _largest_first([*parts[0].divided(), *parts[1:]])
    # One more is shown, too, rather than as the only one of the others.
    kept = parts if len(parts) <= GROUPS + 1 else parts[:GROUPS]
    names = names_of([tree.path for tree in kept])
    groups = [FolderGroup(names[tree.path], tree.path, [tree]) for tree in kept]
    return [*groups, FolderGroup(OTHERS, "", parts[len(kept) :])] if len(kept) < len(parts) else groups


def tiles_of(group: FolderGroup, most: int) -> list[FolderTree]:
    """Return the trees to draw, the largest first: divided while there is room; those that are too many become one."""
    tiles = _largest_first(group.trees)
    while (at := _divisible(tiles, most)) is not None:
        tiles = _largest_first([*tiles[:at], *tiles[at].divided(), *tiles[at + 1 :]])
    if len(tiles) == 1 and tiles[0].children:
        parts = _largest_first(tiles[0].divided())
        if sum(tile.value for tile in parts[most - 1 :]) <= LARGE * group.value:
            tiles = parts
    if len(tiles) <= most:
        return tiles
    rest = tiles[most - 1 :]
    number = sum(tile.folders for tile in rest)
    others = FolderTree(f"{number:,} other folders", None, {}, sum(tile.value for tile in rest), number)
    return _largest_first([*tiles[: most - 1], others])


def squares(values: Sequence[float], box: Box) -> list[Box]:
    """Return a place for each value, the largest first; they fill the box."""
    x, y, width, height = box
    areas = [value * width * height / sum(values) for value in values]
    placed: list[Box] = []
    while len(placed) < len(areas):
        left, side = areas[len(placed) :], max(1e-6, min(width, height))
        count = 1
        while count < len(left) and _worst(left[: count + 1], side) <= _worst(left[:count], side):
            count += 1
        # Shares of the rest, so that the rounding of many rows cannot add up to a tile outside of the box.
        row = sum(left[:count])
        depth, at = row / sum(left) * max(width, height), 0.0
        for area in left[:count]:
            length = area / row * min(width, height)
            placed.append(Box(x, y + at, depth, length) if width >= height else Box(x + at, y, length, depth))
            at += length
        if width >= height:
            x, width = x + depth, width - depth
        else:
            y, height = y + depth, height - depth
    return placed


def _worst(areas: Sequence[float], side: float) -> float:
    """Return how far from a square the worst tile of a row is."""
    whole = sum(areas)
    return max(side**2 * max(areas) / whole**2, whole**2 / (side**2 * min(areas)))


def _divisible(tiles: Sequence[FolderTree], most: int) -> int | None:
    """Return the place of the largest tile whose folders there is room for."""
    room = most - len(tiles) + 1
    return next((at for at, tile in enumerate(tiles) if tile.children and len(tile.divided()) <= room), None)


def _path_to(root: FolderTree, folder: FolderValue) -> Iterator[FolderTree]:
    """Yield the trees above a folder and its own, which are made if they are missing."""
    yield root
    tree, path = root, ""
    for part in clean_line(folder.path).replace("\\", "/").rstrip("/").split("/"):
        path = f"{path}{part}/"
        tree = tree.children.setdefault(part, FolderTree(path.rstrip("/") or "/"))
        yield tree
    tree.own = folder


def _largest_first(trees: Sequence[FolderTree]) -> list[FolderTree]:
    return sorted(trees, key=lambda tree: (-tree.value, tree.path))


def _deepest(tree: FolderTree) -> FolderTree:
    """Descend while there is only one folder in a folder: both are drawn as one."""
    while tree.own is None and len(tree.children) == 1:
        (tree,) = tree.children.values()
    return tree


def _tile(
    tile: FolderTree, name: str, box: Box, number: int, *, is_other: bool, unit: str, link: Callable[[str], str | None]
) -> Html:
    is_folder = tile.own is not None and not tile.children
    words = tile.own.told if tile.own and is_folder else f"{tile.value:,} {unit} in {plural(tile.folders, 'folder')}"
    drawn = el(
        "g",
        el("title", f"{tile.path}\n{words}"),
        # A drawing of its own: it cuts words that are too long for the tile.
        el("svg", el("rect", width="100%", height="100%", class_=series_class(BEFORE if is_other else number)),
           _words(name, box, 15, NAME_SIZE), _words(words, box, 31, TOLD_SIZE),
           x=percent(box.x / WIDTH), y=pixels(box.y), width=percent(box.width / WIDTH), height=pixels(box.height)),
        class_="tile others" if is_other else "tile", data_series=number,
    )  # fmt: skip
    where = link(tile.own.path if tile.own and is_folder else tile.path) if tile.own or tile.children else None
    return el("a", drawn, href=where, tabindex=-1) if where else drawn


def _words(text: str, box: Box, y: int, size: tuple[int, int]) -> Html:
    """Return the words on a tile, if there is room for them."""
    if box.width < size[0] or box.height < size[1]:
        return NOTHING
    return el("text", text, x=6, y=y, class_="wide" if box.width < size[0] * ON_A_PHONE else None)
