"""The rows of a file that have no parent: those that replace another, and histories repeated behind them."""

from collections.abc import Sequence

from backscroll.conversation.kinds import TURNS, RowKind
from backscroll.conversation.rows import Row


class Roots:
    """Tracks the rows without a parent in one file, from every row before it is added to the others."""

    def __init__(self) -> None:
        self.last: str | None = None
        """The last row without a parent."""
        self.previous: str | None = None
        """The row without a parent before `last`."""
        self.by_prompt_id: dict[str, str] = {}
        """The first prompt without a parent, by its prompt id."""
        self.replaced: dict[str, str] = {}
        """The rows without a parent that replace another, with the replaced row."""
        self.are_several = False
        self.is_repeated = False
        """Whether answers stand in the file twice: some clients write the whole history again to resume a session."""
        self._messages: tuple[set[str], set[str]] | None = None
        """The messages before the last root and since, once there are several."""

    def see(self, row: Row, prompt_id: str | None, rows: Sequence[Row], *, went_back: bool) -> None:
        """Take the next row. `went_back` says whether the user has just gone back to the very beginning."""
        if row.parent is None:
            self.are_several |= bool(rows)
            if self._messages is not None:
                before, since = self._messages
                before |= since
                since.clear()
            self._see_root(row, prompt_id if row.kind in TURNS else None, went_back=went_back)
        elif self.are_several and row.message_id is not None and not self.is_repeated:
            before, since = self._messages = self._messages or _messages_of(rows)
            self.is_repeated = row.message_id in before
            since.add(row.message_id)

    def _see_root(self, row: Row, prompt_id: str | None, *, went_back: bool) -> None:
        replaced: str | None = self.by_prompt_id.setdefault(prompt_id, row.uuid) if prompt_id else row.uuid
        replaced = self.last if went_back and replaced == row.uuid else replaced
        if replaced is not None and replaced != row.uuid:
            row.instead_of = self.replaced[row.uuid] = self.replaced.get(replaced, replaced)
        self.previous, self.last = self.last, row.uuid

    def went_back(self, rows: Sequence[Row]) -> None:
        """Process a note that the user went back to the very beginning, written behind the prompt that followed."""
        for row in reversed(rows):
            if row.uuid == self.last and self.previous not in (None, row.uuid) and row.instead_of is None:
                first = self.previous or ""
                row.instead_of = self.replaced[row.uuid] = self.replaced.get(first, first)
            if row.kind is RowKind.ANSWER or row.parent is None:
                return


def _messages_of(rows: Sequence[Row]) -> tuple[set[str], set[str]]:
    """Return the messages before the last root of these rows, and since."""
    root = max((at for at, row in enumerate(rows) if row.parent is None), default=0)
    before, since = ({row.message_id for row in part if row.message_id} for part in (rows[:root], rows[root:]))
    return before, since
