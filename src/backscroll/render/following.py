"""The parts of a growing chat, each once: what `follow` prints of messages that come again with more in them."""

from collections import Counter
from collections.abc import Iterable, Iterator

from backscroll.conversation.messages import CallState, Message
from backscroll.render.parts import ChatPart, PartFilter, parts_of


class NewParts:
    """Remembers what was shown."""

    def __init__(self, choice: PartFilter) -> None:
        self._choice = choice
        self._shown: dict[str, Counter[ChatPart]] = {}

    def of(self, messages: Iterable[Message]) -> Iterator[ChatPart]:
        """What of these messages was not shown yet, in order."""
        for message in messages:
            shown = self._shown.get(message.key, Counter())
            now: Counter[ChatPart] = Counter()
            ended: ChatPart | None = None
            for part in parts_of([message], self._choice):
                now[part] += 1
                if part.kind == "tool":
                    ended = None
                if now[part] <= shown[part]:
                    continue
                if part.state is CallState.DONE and shown[part._replace(state=CallState.RUNNING)]:
                    ended = part  # the call stands there already: it is named again only with what came of it
                    continue
                if ended is not None:
                    yield ended
                    ended = None
                yield part
            self._shown[message.key] = shown | now
