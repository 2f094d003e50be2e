"""A sheet of paper that opens an encrypted remote, together with its passphrase, if all machines are lost.

It has the facts of the key object: salt and costs, and a keyed hash that tells whether passphrase and sheet belong
together. Neither the key nor the passphrase can be made of it. People type it: each line has few characters, none that
look alike, and a checksum of its own.
"""

import hashlib
import re
import struct
from collections.abc import Iterable
from typing import Final

from backscroll.errors import BackscrollError, UsageError
from backscroll.sync.sealing import CHECK_BYTES, KeyFacts

VERSION: Final = 1
SALT_BYTES: Final = 16
FORM: Final = struct.Struct(f">BBBI{SALT_BYTES}s{CHECK_BYTES}s")
ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Digits of Crockford's base32."""
LOOK_ALIKE: Final = str.maketrans("OIL", "011")
LINE_BYTES: Final = 10
LINE_LETTERS: Final = 16
CHECK_LETTERS: Final = 4
GROUP: Final = 4


class MistypedError(UsageError):
    """A line of a sheet that differs from the printed one."""


def sheet_lines(facts: KeyFacts) -> list[str]:
    """Return the lines to type, each with its number, its letters in groups, and its checksum."""
    salt, check = bytes.fromhex(facts.salt), bytes.fromhex(facts.check)
    if len(salt) != SALT_BYTES:
        raise BackscrollError("the salt of this remote was not made by backscroll", "keep a copy of its key.json")
    data = FORM.pack(VERSION, facts.iterations, facts.lanes, facts.memory_kib, salt, check)
    data += bytes(-len(data) % LINE_BYTES)
    lines = []
    for number, at in enumerate(range(0, len(data), LINE_BYTES), 1):
        part = data[at : at + LINE_BYTES]
        letters = _encode(part) + _checksum(number, part)
        groups = " ".join(letters[start : start + GROUP] for start in range(0, len(letters), GROUP))
        lines.append(f"{number}:  {groups}")
    return lines


def sheet_text(facts: KeyFacts, name: str, url: str, on: str) -> str:
    """Return the whole sheet for printing. `on` is the day."""
    lines = "\n".join(f"    {line}" for line in sheet_lines(facts))
    return f"""\
backscroll recovery sheet
=========================

Remote    {name}
Address   {url}
Printed   {on}

{lines}

These lines and the passphrase open the remote, also if all your machines are lost and
its file key.json with them. Neither the passphrase nor the key is on this sheet: keep
them apart. Who has only one of the two can read nothing.

On a new machine, type the numbered lines into a file (small or capital letters; spaces
do not matter), and run

    backscroll sync add {name} {url} --recovery FILE

"""


def read_sheet(text: str) -> KeyFacts:
    """Parse the lines of a sheet, without the sealed word; MistypedError names the lines that are wrong."""
    typed = {int(match["number"]): match["letters"] for line in text.splitlines() if (match := LINE.fullmatch(line))}
    count = -(-FORM.size // LINE_BYTES)
    if not typed:
        hint = f"type its {count} numbered lines, each with its number"
        raise MistypedError("there is no line of a recovery sheet in what was given", hint)
    parts = {number: _decode(number, typed.get(number)) for number in range(1, count + 1)}
    missing = [number for number in parts if number not in typed]
    wrong = [number for number, part in parts.items() if part is None and number in typed]
    if missing or wrong:
        problems = [
            *([f"{_lines(wrong)} mistyped"] if wrong else []),
            *([f"{_lines(missing)} missing"] if missing else []),
        ]
        raise MistypedError(
            f"{' and '.join(problems)} in the recovery sheet", "compare them with the sheet, and try again"
        )
    data = b"".join(part for part in parts.values() if part is not None)
    version, iterations, lanes, memory_kib, salt, check = FORM.unpack(data[: FORM.size])
    if version != VERSION:
        raise BackscrollError("a later version of backscroll made this recovery sheet", "update backscroll")
    return KeyFacts(salt.hex(), "", iterations, lanes, memory_kib, check.hex())


def _encode(data: bytes) -> str:
    number, letters = int.from_bytes(data, "big"), ""
    for _ in range(len(data) * 8 // 5):
        number, digit = divmod(number, len(ALPHABET))
        letters = ALPHABET[digit] + letters
    return letters


def _decode(number: int, typed: str | None) -> bytes | None:
    """Return the bytes of a line; None if it differs from the printed one."""
    letters = re.sub(r"[\s-]", "", typed or "").upper().translate(LOOK_ALIKE)
    if len(letters) != LINE_LETTERS + CHECK_LETTERS or set(letters) - set(ALPHABET):
        return None
    value = 0
    for letter in letters[:LINE_LETTERS]:
        value = value * len(ALPHABET) + ALPHABET.index(letter)
    data = value.to_bytes(LINE_BYTES, "big")
    return data if _checksum(number, data) == letters[LINE_LETTERS:] else None


def _checksum(number: int, data: bytes) -> str:
    digest = hashlib.sha256(b"backscroll sheet %d " % number + data).digest()
    return _encode(digest[:5])[:CHECK_LETTERS]


def _lines(numbers: Iterable[int]) -> str:
    every = [*numbers]
    return f"line {every[0]} is" if len(every) == 1 else f"lines {', '.join(map(str, every))} are"


LINE: Final = re.compile(r"[\s>]*(?P<number>[1-9][0-9]?)\s*[:.)](?P<letters>.*)")
