"""Saved prompts: the list, one prompt with its variables as a form, and the form that saves one from a chat."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Final

from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from backscroll.errors import BackscrollError, UsageError
from backscroll.library.chats.typed_prompts import typed_prompt
from backscroll.library.prompts.command_uses import command_uses
from backscroll.library.prompts.prompt import (
    LONGEST_DESCRIPTION,
    LONGEST_NAME,
    LONGEST_TEXT,
    PromptChange,
    PromptSource,
    SavedPrompt,
    matching_prompts,
    new_prompt,
    suggested_name,
)
from backscroll.library.prompts.prompt_file import FILE, prompts_as_json
from backscroll.library.prompts.transfer import import_prompts, read_prompts
from backscroll.library.setup.slash_commands import slash_command
from backscroll.render.html.element import NOTHING, Html, el, join
from backscroll.render.html.icons import icon
from backscroll.render.terminal import clean_line, plural
from backscroll.web.addresses import address, prompt_address
from backscroll.web.layout import document, empty_state, error_html
from backscroll.web.pages.dialog_page import dialog_page
from backscroll.web.pages.prompt_page import FormValues, prompt_page
from backscroll.web.requests import PageRequest, status_of

PLACE: Final = "/prompts"
STYLES: Final = ("pages.css", "dialogs.css", "prompts.css")
LONGEST_ID: Final = 200
SHOWN_TEXT: Final = 300


def show(request: PageRequest, notice: Html = NOTHING) -> Html:
    """Return the list: all prompts, or those with some words or a tag."""
    words, tag = request.get("q"), request.get("tag")
    prompts = request.prompts.all()
    matching = matching_prompts(prompts, words.split(), tag)
    if not prompts:
        body = empty_state(
            "prompt", "No saved prompts yet.", "Open a chat, point at a prompt that worked, and choose ",
            el("em", "save prompt"), "; or write one below.",
        )  # fmt: skip
    elif not matching:
        body = empty_state("prompt", "No saved prompt matches.", el("a", "Show all", href=PLACE))
    else:
        runs = command_uses(request.library, matching)
        own, others = ([prompt for prompt in matching if bool(prompt.owner) is is_other] for is_other in (False, True))
        mine = el("h2", "Your prompts", class_="unseen") if own else NOTHING
        body = join(
            [mine, _listed(own, runs), el("h2", "Shared with you") if others else NOTHING, _listed(others, runs)]
        )
    total = el("span", plural(len(prompts), "prompt"), class_="total muted") if prompts else NOTHING
    export = el("a", icon("download"), "Export yours", href=f"{PLACE}.json", download=True, class_="button")
    new = el("details", el("summary", "New prompt"), prompt_form({}), class_="new-prompt card",
             open=None if prompts else True)  # fmt: skip
    main = join([
        el("div", el("h1", "Prompts ", total), export if prompts else NOTHING, class_="head"),
        _filter(words, tag, prompts) if prompts else NOTHING,
        notice, body, new, IMPORT,
    ])  # fmt: skip
    return document("Prompts", main, here=PLACE, styles=STYLES, body_class="prompts-page")


def save(request: PageRequest) -> Response:
    """Save a new prompt; invalid input comes back in its form."""
    form = request.form
    chat, message = form.get("chat", "")[:LONGEST_ID], form.get("message", "")[:LONGEST_ID]
    try:
        prompt = new_prompt(
            form.get("name", ""),
            form.get("text", ""),
            description=form.get("description", ""),
            tags=form.get("tags", "").split(","),
            source=PromptSource(chat=chat, message=message) if chat and message else None,
        )
        saved = request.prompts.add(prompt)
    except UsageError as error:
        main = el("div", el("h1", "Save a prompt"), error_html(error), prompt_form(form), class_="sheet card")
        page = document("Save a prompt", main, here=PLACE, styles=STYLES)
        return HTMLResponse(page, status_of(error))
    return RedirectResponse(prompt_address(saved.key), HTTPStatus.SEE_OTHER)


def save_from_chat(request: PageRequest) -> Html:
    """Return the form with a prompt of a chat; on the chat's page it opens as a dialog."""
    reader = request.state.open_chats.open(request.library, request.path("chat"))
    typed = typed_prompt(request.library, reader, request.path("message"))
    fields = {"name": suggested_name(typed.text), "text": typed.text, "chat": typed.chat, "message": typed.message}
    return dialog_page(request, reader.stored, "Save this prompt", prompt_form(fields))


