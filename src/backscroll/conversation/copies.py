"""Find rows that are copies of others although their uuids differ and nothing in them says so.

Up to 1.0.17 every row got a new uuid when a session was resumed. Answers still have their message's id, and results
their call's; anything else is known by what it hangs on and what it says. Copies are at the beginning of a file.
"""

from collections import Counter
from collections.abc import Container, Sequence
from typing import Final

from backscroll.conversation.rows import Row
from backscroll.conversation.transcripts import Transcript

Key = tuple[object, ...]

SEVERAL: Final = ""
"""Used as the file name where there is more than one."""


class Copies:
    """The rows of some transcripts that are such copies. Transcripts are added oldest first."""

    def __init__(self, transcripts: Sequence[Transcript]) -> None:
        self.files = [transcript.place.file for transcript in transcripts]
        self.aliases: dict[str, str] = {}
        """The original row of each copy."""
        self._are_open = False
        """Whether a file begins with copies: then any row may turn out to be the original of one."""
        self._said_in: dict[Key, str] = {}
        originals: dict[Key, str] = {}
        known: set[str] = set()
        for transcript in transcripts:
            rows = sorted((*transcript.rows, *transcript.sidechains), key=lambda row: row.position)
            own = {row.uuid for row in rows}
            copied = _end_of_copies(rows, known, self._said_in)
            self._are_open |= copied > 0
            seen: Counter[Key] = Counter()
            for number, row in enumerate(rows):
                key = _key(row, self.aliases)
                # The second row of a message, or the second prompt that says the same, is not the first.
                seen[key] += 1
                original = originals.setdefault((*key, seen[key]), row.uuid)
                if number < copied and original not in own and not _is_usual_copy(row, known):
                    self.aliases[row.uuid] = original
            known |= own
            for row in rows:
                self._is_said_elsewhere(row)

    def change_with(self, row: Row) -> bool:
        """Whether there may be other copies when one of the files has this row too."""
        return self._are_open or self._is_said_elsewhere(row)

    def _is_said_elsewhere(self, row: Row) -> bool:
        """Record the text of the row; return whether another file has the same text."""
        name = _id_of(row)
        if name is None or self._said_in.setdefault(name, row.transcript) == row.transcript:
            return False
        self._said_in[name] = SEVERAL
        return True


def _end_of_copies(rows: Sequence[Row], known: set[str], said: Container[Key | None]) -> int:
    """How many rows at the beginning are copies, by the last one that has the id of an earlier file's row."""
    copies = (
        number for number, row in enumerate(rows, start=1) if _id_of(row) in said and not _is_usual_copy(row, known)
    )
    return max(copies, default=0)


def _is_usual_copy(row: Row, known: set[str]) -> bool:
    """Whether an earlier file has it under the same uuid, or the one that it names."""
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
