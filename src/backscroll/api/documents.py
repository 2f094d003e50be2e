"""A whole chat as one document."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from backscroll.render.markdown import markdown
from backscroll.render.parts import Choice, Part, parts_of
from backscroll.render.terminal import clean_line, moment

if TYPE_CHECKING:
    from backscroll.library import Branch, OpenedChat


def markdown_of(opened: "OpenedChat", branches: "list[Branch]", choice: Choice, *, agents: bool) -> str:
    """The same as `backscroll show` writes into a file."""
    parts = _parts(opened, branches, choice, agents=agents)
    return f"# {clean_line(opened.title)}\n\n" + "".join(markdown(parts))


def _parts(opened: "OpenedChat", branches: "list[Branch]", choice: Choice, *, agents: bool) -> Iterator[Part]:
    chat = opened.chat
    title = clean_line(opened.title)
    yield Part("divider", title=title if len(title) <= 70 else title[:69] + "…")
    told = [chat.id, chat.project, " – ".join(moment(when) for when in (chat.started, chat.last_active) if when)]
    told += [", ".join(chat.models), f"{len(chat.branches)} branches" if len(chat.branches) > 1 else ""]
    yield Part("output", " · ".join(word for word in told if word))
    for branch in branches:
        if len(branches) > 1:
            yield Part("divider", title=f"branch {branch.number} of {len(chat.branches)}")
        yield from parts_of(opened.messages(branch), choice)
    for agent in chat.agents if agents else ():
        if not agent.is_stub and not agent.is_side_copy:
            yield Part("divider", title=f"agent {agent.id}: {agent.type or ''} {agent.description or ''}")
            yield from parts_of(opened.agent_messages(agent), choice)
