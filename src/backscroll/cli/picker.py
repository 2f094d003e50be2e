"""The picker on a terminal, with curses: reads keys and paints lines. Its state and layout are in `render.picker`."""

import base64
import contextlib
import curses
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from backscroll.cli.picker_queries import ChatList, LatestAnswer, ListRequest, PickerQueries, PreviewRequest
from backscroll.errors import BackscrollError
from backscroll.render.picker import Line, Picker, draw, layout_of
from backscroll.render.terminal import clean_line
from backscroll.system import suspend

if TYPE_CHECKING:
    from backscroll.library import StoredChat
    from backscroll.library.library import Library

PAGE = 50
"""Number of chats to load at first; more are loaded when the selection reaches the end."""


class ChatActions:
    """The picker's actions on a chat; each may raise a BackscrollError."""

    def __init__(
        self,
        *,
        show: "Callable[[StoredChat, str], None]",
        resume_line: "Callable[[StoredChat], str]",
        check_resume: "Callable[[StoredChat], None]",
        pin: "Callable[[StoredChat], bool]",
    ) -> None:
        self.show = show
        """Function that takes a chat and the id of a message in it, or nothing for the whole chat."""
        self.resume_line = resume_line
        self.check_resume = check_resume
        self.pin = pin


class PickerResult:
    """The choice of the user on leaving the picker."""

    def __init__(self) -> None:
        self.resume: StoredChat | None = None
        self.copied: str | None = None
        self.is_interrupted = False


def pick(
    text: str, sort: str, open_anew: "Callable[[], Library]", actions: ChatActions, *, color: bool
) -> PickerResult:
    """Show the picker until the user leaves it."""
    curses.set_escdelay(25)
    lister, viewer = PickerQueries(open_anew), PickerQueries(open_anew)
    lists: LatestAnswer[ListRequest, ChatList] = LatestAnswer(lister.found, lister.close)
    views: LatestAnswer[PreviewRequest, list[Line]] = LatestAnswer(viewer.preview, viewer.close)
    try:
        # Not curses.wrapper, which turns colours on even where there must be none.
        window = curses.initscr()
        curses.noecho()
        return PickerScreen(window, Picker(text, sort=sort), lists, views, actions, color).run()
    finally:
        curses.endwin()
        lists.stop()
        views.stop()


