"""A chat in lists: as a table row and as a list item."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from backscroll.conversation.overview import Overview
from backscroll.conversation.titles import cut_at_word
from backscroll.library import StoredChat
from backscroll.library.library import Library
from backscroll.library.marked_chats import marked_chat
from backscroll.library.marks import Mark
from backscroll.query.write import field_text
from backscroll.render.html.element import NOTHING, Html, el, join
from backscroll.render.html.icons import icon
from backscroll.render.projects import project_name
from backscroll.render.reports import dollars, short
from backscroll.render.terminal import clean_line, moment, plural
from backscroll.web.addresses import chat_address, chats_address
from backscroll.web.asker import machine_name, owner_badge
from backscroll.web.reader_zone import reader_time

LONGEST_TITLE: Final = 160
SHOWN_TAGS: Final = 6


@dataclass(frozen=True)
class ChatRow:
    """A chat in a list, with its marks."""

    stored: StoredChat
    mark: Mark
    is_live: bool
    machines: tuple[str, ...] = ()
    """Machines to name; none while everything is from the same machine."""

    @property
    def overview(self) -> Overview:
        """Title, project, times and counts of the chat."""
        return self.stored.overview

    @property
    def cost(self) -> str:
        """Cost of the chat, formatted."""
        return "–" if self.stored.cost is None else money(self.stored.cost)


def chat_rows(library: Library, chats: Iterable[StoredChat]) -> list[ChatRow]:
    """Return the rows of these chats, with their marks."""
    return [
        ChatRow(stored, marked_chat(library, stored).mark, is_live(library, stored), library.machines_of(stored))
        for stored in chats
    ]


def is_live(library: Library, stored: StoredChat) -> bool:
    """Whether a client has the chat open, or its file grows."""
    return any(session.lower() in library.scope.live for session in stored.overview.leaves)


def money(nanodollars: int) -> str:
    """Format nanodollars as dollars."""
    return dollars(round(nanodollars / 1000))


def when(time: datetime | None) -> Html:
    """Return a time as an element; a script replaces it by “5 min ago”."""
    if time is None:
        return el("span", "–", class_="muted")
    return el("time", f"{reader_time(time):%Y-%m-%d %H:%M}", datetime=moment(time))


def title_of(chat: Overview) -> str:
    """Return the title of a chat, on one line."""
    return cut_at_word(clean_line(chat.title), LONGEST_TITLE) or "(no title)"


def project_link(project: str | None) -> Html:
    """Return a link to a project's chats."""
    if not project:
        return el("span", "no project", class_="muted")
    return el("a", project_name(project), href=chats_address(project=project), title=project, class_="project")


def table_of(rows: Sequence[ChatRow], headings: Html, *, with_project: bool = True) -> Html:
    """Return a table of chats; on a narrow screen each row is a card."""
    body = [_row(row, with_project=with_project) for row in rows]
    return el("table", el("thead", headings), el("tbody", body), class_="chats")


def number_cell(count: int, noun: str, title: str | None = None) -> Html:
    """Return a cell with a number; narrow screens have no column headings, so the noun is part of the cell."""
    number, _, unit = plural(count, noun).partition(" ")
    return el("td", number, el("span", f" {unit}", class_="unit"), class_="number", title=title)


def item_of(row: ChatRow) -> Html:
    """Return a chat as an item of two lines."""
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
    """Return the badges of a chat: its owner on a team server, live, new, archived, branches, agents and tags."""
    chat = row.overview
    tags = dict.fromkeys([*chat.tags, *row.mark.tags])
    badges = [
        owner_badge(row.stored.machines),
        el("span", "live", class_="badge live") if row.is_live else NOTHING,
        el("span", "new", class_="badge unread", hidden=True),
        el("span", "archived", class_="badge", title="Deleted by Claude Code; kept in the archive")
        if row.stored.archived
        else NOTHING,
        _count_badge("branch", chat.branches, "branches") if chat.branches > 1 else NOTHING,
        _count_badge("agent", chat.agents, "agents" if chat.agents > 1 else "agent") if chat.agents else NOTHING,
        *(
            el(
                "a",
                machine_name(machine),
                href=chats_address(field_text("machine", machine)),
                class_="badge machine",
                title="Machine",
            )
            for machine in row.machines
        ),
        *(
            el("a", tag, href=chats_address(field_text("tag", tag)), class_="badge tag")
            for tag in list(tags)[:SHOWN_TAGS]
        ),
    ]
    return join(badges)


def _count_badge(drawing: str, count: int, noun: str) -> Html:
    """Return a badge with a drawing and a number; screen readers get the noun, too."""
    return el("span", icon(drawing), f"{count:,}", el("span", f" {noun}", class_="unseen"), class_="badge count",
              title=f"{count:,} {noun}")  # fmt: skip


def _row(row: ChatRow, *, with_project: bool) -> Html:
    chat = row.overview
    models = "; ".join(chat.models)
    return el(
        "tr",
        el("td", _pin(chat.id, is_pinned=row.mark.pinned), class_="pin"),
        el(
            "td",
            el(
                "div",
                _link(chat),
                el("span", badges_of(row), class_="badges"),
                _tag_button(chat.id),
                class_="chat-title",
            ),
            class_="about",
        ),
        el("td", project_link(chat.project), class_="project-cell") if with_project else None,
        el("td", _named(chat.git_branches), class_="branch-cell"),
        el("td", when(chat.last_active), class_="when"),
        number_cell(chat.messages, "message", plural(chat.prompts, "prompt")),
        el("td", row.cost, class_="number", title=f"{short(row.stored.tokens)} tokens; {models}"),
        data_chat=chat.id,
        data_last=moment(chat.last_active) if chat.last_active else None,
    )


def _link(chat: Overview) -> Html:
    return el("a", title_of(chat), href=chat_address(chat.id), class_="open")


def _pin(chat: str, *, is_pinned: bool) -> Html:
    button = el(
        "button", icon("pin"), name="pin", value="0" if is_pinned else "1", class_="quiet",
        aria_label="Unpin" if is_pinned else "Pin", title="Unpin" if is_pinned else "Pin",
    )  # fmt: skip
    return el("form", button, method="post", action=f"{chat_address(chat)}/marks", data_marks=True)


def _tag_button(chat: str) -> Html:
    return el("button", "+ tag", type="button", class_="quiet small", data_action="tag", data_chat=chat, hidden=True)


def _named(branches: Sequence[str]) -> Html | None:
    """Return the git branches of a chat."""
    if not branches:
        return None
    more = f" +{len(branches) - 1}" if len(branches) > 1 else ""
    return el("span", f"{clean_line(branches[-1])[:60]}{more}", class_="mono", title="; ".join(branches))
