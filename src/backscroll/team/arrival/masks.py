"""Mask secrets in arriving segments, before they get into a library.

Objects stay as their device sent them: receipts and proofs are about their bytes. Copies for archive and index are
masked here without changing their length: all offsets in a stream stay, so that taking can continue. The same bytes
always give the same bytes, so that a repeat after a crash adds nothing.
"""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from backscroll.redaction.duplicate_keys import has_duplicate_keys
from backscroll.redaction.redactor import Redactor

LONGEST_LINE: Final = 64 << 20
"""A longer line is withheld: masking it would take several times its size in memory."""
LONGEST_RECORD: Final = 16 << 20
"""A longer line is masked as text: decoding it would take many times its size in memory."""
WITHHELD: Final = b'{"type":"withheld","why":"secrets in it could not be masked"}'
DETECTED: Final = (b"{", b"[")


class ArrivalMasks:
    """Masks the secrets in segments of streams."""

    def __init__(self) -> None:
        self._redactor = Redactor(mask=_mask)

    @property
    def places(self) -> int:
        """The number of masked places."""
        return sum(self._redactor.places.values())

    def segment(self, path: str, data: bytes) -> bytes:
        """Mask the secrets in a segment of a file, without changing its length. Records are masked field by field."""
        if not path.endswith(".jsonl"):
            return self._text(data)
        return b"".join(self._line(line) for line in data.splitlines(keepends=True))

    def incoming(self, path: str, size: int, pieces: Iterable[bytes]) -> Iterable[bytes]:
        """Mask the secrets in a segment of this size.

        A segment longer than `LONGEST_LINE`, which is one line, is never in memory as a whole.
        """
        if size <= LONGEST_LINE:
            return (self.segment(path, b"".join(pieces)),)
        return (new[:-1] + b"\n" if old.endswith(b"\n") else new for old, new in _withheld(pieces))

    def pieces(self, path: str, pieces: Iterable[bytes], size: int) -> Iterator[tuple[bytes, bytes]]:
        """Yield a whole file of this size in pieces, each before and after masking; line by line if it has lines."""
        if path.endswith(".jsonl"):
            for lines in _cut_after_lines(pieces):
                yield lines, self.segment(path, lines)
        elif size <= LONGEST_LINE:
            whole = b"".join(pieces)
            yield whole, self.segment(path, whole)
        else:
            yield from _withheld(pieces)

    def _line(self, line: bytes) -> bytes:
        body = line.rstrip(b"\r\n")
        if len(body) <= LONGEST_LINE and self._redactor.is_clean_line(body):
            return line
        if body.lstrip()[:1] in DETECTED and len(body) <= LONGEST_RECORD:
            try:
                value = msgspec.json.decode(body)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                pass  # not a record: masked as text
            else:
                masked = self._redactor.value(value)
                if masked is value and not has_duplicate_keys(body, value):
                    return line
                fields = msgspec.json.encode(masked)
                if len(fields) <= len(body):
                    return fields.ljust(len(body)) + line[len(body) :]
        return self._text(body) + line[len(body) :]

    def _text(self, body: bytes) -> bytes:
        if len(body) > LONGEST_LINE:
            return WITHHELD.ljust(len(body))
        text = body.decode("utf-8", "surrogateescape")
        masked = self._redactor.text(text)
        if masked is text:
            return body
        encoded = masked.encode("utf-8", "surrogateescape")
        return encoded.ljust(len(body)) if len(encoded) <= len(body) else WITHHELD[: len(body)].ljust(len(body))


def _withheld(pieces: Iterable[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Yield each piece with a marker of the same length."""
    marker = WITHHELD
    for piece in pieces:
        yield piece, marker[: len(piece)].ljust(len(piece))
        marker = marker[len(piece) :]


def _cut_after_lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    held: list[bytes] = []
    for piece in pieces:
        end = piece.rfind(b"\n") + 1
        if end:
            yield b"".join([*held, piece[:end]])
            held = []
        held.append(piece[end:])
    if any(held):
        yield b"".join(held)


def _mask(rule: str, secret: bytes) -> str:
    """Make a mask as long as the secret, with the name of its rule if there is room."""
    label = next((text for text in (f"[redacted: {rule}]", "[redacted]") if len(text) <= len(secret)), "")
    return label.ljust(len(secret), "*")
