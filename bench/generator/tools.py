"""Tool calls with their results, in the shapes the client writes them.

A call's parts are JSON text ready to be put into rows. Which call comes when, and what rows carry it, is the
business of `stories`.
"""

import hashlib
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from bench.generator.rows import GeneratingClient
from bench.generator.texts import CODE, ENDINGS, GeneratedTexts

# How often each tool is called; the rest of the call mix (agents) is decided by the story.
_MIX = {
    "Bash": 35.0,
    "Read": 26.0,
    "Edit": 13.0,
    "Grep": 11.5,
    "Tasks": 5.5,
    "Glob": 2.5,
    "Write": 2.2,
    "Mcp": 2.6,
    "WebFetch": 0.6,
    "WebSearch": 0.6,
}
_SPILL_FROM = 30_000
_PREVIEW = 2_000
_MCP_TOOLS = ("mcp__tracker__get_issue", "mcp__browser__snapshot", "mcp__docs__search")
_DENIED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed."
)


class GeneratedCall(NamedTuple):
    """One call: the tool_use's name and input, the result's content, and `toolUseResult` ("" when absent)."""

    name: str
    arguments: str
    content: str
    result: str
    failed: bool = False
    output: str = ""
    """The output of a shell, escaped: progress rows repeat it and a spill keeps all of it."""
    path: str = ""
    before: str = ""
    """The file before an edit, escaped: file-history keeps it."""
    image: bool = False


class GeneratedTask(NamedTuple):
    """The task of a sub-agent, escaped."""

    kind: str
    description: str
    prompt: str


