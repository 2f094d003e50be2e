"""The parts of a growing chat, each once, although its messages come again with more in them: for `follow`."""

from collections import Counter
from collections.abc import Iterable, Iterator

from backscroll.conversation.messages import CallState, Message
from backscroll.render.parts import ChatPart, PartFilter, parts_of


class NewParts:
    """Remember which parts were shown."""

    def __init__(self, choice: PartFilter) -> None:
        self._choice = choice
        self._shown: dict[str, Counter[ChatPart]] = {}

    def of(self, messages: Iterable[Message]) -> Iterator[ChatPart]:
        """Yield the parts of these messages that were not shown yet, in order."""
        for message in messages:
            before = self._shown.get(message.key, Counter())
            now: Counter[ChatPart] = Counter()
            ended: ChatPart | None = None
            for part in parts_of([message], self._choice):
                now[part] += 1
                if part.kind == "tool":
                    ended = None
                if now[part] <= before[part]:
                    continue
                if part.state is CallState.DONE and before[part._replace(state=CallState.RUNNING)]:
                    ended = part  # the call is there already: it is named again only with its result
                    continue
                if ended is not None:
                    yield ended
                    ended = None
                yield part
            self._shown[message.key] = before | now
