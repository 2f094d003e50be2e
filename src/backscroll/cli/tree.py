"""`backscroll tree`: what a chat is made of."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from backscroll.cli.options import current_request, global_options
from backscroll.cli.output import open_library, write, write_json
from backscroll.render.terminal import clean_line, plural

if TYPE_CHECKING:
    from backscroll.conversation.agents import Agent
    from backscroll.conversation.chat import Branch, Chat


@click.command("tree")
@click.argument("name", metavar="ID")
@click.option("--all", "everything", is_flag=True, help="Include agents that only warmed up or that copy the session.")
@click.option("--compare", type=(int, int), metavar="A B", help="Compare two branches: prompts, answers, files, cost.")
@global_options
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
        from backscroll.cli.compare import show_comparison

        show_comparison(library, stored, *compare, as_json=request.json)
        return
    chat = library.open(stored, with_records=False).chat
    agents = chat.agents if everything else chat.shown_agents
    if request.json:
        from backscroll.library.marked_chats import marked_chat
        from backscroll.render.chats import agent_as_json, branch_as_json, chat_as_json

        mark = marked_chat(library, stored).mark
        write_json({
            "chat": chat_as_json(
                stored.overview,
                archived=stored.archived,
                pinned=mark.pinned,
                tags=mark.tags,
                machines=stored.machines,
            ),
            "branches": [branch_as_json(branch) for branch in chat.branches],
            "agents": [agent_as_json(agent) for agent in agents],
        })  # fmt: skip
        return
    write(click.style(f"{clean_line(chat.id)}  {clean_line(stored.overview.title)}", bold=True))
    sections = [
        ("sessions", list(_sessions(chat))),
        ("branches", list(_branches(chat))),
        ("agents", list(_agents(agents))),
    ]
    present = [(title, lines) for title, lines in sections if lines]
    for index, (title, lines) in enumerate(present):
        last = index == len(present) - 1
        write(f"{'└' if last else '├'}─ {title}")
        for line in lines:
            write(f"{' ' if last else '│'}  {line}")


def _sessions(chat: "Chat") -> Iterator[str]:
    leaves = {leaf.place.file for leaf in chat.leaves}
    for session in chat.sessions:
        state = "leaf" if session.place.file in leaves else "contained in a later one"
        when = f"{session.first.astimezone():%Y-%m-%d %H:%M}" if session.first else "-"
        name = clean_line(session.session_id or session.place.name)
        yield f"{name}  {when}  {plural(len(session.rows), 'row')}  {state}"


def _branches(chat: "Chat") -> Iterator[str]:
    for branch in chat.branches:
        active = " (active)" if branch.number == 1 else ""
        left = f", left after “{_head(branch.left_at)}”" if branch.left_at and branch.number > 1 else ""
        note = f", {plural(branch.compactions, 'compaction')}" if branch.compactions else ""
        yield f"{branch.number}{active}: {plural(len(branch.turns), 'turn')}{note}{left}; ends with “{_end(branch)}”"


def _end(branch: "Branch") -> str:
    return next((text for turn in reversed(branch.turns) if (text := _head(turn))), "")


def _head(turn: object) -> str:
    head = getattr(turn, "head", None)
    text = clean_line(head.row.text) if head else ""
    return text if len(text) <= 50 else text[:49] + "…"


def _agents(agents: list["Agent"]) -> Iterator[str]:
    below: dict[str | None, list[Agent]] = {}
    for agent in agents:
        below.setdefault(agent.parent.id if agent.parent else None, []).append(agent)
    waiting = [(agent, 0) for agent in reversed(below.pop(None, []))]
    while waiting:
        agent, depth = waiting.pop()
        kind = clean_line(agent.type or "agent")
        about = clean_line(agent.description or agent.prompt)[:50]
        call = "" if agent.call else ", belongs to no call"
        yield f"{'   ' * depth}{clean_line(agent.id)}  {kind}: {about} ({plural(len(agent.rows), 'row')}{call})"
        waiting.extend((child, depth + 1) for child in reversed(below.pop(agent.id, [])))