@dataclass(slots=True)
class Tools:
    """Makes calls for one session. `largest` bounds any text, so that a small session stays small."""

    texts: GeneratedTexts
    rng: Random
    client: GeneratingClient
    cwd: str
    largest: int
    images: float
    files: list[str] = field(default_factory=list)
    todos: list[tuple[str, str]] = field(default_factory=list)
    tasks_made: int = 0

    def call(self) -> GeneratedCall:
        """A call of any tool but the agent's."""
        name = self.rng.choices(_NAMES, cum_weights=_WEIGHTS)[0]
        if self.rng.random() < 0.035:
            return self._failed(name)
        if name == "Bash":
            return self.bash()
        if name == "Read":
            return self.image() if self.rng.random() < self.images else self.read()
        if name == "Edit":
            return self.edit()
        if name == "Grep":
            return self.grep()
        return self._seldom(name)

    def length(self, median: float, spread: float) -> int:
        """A length by a log-normal law, within what this session can bear."""
        length = int(median * self.rng.lognormvariate(0.0, spread))
        return length if length < self.largest else self.largest

    def task(self) -> GeneratedTask:
        """A task for a sub-agent."""
        kind = self.rng.choice(("general-purpose", "Explore", "Plan", "code-reviewer"))
        return GeneratedTask(kind, self.texts.phrase(self.rng), self.texts.prose(self.rng, self.length(700, 0.8)))

    def bash(self) -> GeneratedCall:
        """A shell command."""
        rng = self.rng
        output = self.texts.output(rng, self.length(640, 1.7)) if rng.random() < 0.9 else ""
        arguments = f'{{"command":"{self.texts.command(rng)}"'
        arguments += f',"description":"{self.texts.phrase(rng)}"}}' if rng.random() < 0.9 else "}"
        if len(output) > _SPILL_FROM and not self.client.spills:
            output = first_lines(output, _SPILL_FROM)
        result = f'{{"stdout":"{output}","stderr":"","interrupted":false,"isImage":false'
        result += ',"noOutputExpected":false}' if self.client.number >= (2, 1, 40) else "}"
        return GeneratedCall("Bash", arguments, f'"{output}"', result, output=output)

    def read(self) -> GeneratedCall:
        """A text file, numbered for the model and plain for the client."""
        rng = self.rng
        path, kind = self._file()
        lines = self.texts.code(rng, kind, self.length(2_400, 1.35))
        first = 1 if rng.random() < 0.6 else int(rng.random() * 800) + 1
        arrow = self.client.arrow
        numbered = "\\n".join([f"{number:6}{arrow}{line}" for number, line in enumerate(lines, first)])
        arguments = f'{{"file_path":"{path}"}}' if first == 1 else f'{{"file_path":"{path}","offset":{first}}}'
        total = first + len(lines) + int(rng.random() * 50) * (first > 1) - 1
        content = "\\n".join(lines)
        result = (
            f'{{"type":"text","file":{{"filePath":"{path}","content":"{content}","numLines":{len(lines)},'
            f'"startLine":{first},"totalLines":{total}}}}}'
        )
        return GeneratedCall("Read", arguments, f'"{numbered}"', result)

    def image(self) -> GeneratedCall:
        """A picture: both halves of the row hold it, which makes the longest lines of a home."""
        path = f"{self.cwd}/screenshots/{self.rng.getrandbits(24):06x}.png"
        data = self.picture()
        source = f'{{"type":"base64","data":"{data}","media_type":"image/png"}}'
        result = (
            f'{{"type":"image","file":{{"base64":"{data}","type":"image/png","originalSize":{len(data) * 3 // 4}}}}}'
        )
        content = f'[{{"type":"image","source":{source}}}]'
        return GeneratedCall("Read", f'{{"file_path":"{path}"}}', content, result, image=True)

    def picture(self) -> str:
        """The base64 of a picture; it begins as a PNG does."""
        limit = min(self.texts.longest_blob(), max(2_000, self.largest * 2))
        return "iVBORw0KGgoAAAANSUhEUgAA" + self.texts.base64(
            self.rng, min(limit, int(120_000 * self.rng.lognormvariate(0.0, 1.3)))
        )

    def edit(self) -> GeneratedCall:
        """A change of a file, with the whole file as it was and the patch."""
        rng = self.rng
        path, kind = self._file()
        before = self.texts.code(rng, kind, self.length(10_500, 1.2))
        at = int(rng.random() * len(before))
        old_lines = before[at : at + 1 + int(rng.random() * 6)]
        new_lines = self.texts.code(rng, kind, self.length(420, 1.0))
        old, new = "\\n".join(old_lines), "\\n".join(new_lines)
        whole = "\\n".join(before)
        around = before[max(0, at - 3) : at]
        patch = '","'.join([f" {line}" for line in around] + [f"-{line}" for line in old_lines])
        patch += '","' + '","'.join([f"+{line}" for line in new_lines])
        result = (
            f'{{"filePath":"{path}","oldString":"{old}","newString":"{new}","originalFile":"{whole}",'
            f'"structuredPatch":[{{"oldStart":{at + 1},"oldLines":{len(around) + len(old_lines)},"newStart":{at + 1},'
            f'"newLines":{len(around) + len(new_lines)},"lines":["{patch}"]}}],'
            f'"userModified":false,"replaceAll":false}}'
        )
        arguments = f'{{"replace_all":false,"file_path":"{path}","old_string":"{old}","new_string":"{new}"}}'
        content = f'"The file {path} has been updated successfully."'
        return GeneratedCall("Edit", arguments, content, result, path=path, before=whole)

    def grep(self) -> GeneratedCall:
        """A search in the project, with the lines or with the names of the files."""
        rng = self.rng
        pattern = self.texts.rare(rng).rsplit("_", 1)[0]
        if rng.random() < 0.6:
            lines = self.texts.code(rng, "shell", self.length(1_700, 1.6))
            found = "\\n".join(lines)
            result = f'{{"mode":"content","numFiles":0,"filenames":[],"content":"{found}","numLines":{len(lines)}}}'
            arguments = f'{{"pattern":"{pattern}","output_mode":"content","-n":true}}'
            return GeneratedCall("Grep", arguments, f'"{found}"', result)
        names = [self.texts.path(rng) for _ in range(int(rng.random() * 12))]
        result = f'{{"mode":"files_with_matches","filenames":[{_strings(names)}],"numFiles":{len(names)}}}'
        content = f"Found {len(names)} files\\n" + "\\n".join(names) if names else "No files found"
        return GeneratedCall("Grep", f'{{"pattern":"{pattern}"}}', f'"{content}"', result)

    def spilled(self, call: GeneratedCall, saved_as: str) -> GeneratedCall:
        """The same call with its output replaced by the note the client leaves: where it went and a preview."""
        size = len(call.output.encode())
        preview = first_lines(call.output, _PREVIEW)
        note = (
            f"<persisted-output>\\nOutput too large ({size / 1024:.1f}KB). Full output saved to: {saved_as}\\n\\n"
            f"Preview (first 2KB):\\n{preview}\\n...\\n</persisted-output>"
        )
        result = (
            f'{{"stdout":"{preview}","stderr":"","interrupted":false,"isImage":false,'
            f'"persistedOutputPath":"{saved_as}","persistedOutputSize":{size}}}'
        )
        return call._replace(content=f'"{note}"', result=result)

    def _seldom(self, name: str) -> GeneratedCall:
        rng, texts = self.rng, self.texts
        if name == "Tasks":
            return self._todo() if self.client.number < (2, 1, 16) else self._task_list()
        if name == "Glob":
            names = [f"{self.cwd}/{texts.path(rng)}" for _ in range(int(rng.random() * 30))]
            result = f'{{"filenames":[{_strings(names)}],"durationMs":{int(rng.random() * 90)},"numFiles":{len(names)}'
            content = "\\n".join(names) or "No files found"
            return GeneratedCall("Glob", '{"pattern":"**/*.py"}', f'"{content}"', f'{result},"truncated":false}}')
        if name == "Write":
            path, kind = self._file()
            content = "\\n".join(texts.code(rng, kind, self.length(3600, 0.9)))
            result = f'{{"type":"create","filePath":"{path}","content":"{content}","structuredPatch":[]}}'
            arguments = f'{{"file_path":"{path}","content":"{content}"}}'
            return GeneratedCall("Write", arguments, f'"File created successfully at: {path}"', result)
        if name == "Mcp":
            text = texts.prose(rng, self.length(1500, 1.0))
            blocks = f'[{{"type":"text","text":"{text}"}}]'
            return GeneratedCall(rng.choice(_MCP_TOOLS), f'{{"query":"{texts.phrase(rng)}"}}', blocks, blocks)
        if name == "WebFetch":
            text = texts.prose(rng, self.length(2200, 0.7))
            url = f"https://docs.example.org/{texts.path(rng)}"
            result = f'{{"bytes":{len(text) * 9},"code":200,"codeText":"OK","result":"{text}","url":"{url}"}}'
            return GeneratedCall("WebFetch", f'{{"url":"{url}","prompt":"{texts.phrase(rng)}"}}', f'"{text}"', result)
        query = texts.phrase(rng)
        hits = [f'{{"title":"{texts.phrase(rng)}","url":"https://example.org/{texts.path(rng)}"}}' for _ in range(8)]
        text = texts.prose(rng, self.length(1800, 0.5))
        result = f'{{"query":"{query}","results":[{{"content":[{",".join(hits)}]}},"{text}"],"durationSeconds":7.2}}'
        return GeneratedCall(
            "WebSearch", f'{{"query":"{query}"}}', f'"Web search results for: {query}\\n\\n{text}"', result
        )

    def _failed(self, name: str) -> GeneratedCall:
        rng = self.rng
        if name == "Bash":
            text = f"Exit code {1 + int(rng.random() * 2)}\\n{self.texts.output(rng, self.length(600, 1.0))}"
            arguments = f'{{"command":"{self.texts.command(rng)}"}}'
            return GeneratedCall("Bash", arguments, f'"{text}"', f'"Error: {text}"', failed=True)
        path, _ = self._file()
        if rng.random() < 0.3:
            return GeneratedCall(
                "Edit", f'{{"file_path":"{path}"}}', f'"{_DENIED}"', f'"Error: {_DENIED}"', failed=True
            )
        text = "File does not exist."
        content = f'"<tool_use_error>{text}</tool_use_error>"'
        return GeneratedCall("Read", f'{{"file_path":"{path}"}}', content, f'"Error: {text}"', failed=True)

    def _todo(self) -> GeneratedCall:
        old = self.todos_json()
        if len(self.todos) < 3 or (self.rng.random() < 0.2 and len(self.todos) < 9):
            self.todos.append((self.texts.phrase(self.rng), "pending"))
        at = int(self.rng.random() * len(self.todos))
        self.todos[at] = (self.todos[at][0], self.rng.choice(("in_progress", "completed")))
        new = self.todos_json()
        content = '"Todos have been modified successfully. Ensure that you continue to use the todo list."'
        return GeneratedCall("TodoWrite", f'{{"todos":{new}}}', content, f'{{"oldTodos":{old},"newTodos":{new}}}')

    def todos_json(self) -> str:
        """The current to-do list."""
        return f"[{','.join(_todo_json(what, state) for what, state in self.todos)}]"

    def _task_list(self) -> GeneratedCall:
        if self.tasks_made == 0 or self.rng.random() < 0.33:
            self.tasks_made += 1
            what = self.texts.phrase(self.rng)
            arguments = f'{{"subject":"{what}","description":"{self.texts.prose(self.rng, 160)}"}}'
            content = f'"Task #{self.tasks_made} created successfully: {what}"'
            return GeneratedCall(
                "TaskCreate", arguments, content, f'{{"task":{{"id":"{self.tasks_made}","subject":"{what}"}}}}'
            )
        number = 1 + int(self.rng.random() * self.tasks_made)
        result = f'{{"success":true,"taskId":"{number}","updatedFields":["status"]}}'
        return GeneratedCall(
            "TaskUpdate",
            f'{{"taskId":"{number}","status":"completed"}}',
            f'"Updated task #{number} status"',
            result,
        )

    def _file(self) -> tuple[str, str]:
        """A file of the project and what is in it; a session comes back to the same few files."""
        rng = self.rng
        if self.files and rng.random() < 0.6:
            path = self.files[int(rng.random() * len(self.files))]
            return path, _KINDS.get(path.rsplit(".", 1)[-1], "python")
        path = f"{self.cwd}/{self.texts.path(rng)}"
        if len(self.files) < 20:
            self.files.append(path)
        return path, _KINDS[path.rsplit(".", 1)[-1]]


def backup_name(path: str, version: int) -> str:
    """The name of a copy under `file-history/<session>/`."""
    return f"{hashlib.sha256(path.encode()).hexdigest()[:16]}@v{version}"


_NAMES = tuple(_MIX)
_WEIGHTS = [sum(list(_MIX.values())[: index + 1]) for index in range(len(_MIX))]
_KINDS = {ENDINGS[kind]: kind for kind in CODE}


def _todo_json(what: str, state: str) -> str:
    return f'{{"content":"{what}","status":"{state}","activeForm":"{what}"}}'


def _strings(values: list[str]) -> str:
    return ",".join([f'"{value}"' for value in values])


def first_lines(escaped: str, length: int) -> str:
    r"""The first lines of escaped text, at most `length` of it, so that no \u or \n is cut in two."""
    return escaped if len(escaped) <= length else escaped[: max(0, escaped.rfind("\\n", 0, length))]