def one(request: PageRequest) -> Html:
    """Return the page of a prompt."""
    return _page(request, request.prompts.find(request.path("prompt")))


def act(request: PageRequest) -> Html | Response:
    """Use, change, share or delete a prompt."""
    prompts, key, form = request.prompts, request.path("prompt"), request.form
    action = form.get("action", "")
    if action == "use":  # it was filled in and copied by a script
        prompts.count_use(key)
        return Response(status_code=HTTPStatus.NO_CONTENT)
    if action == "fill":
        return _fill(request, key)
    if action == "change":
        return _change(request, key)
    if action == "delete":
        prompts.remove(key)
        return RedirectResponse(PLACE, HTTPStatus.SEE_OTHER)
    if action in ("share", "unshare"):
        (prompts.share if action == "share" else prompts.unshare)(key, form.get("audience", ""))
        return RedirectResponse(prompt_address(key), HTTPStatus.SEE_OTHER)
    raise UsageError(f"unknown action: {clean_line(action)[:50]}", "use the buttons of the page")


def _fill(request: PageRequest, key: str) -> Html | Response:
    """Return the page with the values of its form, where no script puts them in. An empty field has no value."""
    prompt = request.prompts.find(key)
    values = {name: value for name in prompt.variables if (value := request.form.get(f"value-{name}", ""))}
    try:
        prompt.filled(values)
    except UsageError as error:
        return HTMLResponse(_page(request, prompt, FormValues(values, problem=error)), status_of(error))
    return _page(request, request.prompts.count_use(key), FormValues(values, is_filled=True))


def _change(request: PageRequest, key: str) -> Response:
    form = request.form
    before = request.prompts.find(key)
    try:
        change = PromptChange(
            name=form.get("name"),
            text=form.get("text"),
            description=form.get("description"),
            tags=form["tags"].split(",") if "tags" in form else None,
        )
        changed = request.prompts.change(key, change)
    except UsageError as error:
        return HTMLResponse(_page(request, before, edited=form, problem=error), status_of(error))
    return RedirectResponse(prompt_address(changed.key), HTTPStatus.SEE_OTHER)


def as_command(request: PageRequest) -> Response:
    """Return the file of the slash command, as a download."""
    prompt = request.prompts.find(request.path("prompt"))
    headers = {"Content-Disposition": f'attachment; filename="{prompt.name}.md"'}
    return PlainTextResponse(slash_command(prompt), media_type="text/markdown", headers=headers)


def as_file(request: PageRequest) -> Response:
    """Return one's own prompts, as a file that can be imported elsewhere."""
    own = [prompt for prompt in request.prompts.all() if not prompt.owner]
    headers = {"Content-Disposition": f'attachment; filename="{FILE}"'}
    return Response(prompts_as_json(own), media_type="application/json", headers=headers)


def import_file(request: PageRequest) -> Html:
    """Add the prompts of a file whose content was pasted."""
    done = import_prompts(request.prompts, read_prompts(request.form.get("file", "").encode()))
    sentence = f"Added {plural(len(done.added), 'prompt')}."
    kept = f" Left out, because there is one of this name: {', '.join(done.kept)}." if done.kept else ""
    return show(request, el("p", sentence, kept, class_="notice", role="status"))


def _page(
    request: PageRequest,
    prompt: SavedPrompt,
    values: FormValues | None = None,
    edited: Mapping[str, str] | None = None,
    problem: BackscrollError | None = None,
) -> Html:
    runs = command_uses(request.library, [prompt]).get(prompt.key, 0)
    fields = edited or {
        "name": prompt.name, "text": prompt.text, "description": prompt.description, "tags": ", ".join(prompt.tags),
    }  # fmt: skip
    here = prompt_address(prompt.key)
    form, filled = prompt_form(fields, here), values or FormValues({})
    main = prompt_page(prompt, runs, here, request.prompts.audiences, form, filled, problem)
    return document(prompt.name, main, here=PLACE, styles=STYLES, scripts=("prompts.js",), body_class="prompts-page")


