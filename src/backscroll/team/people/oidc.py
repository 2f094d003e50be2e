"""Sign in through an identity provider: OpenID Connect, code flow with PKCE, state and nonce.

A person is known by issuer and subject, never by a name or an e-mail address that the provider says. The signature, the
issuer, the audience, the times and the nonce of an id token are checked; tokens are not kept.
"""

import base64
import json
import re
import secrets
import threading
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.error import URLError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import Request

from backscroll.errors import BackscrollError, UsageError
from backscroll.sync.http_remote import LOOPBACK, opener
from backscroll.team.database.audit import record
from backscroll.team.database.jobs import enqueue
from backscroll.team.people.accounts import Person, find_person, new_person
from backscroll.team.people.invitations import use_link
from backscroll.team.people.recoveries import open_recovery
from backscroll.team.people.secrets import digest
from backscroll.team.people.teams import groups_in, join_teams

if TYPE_CHECKING:
    from backscroll.team.database.connections import Connection

REQUEST: Final = timedelta(minutes=10)
ALGORITHMS: Final = ("RS256", "ES256", "PS256", "EdDSA")
"""Signatures with a key of the provider: not `none`, and none that the client's secret could make."""
LEEWAY: Final = 60
TIMEOUT: Final = 15.0
KEPT_SECONDS: Final = 600.0
"""Seconds that the provider's description and keys are cached."""
AGAIN_SECONDS: Final = 10.0
"""Seconds between two fetches of the keys because of a token whose key is unknown."""
MAX_ANSWER_BYTES: Final = 1 << 20


class OidcSettings(NamedTuple):
    """The identity provider, and who we are there."""

    issuer: str
    client: str
    secret: str
    admits_everyone: bool = False
    """Whether everyone whom the provider lets in becomes a member; otherwise only people who were invited."""
    groups: str = ""
    """The claim that names a person's groups; empty: groups are not asked for."""


