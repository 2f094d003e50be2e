"""`read`: a chat, a message with its neighbours, an agent, or the output of a tool call."""

from typing import Annotated

from msgspec import Meta, Struct

from backscroll.errors import NothingFound
from backscroll.mcp.answers import Quoted, Time, ToolAnswer, fit
from backscroll.mcp.arguments import Id, IdOrNone, Offset, ToolArguments
from backscroll.mcp.call_context import CallContext, utc_minutes
from backscroll.mcp.message_texts import MessageText, ReadTarget, message_texts, open_chat, output_of
from backscroll.mcp.quoting import name_of


class ReadArguments(ToolArguments, frozen=True, kw_only=True):
    """What to read."""

    chat: Annotated[Id, Meta(description="Id of a chat, or of a session, agent or message in it; a prefix is enough.")]
    message: Annotated[IdOrNone, Meta(description="Read around this message.")] = ""
    around: Annotated[int, Meta(ge=0, le=50, description="Messages before and after it.")] = 2
    agent: Annotated[IdOrNone, Meta(description="Read this sub-agent.")] = ""
    call: Annotated[IdOrNone, Meta(description="Read this call (toolu_…) with its full output.")] = ""
    branch: Annotated[int, Meta(ge=0, le=1_000_000, description="1: active. 0: the session's.")] = 0
    offset: Annotated[Offset, Meta(description="First message; from 0.")] = 0
    skip: Annotated[Offset, Meta(description="Characters of the first message or the output to skip.")] = 0
    thinking: Annotated[bool, Meta(description="With thinking.")] = False


class ReadMessage(Struct, kw_only=True, omit_defaults=True):
    """A message."""

    number: int
    message: str | None
    when: Time | None
    role: str
    text: Quoted
    skipped: int = 0
    shortened: bool = False


class ReadAnswer(ToolAnswer, kw_only=True):
    """Part of a chat."""

    chat: str | None
    title: Quoted
    project: Quoted | None = None
    branch: int = 0
    branches: int = 0
    agent: str | None = None
    total: Annotated[int, Meta(description="Number of messages.")]
    messages: list[ReadMessage]


def read(context: CallContext, wanted: ReadArguments) -> ReadAnswer:
    """Read."""
    context.must_exist()
    place = open_chat(
        context, wanted.chat, branch=wanted.branch, agent=wanted.agent, message=wanted.call or wanted.message
    )
    if wanted.call:
        items = [_output(context, place, wanted)]
    else:
        items = message_texts(
            context, place, _numbers(place, wanted), thinking=wanted.thinking, most=wanted.max_tokens * 8
        )
    skip = wanted.skip
    if place.key is None and items and wanted.skip > len(items[0].text):
        raise NothingFound(
            f"message {wanted.offset} has only {len(items[0].text)} characters", "continue with the next offset"
        )
    texts = [item.text[skip:] if number == 0 else item.text for number, item in enumerate(items)]
    total = len(place.branch_messages.entries)
    about = place.reader.stored.overview

    def make(count: int, last: int | None) -> ReadAnswer:
        made = []
        for step, item in enumerate(items[:count]):
            is_cut = step == count - 1 and last is not None
            text = texts[step][:last] + "…" if is_cut else texts[step]
            made.append(
                ReadMessage(
                    number=item.number,
                    message=item.uuid,
                    when=utc_minutes(item.message.when),
                    role=str(item.message.kind),
                    text=context.frame.quote(text),
                    skipped=skip if step == 0 else 0,
                    shortened=is_cut,
                )
            )
        rest = _rest(wanted, place, items, count, last, total)
        return ReadAnswer(
            note=context.frame.note,
            chat=name_of(about.id),
            title=context.frame.line(about.title),
            project=context.frame.line_or_none(about.project),
            branch=place.branch,
            branches=len(place.reader.chat.branches),
            agent=name_of(place.agent.id) if place.agent else None,
            total=total,
            messages=sorted(made, key=lambda one: one.number),
            cut=bool(rest),
            rest=rest,
        )

    return fit(make, len(items), wanted.max_tokens, lambda step: len(texts[step]))


def _numbers(place: ReadTarget, wanted: ReadArguments) -> list[int]:
    """Return the numbers of the messages to read, the most important first."""
    total = len(place.branch_messages.entries)
    if place.key is None:
        if wanted.offset >= total > 0:
            raise NothingFound(f"there are only {total} messages", "use a smaller offset")
        return list(range(wanted.offset, min(total, wanted.offset + 200)))
    middle = place.branch_messages.at[place.key]
    around = [middle]
    for distance in range(1, wanted.around + 1):
        around += [number for number in (middle + distance, middle - distance) if 0 <= number < total]
    return around


def _output(context: CallContext, place: ReadTarget, wanted: ReadArguments) -> MessageText:
    """Return the output of a tool call, as a message."""
    if place.key is not None:
        number = place.branch_messages.at[place.key]
        for message in place.reader.messages(context.library, place.branch_messages, [place.key]):
            if (text := output_of(message, wanted.call)) is not None:
                return MessageText(number, name_of(message.key), message, text)
    raise NothingFound(
        f"there is no tool call {wanted.call} in this chat", "tool calls are listed in brackets after a message"
    )


def _rest(
    wanted: ReadArguments, place: ReadTarget, items: list[MessageText], count: int, last: int | None, total: int
) -> str:
    """Return how to read on; empty at the end."""
    if wanted.call or place.key is not None:
        if count and last is not None:
            what = f"call={wanted.call}" if wanted.call else f"message={items[count - 1].uuid}, around=0"
            skipped = wanted.skip if count == 1 else 0
            return f"read again with {what}, skip={skipped + last}"
        return "read again with a smaller around or a larger max_tokens" if count < len(items) else ""
    if count and last is not None:
        skipped = wanted.skip if count == 1 else 0
        return f"read again with offset={items[count - 1].number}, skip={skipped + last}"
    reached = items[count].number if count < len(items) else items[-1].number + 1 if items else total
    return f"read again with offset={reached}" if reached < total else ""
