"""A chat in lists: as a table row and as a list item."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from backscroll.conversation.overview import Overview
from backscroll.library import StoredChat
from backscroll.library.library import Library
from backscroll.library.marked_chats import marked_chat
from backscroll.library.marks import Mark
from backscroll.query.write import field_text
from backscroll.render.html.element import NOTHING, Html, el, join
from backscroll.render.reports import dollars, short
from backscroll.render.terminal import clean_line, moment, plural
from backscroll.web.addresses import chat_address, chats_address

LONGEST_TITLE: Final = 160
SHOWN_TAGS: Final = 6
SHORTEST_NAME: Final = 3
"""A shorter folder name is shown with its parent."""
MOST_PARTS: Final = 12


@dataclass(frozen=True)
class ChatRow:
    """A chat in a list, with its marks."""

    stored: StoredChat
    mark: Mark
    is_live: bool
    machines: tuple[str, ...] = ()
    """The machines to name; none while everything is from one."""

    @property
    def overview(self) -> Overview:
        """Its title, project, times and counts."""
        return self.stored.overview

    @property
    def cost(self) -> str:
        """Its cost, formatted."""
        return "–" if self.stored.cost is None else money(self.stored.cost)


def chat_rows(library: Library, chats: Iterable[StoredChat]) -> list[ChatRow]:
    """Chats with their marks."""
    return [
        ChatRow(stored, marked_chat(library, stored).mark, is_live(library, stored), library.machines_of(stored))
        for stored in chats
    ]


def is_live(library: Library, stored: StoredChat) -> bool:
    """Whether a client has it open."""
    return any(session.lower() in library.live for session in stored.overview.leaves)


def money(nanodollars: int) -> str:
    """Nanodollars, formatted as dollars."""
    return dollars(round(nanodollars / 1000))


def when(time: datetime | None) -> Html:
    """A time; a script replaces it by “5 min ago”."""
    if time is None:
        return el("span", "–", class_="muted")
    try:
        local = time.astimezone()
    except OverflowError:  # a broken clock: the first or last hours of the calendar
        local = time
    return el("time", f"{local:%Y-%m-%d %H:%M}", datetime=moment(time))


def title_of(chat: Overview) -> str:
    """Its title, on one line."""
    title = clean_line(chat.title) or "(no title)"
    return title if len(title) <= LONGEST_TITLE else title[: LONGEST_TITLE - 1].rstrip() + "…"


def project_name(project: str | None) -> str:
    """The last part of a project's path, with its parent if that is very short: `.worktrees/2`."""
    parts = clean_line(project or "-").replace("\\", "/").rstrip("/").split("/")
    names = [parts.pop()]
    while len(names[0]) < SHORTEST_NAME and parts and parts[-1]:
        names.insert(0, parts.pop())
    return "/".join(names) or "/"


def names_of(projects: Iterable[str]) -> dict[str, str]:
    """The names of projects, with more of the path where two would be equal."""
    names = {project: project_name(project) for project in projects}
    for _ in range(MOST_PARTS):
        often = Counter(names.values())
        same = [project for project, name in names.items() if often[name] > 1]
        if not same:
            break
        for project in same:
            parts = clean_line(project).replace("\\", "/").strip("/").split("/")
            names[project] = "/".join(parts[-names[project].count("/") - 2 :])
    return names


def project_link(project: str | None) -> Html:
    """A link to a project's chats."""
    if not project:
        return el("span", "no project", class_="muted")
    return el("a", project_name(project), href=chats_address(project=project), title=project, class_="project")


def table_of(rows: Sequence[ChatRow], headings: Html, *, with_project: bool = True) -> Html:
    """A table of chats; on a narrow screen each row is a card."""
    body = [_row(row, with_project=with_project) for row in rows]
    return el("table", el("thead", headings), el("tbody", body), class_="chats")


