"""The ids of the new rows of a batch."""

from backscroll.store.batches import Batch


class NewIds:
    """Turns the numbers of a batch into ids, inside the transaction that writes it: the next writer sees them taken."""

    def __init__(self, batch: Batch, *, last_file: int, last_record: int, last_block: int, last_chat: int) -> None:
        """Continue after the `last_…` ids: the highest that were ever given, also to rows deleted since."""
        self.last_file_before = last_file
        self.last_file = last_file + batch.new_files
        self.first_record = last_record + 1
        self.last_record = last_record + len(batch.records)
        self.first_block = last_block + 1
        self.last_block = last_block + len(batch.blocks)
        self.last_chat = last_chat

    def file(self, number: int) -> int:
        """Return the id of a file; the number of an existing file is its id."""
        return self.last_file_before - number if number < 0 else number

    def new_block(self) -> int:
        """Return the id of another passage, after those of the batch."""
        self.last_block += 1
        return self.last_block

    def new_chat(self) -> int:
        """Return the id of another chat."""
        self.last_chat += 1
        return self.last_chat
