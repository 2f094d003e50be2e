"""Share a chat: choose the format and the contents of the file, and check the masked secrets before it is saved.

The page works by itself; on a chat's page its contents open as a dialog.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from backscroll.conversation.branches import Branch
from backscroll.library import StoredChat
from backscroll.library.sharing.file_names import file_name
from backscroll.library.sharing.masked import MaskedSecret, masked_in, masked_rows
from backscroll.library.sharing.share import redactor
from backscroll.render.html.element import NOTHING, Html, el, join
from backscroll.render.html.icons import icon
from backscroll.render.html.outline import first_words
from backscroll.render.terminal import plural
from backscroll.web.addresses import chat_address, part
from backscroll.web.asker import ASKER, owner_name
from backscroll.web.pages.dialog_page import dialog_page
from backscroll.web.pages.export import ExportRequest, export_request
from backscroll.web.requests import PageRequest

TITLE: Final = "Share this chat"
FORMATS: Final = (
    ("html", "Web page", "one file that looks like this viewer and works offline"),
    ("md", "Markdown", "text, to paste somewhere or to give to a model"),
    ("json", "JSON", "for programs"),
    ("jsonl", "Original rows", "JSONL as Claude Code wrote it, always with everything"),
)
MAX_LISTED: Final = 20
MAX_BRANCHES: Final = 100


def show(request: PageRequest) -> Html:
    """Return the page. Its form leads to the file; in a dialog, the list of masked secrets is loaded afterwards."""
    reader = request.state.open_chats.open(request.library, request.path("chat"))
    choices = export_request(request)
    masks = el("div", id="masks", aria_live="polite", class_="masks")
    if request.get("fragment") != "1":
        masks = el("div", preview(request), id="masks", class_="masks")
    form = el(
        "form",
        _elsewhere(reader.stored),
        _formats(choices.form),
        _branches(reader.chat.branches, choices.selection.branch),
        el(
            "fieldset",
            el("legend", "Leave out"),
            _tick("no_tools", "Tool calls, their results, and agents", is_on=not choices.selection.tools),
            _tick("no_thinking", "Thinking", is_on=not choices.selection.thinking),
            class_="choices-list",
            id="leave-out",
        ),
        el(
            "fieldset",
            el("legend", "Secrets"),
            _tick("emails", "Mask e-mail addresses too", is_on=choices.emails),
            _tick("unmasked", "Do not mask anything", is_on=not choices.is_masked),
            class_="choices-list",
        ),
        masks,
        el("div", el("button", icon("download"), "Save the file", class_="primary"), class_="dialog-actions"),
        action=f"{chat_address(reader.stored.overview.id)}/export",
        id="share-form",
        class_="share-form",
        data_masks=f"{chat_address(reader.stored.overview.id)}/share/masks",
    )
    return dialog_page(request, reader.stored, TITLE, form)


def _elsewhere(stored: StoredChat) -> Html:
    """Return where on a team server an owner lets colleagues read the chat: this page only saves a file."""
    if not ASKER.get() or owner_name(stored.machines) != ASKER.get():
        return NOTHING
    readers = el("a", "Who can read it", href=f"{chat_address(stored.overview.id)}/audience")
    return el("p", "To let colleagues read this chat on the server, use ", readers, ". Here you save it as a file.",
              class_="muted")  # fmt: skip


def preview(request: PageRequest) -> Html:
    """Return the name of the file, and the secrets that are masked in it."""
    choices = export_request(request)
    stored = request.library.find(request.path("chat"))
    hiding = redactor(emails=choices.emails)
    if choices.form == "jsonl":
        secrets = masked_rows(request.library, stored, hiding)
    else:
        secrets = masked_in(request.library, stored, choices.selection, hiding)
    name = el("p", icon("file"), el("code", file_name(stored.overview, choices.form)), class_="file-name")
    return join([name, _masks(stored.overview.id, secrets, choices)])


def _masks(chat: str, found: Sequence[MaskedSecret], asked: ExportRequest) -> Html:
    caution = el("p", "Rules cannot recognise every secret: read what you share.", class_="muted")
    if not found:
        none = "No secrets were found in it." if asked.is_masked else "Nothing is masked; no secrets were found in it."
        return join([el("p", icon("check"), el("span", none), class_="dialog-note good"), caution])
    total = plural(len(found), "secret")
    if asked.is_masked:
        sentence = el("span", el("strong", f"{total} will be masked"), f": {_kinds(found)}")
        summary = el("p", icon("check"), sentence, class_="dialog-note good")
    else:
        sentence = el("span", el("strong", f"{total} will be readable"), f": {_kinds(found)}")
        summary = el("p", icon("warning"), sentence, class_="dialog-note warn")
    rows = [_row(chat, secret) for secret in found[:MAX_LISTED]]
    more = len(found) - MAX_LISTED
    rest = el("li", f"… and {more:,} more", class_="muted") if more > 0 else NOTHING
    listed = el("details", el("summary", "Show them"), el("ul", rows, rest, class_="masked-list"),
                open=True if len(found) <= 5 else None)  # fmt: skip
    return join([summary, listed, caution])


def _kinds(found: Sequence[MaskedSecret]) -> str:
    counts = Counter(secret.kind for secret in found)
    return ", ".join(
        f"{kind} {count:,}" for kind, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    )


def _row(chat: str, one: MaskedSecret) -> Html:
    first = one.messages[0] if one.messages else None
    where = (
        el(
            "a",
            f"in {plural(len(one.messages), 'message')}",
            href=f"{chat_address(chat)}?at={part(first)}#m-{part(first)}",
        )
        if first
        else el("span", "outside the messages", class_="muted")
    )
    secret = el("code", f"{one.begins}…", title=f"{one.length:,} characters")
    return el("li", secret, " ", el("span", one.what, class_="what"), " ", where)


def _formats(chosen: str) -> Html:
    items = [
        el(
            "label",
            el("input", type="radio", name="format", value=form, checked=True if form == chosen else None,
               data_autofocus=True if form == chosen else None),
            el("span", el("strong", name), el("span", meaning, class_="muted")),
        )
        for form, name, meaning in FORMATS
    ]  # fmt: skip
    return el("fieldset", el("legend", "Format"), items, class_="formats")


def _branches(branches: Sequence[Branch], chosen: int | None) -> Html:
    if len(branches) < 2:
        return NOTHING
    options = [el("option", f"All {len(branches):,} branches", value="all", selected=True if chosen is None else None)]
    listed = [*branches[:MAX_BRANCHES], *(branches[chosen - 1 : chosen] if chosen and chosen > MAX_BRANCHES else ())]
    for branch in listed:
        prompts = (turn.head.row.text for turn in branch.turns if turn.head and turn.head.row.text.strip())
        active = " (active)" if branch.number == 1 else ""
        name = f"Only branch {branch.number}{active}: {first_words(next(prompts, ''), 50)}"
        options.append(el("option", name, value=branch.number, selected=True if branch.number == chosen else None))
    return el("label", el("span", "Branch", class_="field-name"),
              el("select", options, name="branch", aria_label="Branch"), class_="field", id="share-branch")  # fmt: skip


def _tick(name: str, label: str, *, is_on: bool) -> Html:
    box = el("input", type="checkbox", name=name, value="1", checked=True if is_on else None)
    return el("label", box, el("span", label))
