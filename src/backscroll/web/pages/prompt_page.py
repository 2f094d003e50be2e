"""The page of one saved prompt: its variables as fields, the filled-in text, and actions."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from backscroll.errors import BackscrollError
from backscroll.library.prompts.prompt import Audience, SavedPrompt, secrets_in
from backscroll.library.prompts.template import pieces_of
from backscroll.library.setup.slash_commands import slash_command
from backscroll.render.html.element import NOTHING, Html, el
from backscroll.render.html.icons import icon
from backscroll.render.terminal import plural
from backscroll.web.addresses import address, chat_address
from backscroll.web.asker import ASKER
from backscroll.web.layout import error_html
from backscroll.web.pages.chat_rows import when

PLACE: Final = "/prompts"


class FormValues(NamedTuple):
    """The values that were sent with the form where no script fills in the text."""

    values: Mapping[str, str]
    is_filled: bool = False
    problem: BackscrollError | None = None


def prompt_page(
    prompt: SavedPrompt,
    runs: int,
    here: str,
    audiences: Sequence[Audience],
    form: Html,
    values: FormValues,
    problem: BackscrollError | None,
) -> Html:
    """Return the page. `form` changes the prompt; `problem` is why it could not be changed."""
    is_own = not prompt.owner
    return el(
        "div",
        el("p", el("a", icon("arrow-left"), "All prompts", href=PLACE), class_="back"),
        el("h1", prompt.name),
        el("p", prompt.description, class_="lead") if prompt.description else NOTHING,
        _facts(prompt, runs),
        error_html(values.problem) if values.problem else NOTHING,
        _secrets(prompt) if is_own else NOTHING,
        _fill(prompt, here, values),
        _sharing(prompt, here, audiences) if is_own and audiences else NOTHING,
        _command(prompt, here),
        _edit(form, problem) if is_own else NOTHING,
        _delete(prompt, here) if is_own else NOTHING,
        class_="prompt",
    )


def _facts(prompt: SavedPrompt, runs: int) -> Html:
    uses = plural(prompt.uses + runs, "use")
    used = f"{uses}, {runs:,} of them as /{prompt.name} in your chats" if runs else uses
    source = prompt.source
    return el(
        "div",
        el("span", prompt.owner, class_="badge owner", title="Owner") if prompt.owner else NOTHING,
        el("span", used, title="Filled in and copied, fetched by agents, or run as a slash command"),
        el("span", "last ", when(_moment(prompt.used))) if _moment(prompt.used) else NOTHING,
        el("a", "from this message", href=chat_address(source.chat, source.message)) if source else NOTHING,
        [el("a", f"#{tag}", href=address(PLACE, tag=tag)) for tag in prompt.tags],
        class_="meta",
    )


def _fill(prompt: SavedPrompt, here: str, given: FormValues) -> Html:
    values = given.values
    fields = [
        el("label", el("span", name, class_="field-name"),
           el("textarea", values.get(name, ""), name=f"value-{name}", rows=1, data_value=name), class_="field")
        for name in prompt.variables
    ]  # fmt: skip
    pieces = [
        el("span", values.get(piece.variable) or piece.text, data_variable=piece.variable, class_="variable")
        if piece.variable
        else piece.text
        for piece in pieces_of(prompt.text)
    ]
    filled = el("p", "Filled in: select it and copy it.", class_="muted", role="status")
    done = filled if given.is_filled else NOTHING
    buttons = el(
        "div",
        el("button", icon("copy"), "Copy", type="button", class_="primary", data_action="copy-prompt", hidden=True),
        el("noscript", el("button", "Fill in", name="action", value="fill", class_="primary")) if fields else NOTHING,
        class_="dialog-actions",
    )
    return el(
        "form",
        el("div", fields, class_="values") if fields else NOTHING,
        done,
        el("pre", pieces, class_="prompt-text", id="prompt-text", tabindex=0, aria_label="Text of the prompt"),
        buttons,
        method="post", action=here, id="fill", class_="card",
    )  # fmt: skip


def _secrets(prompt: SavedPrompt) -> Html:
    kinds = secrets_in(prompt.text)
    if not kinds:
        return NOTHING
    warning = f"It seems to contain a secret ({', '.join(kinds)}). Put a variable in its place before others see it."
    return el("p", icon("warning"), el("span", warning), class_="dialog-note warn", role="status")


def _command(prompt: SavedPrompt, here: str) -> Html:
    download = el("a", icon("download"), f"{prompt.name}.md", href=f"{here}/command", class_="button", download=True)
    if ASKER.get():
        how = el("p", "Put this file into ", el("code", "~/.claude/commands"), ", or into ",
                 el("code", ".claude/commands"), " of a project.")  # fmt: skip
    else:
        how = el("p", "This shows the file and asks before writing it: ",
                 el("code", f"backscroll prompts install {prompt.name}"))  # fmt: skip
    return el(
        "details",
        el("summary", f"Use it as /{prompt.name} in Claude Code"),
        how,
        el("pre", slash_command(prompt), class_="prompt-text", tabindex=0, aria_label="File of the slash command"),
        el("p", download),
        class_="card",
    )


def _edit(form: Html, problem: BackscrollError | None) -> Html:
    refusal = error_html(problem) if problem else NOTHING
    return el("details", el("summary", "Edit"), refusal, form, class_="card", open=True if problem else None)


def _delete(prompt: SavedPrompt, here: str) -> Html:
    sure = el("p", f"Delete {prompt.name} for good? A slash command that you installed stays.")
    button = el("button", "Delete", name="action", value="delete", class_="danger")
    return el("details", el("summary", "Delete"), el("form", sure, button, method="post", action=here), class_="card")


def _sharing(prompt: SavedPrompt, here: str, audiences: Sequence[Audience]) -> Html:
    shared = [
        el("li", el("form", el("span", f"Shared with {audience.name} "),
                    el("input", type="hidden", name="audience", value=audience.key),
                    el("button", "Stop sharing", name="action", value="unshare", class_="quiet",
                       aria_label=f"Stop sharing with {audience.name}"), method="post", action=here))
        for audience in prompt.shared_with
    ]  # fmt: skip
    known = {audience.key for audience in prompt.shared_with}
    left = [el("option", audience.name, value=audience.key) for audience in audiences if audience.key not in known]
    form = el(
        "form",
        el("label", el("span", "Share with", class_="field-name"), el("select", left, name="audience"), class_="field"),
        el("button", "Share", name="action", value="share"),
        method="post", action=here, class_="row-form",
    ) if left else NOTHING  # fmt: skip
    state = el("ul", shared, class_="plain") if shared else el("p", "Only you can see it.", class_="muted")
    return el("section", el("h2", "Who can use it"), state, form, class_="card")


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
