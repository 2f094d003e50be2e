"""Export a chat as Markdown or JSON, piece by piece."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, Protocol

import msgspec

from backscroll.conversation.headings import AnswerCost
from backscroll.conversation.overview import Overview
from backscroll.records.decode import value_of
from backscroll.render.chats import agent_as_json, branch_as_json, chat_as_json, message_as_json
from backscroll.render.documents import Readable, document_parts
from backscroll.render.html.page_data import Detail
from backscroll.render.html.time_limit import Clock
from backscroll.render.markdown import markdown
from backscroll.render.parts import PartFilter
from backscroll.render.terminal import clean_line, moment


class Shareable(Readable, Protocol):
    """A chat that was opened for sharing."""

    @property
    def overview(self) -> Overview:
        """Stored summary of the chat."""

    @property
    def answer_costs(self) -> Mapping[str, AnswerCost]:
        """Usage of the answers, by message id."""

    @property
    def unrecorded(self) -> tuple[int, int | None]:
        """Tokens and cost of requests without a record; of no single branch."""

    @property
    def is_archived(self) -> bool:
        """Whether Claude Code has deleted the chat."""

    @property
    def is_pinned(self) -> bool:
        """Whether the user pinned the chat."""

    @property
    def tags(self) -> Sequence[str]:
        """Tags that the user gave the chat."""

    @property
    def clock(self) -> Clock:
        """Clock that measures how long highlighting takes."""

    @property
    def is_redacted(self) -> bool:
        """Whether secrets are masked."""


def markdown_document(
    shared: Shareable, detail: Detail, branch: int | None = 1, choice: PartFilter | None = None
) -> Iterator[str]:
    """Yield Markdown for people and models: one branch (None: all), or with everything all branches and agents.

    `choice` overrides what the level of detail includes.
    """
    chat, overview = shared.chat, shared.overview
    times = [moment(when) for when in (overview.started, overview.last_active) if when]
    yield f"# {clean_line(shared.title)}\n\n"
    facts = {
        "Project": overview.project or "",
        "When": " – ".join(dict.fromkeys(times)),
        "Models": ", ".join(overview.models),
        "Claude Code": ", ".join(overview.versions),
        "Chat": overview.id,
    }
    yield "".join(f"- {name}: {clean_line(fact)}\n" for name, fact in facts.items() if fact) + "\n"
    is_whole = detail == "everything"
    branches = chat.branches if is_whole or branch is None else chat.branches[branch - 1 : branch]
    parts = document_parts(shared, branches, choice or CHOICES[detail], agents=is_whole)
    yield from markdown(islice(parts, 2, None))  # it begins with the heading that is here already


def json_document(shared: Shareable, number: int | None = None) -> Iterator[str]:
    """Yield a chat as JSON, for programs: what `show --json` prints, piece by piece.

    `number` is that of its branch in the whole chat, if it is only a part with one branch.
    """
    chat = shared.chat
    head = chat_as_json(shared.overview, archived=shared.is_archived, pinned=shared.is_pinned, tags=shared.tags)
    yield f'{{\n  "chat": {_indented(head, 2)},\n  "branches": '
    branches = [(branch, branch if number is None else branch._replace(number=number)) for branch in chat.branches]
    yield _indented([branch_as_json(branch) for _, branch in branches], 2)
    messages = (
        {"branch": numbered.number, **message_as_json(message, undecoded=True)}
        for branch, numbered in branches
        for message in shared.messages(branch)
    )
    yield ',\n  "messages": '
    yield from _listed(messages)
    agents = (
        {
            **agent_as_json(agent),
            "messages": [message_as_json(message, undecoded=True) for message in shared.agent_messages(agent)],
        }
        for agent in chat.agents
    )
    yield ',\n  "agents": '
    yield from _listed(agents)
    yield "\n}\n"


def _listed(items: Iterable[object]) -> Iterator[str]:
    is_empty = True
    for item in items:
        yield f"{'[' if is_empty else ','}\n    {_indented(item, 4)}"
        is_empty = False
    yield "[]" if is_empty else "\n  ]"


def _indented(value: object, spaces: int) -> str:
    """Return a value as indented JSON. Tool inputs are not decoded: small numbers would take many times their bytes.

    Long values are written on one line, because indentation would be most of the file.
    """
    try:
        data = msgspec.json.encode(value)
        written = msgspec.json.format(data, indent=2 if len(data) <= LONGEST_INDENTED else -1).decode()
    except (msgspec.MsgspecError, OverflowError, ValueError, TypeError, RecursionError):  # what only Python can write
        written = json.dumps(value, ensure_ascii=False, indent=2, default=value_of)
    # No newline stands inside a string of JSON.
    return written.replace("\n", "\n" + " " * spaces)


LONGEST_INDENTED: Final = 1_000_000
CHOICES: Final[Mapping[Detail, PartFilter]] = {
    "talk": PartFilter(tools="none"),
    "normal": PartFilter(tools="short"),
    "everything": PartFilter(tools="full", thinking=True, everything=True),
}
