"""The list of projects."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from backscroll.library.library import Library
from backscroll.render.html.element import Html, el, join
from backscroll.render.projects import names_of
from backscroll.render.terminal import plural
from backscroll.web.addresses import chats_address
from backscroll.web.layout import document
from backscroll.web.pages import first_run
from backscroll.web.pages.chat_rows import money, number_cell, when
from backscroll.web.requests import PageRequest


@dataclass
class ProjectSummary:
    """A project, with totals over its chats."""

    path: str | None
    chats: int = 0
    messages: int = 0
    prompts: int = 0
    cost: int | None = None
    """Cost in nanodollars; None if no price is known."""
    last_active: datetime | None = None


def show(request: PageRequest) -> Html:
    """Return the page with the list of projects."""
    if first_run.is_first_run(request.library):
        return first_run.page("Projects", "/chats")
    listed = projects(request.library)
    tabs = el(
        "nav",
        el("a", "All", href="/chats"),
        el("a", "By project", href=chats_address(by="project")),
        el("a", "Projects", href="/projects", aria_current="page"),
        class_="tabs", aria_label="Views",
    )  # fmt: skip
    total = el("span", plural(len(listed), "project"), class_="total muted")
    head = el("div", el("h1", "Projects ", total), tabs, class_="head")
    if not listed:
        return document("Projects", join([head, first_run.no_chats()]), here="/chats", styles=("pages.css",))
    names = names_of(project.path for project in listed if project.path)
    headings = [el("th", name, scope="col", class_="number" if number else None) for name, number in COLUMNS]
    table = el(
        "table",
        el("thead", el("tr", headings)),
        el("tbody", [_row(project, names) for project in listed]),
        class_="chats projects",
    )
    main = join([head, table])
    return document("Projects", main, here="/chats", scripts=("chat_lists.js",), styles=("pages.css",))


def projects(library: Library) -> list[ProjectSummary]:
    """Return all projects, the most recently active first."""
    by_path: dict[str | None, ProjectSummary] = {}
    for stored in library.chats(""):
        chat = stored.overview
        project = by_path.setdefault(chat.project, ProjectSummary(chat.project))
        project.chats += 1
        project.messages += chat.messages
        project.prompts += chat.prompts
        if stored.cost is not None:
            project.cost = (project.cost or 0) + stored.cost
        times = [time for time in (project.last_active, chat.last_active) if time is not None]
        project.last_active = max(times, default=None)
    return list(by_path.values())


def _row(project: ProjectSummary, names: Mapping[str, str]) -> Html:
    if project.path:
        name = el("a", names[project.path], href=chats_address(project=project.path), class_="open")
    else:
        name = el("span", "No project")
    return el(
        "tr",
        el("td", name, el("div", project.path or "", class_="meta mono path"), class_="about"),
        el("td", when(project.last_active), class_="when"),
        number_cell(project.chats, "chat"),
        number_cell(project.messages, "message"),
        number_cell(project.prompts, "prompt"),
        el("td", "–" if project.cost is None else money(project.cost), class_="number"),
    )


COLUMNS = (
    ("Project", False), ("Last active", False), ("Chats", True), ("Messages", True), ("Prompts", True), ("Cost", True),
)  # fmt: skip