class PickerScreen:
    """The picker on a terminal."""

    def __init__(
        self,
        window: "curses.window",
        picker: Picker,
        lists: "LatestAnswer[ListRequest, ChatList]",
        views: "LatestAnswer[PreviewRequest, list[Line]]",
        actions: ChatActions,
        color: bool,
    ) -> None:
        self._window = window
        self._picker = picker
        self._lists = lists
        self._views = views
        self._actions = actions
        self._result = PickerResult()
        self._chats: dict[str, StoredChat] = {}
        self._messages: dict[str, str] = {}
        self._asked = ListRequest("", "", 0, 0, 0)
        self._listed: ListRequest | None = None
        self._looked: PreviewRequest | None = None
        """Preview that is being loaded; None once it is shown."""
        self._last_look: PreviewRequest | None = None
        self._round = 0
        self._limit = PAGE
        self._is_over = False
        self._looks = _looks(color=color)
        curses.raw()  # so that we get ^C, ^Y and ^Z as keys
        window.keypad(True)

    def run(self) -> PickerResult:
        """Run until the user quits."""
        _paste_mode(on=True)
        try:
            self._loop()
        finally:
            _paste_mode(on=False)
        return self._result

    def _loop(self) -> None:
        self._ask()
        while not self._is_over:
            self._paint()
            # Poll fast while waiting for an answer; otherwise a key or a resize wakes us up.
            self._window.timeout(15 if self._is_waiting else 500)
            with contextlib.suppress(curses.error):
                self._press(self._window.get_wch())
                self._window.timeout(0)
                while not self._is_over:  # take everything typed meanwhile before drawing
                    self._press(self._window.get_wch())
            self._receive()
            self._ask()

    @property
    def _is_waiting(self) -> bool:
        return self._picker.is_searching or self._looked is not None

    # Queries and their answers

    def _ask(self) -> None:
        picker = self._picker
        if picker.text != self._asked.text:
            self._limit = PAGE
        elif picker.chosen >= len(picker.entries) - 1 and self._limit <= len(picker.entries) < 10_000:
            self._limit *= 4
        request = ListRequest(picker.text, picker.sort, self._limit, layout_of(*self._size()).list_width, self._round)
        if request != self._asked:
            self._asked = request
            picker.is_searching = True
            self._lists.ask(request)
        self._look()

    def _look(self) -> None:
        picker = self._picker
        layout = layout_of(*self._size())
        chat = self._chats.get(picker.selected.id) if picker.selected else None
        if chat is None or not layout.preview_height or self._listed is None:
            return
        looked = PreviewRequest(chat, self._listed.text, layout.preview_width, self._round)
        if looked != self._last_look:
            self._last_look = self._looked = looked
            self._views.ask(looked)

    def _receive(self) -> None:
        picker = self._picker
        if (listed := self._lists.answered()) is not None and listed[0] == self._asked:
            request, answer = listed
            if isinstance(answer, str):
                picker.problem, picker.is_searching = answer, False
            else:
                same = self._listed is not None and self._listed[:2] == request[:2]
                self._listed, self._chats, self._messages = request, answer.chats, answer.messages
                picker.take(answer.entries, answer.amount, keep=same)
        if (viewed := self._views.answered()) is not None and viewed[0] == self._looked:
            looked, lines = viewed
            self._looked = None
            if picker.preview_of != looked.chat.overview.id:
                picker.scrolled = 0
            picker.preview_of = looked.chat.overview.id
            picker.preview = [(("problem", lines),)] if isinstance(lines, str) else lines

    # Keys

    def _press(self, key: int | str) -> None:
        if key in (curses.KEY_RESIZE, _control("L")):
            curses.update_lines_cols()
            self._window.clear()
            return
        picker = self._picker
        picker.notice = None
        was_help, picker.shows_help = picker.shows_help, False
        if isinstance(key, str) and key.isprintable():
            if key == "?" and not picker.text:
                picker.shows_help = not was_help
            else:
                picker.insert(key)
        elif key == "\x1b":
            self._escape(was_help=was_help)
        elif key == curses.KEY_F1:
            picker.shows_help = not was_help
        elif key in MOVES:
            page = layout_of(*self._size()).entries
            steps = {"page": page, "back": -page, "first": -len(picker.entries), "last": len(picker.entries)}
            move = MOVES[key]
            picker.move(move if isinstance(move, int) else steps[move])
        elif key in EDITS:
            EDITS[key](picker)
        elif key in ACTIONS:
            try:
                getattr(self, ACTIONS[key])()
            except BackscrollError as error:
                picker.notice = ("problem", f"{clean_line(error.message)} ({clean_line(error.hint)})")

    def _escape(self, *, was_help: bool) -> None:
        """Quit on Escape alone; followed by other characters it is an unknown key, or pasted text."""
        following = self._following()
        if following.startswith("[200~"):
            while not following.endswith("\x1b[201~") and (more := self._following(wait=500)):
                following += more
            self._picker.insert(following.removeprefix("[200~").removesuffix("\x1b[201~"))
        elif not following and not was_help:
            self._is_over = True

    def _following(self, wait: int = 0) -> str:
        text = ""
        self._window.timeout(wait)
        with contextlib.suppress(curses.error):
            while len(text) < 100_000 and not text.endswith("\x1b[201~"):
                key = self._window.get_wch()
                text += key if isinstance(key, str) else ""
                self._window.timeout(wait if "[200~" in text else 0)
        return text

    def _leave(self) -> None:
        self._result.is_interrupted = self._is_over = True

    def _open(self) -> None:
        if (chat := self._chosen()) is None:
            return
        _paste_mode(on=False)
        curses.endwin()
        started = time.monotonic()
        try:
            self._actions.show(chat, self._messages.get(chat.overview.id, ""))
            if time.monotonic() - started < 0.5:
                # There is no pager, or it returned at once.
                sys.stdout.write("\n-- press Enter to return --")
                sys.stdout.flush()
                sys.stdin.readline()
        except KeyboardInterrupt:
            pass
        finally:
            self._return()

    def _resume(self) -> None:
        if (chat := self._chosen()) is not None:
            self._actions.check_resume(chat)
            self._result.resume = chat
            self._is_over = True

    def _copy(self) -> None:
        if (chat := self._chosen()) is not None:
            line = self._actions.resume_line(chat)
            self._result.copied = line
            sys.stdout.write(f"\x1b]52;c;{base64.b64encode(line.encode()).decode()}\x07")
            sys.stdout.flush()
            self._picker.notice = ("match", f"copied: {line}")

    def _pin(self) -> None:
        if (chat := self._chosen()) is not None:
            self._picker.notice = ("match", "pinned" if self._actions.pin(chat) else "unpinned")
            self._round += 1

    def _order(self) -> None:
        self._picker.next_sort()

    def _scroll_on(self) -> None:
        self._picker.scroll(layout_of(*self._size()).preview_height // 2)

    def _scroll_back(self) -> None:
        self._picker.scroll(-(layout_of(*self._size()).preview_height // 2))

    def _suspend(self) -> None:
        _paste_mode(on=False)
        curses.endwin()
        suspend()
        self._return()

    def _return(self) -> None:
        self._window.refresh()
        curses.raw()
        self._window.clear()
        _paste_mode(on=True)

    def _chosen(self) -> "StoredChat | None":
        entry = self._picker.selected
        return self._chats.get(entry.id) if entry else None

    # Painting

    def _size(self) -> tuple[int, int]:
        height, width = self._window.getmaxyx()
        return width, height

    def _paint(self) -> None:
        width, height = self._size()
        lines, cursor = draw(self._picker, layout_of(width, height))
        self._window.erase()
        encoding = self._window.encoding
        for row, line in enumerate(lines):
            with contextlib.suppress(curses.error):  # curses cannot write the last column of the last line
                self._window.move(row, 0)
                for look, text in line:
                    self._window.addstr(_encodable(text, encoding), self._looks.get(look, 0))
        with contextlib.suppress(curses.error):
            self._window.move(0, cursor)
        self._window.refresh()


def _encodable(text: str, encoding: str) -> str:
    """Return the text in the terminal's encoding; our own lines and marks become similar ASCII characters."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(PLAIN).encode(encoding, "replace").decode(encoding)
    return text


def _paste_mode(*, on: bool) -> None:
    """Turn bracketed paste on or off: a newline in pasted text must not open a chat."""
    sys.stdout.write("\x1b[?2004h" if on else "\x1b[?2004l")
    sys.stdout.flush()


def _looks(*, color: bool) -> dict[str, int]:
    looks = {
        "dim": curses.A_DIM,
        "label": curses.A_DIM,
        "rule": curses.A_DIM,
        "title": curses.A_BOLD,
        "match": curses.A_BOLD,
        "prompt": curses.A_BOLD,
        "problem": curses.A_BOLD,
        "chosen": curses.A_REVERSE,
    }
    if color and curses.has_colors():
        curses.start_color()
        curses.use_default_colors()
        colors = {"match": curses.COLOR_YELLOW, "prompt": curses.COLOR_CYAN, "problem": curses.COLOR_RED}
        for number, (look, shade) in enumerate(colors.items(), start=1):
            curses.init_pair(number, shade, -1)
            looks[look] |= curses.color_pair(number)
    return looks


def _control(letter: str) -> str:
    return chr(ord(letter) - 64)


PLAIN = str.maketrans("❯▌─│…·", ">|-|~-")
MOVES: dict[int | str, int | str] = {
    curses.KEY_UP: -1,
    curses.KEY_DOWN: 1,
    _control("P"): -1,
    _control("N"): 1,
    curses.KEY_PPAGE: "back",
    curses.KEY_NPAGE: "page",
    curses.KEY_HOME: "first",
    curses.KEY_END: "last",
}
EDITS: dict[int | str, Callable[[Picker], None]] = {
    curses.KEY_BACKSPACE: lambda picker: picker.delete(1),
    "\x7f": lambda picker: picker.delete(1),
    "\b": lambda picker: picker.delete(1),
    curses.KEY_DC: lambda picker: picker.delete(-1),
    _control("D"): lambda picker: picker.delete(-1),
    _control("U"): lambda picker: picker.delete(picker.cursor),
    _control("W"): lambda picker: picker.delete_word(),
    curses.KEY_LEFT: lambda picker: picker.move_cursor(-1),
    curses.KEY_RIGHT: lambda picker: picker.move_cursor(1),
    _control("A"): lambda picker: picker.move_cursor(-len(picker.text)),
    _control("E"): lambda picker: picker.move_cursor(len(picker.text)),
}
ACTIONS: dict[int | str, str] = {
    _control("C"): "_leave",
    "\r": "_open",
    "\n": "_open",
    curses.KEY_ENTER: "_open",
    _control("R"): "_resume",
    _control("Y"): "_copy",
    "\t": "_pin",
    _control("T"): "_order",
    _control("F"): "_scroll_on",
    _control("B"): "_scroll_back",
    _control("Z"): "_suspend",
}
