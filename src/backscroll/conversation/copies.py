"""Find rows that are unmarked copies of others, with other uuids.

Up to 1.0.17 every row got a new uuid when a session was resumed. Answers still have their message's id, and results
their call's; anything else is recognised by its parent and its text. Copies are at the beginning of a file, or,
where an editor wrote the whole history into the same file again, behind a row without a parent.
"""

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Final

from backscroll.conversation.rows import Row
from backscroll.conversation.transcripts import Transcript

Key = tuple[object, ...]

SEVERAL: Final = ""
"""Stands for a file name where there are several files."""


class Copies:
    """The copies among the rows of some transcripts, which are passed oldest first."""

    def __init__(self, transcripts: Sequence[Transcript]) -> None:
        self.files = [transcript.place.file for transcript in transcripts]
        self.aliases: dict[str, str] = {}
        """The original row of each copy."""
        self._are_open = False
        """Whether a file begins with copies: then any row may turn out to be an original."""
        self._said_in: dict[Key, str] = {}
        originals: dict[Key, str] = {}
        known: set[str] = set()
        typed: dict[datetime, str] = {}
        for rows, is_again in _histories(transcripts):
            own = {row.uuid for row in rows}
            copied = _end_of_copies(rows, known, self._said_in)
            self._are_open |= copied > 0
            if is_again:
                self._find_typed_again(rows[:copied], typed)
            else:
                typed.clear()
            for row in rows:
                if row.when is not None and _id_of(row) is None:
                    typed.setdefault(row.when, row.uuid)
            seen: Counter[Key] = Counter()
            for number, row in enumerate(rows):
                key = _key(row, self.aliases)
                # The second row of a message, or the second prompt with equal text, is not the first.
                seen[key] += 1
                original = originals.setdefault((*key, seen[key]), row.uuid)
                is_new = row.uuid not in self.aliases and original not in own
                if number < copied and is_new and not _is_usual_copy(row, known):
                    self.aliases[row.uuid] = original
            known |= own
            for row in rows:
                self._is_said_elsewhere(row)

    def _find_typed_again(self, copied: Sequence[Row], typed: Mapping[datetime, str]) -> None:
        """Find originals of typed rows by time, which copies keep; a prompt of several blocks may be several rows."""
        for row in copied:
            original = typed.get(row.when) if row.when and _id_of(row) is None else None
            if original is not None and original != row.uuid:
                self.aliases[row.uuid] = original

    def change_with(self, row: Row) -> bool:
        """Whether the copies may change when one of the files has this row too."""
        return self._are_open or self._is_said_elsewhere(row)

    def _is_said_elsewhere(self, row: Row) -> bool:
        """Record the text of the row; return whether another file has the same text."""
        name = _id_of(row)
        if name is None or self._said_in.setdefault(name, row.transcript) == row.transcript:
            return False
        self._said_in[name] = SEVERAL
        return True


def _histories(transcripts: Sequence[Transcript]) -> Iterator[tuple[list[Row], bool]]:
    """Yield the rows of each file; of a file that repeats itself each history, and whether it is a repetition."""
    for transcript in transcripts:
        rows = sorted((*transcript.rows, *transcript.sidechains), key=lambda row: row.position)
        starts = _starts_again(rows) if transcript.roots.is_repeated else []
        for start, end in pairwise([0, *starts, len(rows)]):
            yield rows[start:end], start > 0


def _starts_again(rows: Sequence[Row]) -> list[int]:
    """Return where a history begins again: at a row without a parent, or in its middle, where the time goes back."""
    starts = []
    typed: set[datetime] = set()
    for at, (before, row) in enumerate(pairwise(rows), start=1):
        is_typed = row.when is not None and _id_of(row) is None
        if row.parent is None or (is_typed and row.when != before.when and row.when in typed):
            starts.append(at)
        if before.when is not None and _id_of(before) is None:
            typed.add(before.when)
    return starts


def _end_of_copies(rows: Sequence[Row], known: set[str], said: Container[Key | None]) -> int:
    """Return the number of copies at the beginning, up to the last row with the id of an earlier file's row."""
    copies = (
        number for number, row in enumerate(rows, start=1) if _id_of(row) in said and not _is_usual_copy(row, known)
    )
    return max(copies, default=0)


def _is_usual_copy(row: Row, known: set[str]) -> bool:
    """Whether an earlier file has the row under its uuid, or under the uuid that it names."""
    return row.uuid in known or (row.forked_from is not None and row.forked_from.message_uuid in known)


def _id_of(row: Row) -> Key | None:
    if row.message_id:
        return "message", row.message_id
    return ("result", *row.results) if row.results else None


def _key(row: Row, aliases: dict[str, str]) -> Key:
    if row.message_id:
        return "message", row.message_id
    if row.results:
        return "result", row.results[0]
    return row.kind, row.is_sidechain, aliases.get(row.parent, row.parent) if row.parent else None, row.text
