"""Tools that keep a task list, ask the user, or propose a plan."""

from collections.abc import Mapping
from typing import Any, Final

from backscroll.render.html.element import NOTHING, Html, el
from backscroll.render.html.icons import icon
from backscroll.render.html.plain import first_line
from backscroll.render.html.prose import prose
from backscroll.render.html.tools.call_view import CallReader, CallView, first_text, label


def todos(reader: CallReader) -> CallView:
    """TodoWrite: the list, and the changes in it."""
    items = _items(reader.details.get("newTodos")) or _items(reader.input.get("todos"))
    old = {first_text(item, "content"): _status(item) for item in _items(reader.details.get("oldTodos"))}
    listed = [_item(first_text(item, "content"), _status(item), _todo_change(item, old)) for item in items]
    now = {first_text(item, "content") for item in items}
    gone = [_item(text, "deleted", "removed from the list") for text in old if text and text not in now]
    done = sum(_status(item) == "completed" for item in items)
    doing = next((first_text(item, "activeForm", "content") for item in items if _status(item) == "in_progress"), "")
    return CallView(
        "", [_checklist([*listed, *gone])], f"{done} of {len(items)} done", words=first_line(doing) or "the list"
    )


def task_create(reader: CallReader) -> CallView:
    """TaskCreate: a new task."""
    subject, description = reader.input_text("subject"), reader.input_text("description")
    task = reader.details.get("task")
    number = first_text(task, "id") if isinstance(task, dict) else ""
    item = _item(subject, "pending", "new", number)
    more = prose(description) if description else NOTHING
    return CallView("", [_checklist([item]), more], f"#{number}" if number else "", words=first_line(subject))


def task_update(reader: CallReader) -> CallView:
    """TaskUpdate: the new state of a task."""
    number = reader.input_text("taskId") or str(reader.input.get("taskId", ""))
    change = reader.details.get("statusChange")
    change = change if isinstance(change, dict) else {}
    before, after = first_text(change, "from"), first_text(change, "to") or reader.input_text("status")
    states = " → ".join(WORDS.get(word, word) for word in (before, after) if word)
    others = {name: value for name, value in reader.input.items() if name not in ("taskId", "status")}
    subject = reader.input_text("subject")
    checklist = _checklist([_item(subject or f"Task {number}", after or "pending", states, number)])
    rest = [
        label(name, str(value) if not isinstance(value, list) else ", ".join(map(str, value)))
        for name, value in others.items()
    ]
    words = f"#{number} {first_line(subject)}".strip()
    return CallView("", [checklist, *rest], states or ", ".join(others), words=words)


def tasks(reader: CallReader) -> CallView:
    """TaskList, TaskGet: the tasks."""
    single = reader.details.get("task")
    items = _items(reader.details.get("tasks")) or _items([single])
    listed = [_item(first_text(item, "subject"), _status(item), "", first_text(item, "id")) for item in items]
    done = sum(_status(item) == "completed" for item in items)
    if not items:
        return CallView(reader.about, [el("p", reader.output, class_="muted")] if reader.output else [])
    return CallView("", [_checklist(listed)], f"{done} of {len(items)} done", words="the list")


def questions(reader: CallReader) -> CallView:
    """AskUserQuestion: the questions, and the options that the user chose."""
    answers = reader.details.get("answers")
    answers = answers if isinstance(answers, dict) else {}
    items = _items(reader.input.get("questions")) or _items(reader.details.get("questions"))
    answered = [
        _question(item, answers, is_answered=bool(reader.call.result) and not reader.has_failed) for item in items
    ]
    heads = ", ".join(first_text(item, "header", "question") for item in items)
    return CallView("", answered, is_open=True, words=first_line(heads))


def _question(one: dict[str, Any], answers: Mapping[str, Any], *, is_answered: bool) -> Html:
    question = first_text(one, "question")
    answer = answers.get(question)
    answer = ", ".join(map(str, answer)) if isinstance(answer, list) else answer if isinstance(answer, str) else ""
    items, rest = [], answer
    for option in _items(one.get("options")):
        name = first_text(option, "label")
        is_chosen = bool(name) and (answer == name or name in answer.split(", "))
        rest = "" if answer == name else rest.replace(name, "", 1) if is_chosen else rest
        items.append(_option(name, first_text(option, "description"), is_chosen=is_chosen))
    own = rest.strip(", ")
    if own:
        items.append(_option(own, "", is_chosen=True, is_own=True))
    unanswered = el("p", "not answered", class_="muted") if not answer and not is_answered else NOTHING
    return el(
        "div", el("p", question, class_="asked"), el("ul", items, class_="options"), unanswered, class_="question"
    )


def _option(name: str, description: str, *, is_chosen: bool, is_own: bool = False) -> Html:
    mark = icon("circle-dot" if is_chosen else "circle")
    badge = el("span", "in your own words" if is_own else "chosen", class_="badge live") if is_chosen else NOTHING
    more = el("span", description, class_="muted option-more") if description else NOTHING
    return el(
        "li",
        mark,
        el("span", el("span", name, class_="option"), " ", badge, more),
        class_="chosen" if is_chosen else None,
    )


def plan(reader: CallReader) -> CallView:
    """ExitPlanMode: a plan, for the user to accept."""
    text = reader.input_text("plan") or reader.detail_text("plan")
    accepted = reader.call.result is not None and not reader.has_failed
    allowed = [
        f"{first_text(item, 'tool')}: {first_text(item, 'prompt')}"
        for item in _items(reader.input.get("allowedPrompts"))
    ]
    may = label("also allowed", el("ul", [el("li", item) for item in allowed])) if allowed else NOTHING
    body = [reader.prose(text)] if text else [el("p", "the plan is in a separate file", class_="muted")]
    return CallView("", [*body, may], "accepted" if accepted else "", words="a plan", is_open=bool(text))


def message_only(reader: CallReader) -> CallView:
    """EnterPlanMode: only the message, if there is one."""
    message = reader.detail_text("message") or ("" if reader.has_failed else reader.output)
    return CallView(reader.about, [el("p", message, class_="muted")] if message else [])


def _checklist(items: list[Html]) -> Html:
    return el("ul", items, class_="checklist")


def _item(text: str, status: str, change: str = "", number: str = "") -> Html:
    known = status if status in MARKS else "pending"
    mark = icon(MARKS[known])
    word = el("span", f"{WORDS.get(status, status)}: ", class_="unseen")
    note = el("span", change, class_="change") if change else NOTHING
    name = el("span", f"#{number} ", class_="muted") if number else NOTHING
    return el("li", mark, el("span", word, name, el("span", text, class_="todo-text"), " ", note), class_=known)


def _todo_change(item: dict[str, Any], old: Mapping[str, str]) -> str:
    text, status = first_text(item, "content"), _status(item)
    if not old:
        return ""
    if text not in old:
        return "new"
    return "" if old[text] == status else {"completed": "done now", "in_progress": "started"}.get(status, status)


def _items(value: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - whatever JSON holds
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _status(item: dict[str, Any]) -> str:
    return first_text(item, "status") or "pending"


MARKS: Final = {"pending": "circle", "in_progress": "circle-dot", "completed": "check", "deleted": "close"}
WORDS: Final = {"pending": "to do", "in_progress": "in progress", "completed": "done", "deleted": "removed"}
