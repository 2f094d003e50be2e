"""The to-do list that the model keeps with its tools."""

from collections.abc import Iterable

from backscroll.conversation.rows import RowCall
from backscroll.records.tools import Todo


def todos_of(calls: Iterable[RowCall]) -> list[Todo]:
    """Return the list after all these calls, which are in order.

    The client numbers tasks in the order they are made; tasks before the first call that we see are not known.
    """
    written: list[Todo] = []
    tasks: dict[str, Todo] = {}
    made = 0
    for call in calls:
        change = call.todo
        if change is None:
            continue
        if call.name == "TodoWrite":
            written = change.todos
        elif call.name == "TaskCreate":
            made += 1
            tasks[str(made)] = Todo(content=change.subject or "")
        elif change.task_id in tasks:
            old = tasks[change.task_id]
            if change.status == "deleted":
                del tasks[change.task_id]
            else:
                tasks[change.task_id] = Todo(content=change.subject or old.content, status=change.status or old.status)
    return [*written, *tasks.values()]
