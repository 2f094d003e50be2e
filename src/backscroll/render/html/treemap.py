"""A treemap of folders: the area of a tile is how much there is in a folder, its colour is the part of the tree.

The layout is squarified: tiles are put in rows along the shorter side, as long as that makes them squarer.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from backscroll.render.html.axes import percent, pixels
from backscroll.render.html.element import NOTHING, Html, el
from backscroll.render.html.figures import BEFORE, figure, series_class
from backscroll.render.projects import names_of
from backscroll.render.terminal import clean_line, plural

HEIGHT: Final = 420
WIDTH: Final = 1000
"""The layout is made for this width, and drawn as wide as the page."""
GROUPS: Final = 7
TILES: Final = 80
LARGE: Final = 0.5
"""A part of the tree with more than this share is divided further."""
OTHERS: Final = "Elsewhere"
NAME_SIZE, TOLD_SIZE = (44, 20), (120, 38)
"""A tile has a name if it is at least this wide and high, and its value if it is larger."""
ON_A_PHONE: Final = 2.6
"""How much wider it has to be for that on a phone."""


class Tile(NamedTuple):
    """A folder, and how much there is directly in it."""

    path: str
    value: float
    told: str
    """The formatted value."""
    link: str | None = None


class TileGroup(NamedTuple):
    """A part of the tree; its tiles are the largest first."""

    name: str
    path: str
    tiles: list[Tile]

    @property
    def value(self) -> float:
        """All of its tiles together."""
        return sum(tile.value for tile in self.tiles)


class Box(NamedTuple):
    """A place in the drawing."""

    x: float
    y: float
    width: float
    height: float


@dataclass
class _Branch:
    """A folder with everything in it."""

    path: str = ""
    own: Tile | None = None
    children: dict[str, "_Branch"] = field(default_factory=dict)

    def tiles(self) -> list[Tile]:
        found, waiting = [], [self]
        while waiting:
            branch = waiting.pop()
            found += [branch.own] if branch.own else []
            waiting += branch.children.values()
        return sorted(found, key=lambda tile: (-tile.value, tile.path))

    def divided(self) -> list["_Branch"]:
        """Its folders, and itself for what is directly in it. What has only one folder in it is that folder."""
        if not self.children:
            return [self]
        own = [_Branch(self.path, self.own)] if self.own else []
        return own + [_deepest(child) for child in self.children.values()]


def treemap(tiles: Sequence[Tile], *, label: str, note: str = "") -> Html:
    """The folders as tiles. A table with the same must stand beside it: the drawing is hidden from screen readers."""
    groups = grouped([tile for tile in tiles if tile.value > 0])
    if not groups:
        return figure("treemap", label, el("p", "No data.", class_="muted"), NOTHING, note=note)
    shown = max(1.0, sum(group.value for group in groups)) / TILES / 4
    drawn = []
    for number, (group, box) in enumerate(
        zip(groups, squares([group.value for group in groups], Box(0, 0, WIDTH, HEIGHT)), strict=True)
    ):
        some = _without_smallest(group, shown)
        inner = Box(box.x, box.y + 1, max(0.1, box.width - 2), max(0.1, box.height - 2))
        places = squares([tile.value for tile in some], inner)
        names = names_of([tile.path for tile in some])
        drawn += [_tile(group, number, tile, names[tile.path], place) for tile, place in zip(some, places, strict=True)]
    drawing = el("svg", drawn, class_="treemap", height=HEIGHT, aria_hidden="true", focusable="false")
    return figure(
        "treemap", label, drawing, NOTHING, note=note, legend=[group.name for group in groups],
        colours=[_colour(group, number) for number, group in enumerate(groups)],
    )  # fmt: skip


def grouped(tiles: Sequence[Tile]) -> list[TileGroup]:
    """The parts of the tree that the folders are in, the largest first: a few, none of them nearly everything."""
    root = _Branch()
    for tile in tiles:
        branch, path = root, ""
        for part in clean_line(tile.path).replace("\\", "/").rstrip("/").split("/"):
            path = f"{path}{part}/"
            branch = branch.children.setdefault(part, _Branch(path.rstrip("/") or "/"))
        branch.own = tile
    if not tiles:
        return []
    whole = sum(tile.value for tile in tiles)
    parts = _by_value([_deepest(root)])
    for _ in range(GROUPS):
        largest = parts[0]
        if not largest[1].children or (len(parts) > 1 and largest[0] <= LARGE * whole):
            break
        parts = _by_value([*(branch for _, branch in parts[1:]), *largest[1].divided()])
    # One more is shown, too, rather than as the only one of the others.
    kept = parts if len(parts) <= GROUPS + 1 else parts[:GROUPS]
    names = names_of([branch.path for _, branch in kept])
    groups = [TileGroup(names[branch.path], branch.path, branch.tiles()) for _, branch in kept]
    rest = [tile for _, branch in parts[len(kept) :] for tile in branch.tiles()]
    rest.sort(key=lambda tile: (-tile.value, tile.path))
    return [*groups, TileGroup(OTHERS, "", rest)] if rest else groups


def squares(values: Sequence[float], box: Box) -> list[Box]:
    """A place for each value, the largest first; they fill the box."""
    x, y, width, height = box
    areas = [value * width * height / sum(values) for value in values]
    placed: list[Box] = []
    while len(placed) < len(areas):
        left, side = areas[len(placed) :], max(1e-6, min(width, height))
        count = 1
        while count < len(left) and _worst(left[: count + 1], side) <= _worst(left[:count], side):
            count += 1
        depth, at = sum(left[:count]) / side, 0.0
        for area in left[:count]:
            length = area / depth
            placed.append(Box(x, y + at, depth, length) if width >= height else Box(x + at, y, length, depth))
            at += length
        if width >= height:
            x, width = x + depth, width - depth
        else:
            y, height = y + depth, height - depth
    return placed


def _worst(areas: Sequence[float], side: float) -> float:
    """How far from a square the worst tile of a row is."""
    whole = sum(areas)
    return max(side**2 * max(areas) / whole**2, whole**2 / (side**2 * min(areas)))


def _by_value(branches: Sequence[_Branch]) -> list[tuple[float, _Branch]]:
    found = [(sum(tile.value for tile in branch.tiles()), branch) for branch in branches]
    return sorted(found, key=lambda part: (-part[0], part[1].path))


def _deepest(branch: _Branch) -> _Branch:
    while branch.own is None and len(branch.children) == 1:
        (branch,) = branch.children.values()
    return branch


def _without_smallest(group: TileGroup, least: float) -> list[Tile]:
    """The tiles that can be seen, and one for all that are smaller."""
    large = [tile for tile in group.tiles if tile.value >= least]
    small = group.tiles[len(large) :]
    if len(small) < 2:
        return group.tiles
    rest = Tile(plural(len(small), "smaller folder"), sum(tile.value for tile in small), "")
    return sorted([*large, rest], key=lambda tile: -tile.value)


def _colour(group: TileGroup, number: int) -> int:
    return BEFORE if group.name == OTHERS and not group.path else number


def _tile(group: TileGroup, number: int, tile: Tile, name: str, box: Box) -> Html:
    colour = _colour(group, number)
    drawn = el(
        "g",
        el("title", "\n".join(filter(None, (clean_line(tile.path), tile.told)))),
        # A drawing of its own: it cuts what is too long for the tile.
        el("svg", el("rect", width="100%", height="100%", class_=series_class(colour)),
           _words(name, box, 15, NAME_SIZE), _words(tile.told, box, 31, TOLD_SIZE),
           x=percent(box.x / WIDTH), y=pixels(box.y), width=percent(box.width / WIDTH), height=pixels(box.height)),
        class_="tile others" if colour == BEFORE else "tile", data_series=number,
    )  # fmt: skip
    return el("a", drawn, href=tile.link, tabindex=-1) if tile.link else drawn


def _words(text: str, box: Box, y: int, size: tuple[int, int]) -> Html:
    """What a tile says, if there is room for it."""
    if box.width < size[0] or box.height < size[1]:
        return NOTHING
    return el("text", text, x=6, y=y, class_="wide" if box.width < size[0] * ON_A_PHONE else None)
