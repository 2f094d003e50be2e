"""`backscroll tree`: the sessions, branches and agents of a chat."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from backscroll.cli.options import current_request, global_options
from backscroll.cli.output import heading, open_library, write_json
from backscroll.cli.paging import width, write_lines
from backscroll.render.cells import cut
from backscroll.render.terminal import clean_line, minute, plural, short_id, zone_of

if TYPE_CHECKING:
    from backscroll.conversation.agents import Agent
    from backscroll.conversation.branches import Branch
    from backscroll.conversation.chat import Chat

PROMPT = 50
"""Width of a prompt where nothing limits it."""


@click.command("tree")
@click.argument("name", metavar="ID")
@click.option("--all", "everything", is_flag=True, help="Include agents that only warmed up or that copy the session.")
@click.option("--compare", type=(int, int), metavar="A B", help="Compare two branches: prompts, answers, files, cost.")
@global_options()
def command(name: str, everything: bool, compare: tuple[int, int] | None) -> None:
    """Show what a chat is made of: its sessions, branches, compactions and agents, as a tree.

    ID is the start of a chat, session, message or agent id. With --compare, show what two branches did after they
    parted.

    \b
    Examples:
      backscroll tree 4f8c
      backscroll tree 4f8c --json
      backscroll tree 4f8c --compare 1 2
    """
    request = current_request()
    library = open_library(request)
    stored = library.find(name)
    if compare is not None:
        from backscroll.cli.tree_compare import show_comparison

        show_comparison(library, stored, *compare, as_json=request.json)
        return
    chat = library.open(stored, with_records=False).chat
    agents = chat.agents if everything else chat.shown_agents
    if request.json:
        from backscroll.library.marked_chats import marked_chat
        from backscroll.render.chats import agent_as_json, branch_as_json, chat_as_json, sessions_as_json

        mark = marked_chat(library, stored).mark
        write_json({
            "chat": chat_as_json(
                stored.overview,
                archived=stored.archived,
                pinned=mark.pinned,
                tags=mark.tags,
                machines=stored.machines,
            ),
            "sessions": list(sessions_as_json(chat)),
            "branches": [branch_as_json(branch) for branch in chat.branches],
            "agents": [agent_as_json(agent) for agent in agents],
        })  # fmt: skip
        return
    room = width()
    lines = [heading(_cut(f"{_id(chat.id, room)}  {clean_line(stored.overview.title)}", room))]
    sections = [
        (f"sessions{_zone(chat)}", list(_sessions(chat, room))),
        ("branches", list(_branches(chat, room))),
        ("agents", list(_agents(agents, room))),
    ]
    present = [(title, below) for title, below in sections if below]
    for index, (title, below) in enumerate(present):
        last = index == len(present) - 1
        lines.append(f"{'└' if last else '├'}─ {title}")
        lines += [_cut(f"{' ' if last else '│'}  {line}", room) for line in below]
    write_lines(lines)


def _id(name: str, room: int | None) -> str:
    """Return the start of an id on a terminal, which every command takes; the whole id for programs."""
    return clean_line(name if room is None else short_id(name))


def _cut(line: str, room: int | None) -> str:
    return line if room is None else cut(line, room)


def _zone(chat: "Chat") -> str:
    zone = zone_of(session.first for session in chat.sessions)
    return f" (times in {zone})" if zone else ""


def _sessions(chat: "Chat", room: int | None) -> Iterator[str]:
    leaves = {leaf.place.file for leaf in chat.leaves}
    from backscroll.conversation.origins import origins_of

    origins = origins_of(chat)
    for session in chat.sessions:
        state = "leaf" if session.place.file in leaves else "contained in a later one"
        if origin := origins.get(session.place.file):
            state += f", {origin.kind} from {_id(origin.session.session_id or origin.session.place.name, room)}"
        name = _id(session.session_id or session.place.name, room)
        title = f"  “{clean_line(session.title)}”" if len(chat.sessions) > 1 and session.title else ""
        yield f"{name}  {minute(session.first)}  {plural(len(session.rows), 'row')}  {state}{title}"


def _branches(chat: "Chat", room: int | None) -> Iterator[str]:
    for branch in chat.branches:
        active = " (active)" if branch.number == 1 else ""
        left = f", left after “{_head(branch.left_at, room)}”" if branch.left_at and branch.number > 1 else ""
        left = left or (", left before the first prompt" if branch.number > 1 else "")
        note = f", {plural(branch.compactions, 'compaction')}" if branch.compactions else ""
        turns = plural(len(branch.turns), "turn")
        yield f"{branch.number}{active}: {turns}{note}{left}; ends with “{_end(branch, room)}”"


def _end(branch: "Branch", room: int | None) -> str:
    return next((text for turn in reversed(branch.turns) if (text := _head(turn, room))), "")


def _head(turn: object, room: int | None) -> str:
    head = getattr(turn, "head", None)
    text = clean_line(head.row.text) if head else ""
    return cut(text, PROMPT if room is None else max(20, (room - 40) // 2))


def _agents(agents: list["Agent"], room: int | None) -> Iterator[str]:
    below: dict[str | None, list[Agent]] = {}
    for agent in agents:
        below.setdefault(agent.parent.id if agent.parent else None, []).append(agent)
    waiting = [(agent, 0) for agent in reversed(below.pop(None, []))]
    while waiting:
        agent, depth = waiting.pop()
        kind = clean_line(agent.type or "agent")
        about = cut(clean_line(agent.description or agent.prompt), PROMPT)
        call = "" if agent.call else ", belongs to no call"
        yield f"{'   ' * depth}{_id(agent.id, room)}  {kind}: {about} ({plural(len(agent.rows), 'row')}{call})"
        waiting.extend((child, depth + 1) for child in reversed(below.pop(agent.id, [])))
