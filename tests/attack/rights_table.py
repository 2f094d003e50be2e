"""Who gets what: every route of the server, tool of agents and view of SQL, and who gets through to it.

A line is `METHOD PATH | who | who, if the chat in it is shared with everyone`. Ids in a path are of something of
Ada's, who is a member: her private chat, her machine, her key. For those who do not get through, nothing is at this
address, or they have to sign in. With `~` either is right. Groups are below; `here` are those of Ada's organisation,
`zoe` and `zadmin` a member and an owner of another. `ada-mcp` is a key of Ada, `ada-machine` her machine's credential.
"""

from typing import Final, NamedTuple

PEOPLE: Final = ("member", "service", "auditor", "admin", "owner", "ada", "zoe", "zadmin")
"""Signed in with a browser."""
KEYS: Final = tuple(
    f"{person}-{scope}"
    for person in ("ada", "member", "owner", "zoe", "zadmin")
    for scope in ("read", "mcp", "metrics")
)
MACHINES: Final = ("ada-machine", "member-machine", "zoe-machine")
ASKERS: Final = ("anonymous", "waiting", *PEOPLE, *KEYS, *MACHINES)
"""`waiting` is the session of a link that an administrator made for Ada, and that she has not confirmed."""

GROUPS: Final[dict[str, tuple[str, ...]]] = {
    "anyone": ASKERS,
    "browsers": ("anonymous", "waiting", *PEOPLE),
    "signed-in": PEOPLE,
    "here": PEOPLE[:6],
    "others": PEOPLE[:5],
    "admins": ("admin", "owner", "zadmin"),
    "admins-here": ("admin", "owner"),
    "auditors": ("auditor", "owner", "zadmin"),
    "auditors-here": ("auditor", "owner"),
    "readers": (*PEOPLE, *(key for key in KEYS if key.endswith("-read"))),
    "readers-here": (*PEOPLE[:6], "ada-read", "member-read", "owner-read"),
    "agents": tuple(key for key in KEYS if key.endswith("-mcp")),
    "machines": MACHINES,
    "keys": (*KEYS, *MACHINES),
}