class SignInError(UsageError):
    """The provider's answer is not one to trust."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"signing in failed: {reason}", "start again from the sign-in page")


class Departure(NamedTuple):
    """The address to send the browser to, and the state that it has to bring back."""

    address: str
    state: str


class BegunSignIn(NamedTuple):
    """A sign-in that a browser has begun, when it comes back."""

    nonce: str
    verifier: str
    after: str
    """The path of this server to return to."""
    invitation: bytes | None
    """Digest of the link that it began with."""


class OidcProvider:
    """The identity provider of a server.

    `describe_recently` and `redeem` send requests to the provider, which may be slow: call them outside of
    transactions. Once the description is cached, nothing else does.
    """

    def __init__(self, settings: OidcSettings, redirect: str) -> None:
        """`redirect` is where the provider sends people back: from the settings of the server, never from a request."""
        check_issuer(settings.issuer)
        self.settings = settings
        self._redirect = redirect
        self._kept: dict[str, tuple[float, dict[str, Any]]] = {}
        self._fetching: set[str] = set()
        self._looked_again = -AGAIN_SECONDS
        self._lock = threading.Lock()
        """Held to look up what is kept, never while the provider is asked."""

    def begin(self, connection: "Connection", after: str, invitation: str = "") -> Departure:
        """Send a browser to the provider."""
        from authlib.oauth2.rfc7636 import create_s256_code_challenge

        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        connection.execute("delete from oidc_request where expires < now()")
        connection.execute(
            "insert into oidc_request (digest, nonce, verifier, after, invitation, expires)"
            " values (%s, %s, %s, %s, %s, now() + %s)",
            (digest(state), nonce, verifier, after, digest(invitation) if invitation else None, REQUEST),
        )
        parameters = {
            "response_type": "code",
            "client_id": self.settings.client,
            "redirect_uri": self._redirect,
            "scope": " ".join(self._scopes()),
            "state": state,
            "nonce": nonce,
            "code_challenge": create_s256_code_challenge(verifier),
            "code_challenge_method": "S256",
        }
        return Departure(f"{self._description()['authorization_endpoint']}?{urlencode(parameters)}", state)

    def come_back(self, connection: "Connection", state: str, cookie: str) -> BegunSignIn:
        """Return the sign-in that a returning browser began. That works once."""
        if not state or not secrets.compare_digest(state.encode(), cookie.encode()):
            raise SignInError("it was not begun in this browser")
        row = connection.execute(
            "delete from oidc_request where digest = %s and expires > now()"
            " returning nonce, verifier, after, invitation",
            (digest(state),),
        ).fetchone()
        if row is None:
            raise SignInError("it took too long, or was finished already")
        return BegunSignIn(*row)

    def redeem(self, begun: BegunSignIn, code: str) -> dict[str, Any]:
        """Exchange a code for the claims of its id token; SignInError if there is none to trust."""
        return self.check_token(self._redeem(code, begun.verifier), begun.nonce)

    def finish(self, connection: "Connection", begun: BegunSignIn, claims: dict[str, Any]) -> Person:
        """Return the person with these claims, linked or made as the settings allow."""
        person = self._person(connection, claims, begun.invitation)
        if person.recovery:
            return person
        connection.execute("update person set provider_seen = now() where id = %s", (person.id,))
        groups = groups_in(claims, self.settings.groups) if self.settings.groups else None
        if groups is not None:
            join_teams(connection, person, groups)
        return person

    def _scopes(self) -> list[str]:
        """The scopes to ask for. Some providers send groups only if asked, others do not know that scope."""
        supported = self._description().get("scopes_supported")
        asks = bool(self.settings.groups) and isinstance(supported, list) and "groups" in supported
        return ["openid", "profile", "email", *(["groups"] if asks else [])]

    def check_token(self, token: str, nonce: str) -> dict[str, Any]:
        """Return the claims of an id token; SignInError unless every one of them is as it must be."""
        from authlib.oidc.core import CodeIDToken
        from joserfc import jwt
        from joserfc.errors import JoseError
        from joserfc.jwk import KeySet

        try:
            decoded = jwt.decode(token, KeySet.import_key_set(self._keys(_key_id(token))), algorithms=list(ALGORITHMS))
        except (JoseError, ValueError, KeyError, TypeError) as error:
            raise SignInError("the signature of the token is not valid") from error
        options = {
            "iss": {"essential": True, "value": self.settings.issuer},
            "sub": {"essential": True},
            "aud": {"essential": True, "value": self.settings.client},
            "exp": {"essential": True},
            "iat": {"essential": True},
            "nonce": {"essential": True, "value": nonce},
        }
        claims = CodeIDToken(
            decoded.claims, decoded.header, options, {"client_id": self.settings.client, "nonce": nonce}
        )
        try:
            claims.validate(now=int(time.time()), leeway=LEEWAY)
        except Exception as error:  # Authlib has several kinds of errors for this
            raise SignInError(f"the token is not for this sign-in ({type(error).__name__})") from error
        if claims.get("nonce") != nonce or claims.get("iss") != self.settings.issuer:
            raise SignInError("the token is not for this sign-in")
        return dict(claims)

    def _person(self, connection: "Connection", claims: dict[str, Any], invitation: bytes | None) -> Person:
        issuer, subject = self.settings.issuer, str(claims["sub"])
        linked = connection.execute(
            "select id from person where issuer = %s and subject = %s", (issuer, subject)
        ).fetchone()
        if linked is not None:
            return find_person(connection, linked[0])
        if invitation is not None:
            person, lets_in = use_link(connection, bytes(invitation))
            if not lets_in:
                link, subject_there = bytes(invitation), (issuer, subject)
                return person._replace(recovery=open_recovery(connection, person, link, subject=subject_there))
            number = person.id
        elif self.settings.admits_everyone:
            number = self._admit(connection, claims)
        else:
            raise SignInError("you were not invited here; ask an administrator for a link")
        connection.execute("update person set issuer = %s, subject = %s where id = %s", (issuer, subject, number))
        person = find_person(connection, number)
        enqueue(connection, "index", person.handle)
        record(connection, person.org, person.handle, "person.link", person.handle, issuer)
        return person

    def _admit(self, connection: "Connection", claims: dict[str, Any]) -> int:
        user_name = str(
            claims.get("preferred_username") or str(claims.get("email") or "").partition("@")[0] or "person"
        )
        handle_base = re.sub("[^a-z0-9]+", "-", user_name.lower()).strip("-")[:24] or "person"
        row = connection.execute("select min(id) from org").fetchone()
        taken = {handle for (handle,) in connection.execute("select handle from person")}
        handle = next(
            name for name in (handle_base, *(f"{handle_base}-{n}" for n in range(2, 10_000))) if name not in taken
        )
        name = str(claims.get("name") or user_name)[:100]
        return new_person(connection, int(row[0]) if row else 0, handle, name, email=claims.get("email"))

    def _redeem(self, code: str, verifier: str) -> str:
        """Exchange a code for an id token."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._redirect,
            "code_verifier": verifier,
        }
        names = f"{quote(self.settings.client, safe='')}:{quote(self.settings.secret, safe='')}"
        basic = base64.b64encode(names.encode()).decode()
        answer = _fetch(self._description()["token_endpoint"], urlencode(form).encode(), f"Basic {basic}")
        token = answer.get("id_token")
        if not isinstance(token, str):
            raise SignInError("the provider gave no id token")
        return token

    def describe_recently(self) -> dict[str, Any]:
        """Return the description of the provider, from the cache if it is recent."""
        return self._description()

    def describe(self) -> dict[str, Any]:
        """Return the description of the provider, fetched now."""
        with self._lock:
            self._kept.clear()
        return self._description()

    def keys(self) -> dict[str, Any]:
        """Return the keys that the provider signs with."""
        keys: dict[str, Any] = self._keys()
        return keys

    def _description(self) -> dict[str, Any]:
        description = self._cached(f"{self.settings.issuer.rstrip('/')}/.well-known/openid-configuration")
        if description.get("issuer") != self.settings.issuer:
            raise SignInError("the provider calls itself by another name")
        for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
            check_issuer(str(description.get(name, "")))
        return description

    def _keys(self, key_id: str | None = None) -> Any:  # noqa: ANN401 - as the provider has them
        """Return the provider's keys, fetched again if the needed one is missing: it may be new."""
        address = self._description()["jwks_uri"]
        keys = self._cached(address)
        if key_id is None or key_id in _key_ids(keys) or not self._may_look_again():
            return keys
        return self._fetch_and_keep(address)

    def _may_look_again(self) -> bool:
        now = time.monotonic()
        with self._lock:
            may = now - self._looked_again >= AGAIN_SECONDS
            if may:
                self._looked_again = now
        return may

    def _cached(self, address: str) -> dict[str, Any]:
        """Fetch an address through the cache. While one request fetches it again, others use the older answer."""
        with self._lock:
            at, answer = self._kept.get(address, (0.0, None))
            is_recent = time.monotonic() - at <= KEPT_SECONDS
            if answer is not None and (is_recent or address in self._fetching):
                return answer
            self._fetching.add(address)
        try:
            return self._fetch_and_keep(address)
        finally:
            with self._lock:
                self._fetching.discard(address)

    def _fetch_and_keep(self, address: str) -> dict[str, Any]:
        answer = _fetch(address)
        with self._lock:
            self._kept[address] = (time.monotonic(), answer)
        return answer


