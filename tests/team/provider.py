"""An OpenID Connect provider for tests, made with the JOSE library that Authlib uses.

It checks PKCE, the redirect address and the client's secret as a real one does, lets everyone in as `subject` without
asking, and lies in the ways that a test tells it to.
"""

import asyncio
import base64
import hashlib
import secrets
import threading
import time
from collections import Counter
from typing import Any
from urllib.parse import parse_qs, urlencode

from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

CLIENT, SECRET = "backscroll", "the-secret-of-the-client"


class Provider:
    """A provider, and what it says."""

    def __init__(self) -> None:
        self.issuer = ""
        self.redirect = ""
        self.subject = "248289761001"
        self.lies: dict[str, Any] = {}
        """Claims that are not as they must be."""
        self.signs_with = "its key"
        self._key = RSAKey.generate_key(2048, {"kid": "one"}, private=True)
        self._other = RSAKey.generate_key(2048, {"kid": "one"}, private=True)
        self.requests: Counter[str] = Counter()
        """How often each path was asked for."""
        self.may_redeem = threading.Event()
        """While it is not set, the answer to a code is held back."""
        self.may_redeem.set()
        self._asked: dict[str, dict[str, str]] = {}
        self.app = Starlette(
            routes=[
                Route("/.well-known/openid-configuration", self.describe),
                Route("/keys", self.keys),
                Route("/authorize", self.authorize),
                Route("/token", self.token, methods=["POST"]),
            ]
        )

    def rotate(self) -> None:
        """Sign with a new key, and forget the old one."""
        self._key = RSAKey.generate_key(2048, {"kid": secrets.token_hex(4)}, private=True)

    async def describe(self, _: Request) -> Response:
        names = {"authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "keys"}
        return JSONResponse({"issuer": self.issuer, **{key: f"{self.issuer}/{path}" for key, path in names.items()}})

    async def keys(self, _: Request) -> Response:
        self.requests["keys"] += 1
        return JSONResponse({"keys": [self._key.as_dict(private=False)]})

    async def authorize(self, request: Request) -> Response:
        asked = dict(request.query_params)
        assert asked["redirect_uri"] == self.redirect
        assert asked["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe(16)
        self._asked[code] = asked
        return RedirectResponse(f"{self.redirect}?{urlencode({'code': code, 'state': asked['state']})}", 302)

    async def token(self, request: Request) -> Response:
        self.requests["token"] += 1
        await asyncio.to_thread(self.may_redeem.wait, 60)
        sent = {name: values[0] for name, values in parse_qs((await request.body()).decode()).items()}
        asked = self._asked.pop(sent["code"], None)
        digest = hashlib.sha256(sent["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        basic = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        is_client = request.headers.get("authorization") == f"Basic {basic}"
        is_same = asked is not None and asked["code_challenge"] == challenge
        if not is_client or not is_same or asked is None or sent["redirect_uri"] != self.redirect:
            return JSONResponse({"error": "invalid_grant"}, 400)
        now = int(time.time())
        claims = {
            "iss": self.issuer, "sub": self.subject, "aud": CLIENT, "iat": now, "exp": now + 300,
            "nonce": asked["nonce"], "preferred_username": "Grace.Hopper", "email": "admin@example.org", **self.lies,
        }  # fmt: skip
        return JSONResponse({"access_token": "x", "token_type": "Bearer", "id_token": self._sign(claims)})

    def _sign(self, claims: dict[str, Any]) -> str:
        if self.signs_with == "nothing":
            return ".".join((_part(b'{"alg":"none"}'), _part(jwt_json(claims)), ""))
        if self.signs_with == "the client's secret":
            return jwt.encode({"alg": "HS256"}, claims, OctKey.import_key(SECRET), algorithms=["HS256"])
        key = self._key if self.signs_with == "its key" else self._other
        return jwt.encode({"alg": "RS256", "kid": key.kid}, claims, key)


def jwt_json(claims: dict[str, Any]) -> bytes:
    import json

    return json.dumps(claims).encode()


def _part(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
