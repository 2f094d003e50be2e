"""Turns of a session in which every field holds a payload: prompts, answers, every tool, and what the client notes."""

import base64
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Any, Final

from tests.support.drawings import Row
from tests.support.payloads import TEMPLATES, armed, number_of

Fill = Callable[[str], Any]
"""What stands in the field of this name."""

KNOWN: Final[dict[str, int]] = {}
"""Every field that was ever filled, and its number."""


class Poison:
    """Payloads for the fields of a turn: in as many turns as there are payloads, each field has had each of them."""

    def __init__(self, turn: int) -> None:
        self.turn = turn

    def __call__(self, field: str) -> str:
        place = KNOWN.setdefault(field, len(KNOWN))
        template = (self.turn + 7 * place) % len(TEMPLATES)
        return armed(template, number_of(template, place))


class Twist:
    """No texts at all, where texts are expected: all else that JSON has."""

    VALUES: Final[tuple[Any, ...]] = (
        None, True, False, 0, -1, 1.5, 1e308, 2**63, 2**200, "", [], {}, [[[]]], [None], {"a": None}, [1, "<b>", {}],
        {"__proto__": {"x": 1}, "constructor": {"prototype": {}}, "toString": "x", "": 0}, "1e999", "NaN",
    )  # fmt: skip

    def __init__(self, turn: int) -> None:
        self.turn = turn

    def __call__(self, field: str) -> Any:  # noqa: ANN401 - that is the point
        place = KNOWN.setdefault(field, len(KNOWN))
        return self.VALUES[(self.turn + place) % len(self.VALUES)]