def _key_id(token: str) -> str:
    """The id of the key that a token names; empty if it names none."""
    head = token.partition(".")[0]
    try:
        key_id = json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))["kid"]
    except (ValueError, KeyError, TypeError):
        return ""
    return key_id if isinstance(key_id, str) else ""


def _key_ids(keys: dict[str, Any]) -> set[str]:
    entries = keys.get("keys")
    return {str(key.get("kid", "")) for key in entries if isinstance(key, dict)} if isinstance(entries, list) else set()


def check_issuer(address: str) -> None:
    """Raise UsageError if an address of a provider is not one to send secrets to."""
    parts = urlsplit(address)
    if parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK):
        return
    raise UsageError(f"{address} is not an address of an identity provider", "give one that begins with https://")


def _fetch(address: str, data: bytes | None = None, authorization: str = "") -> dict[str, Any]:
    check_issuer(address)
    headers = {"accept": "application/json", **({"authorization": authorization} if authorization else {})}
    request = Request(address, data, headers)  # noqa: S310 - checked above
    try:
        with opener().open(request, timeout=TIMEOUT) as answer:
            decoded = json.loads(answer.read(MAX_ANSWER_BYTES))
    except (URLError, TimeoutError, ConnectionError, ValueError) as error:
        raise BackscrollError("the identity provider did not answer as expected", "try again in a moment") from error
    if not isinstance(decoded, dict):
        raise SignInError("the provider's answer cannot be read")
    return decoded