def number_cell(count: int, noun: str) -> Html:
    """A cell with a number; narrow screens have no column headings, so the noun is part of the cell."""
    told, _, unit = plural(count, noun).partition(" ")
    return el("td", told, el("span", f" {unit}", class_="unit"), class_="number")


def item_of(row: ChatRow) -> Html:
    """A chat in two lines."""
    chat = row.overview
    facts = [project_link(chat.project), when(chat.last_active), plural(chat.messages, "message")]
    if row.stored.cost:
        facts.append(row.cost)
    return el(
        "li",
        el("div", _link(chat), class_="chat-title"),
        el("div", badges_of(row), join([el("span", fact) for fact in facts]), class_="meta"),
        data_chat=chat.id,
        data_last=moment(chat.last_active) if chat.last_active else None,
    )


def badges_of(row: ChatRow) -> Html:
    """The badges of a chat: live, new, archived, branches, agents and tags."""
    chat = row.overview
    tags = dict.fromkeys([*chat.tags, *row.mark.tags])
    badges = [
        el("span", "live", class_="badge live") if row.is_live else NOTHING,
        el("span", "new", class_="badge unread", hidden=True),
        el("span", "archived", class_="badge", title="Deleted by Claude Code; kept in the archive")
        if row.stored.archived
        else NOTHING,
        el("span", f"{chat.branches:,} branches", class_="badge") if chat.branches > 1 else NOTHING,
        el("span", plural(chat.agents, "agent"), class_="badge") if chat.agents else NOTHING,
        *(
            el("a", machine, href=chats_address(field_text("machine", machine)), class_="badge", title="Machine")
            for machine in row.machines
        ),
        *(
            el("a", tag, href=chats_address(field_text("tag", tag)), class_="badge tag")
            for tag in list(tags)[:SHOWN_TAGS]
        ),
    ]
    return join(badges)


def _row(row: ChatRow, *, with_project: bool) -> Html:
    chat = row.overview
    about = [project_link(chat.project) if with_project else None, _named(chat.git_branches), _models(chat.models)]
    return el(
        "tr",
        el("td", _pin(chat.id, is_pinned=row.mark.pinned), class_="pin"),
        el(
            "td",
            el("div", _link(chat), class_="chat-title"),
            el(
                "div",
                badges_of(row),
                join([el("span", fact) for fact in about if fact]),
                _tag_button(chat.id),
                class_="meta",
            ),
            class_="about",
        ),
        el("td", when(chat.last_active), class_="when"),
        number_cell(chat.messages, "message"),
        number_cell(chat.prompts, "prompt"),
        el("td", row.cost, class_="number", title=f"{short(row.stored.tokens)} tokens"),
        data_chat=chat.id,
        data_last=moment(chat.last_active) if chat.last_active else None,
    )


def _link(chat: Overview) -> Html:
    return el("a", title_of(chat), href=chat_address(chat.id), class_="open")


def _pin(chat: str, *, is_pinned: bool) -> Html:
    button = el(
        "button", "★" if is_pinned else "☆", name="pin", value="0" if is_pinned else "1", class_="quiet",
        aria_label="Unpin" if is_pinned else "Pin", title="Unpin" if is_pinned else "Pin",
    )  # fmt: skip
    return el("form", button, method="post", action=f"{chat_address(chat)}/marks", data_marks=True)


def _tag_button(chat: str) -> Html:
    return el("button", "+ tag", type="button", class_="quiet small", data_action="tag", data_chat=chat, hidden=True)


def _named(branches: Sequence[str]) -> Html | None:
    """The git branches of the chat."""
    if not branches:
        return None
    more = f" +{len(branches) - 1}" if len(branches) > 1 else ""
    return el("span", f"{clean_line(branches[-1])[:60]}{more}", class_="mono", title="; ".join(branches))


def _models(models: Sequence[str]) -> Html | None:
    if not models:
        return None
    more = f" +{len(models) - 1}" if len(models) > 1 else ""
    return el("span", f"{clean_line(models[-1]).removeprefix('claude-')}{more}", title="; ".join(models))