def prompt_form(fields: Mapping[str, str], changes: str = "") -> Html:
    """Return the form of a new prompt, or of the prompt that is changed at the address `changes`."""
    hidden = [el("input", type="hidden", name=name, value=fields[name]) for name in ("chat", "message")
              if fields.get(name) and not changes]  # fmt: skip
    return el(
        "form",
        _field("Name", "lower-case letters, digits, - and _", el(
            "input", type="text", name="name", value=fields.get("name") or None, required=True, maxlength=LONGEST_NAME,
            pattern="[a-z0-9][a-z0-9_\\-]*", autocomplete="off", spellcheck="false", data_autofocus=True)),
        _field("Text", "{{name}} is a variable", el(
            "textarea", fields.get("text", ""), name="text", required=True, rows=8, maxlength=LONGEST_TEXT)),
        _field("Description", "", el(
            "input", type="text", name="description", value=fields.get("description") or None,
            maxlength=LONGEST_DESCRIPTION, autocomplete="off")),
        _field("Tags", "separated by commas", el(
            "input", type="text", name="tags", value=fields.get("tags") or None, autocomplete="off")),
        hidden,
        el("div", el("button", "Save", name="action", value="change" if changes else "save", class_="primary"),
           class_="dialog-actions"),
        method="post", action=changes or PLACE, class_="prompt-form",
    )  # fmt: skip


def _field(name: str, hint: str, control: Html) -> Html:
    note = el("span", f" · {hint}", class_="muted") if hint else NOTHING
    return el("label", el("span", name, note, class_="field-name"), control, class_="field")


def _filter(words: str, tag: str, prompts: Sequence[SavedPrompt]) -> Html:
    search = el(
        "form",
        el("input", type="search", name="q", value=words or None, placeholder="Filter by words",
           aria_label="Filter the prompts", autocomplete="off"),
        el("input", type="hidden", name="tag", value=tag) if tag else NOTHING,
        el("button", "Filter"),
        action=PLACE, class_="filter", role="search", aria_label="Filter the prompts",
    )  # fmt: skip
    tags = sorted({name.lower(): name for prompt in prompts for name in prompt.tags}.items())
    chips = [
        el("a", f"#{name}", href=address(PLACE, q=words, tag=None if key == tag.lower() else name), class_="chip",
           aria_current="true" if key == tag.lower() else None)
        for key, name in tags
    ]  # fmt: skip
    return join([search, el("nav", chips, class_="chips", aria_label="Tags") if chips else NOTHING])


def _listed(prompts: Sequence[SavedPrompt], runs: Mapping[str, int]) -> Html:
    items = [_item(prompt, runs.get(prompt.key, 0)) for prompt in prompts]
    return el("ul", items, class_="prompt-list") if items else NOTHING


def _item(prompt: SavedPrompt, runs: int) -> Html:
    about = el("p", prompt.description, class_="about") if prompt.description else NOTHING
    shared = ", ".join(audience.name for audience in prompt.shared_with)
    facts = [
        el("span", prompt.owner, class_="badge owner", title="Owner") if prompt.owner else NOTHING,
        el("span", f"shared with {shared}") if shared else NOTHING,
        el("span", plural(prompt.uses + runs, "use")),
        el("span", ", ".join(prompt.variables), title="Variables", class_="mono") if prompt.variables else NOTHING,
        [el("a", f"#{tag}", href=address(PLACE, tag=tag)) for tag in prompt.tags],
    ]
    text = " ".join(prompt.text[:SHOWN_TEXT].split())
    return el(
        "li",
        el("h3", el("a", prompt.name, href=prompt_address(prompt.key), class_="open")),
        about,
        el("p", text, class_="beginning muted"),
        el("div", facts, class_="meta"),
    )


IMPORT: Final = el(
    "details",
    el("summary", "Import prompts"),
    el(
        "form",
        _field("Content of a prompts.json", "of another machine, or exported from a server", el(
            "textarea", name="file", required=True, rows=6)),
        el("div", el("button", "Import", class_="primary"), class_="dialog-actions"),
        method="post", action=f"{PLACE}.json", class_="prompt-form",
    ),
    class_="new-prompt card",
)  # fmt: skip