def picture(width: int, height: int) -> bytes:
    """A PNG that says it has this size; its pixels are there if that is a small number of bytes."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"" if width * height > 4_000_000 else (b"\0" + b"\0" * ((width + 7) // 8)) * height
    head = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    )  # fmt: skip


def images(p: Fill) -> Iterator[Row]:
    """Pictures that are none, that lie about what they are, that are too large, or that are elsewhere."""
    svg = f'<svg xmlns="http://www.w3.org/2000/svg"><script>{p("svg.script")}</script></svg>'.encode(
        errors="replace"
    )  # fmt: skip
    polyglot = b"GIF89a/*" + b"\0" * 30 + b"*/=1;hit(0)//<script>hit(0)</script>"
    for data in (
        picture(1000, 1000),
        picture(60_000, 60_000),
        svg,
        b"<html><script>hit(0)</script>",
        polyglot,
        b"BM\0",
    ):
        text = base64.b64encode(data).decode()
        yield {"type": "image", "source": {"type": "base64", "media_type": p("image.media_type"), "data": text}}
    yield {"type": "image", "source": {"type": "base64", "media_type": "image/svg+xml", "data": p("image.data")}}
    yield {"type": "image", "source": {"type": "url", "url": p("image.url"), "media_type": p("image.kind")}}
    yield {"type": "image", "source": {"type": p("image.type"), "file_id": p("image.file")}}
    yield {
        "type": "document",
        "title": p("document.title"),
        "source": {"type": "url", "media_type": p("document.type")},
    }


def one_image(p: Fill) -> Row:
    """A picture that says of itself what it is not."""
    text = base64.b64encode(picture(1, 1)).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": p("image.media_type"), "data": text}}


def calls(p: Fill) -> Iterator[tuple[str, Row, Row]]:
    """Each tool with a view of its own: its name, what it was asked, and the row of its result."""

    def said(field: str, **fields: Any) -> Row:  # noqa: ANN401
        return {"content": p(field), **fields}

    def fields(tool: str, *names: str) -> Row:
        return {name: p(f"{tool}.{name}") for name in names}

    patch = [{"oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 2,
              "lines": [f"-{p('patch.old')}", f"+{p('patch.new')}", f" {p('patch.same')}",
                        str(p("patch.line"))]}]  # fmt: skip
    todo = {"content": p("todo.content"), "activeForm": p("todo.activeForm"), "status": p("todo.status")}
    doing = {"content": p("todo.doing"), "activeForm": p("todo.active"), "status": "in_progress"}
    task = fields("task", "id", "subject", "description", "status", "owner", "command", "stdout", "stderr", "output")
    cells = [{"cellType": "markdown", "source": p("cell.text")}, {"cellType": "code", "source": [p("cell.code")]}]
    page = {"title": p("page.title"), "url": p("page.url"), "page_age": p("page.age")}
    found = f"{p('grep.file')}:12:{p('grep.line')}\n{p('grep.name')}-13-{p('grep.around')}\n--\n7:{p('grep.last')}"
    question = {**fields("question", "question", "header"), "multiSelect": False,
                "options": [fields("option", "label", "description"), {"label": "x"}]}  # fmt: skip
    answers = {str(question["question"]): p("question.answer")}
    edit = fields("edit", "file_path", "old_string", "new_string")
    shell = fields("shell", "stdout", "stderr", "returnCodeInterpretation", "backgroundTaskId")

    yield "Edit", edit, said("edit.said", toolUseResult={"filePath": p("edit.filePath"), "structuredPatch": patch,
                             "oldString": p("edit.oldString"), "originalFile": p("edit.original")})  # fmt: skip
    yield "Edit", edit, said("edit.error", is_error=True, toolUseResult=p("edit.failed"))
    yield "MultiEdit", {"file_path": p("multi.path"), "edits": [edit, edit]}, said("multi.said")
    yield "Write", fields("write", "file_path", "content"), said("write.said", toolUseResult={
        "type": "create", "filePath": p("write.path"), "content": p("write.new"), "structuredPatch": []})  # fmt: skip
    yield "NotebookEdit", {**fields("notebook", "notebook_path", "cell_id", "new_source", "edit_mode"),
                           "cell_type": "markdown"}, said("notebook.said", toolUseResult=fields(
                               "notebook", "language", "old_source"))  # fmt: skip
    yield "Read", fields("read", "file_path"), said("read.said", toolUseResult={"type": "text", "file": {
        "filePath": p("read.path"), "content": p("read.content"), "startLine": 3, "numLines": 1,
        "totalLines": 9}})  # fmt: skip
    yield "Read", {"file_path": f"/x/{p('read.name')}.svg"}, said("read.numbered")
    yield "Read", fields("cells", "file_path"), said("cells.said", toolUseResult={"file": {"cells": cells}})
    yield "Read", fields("seen", "file_path"), {"content": list(images(p))}
    yield "Glob", fields("glob", "pattern", "path"), said("glob.said", toolUseResult={"filenames": [p("glob.file")]})
    yield "LS", fields("ls", "path"), said("ls.said")
    yield "Grep", fields("grep", "pattern", "path", "glob", "type"), {"content": found}
    yield "Grep", fields("greps", "pattern"), said("greps.said", toolUseResult={"content": p("greps.content")})
    yield "Bash", fields("bash", "command", "description"), said("bash.said", toolUseResult=shell)
    yield "Bash", fields("bash", "command"), {"content": f"Exit code 1\n{p('bash.failed')}", "is_error": True}
    yield "PowerShell", fields("power", "command"), said("power.said", toolUseResult={"isImage": True})
    yield "BashOutput", fields("output", "bash_id"), said("output.said", toolUseResult={"task": task})
    yield "TaskOutput", fields("output", "task_id"), said("output.told")
    yield "KillShell", fields("kill", "shell_id"), said("kill.said", toolUseResult={"message": p("kill.message")})
    yield "TodoWrite", {"todos": [todo, doing]}, said("todo.said", toolUseResult={
        "oldTodos": [{"content": p("todo.old"), "status": "pending"}], "newTodos": [todo, doing]})  # fmt: skip
    yield "TaskCreate", fields("made", "subject", "description"), said("made.said", toolUseResult={"task": task})
    yield "TaskUpdate", {**fields("changed", "taskId", "status", "subject"), str(p("changed.key")): p("changed.value"),
                         "addBlocks": [p("changed.blocks")]}, said("changed.said", toolUseResult={
                             "statusChange": {"from": p("changed.from"), "to": p("changed.to")}})  # fmt: skip
    yield "TaskList", {}, said("tasks.said", toolUseResult={"tasks": [task]})
    yield "TaskGet", {}, said("tasks.told")
    yield "AskUserQuestion", {"questions": [question]}, said("question.said", toolUseResult={"answers": answers})
    yield (
        "ExitPlanMode",
        {"plan": p("plan.plan"), "allowedPrompts": [fields("plan", "tool", "prompt")]},
        said("plan.said"),
    )
    yield "EnterPlanMode", {}, said("plan.entered", toolUseResult={"message": p("plan.message")})
    yield "Task", fields("agent", "description", "prompt", "subagent_type"), said("agent.said", toolUseResult={
        "agentId": p("agent.id"), "status": p("agent.status"), "totalTokens": 5, "content": [
            {"type": "text", "text": p("agent.text")}]})  # fmt: skip
    yield "WebFetch", fields("fetch", "url", "prompt"), said("fetch.said", toolUseResult={
        "result": p("fetch.result"), "code": 200, "codeText": p("fetch.text"), "url": p("fetch.where")})  # fmt: skip
    yield "WebSearch", fields("search", "query"), said("search.said", toolUseResult={
        "query": p("search.asked"), "results": [
        {"tool_use_id": "x", "content": [page]}, p("search.text")], "durationSeconds": 2})  # fmt: skip
    yield "Skill", fields("skill", "skill", "args"), said("skill.said")
    yield "SlashCommand", fields("slash", "command"), said("slash.said")
    yield f"mcp__{p('mcp.server')}__{p('mcp.tool')}", {str(p("mcp.key")): p("mcp.value"), "list": [p("mcp.item")],
        "deep": {
        str(p("mcp.inner")): [p("mcp.deep")]}}, {"content": [
            {"type": "text", "text": p("mcp.text")}, {"type": "tool_reference", "tool_name": p("mcp.reference")},
            {"type": p("mcp.type"), "x": p("mcp.field")}, one_image(p)],
            "toolUseResult": [p("mcp.result")]}  # fmt: skip
    yield p("tool.name"), {"title": p("tool.title"), str(p("tool.key")): p("tool.input")}, said("tool.said")
    yield "Bash", {"command": p("denied.command")}, {
        "content": f"The user doesn't want to proceed with this tool use. the user said:\n{p('denied.words')}",
        "is_error": True, "toolDenialKind": p("denied.kind"), "toolUseResult": "User rejected tool use"}  # fmt: skip


def answer(p: Fill, name: str) -> Iterator[Row]:
    """The blocks of an answer that call nothing."""
    yield {"type": "thinking", "thinking": p("thinking"), "signature": p("signature")}
    yield {"type": "text", "text": p("answer"), "citations": [{"url": p("citation")}]}
    yield {"type": "text", "text": f"before\n\n{p('answer.block')}\n\nbehind"}
    yield {"type": "text", "text": f"```{p('fence.language')}\n{p('fence.text')}\n```"}
    yield {"type": "redacted_thinking", "data": p("redacted")}
    yield {"type": "server_tool_use", "id": name, "name": "web_search", "input": {"query": p("server.query")}}
    page = {
        "type": "web_search_result",
        "url": p("server.url"),
        "title": p("server.title"),
        "page_age": p("server.age"),
    }
    yield {"type": "web_search_tool_result", "tool_use_id": name, "content": [page]}
    yield {
        "type": "web_search_tool_result",
        "tool_use_id": p("server.id"),
        "content": {"error_code": p("server.error")},
    }
    yield {"type": p("block.type"), str(p("block.key")): p("block.value")}
    yield one_image(p)


def notes(p: Fill) -> Iterator[Row]:
    """What the client notes between prompts and answers; rows of the chain."""
    subtypes = ("local_command", "informational", "away_summary", "model_fallback", "memory_saved", "thinking", "x")
    for subtype in subtypes:
        yield {"type": "system", "subtype": subtype, "content": p(f"system.{subtype}"), "level": p("system.level")}
    yield {"type": "system", "subtype": p("system.subtype"), str(p("system.key")): p("system.value")}
    yield {"type": "system", "subtype": "stop_hook_summary", "hookCount": 1,
           "hookInfos": [{"command": p("hook.command")}],
           "hookErrors": [p("hook.error")], "stopReason": p("hook.stop"), "preventedContinuation": True}  # fmt: skip
    yield {"type": "system", "subtype": "api_error", "retryInMs": 9.5, "retryAttempt": 1, "maxRetries": 2,
           "error": {"message": p("api.message"), "error": {"message": p("api.inner")}}}  # fmt: skip
    yield {"type": "system", "subtype": "turn_duration", "durationMs": 1e300}
    for kind in ("file", "hook_blocking_error", "hook_success", "edited_text_file", "skill_listing", "todo_reminder"):
        yield {"type": "attachment", "attachment": {
            "type": kind, **{name: p(f"attached.{name}") for name in ("content", "filename", "hookName", "hookEvent",
            "stdout", "snippet", "displayPath", "command")},
            "blockingError": {"blockingError": p("attached.error")}}}  # fmt: skip
    yield {
        "type": "attachment",
        "attachment": {"type": "queued_command", "prompt": p("queued"), "commandMode": p("queued.mode")},
    }
    yield {"type": "attachment", "attachment": {"type": "queued_command", "prompt": [
        {"type": "text", "text": p("queued.text")}, one_image(p)]}}  # fmt: skip
    yield {
        "type": "attachment",
        "attachment": {"type": p("attached.type"), str(p("attached.key")): p("attached.value")},
    }
    yield {
        "type": "progress",
        "toolUseID": p("progress.id"),
        "data": {"type": p("progress.type"), "output": p("progress")},
    }
    yield {"type": p("row.type"), str(p("row.key")): p("row.value"), "content": p("row.content")}
    yield {"type": "assistant", "isApiErrorMessage": True, "message": {
        "role": "assistant", "model": "<synthetic>", "content": [{"type": "text", "text": p("api.text")}]}}  # fmt: skip
    for name in ("plain", "meta", "notified", "summed", "blocks", "spoken"):
        content = [{"type": "text", "text": p("user.block")}, one_image(p)] if name == "blocks" else p(f"user.{name}")
        yield {"type": "user", "message": {"role": "user", "content": content}, "isMeta": name == "meta",
               "isCompactSummary": name == "summed", "origin": {"kind": p("origin.kind")},
               "permissionMode": p("permission"), "promptSource": p("prompt.source")}  # fmt: skip


def outside(p: Fill) -> Iterator[Row]:
    """Rows outside the chain."""
    yield {"type": "queue-operation", "operation": p("queue.operation"), "content": p("queue.content")}
    yield {"type": "pr-link", "prNumber": 12, "prUrl": p("pr.url"), "prRepository": p("pr.repository")}
    yield {"type": "mode", "mode": p("mode")}
    yield {"type": "permission-mode", "permissionMode": p("permission.mode")}
    yield {"type": "tag", "tag": p("tag")}
    yield {"type": "agent-color", "agentColor": p("agent.color")}
    yield {"type": "agent-setting", "agentSetting": p("agent.setting")}
    yield {"type": "worktree-state", "worktreeSession": {str(p("worktree.key")): p("worktree.value")}}
    yield {"type": "file-history-snapshot", "messageId": p("snapshot.id"), "isSnapshotUpdate": False, "snapshot": {
        "messageId": p("snapshot.message"), "timestamp": p("snapshot.time"), "trackedFileBackups": {
            str(p("snapshot.path")): {"backupFileName": p("snapshot.backup"), "version": 1}}}}  # fmt: skip
    yield {"type": "cost-state", "totalCostUSD": 1.5, "modelUsage": {str(p("cost.model")): {"costUSD": p("cost.usd")}}}
    yield {"type": p("outside.type"), str(p("outside.key")): p("outside.value")}
    yield {str(p("typeless.key")): p("typeless.value")}
