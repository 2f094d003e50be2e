"""The prompts that were typed while the model was at work, and are not taken yet."""

from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator

from backscroll.records.kinds import Attachment, AttachmentBody
from backscroll.records.outside import QueueOperation


class Queue:
    """The prompts that were typed and not yet taken, in order."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._texts: OrderedDict[int, str] = OrderedDict()
        self._numbers: dict[str, deque[int]] = {}
        self._next = 0
        for text in texts:
            self.append(text)

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts.values())

    def __len__(self) -> int:
        return len(self._texts)

    def __contains__(self, text: object) -> bool:
        return text in self._numbers

    def append(self, text: str) -> None:
        """Append a prompt to the queue."""
        self._texts[self._next] = text
        self._numbers.setdefault(text, deque()).append(self._next)
        self._next += 1

    def take(self, text: str) -> str:
        """Take the first prompt with this text, or else the first of all."""
        number = self._numbers[text][0] if text in self._numbers else next(iter(self._texts))
        taken = self._texts.pop(number)
        self._numbers[taken].popleft()  # always the first of those with equal text
        if not self._numbers[taken]:
            del self._numbers[taken]
        return taken

    def clear(self) -> None:
        """Remove all prompts from the queue."""
        self._texts.clear()
        self._numbers.clear()


def queued_row(record: QueueOperation, uuid: str, parent: str | None, text: str) -> Attachment:
    """Return the row that represents a prompt taken from the queue."""
    body = AttachmentBody(type="queued_command", prompt=text)
    return Attachment(raw=record.raw, uuid=uuid, parent_uuid=parent, timestamp=record.timestamp, attachment=body)
