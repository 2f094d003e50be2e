"""Rows that are copies of others though their uuids differ and nothing in them says so.

1.0.3 gave every row a new uuid when a session was resumed. Answers still have their message's id, and results their
call's; a prompt is known by what it hangs on and what it says.
"""

from collections import Counter
from collections.abc import Sequence

from backscroll.conversation.kinds import Kind
from backscroll.conversation.rows import Row
from backscroll.conversation.transcripts import Transcript


def copied_rows(transcripts: Sequence[Transcript]) -> dict[str, str]:
    """Of each row that is such a copy, the row it is a copy of. The transcripts come oldest first."""
    aliases: dict[str, str] = {}
    originals: dict[tuple[object, ...], str] = {}
    known: set[str] = set()
    for transcript in transcripts:
        own = {row.uuid for row in transcript.rows}
        seen: Counter[tuple[object, ...]] = Counter()
        for row in transcript.rows:
            key = _key(row, aliases)
            if key is None:
                continue
            # The second row of a message, or the second prompt that says the same, is not the first.
            seen[key] += 1
            original = originals.setdefault((*key, seen[key]), row.uuid)
            # A row that an earlier file has under the same uuid is a usual copy; two rows of one file are two rows.
            if original not in own and row.uuid not in known:
                aliases[row.uuid] = original
        known |= own
    return aliases


def _key(row: Row, aliases: dict[str, str]) -> tuple[object, ...] | None:
    if row.message_id:
        return "message", row.message_id
    if row.results:
        return "result", row.results[0]
    if row.kind is Kind.PROMPT or row.kind is Kind.COMMAND:
        return "prompt", aliases.get(row.parent, row.parent) if row.parent else None, row.text
    return None
