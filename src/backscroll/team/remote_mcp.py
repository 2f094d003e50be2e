"""The MCP server for agents, over HTTP with a key of their person: `/mcp`.

An agent sees what its person may read: their own history, and what others share with them. Requests are independent of
one another, so that any web process answers any of them.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import anyio.to_thread
import msgspec
from starlette.types import Receive, Scope, Send

from backscroll.errors import NothingFound
from backscroll.library.library import Library
from backscroll.library.memory.asking_session import UNKNOWN_SESSION
from backscroll.library.prompts.prompt import PromptCollection
from backscroll.mcp.call_context import CallContext
from backscroll.mcp.pool import RefreshedPool
from backscroll.mcp.quoting import Frame
from backscroll.mcp.resources import CHAT
from backscroll.mcp.server import Context, RequestHandlers
from backscroll.render.recall import short_id
from backscroll.team.context import ASKER, TeamContext
from backscroll.team.libraries import Libraries
from backscroll.team.merged_library import ChatOfOther, MergedLibrary
from backscroll.team.people import Person, teammates
from backscroll.team.prompts import TeamPrompts
from backscroll.team.shares import Share, note_access, shared_with

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

Made = TypeVar("Made")


def session_manager(context: TeamContext, libraries: Libraries) -> "StreamableHTTPSessionManager":
    """What handles requests to `/mcp`; its `run` must be entered first."""
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from mcp.server.transport_security import TransportSecuritySettings

    # The guard checks host names and origins, for this as for every other path.
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    server = TeamHandlers(context, libraries).server()
    return StreamableHTTPSessionManager(server, json_response=True, stateless=True, security_settings=security)


class ForAgents:
    """Hands requests to the session manager, which answers them by itself."""

    def __init__(self, manager: "StreamableHTTPSessionManager") -> None:
        self._manager = manager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        await self._manager.handle_request(scope, receive, send)


class TeamHandlers(RequestHandlers):
    """Answers the agents of people."""

    def __init__(self, context: TeamContext, libraries: Libraries) -> None:
        super().__init__(None, is_child=False)
        self._context, self._libraries = context, libraries

    async def ask(self, context: Context, answer: Callable[[CallContext], Made]) -> Made:
        """Run a handler with what the person of the key may read, in a thread."""
        person: Person = context.request.scope[ASKER]  # type: ignore[union-attr] # the doorkeeper has seen to it
        return await anyio.to_thread.run_sync(lambda: self._answer(person, answer), abandon_on_cancel=True)

    def prompts(self, context: Context) -> PromptCollection:
        """What the person of the key saved, and what others share with them."""
        person: Person = context.request.scope[ASKER]  # type: ignore[union-attr] # the doorkeeper has seen to it
        return TeamPrompts(self._context.database, person)

    def _answer(self, person: Person, answer: Callable[[CallContext], Made]) -> Made:
        with self._context.database.transaction() as connection:
            shared = shared_with(connection, person)
            mates = teammates(connection, person) if shared else frozenset()
        by_owner: dict[str, set[str]] = {}
        for one in shared:
            by_owner.setdefault(one.owner, set()).add(one.chat)
        found = self._libraries
        settings, opener = found.settings(person.handle), found.opener_of_all(person.handle, mates, by_owner)
        with _pooled(RefreshedPool(settings, [], opener)) as (pool, library), ExitStack() as stack:
            others = (stack.enter_context(found.shared(person.handle, by_owner, by_owner.keys())),) if by_owner else ()
            opened = None
            try:
                made = answer(CallContext(pool, library, UNKNOWN_SESSION, Frame(), others))
            except NothingFound:
                opened = library.found_at if isinstance(library, MergedLibrary) else None
                if opened is None:
                    raise
                theirs = stack.enter_context(found.shared_by(person.handle, opened.owner, by_owner[opened.owner]))
                made = answer(CallContext(pool, theirs, UNKNOWN_SESSION, Frame()))
        self._note(person, _quoted(shared, made, opened))
        return made

    def _note(self, person: Person, quoted: Sequence[Share]) -> None:
        """Let owners see that their chats were read."""
        if quoted:
            with self._context.database.transaction() as connection:
                for one in quoted:
                    note_access(connection, person, one)


def _quoted(shared: Sequence[Share], made: object, opened: ChatOfOther | None) -> list[Share]:
    """Which of the shared chats an answer quotes, each once: the opened one, and those that it names in any place.

    What is quoted is named with it, by its id, the start of its id or its address. A chat that was opened is quoted
    even where the answer is a mere text, and then the answer is about chats of its owner only.
    """
    named = _texts_in(msgspec.to_builtins(made))
    found = {}
    for one in shared:
        names = {one.chat, short_id(one.chat), CHAT.format(id=one.chat)}
        if opened is None:
            is_quoted = not named.isdisjoint(names)
        else:
            is_quoted = one.owner == opened.owner and (one.chat == opened.chat or not named.isdisjoint(names))
        if is_quoted:
            found[one.owner, one.chat] = one  # it may be shared with a team and with everyone
    return list(found.values())


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
