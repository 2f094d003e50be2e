"""Pictures for the sample, drawn pixel by pixel: the standard library writes a PNG, but draws none."""

import struct
import zlib


class Picture:
    def __init__(self, width: int, height: int, background: int = 0xFFFFFF) -> None:
        self.width, self.height = width, height
        self.pixels = [[background] * width for _ in range(height)]

    def fill(self, left: int, top: int, width: int, height: int, colour: int) -> None:
        for y in range(max(top, 0), min(top + height, self.height)):
            for x in range(max(left, 0), min(left + width, self.width)):
                self.pixels[y][x] = colour

    def write(self, left: int, top: int, text: str, colour: int = 0x333333, size: int = 2) -> None:
        for character in text:
            for y, row in enumerate(GLYPHS.get(character, GLYPHS[" "])):
                for x, dot in enumerate(row):
                    if dot == "#":
                        self.fill(left + x * size, top + y * size, size, size, colour)
            left += 4 * size

    def png(self) -> bytes:
        """The picture with a palette: few colours, few bytes."""
        palette = sorted({pixel for row in self.pixels for pixel in row})
        place = {colour: number for number, colour in enumerate(palette)}
        data = b"".join(b"\x00" + bytes(place[pixel] for pixel in row) for row in self.pixels)
        header = struct.pack(">IIBBBBB", self.width, self.height, 8, 3, 0, 0, 0)
        colours = b"".join(colour.to_bytes(3, "big") for colour in palette)
        return (
            b"\x89PNG\r\n\x1a\n"
            + chunk(b"IHDR", header)
            + chunk(b"PLTE", colours)
            + chunk(b"IDAT", zlib.compress(data, 9))
            + chunk(b"IEND", b"")
        )


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def failures_in_ci() -> bytes:
    """A bar chart: red builds a week. Something happened in the third of these weeks."""
    picture = Picture(520, 260)
    picture.write(20, 14, "RED BUILDS PER WEEK")
    weeks = (0, 1, 4, 6, 5, 7, 4, 6, 5, 7, 6, 8, 7)
    for number, count in enumerate(weeks):
        left = 44 + number * 36
        picture.fill(left, 220 - count * 20, 24, count * 20, 0xC0392B if count > 2 else 0x9AA5B1)
        picture.write(left + (4 if count else 8), 200 - count * 20, str(count), 0x333333)
        picture.write(left + 4, 230, str(number + 1), 0x777777)
    picture.fill(36, 220, 470, 2, 0x333333)
    return picture.png()


def _glyphs() -> dict[str, tuple[str, ...]]:
    letters = {
        "A": "### #.# ### #.# #.#", "B": "##. #.# ##. #.# ##.", "C": "### #.. #.. #.. ###", "D": "##. #.# #.# #.# ##.",
        "E": "### #.. ##. #.. ###", "H": "#.# #.# ### #.# #.#", "I": "### .#. .#. .#. ###", "K": "#.# #.# ##. #.# #.#",
        "L": "#.. #.. #.. #.. ###", "M": "#.# ### ### #.# #.#", "N": "### #.# #.# #.# #.#", "O": "### #.# #.# #.# ###",
        "P": "### #.# ### #.. #..", "R": "### #.# ##. #.# #.#", "S": "### #.. ### ..# ###", "T": "### .#. .#. .#. .#.",
        "U": "#.# #.# #.# #.# ###", "W": "#.# #.# ### ### #.#", ":": "... .#. ... .#. ...", " ": "... ... ... ... ...",
        "0": "### #.# #.# #.# ###", "1": ".#. ##. .#. .#. ###", "2": "### ..# ### #.. ###", "3": "### ..# ### ..# ###",
        "4": "#.# #.# ### ..# ..#", "5": "### #.. ### ..# ###", "6": "### #.. ### #.# ###", "7": "### ..# ..# ..# ..#",
        "8": "### #.# ### #.# ###", "9": "### #.# ### ..# ###",
    }  # fmt: skip
    return {letter: tuple(rows.split()) for letter, rows in letters.items()}


GLYPHS = _glyphs()
