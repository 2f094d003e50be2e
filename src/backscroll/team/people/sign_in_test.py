"""Try out the settings of single sign-on, step by step, without signing anyone in."""

from typing import NamedTuple

from backscroll.errors import BackscrollError
from backscroll.team.people.oidc import ALGORITHMS, OidcProvider


class SignInStep(NamedTuple):
    """Something that must be so for people to sign in."""

    what: str
    is_so: bool
    told: str


def try_sign_in(provider: OidcProvider) -> list[SignInStep]:
    """Check each step of signing in, up to the first failure that makes the next ones impossible."""
    settings = provider.settings
    try:
        description = provider.describe()
    except BackscrollError as error:
        return [SignInStep("Its configuration can be read", is_so=False, told=f"{settings.issuer}: {error.message}")]
    steps = [SignInStep("Its configuration can be read", is_so=True, told=settings.issuer)]
    kinds = description.get("response_types_supported")
    steps.append(
        SignInStep("It offers the code flow", not isinstance(kinds, list) or "code" in kinds, "response type code")
    )
    methods = description.get("code_challenge_methods_supported")
    detail = "S256" if isinstance(methods, list) else "it does not say; most of those do"
    steps.append(SignInStep("It supports PKCE", not isinstance(methods, list) or "S256" in methods, detail))
    used = description.get("id_token_signing_alg_values_supported")
    fits = sorted(set(ALGORITHMS) & set(used)) if isinstance(used, list) else ["it does not say"]
    detail = ", ".join(fits) or f"none of {', '.join(ALGORITHMS)}"
    steps.append(SignInStep("It signs tokens in a way that this server accepts", bool(fits), detail))
    try:
        keys = provider.keys().get("keys")
        count = len(keys) if isinstance(keys, list) else 0
        steps.append(SignInStep("Its keys can be read", count > 0, f"{count} at {description['jwks_uri']}"))
    except BackscrollError as error:
        steps.append(SignInStep("Its keys can be read", is_so=False, told=error.message))
    if settings.groups:
        claims = description.get("claims_supported")
        is_known = not isinstance(claims, list) or settings.groups in claims
        detail = f"claim {settings.groups}" + ("" if is_known else ": it does not name this claim, and may not send it")
        steps.append(SignInStep("It sends groups", is_known, detail))
    return steps
