"""The ids of what is new in a batch."""

import apsw

from backscroll.store.batches import Batch
from backscroll.store.local.database import select


class NewIds:
    """Turns the numbers of a batch into ids, inside the transaction that writes it: the next writer sees them taken.

    `terms` are the same as SQL, for a parameter by its place: the engine adds while it inserts, which costs nothing.
    """

    def __init__(self, connection: apsw.Connection, batch: Batch) -> None:
        # SQLite remembers the highest id that a table ever had, also after its row was deleted.
        given = dict(select(connection, "select name, seq from sqlite_sequence"))
        self._last_file = int(given.get("files", 0))
        self.first_record = int(given.get("records", 0)) + 1
        self.first_block = int(given.get("blocks", 0)) + 1
        self.last_block = self.first_block - 1 + len(batch.blocks)
        self.terms = {
            "file1": f"iif(?1 < 0, {self._last_file} - ?1, ?1)",
            "file2": f"iif(?2 < 0, {self._last_file} - ?2, ?2)",
            "record1": f"?1 + {self.first_record}",
            "record2": f"?2 + {self.first_record}",
            "block1": f"?1 + {self.first_block}",
        }

    def file(self, number: int) -> int:
        """The id of a file; one that was known already has it for its number."""
        return self._last_file - number if number < 0 else number

    def new_block(self) -> int:
        """The id of another passage, after those of the batch."""
        self.last_block += 1
        return self.last_block
