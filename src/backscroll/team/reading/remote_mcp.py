"""The MCP server for agents, over HTTP with a key of their person: `/mcp`.

An agent sees what its person may read: their own history, and what others share with them. Requests are independent of
one another, so that any web process answers any of them.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, TypeVar

import anyio.to_thread
import msgspec
from starlette.types import Receive, Scope, Send

from backscroll.errors import NothingFound, UsageError
from backscroll.library.library import Library
from backscroll.library.memory.asking_session import UNKNOWN_SESSION
from backscroll.library.prompts.prompt import PromptCollection
from backscroll.mcp.call_context import CallContext
from backscroll.mcp.pool import RefreshedPool
from backscroll.mcp.quoting import Frame
from backscroll.mcp.resources import CHAT, ChatResource
from backscroll.mcp.server import Context, RequestHandlers
from backscroll.render.recall import short_id
from backscroll.team.arrival.libraries import Libraries
from backscroll.team.people.accounts import Person
from backscroll.team.people.context import ASKER, TeamContext
from backscroll.team.people.teams import teammates
from backscroll.team.reading.merged_library import ChatOfOther, MergedLibrary
from backscroll.team.reading.prompts import TeamPrompts
from backscroll.team.reading.shared_library import open_shared, open_shared_by, opener_of_all
from backscroll.team.reading.shares import Share, first_shared, note_access, shared_with
from backscroll.web.api.errors import problem_response

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

MCP: Final = "/mcp"
"""The path of the server for agents."""

Made = TypeVar("Made")
SQL_TOOL: Final = "query"


def session_manager(context: TeamContext, libraries: Libraries) -> "StreamableHTTPSessionManager":
    """Make the manager that handles requests to `/mcp`; its `run` must be entered first."""
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from mcp.server.transport_security import TransportSecuritySettings

    # The guard checks host names and origins, for this as for every other path.
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    server = TeamHandlers(context, libraries).server()
    return StreamableHTTPSessionManager(server, json_response=True, stateless=True, security_settings=security)


class ForAgents:
    """The endpoint for agents: passes requests to the session manager."""

    def __init__(self, manager: "StreamableHTTPSessionManager") -> None:
        self._manager = manager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. Requests are independent of one another: there is no stream to wait for."""
        if scope["method"] != "POST":
            error = UsageError(f"the path does not support {scope['method']}", "send a request as POST")
            await problem_response(error, HTTPStatus.METHOD_NOT_ALLOWED, {"allow": "POST"})(scope, receive, send)
            return
        await self._manager.handle_request(scope, receive, send)


class TeamHandlers(RequestHandlers):
    """Answers the agents of people."""

    def __init__(self, context: TeamContext, libraries: Libraries) -> None:
        super().__init__(None, is_child=False)
        self._context, self._libraries = context, libraries

    async def ask(self, context: Context, answer: Callable[[CallContext], Made], tool: str = "") -> Made:
        """Run a handler in a thread, with the libraries that the person of the key may read.

        All agents of a person have one turn at a time, apart from the pages of that person: otherwise their calls
        would take all threads of this process. SQL has places of its own, and may wait.
        """
        person: Person = context.request.scope[ASKER]  # type: ignore[union-attr] # checked by Authentication
        if tool == SQL_TOOL:
            return await anyio.to_thread.run_sync(lambda: self._answer(person, answer), abandon_on_cancel=True)
        end_turn = await self._context.queue.wait_turn(-person.id)
        loop, has_begun = asyncio.get_running_loop(), False

        def run() -> Made:
            nonlocal has_begun
            has_begun = True
            try:
                return self._answer(person, answer)
            finally:
                loop.call_soon_threadsafe(end_turn)

        try:
            return await anyio.to_thread.run_sync(run, abandon_on_cancel=True)
        finally:
            if not has_begun:  # a client that leaves gains nothing: what has begun goes on, and keeps its turn
                end_turn()

    def prompts(self, context: Context) -> PromptCollection:
        """The prompts that the person of the key saved, and those that others share with them."""
        person: Person = context.request.scope[ASKER]  # type: ignore[union-attr] # checked by Authentication
        return TeamPrompts(self._context.database, person)

    def _answer(self, person: Person, answer: Callable[[CallContext], Made]) -> Made:
        with self._context.database.transaction(person.org) as connection:
            shared = shared_with(connection, person)
            mates = teammates(connection, person) if shared else frozenset()
        by_owner: dict[str, set[str]] = {}
        for share in shared:
            by_owner.setdefault(share.owner, set()).add(share.chat)
        libraries = self._libraries
        settings, opener = libraries.settings(person.handle), opener_of_all(libraries, person.handle, mates, by_owner)
        with _pooled(RefreshedPool(settings, [], opener)) as (pool, library), ExitStack() as stack:
            others: tuple[Library, ...] = ()
            if by_owner:
                others = (stack.enter_context(open_shared(libraries, person.handle, by_owner, by_owner.keys())),)
            opened = None
            try:
                result = answer(CallContext(pool, library, UNKNOWN_SESSION, Frame(), others))
            except NothingFound:
                opened = library.found_at if isinstance(library, MergedLibrary) else None
                if opened is None:
                    raise
                if first := first_shared(shared, opened.chat):
                    opened = opened._replace(owner=first.owner)
                theirs = stack.enter_context(
                    open_shared_by(libraries, person.handle, opened.owner, by_owner[opened.owner])
                )
                result = answer(CallContext(pool, theirs, UNKNOWN_SESSION, Frame()))
        self._note(person, _quoted(shared, result, opened))
        return result

    def _note(self, person: Person, quoted: Sequence[Share]) -> None:
        """Note the reading of shared chats, for their owners."""
        if quoted:
            with self._context.database.transaction(person.org) as connection:
                for share in quoted:
                    note_access(connection, person, share)


def _quoted(shared: Sequence[Share], result: object, opened: ChatOfOther | None) -> list[Share]:
    """List the shared chats that an answer quotes, each once: the opened one, and those that it names in any place.

    What is quoted is named with it, by its id, the start of its id or its address. A chat that was opened is quoted
    even where the answer is a mere text, and then the answer is about chats of its owner only. A list of titles, as
    every client asks for when it starts, quotes nothing.
    """
    if isinstance(result, list) and all(isinstance(item, ChatResource) for item in result):
        return []
    named = _texts_in(msgspec.to_builtins(result))
    quoted = {}
    for share in shared:
        names = {share.chat, short_id(share.chat), CHAT.format(id=share.chat)}
        if opened is None:
            is_quoted = not named.isdisjoint(names)
        else:
            is_quoted = share.owner == opened.owner and (share.chat == opened.chat or not named.isdisjoint(names))
        if is_quoted:
            quoted[share.owner, share.chat] = share  # it may be shared with a team and with everyone
    return list(quoted.values())


def _texts_in(plain: Any) -> set[str]:  # noqa: ANN401 - an answer of any tool
    """All texts of an answer, each whole, at any depth."""
    if isinstance(plain, str):
        return {plain}
    parts = plain.values() if isinstance(plain, dict) else plain if isinstance(plain, (list, tuple)) else ()
    return set().union(*map(_texts_in, parts))


@contextmanager
def _pooled(pool: RefreshedPool) -> Iterator[tuple[RefreshedPool, Library]]:
    try:
        with pool.library() as library:
            yield pool, library
    finally:
        pool.close()