TABLE: Final = """
GET /                                           | signed-in
GET /healthz                                    | anyone
GET /readyz                                     | anyone
GET /favicon.ico                                | anyone
GET /static/{file}                              | anyone
GET /metrics                                    | owner-metrics zadmin-metrics
GET /sign-in                                    | anyone
POST /sign-in                                   | browsers
POST /sign-out                                  | waiting signed-in
GET /welcome?link={invitation}                  | anonymous waiting here keys ~zoe ~zadmin
POST /welcome                                   | anonymous waiting here ~zoe ~zadmin
GET /recovery                                   | waiting signed-in
GET /oidc/start                                 |
GET /oidc/callback                              |
GET /connect                                    | signed-in
POST /connect                                   | signed-in

GET /account                                    | signed-in
POST /account/provider                          |
POST /account/password                          | signed-in
POST /account/recoveries/{recovery}             | ada
POST /account/spend                             | signed-in
POST /account/keys                              | signed-in
POST /account/keys/{key}/revoke                 | ada
GET /devices                                    | signed-in
POST /devices/{device}/revoke                   | ada admins-here
POST /devices/{device}/undo                     |
POST /devices/{import}/undo                     | ada admins-here
GET /people                                     | signed-in
POST /people                                    | admins
POST /people/{handle}/invite                    | admins-here
POST /people/{handle}/disable                   | admins-here
POST /people/{handle}/role                      | admins-here
POST /recoveries/{recovery}/approve             | admins-here
POST /teams                                     | admins
POST /teams/{team}                              | admins-here
POST /organisation                              | admins
GET /team-spend                                 | admins auditors
POST /team-spend/budget                         | admins
POST /team-spend/rule                           | owner zadmin
GET /jobs                                       | admins
POST /jobs/{job}/now                            | admins-here
GET /storage                                    | admins
POST /storage/limits                            | admins
POST /storage/quota                             | admins-here
GET /sign-in-test                               | admins
POST /sign-in-test/passwords                    | admins
GET /project-rules                              | admins
POST /project-rules                             | admins
POST /project-rules/masking                     | admins
POST /project-rules/{project_rule}/remove       | admins-here
GET /audit                                      | auditors
GET /audit?format=csv                           | auditors
GET /retention                                  | signed-in
POST /retention                                 | admins
POST /retention/{rule}/remove                   | admins-here
GET /erasures?handle={handle}                   | admins-here
POST /erasures                                  | admins
POST /holds                                     | auditors-here
POST /holds/{hold}/release                      | auditors-here

GET /shared                                     | signed-in
GET /readers                                    | signed-in
GET /chats/{chat}/audience                      | ada | ada
POST /chats/{chat}/audience                     | ada | ada
POST /shares/{share}/include                    | ada
POST /shares/{share}/include-joined             | ada
POST /shares/{share}/revoke                     | ada
POST /chats/{chat}/links                        | ada | ada
POST /links/{link}/revoke                       | ada
GET /shared-link/{secret}                       | anyone
GET /shared-link/bsu_guessed                    |

GET /chats                                      | signed-in
GET /chats?owner=org                            | signed-in
GET /chats/{chat}                               | ada | here
GET /chats/{chat}/chunks/{number}               | ada | here
GET /chats/{chat}/context                       | ada | here
GET /chats/{chat}/warm                          | ada | here
GET /chats/{chat}/side                          | ada | here
GET /chats/{chat}/changes                       | ada | here
GET /chats/{chat}/find?q=parser                 | ada | here
GET /chats/{chat}/agents/{agent}                | ada
GET /chats/{chat}/agents/{agent}/messages       | ada
GET /chats/{chat}/whole/{call:path}             | ada
GET /chats/{chat}/rows/{row:path}               | ada
GET /chats/{chat}/pictures/{row:path}/{number}  |
GET /chats/{chat}/compare                       | ada | here
GET /chats/{chat}/markdown                      | ada | here
GET /chats/{chat}/messages/{message:path}/markdown | ada
GET /chats/{chat}/messages/{message:path}/prompt | ada
GET /chats/{chat}/export                        | ada | here
GET /chats/{chat}/share                         | ada | here
GET /chats/{chat}/share/masks                   | ada | here
POST /chats/{chat}/marks                        | ada | here
GET /search?q=parser                            | signed-in
GET /search?q=owner:ada                         | signed-in
POST /searches                                  | signed-in
GET /live                                       | signed-in
GET /palette?q=parser                           | signed-in
GET /pane                                       | signed-in
GET /pane?chat={chat}                           | signed-in
GET /prompts                                    | signed-in
POST /prompts                                   | signed-in
GET /prompts.json                               | signed-in
POST /prompts.json                              | signed-in
GET /prompts/{prompt}                           | here
GET /prompts/{private_prompt}                   | ada
POST /prompts/{prompt}                          | ada
POST /prompts/{private_prompt}                  | ada
GET /prompts/{prompt}/command                   | here
GET /prompts/{private_prompt}/command           | ada
GET /projects                                   | signed-in
GET /spend                                      | signed-in
POST /spend/budget                              | signed-in
GET /stats                                      | signed-in
GET /stats/{report}                             | signed-in
GET /files                                      | signed-in

GET /api/v1/chats                               | readers
GET /api/v1/chats?owner=org                     | readers
GET /api/v1/chats/{id}                          | ada ada-read | readers-here
GET /api/v1/chats/{id}/messages                 | ada ada-read | readers-here
GET /api/v1/chats/{id}/branches                 | ada ada-read | readers-here
GET /api/v1/chats/{id}/compare                  | ada ada-read | readers-here
GET /api/v1/chats/{id}/agents                   | ada ada-read | readers-here
GET /api/v1/search?q=parser                     | readers
GET /api/v1/stats/{report}                      | readers
GET /api/v1/projects                            | readers
GET /api/v1/events                              | readers
GET /api/v1/openapi.json                        | readers

POST /sync/v1/connect                           | anyone
GET /sync/v1/connect                            |
GET /sync/v1/recovery?code=XXXX-XXXX            |
POST /sync/v1/recovery                          |
GET /sync/v1/rules                              | machines
PUT /sync/v1/projects                           | machines
GET /sync/v1/objects                            | machines
GET /sync/v1/objects/{name:path}                | ada-machine
PUT /sync/v1/objects/{name:path}                | ada-machine
DELETE /sync/v1/objects/{absent:path}           | ada-machine

POST /mcp                                       | agents
TOOL recall                                     | agents
TOOL search                                     | agents
TOOL read                                       | agents
TOOL timeline                                   | agents
TOOL similar_errors                             | agents
TOOL file_history                               | agents
TOOL stats                                      | agents
TOOL query                                      | agents
RESOURCE backscroll://help                      | agents
RESOURCE backscroll://chat/{chat}               | ada-mcp | ada-mcp member-mcp owner-mcp
RESOURCE backscroll://chat/{chat}/message/{message} | ada-mcp
"""


class Line(NamedTuple):
    """A line of the table."""

    what: str
    """Method and path."""
    private: frozenset[str]
    """Who gets through."""
    shared: frozenset[str] | None
    """Who does if the chat is shared; None if the line says nothing of it."""
    either: frozenset[str]
    """Of whom it says nothing."""

    @property
    def method(self) -> str:
        return self.what.partition(" ")[0]

    @property
    def path(self) -> str:
        return self.what.partition(" ")[2].strip()

    @property
    def route(self) -> str:
        """Without what is asked of it."""
        return self.path.partition("?")[0]


def _everyone_in(words: str) -> frozenset[str]:
    return frozenset(name for word in words.split() for name in GROUPS.get(word, (word,)))


def lines() -> list[Line]:
    found = []
    for text in TABLE.strip().splitlines():
        if text.strip():
            what, private, *shared = text.split("|")
            either = frozenset(word[1:] for word in private.split() if word[0] == "~")
            found.append(Line(what.strip(), _everyone_in(private), _everyone_in(shared[0]) if shared else None, either))
    return found
