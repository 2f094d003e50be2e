"""The table of rules: what a secret looks like, and how one that only stands beside the right word is told from code.

Patterns are RE2, run over UTF-8 bytes. A pattern with a group hides what the group matches, one without hides all of
the match. No pattern may match the byte 0xff, which stands for what is hidden already: that is why classes that take
anything name it.
"""

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from backscroll.redaction.checks import (
    is_account,
    is_bearer,
    is_chosen,
    is_cookie,
    is_drawn,
    is_mail,
    is_password,
    key_end,
)

VERSION: Final = 1
"""Raised whenever the rules hide something else than before."""


class Rule(NamedTuple):
    """One kind of secret."""

    name: str
    """What stands in its place."""
    what: str
    """What it is, for people."""
    patterns: tuple[str, ...]
    hints: tuple[str, ...]
    """Every match has one of these in it, in small letters: whoever finds none of them need not look further."""
    check: Callable[[bytes], bool] | None = None
    """Whether what was found is one, where the pattern alone cannot tell."""
    extend: Callable[[bytes, int], int] | None = None
    """Where it ends, if not where the pattern does; where it begins if there is nothing to hide."""
    optional: bool = False
    """Only where it is asked for."""


# What stands before a token that could also be the end of a word; a line that was escaped has `\n` as two characters.
B: Final = r"(?:^|[^A-Za-z0-9_\xff]|\\[nrtbf]|\\u[0-9a-fA-F]{4})"
# Between a name and its value: quotes, perhaps escaped, and spaces.
Q: Final = r"""(?:["'`]|\\+["'])?"""
BETWEEN: Final = rf"(?:{Q}\]?\s*(?::=|=>|={{1,3}}|:)\s*{Q}|[\"']\s*,\s*[\"'])"
CHOSEN_NAME: Final = (
    r"[a-z0-9_.-]*(?:pass(?:word|wd|phrase)|pwd|[_.-]pass)(?:[_.-]?(?:value|prod|dev|test|live|[0-9]))?"
)
DRAWN_NAME: Final = (
    r"[a-z0-9_.-]*(?:secret|token|credential|(?:api|access|auth|account|admin|client|crypt|encryption|encrypt|license"
    r"|master|private|service|shared|signing|session|storage|webhook)[_.-]?key)"
    r"(?:[_.-]?(?:key|value|string|base64|prod|dev|test|live|[0-9]))?"
)
FIELD: Final = re.compile(rf"(?i)\A(?:{CHOSEN_NAME}|{DRAWN_NAME}|(?:proxy-)?authorization|(?:set-)?cookie)\Z")
"""The name of a field whose value is to be looked at together with it."""
CHOSEN_FIELD: Final = re.compile(rf"(?i)\A{CHOSEN_NAME}\Z")
HIDDEN_FIELD: Final = re.compile(rf"(?i)\A(?:{CHOSEN_NAME}|{DRAWN_NAME})\Z")


def _tokens(name: str, what: str, *patterns: str, hints: tuple[str, ...]) -> Rule:
    return Rule(name, what, patterns, hints)


# ruff: noqa: ISC004 - long patterns go on in the next line
RULES: Final[tuple[Rule, ...]] = (
    Rule(
        "private-key", "a private key: PEM, OpenSSH or PGP, also escaped or cut off",
        (r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----",), ("private key",), extend=key_end,
    ),
    _tokens("age-key", "a secret key of age", r"AGE-SECRET-KEY-1[A-Z0-9]{40,}", hints=("age-secret-key-1",)),
    _tokens("anthropic-key", "a key or token of Anthropic", r"sk-ant-[A-Za-z0-9_-]{16,}", hints=("sk-ant-",)),
    _tokens("openrouter-key", "a key of OpenRouter", r"sk-or-(?:v[0-9]+-)?[0-9a-f]{32,}", hints=("sk-or-",)),
    _tokens(
        "openai-key", "a key of OpenAI, or of a service with keys alike",
        r"sk-(?:proj|svcacct|admin|service|None)-[A-Za-z0-9_-]{20,}",
        rf"{B}(sk-[A-Za-z0-9]{{32,}})", hints=("sk-",),
    ),
    _tokens(
        "model-service-key", "a key of Groq, xAI, Perplexity, Replicate or Fireworks",
        r"gsk_[A-Za-z0-9]{40,}", r"xai-[A-Za-z0-9]{60,}", r"pplx-[A-Za-z0-9]{40,}",
        rf"{B}(r8_[A-Za-z0-9]{{37,}}|fw_[A-Za-z0-9]{{22,}})", hints=("gsk_", "xai-", "pplx-", "r8_", "fw_"),
    ),
    _tokens(
        "huggingface-token", "a token of Hugging Face",
        rf"{B}((?:hf|api_org)_[A-Za-z0-9]{{30,}})", hints=("hf_", "api_org_"),
    ),
    _tokens(
        "aws-key-id", "the id of a key of AWS",
        r"(?:^|[^A-Za-z0-9/+=\xff]|\\[nrt])((?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16})\b",
        hints=("akia", "asia", "abia", "acca"),
    ),
    _tokens(
        "aws-secret", "a secret key or session token of AWS, beside its name",
        rf"(?i:secret_?-?access_?-?key|session_?-?token|security_?-?token){Q}\s*(?:=>|[:=])?\s*{Q}"
        r"([A-Za-z0-9/+=]{40,})", hints=("secret", "token"),
    ),
    _tokens(
        "google-key", "a key, client secret or token of Google",
        rf"{B}(AIza[0-9A-Za-z_-]{{35}}|ya29\.[0-9A-Za-z_-]{{20,}}|1//0[0-9A-Za-z_-]{{40,}})",
        r"GOCSPX-[A-Za-z0-9_-]{20,}", hints=("aiza", "ya29.", "1//0", "gocspx-"),
    ),
    _tokens(
        "azure-key", "a key, client secret or signature of Azure",
        r"(?i:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{40,}={0,2})",
        r"(?i:[?&]sig=)([A-Za-z0-9%+/]{40,}(?:%3[Dd]|=)?)",
        rf"{B}([A-Za-z0-9_~.-]{{3}}[0-9]Q~[A-Za-z0-9_~.-]{{31,}})",
        hints=("accountkey=", "sharedaccesskey=", "sig=", "q~"),
    ),
    _tokens(
        "github-token", "a token of GitHub",
        r"gh[pousr]_[A-Za-z0-9]{30,}", r"github_pat_[A-Za-z0-9_]{30,}",
        hints=("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    ),
    _tokens(
        "gitlab-token", "a token of GitLab",
        r"gl(?:pat|dt|rt|cbt|ptt|ft|soat|imt|agent|oas)-[A-Za-z0-9_.-]{20,}",
        hints=("glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "glimt-", "glagent-", "gloas-"),
    ),
    _tokens(
        "slack-token", "a token or webhook of Slack",
        r"xox[a-z]-[A-Za-z0-9-]{10,}", r"xoxe\.xox[a-z]-[A-Za-z0-9-]{10,}", r"xapp-[0-9]-[A-Za-z0-9-]{10,}",
        r"hooks\.slack\.com/((?:services|workflows|triggers)/[A-Za-z0-9+/]{20,})",
        hints=("xox", "xapp-", "hooks.slack.com"),
    ),
    _tokens(
        "stripe-key", "a key of Stripe",
        rf"{B}((?:sk|rk)_(?:live|test)_[A-Za-z0-9]{{10,}}|whsec_[A-Za-z0-9+/=]{{24,}})",
        hints=("sk_", "rk_", "whsec_"),
    ),
    _tokens("npm-token", "a token of npm", rf"{B}(npm_[A-Za-z0-9]{{36,}})", hints=("npm_",)),
    _tokens("pypi-token", "a token of PyPI", r"pypi-[A-Za-z0-9_-]{50,}", hints=("pypi-",)),
    _tokens(
        "package-registry-token", "a token of RubyGems, crates.io, Docker, NuGet or Postman",
        r"rubygems_[a-f0-9]{40,}", r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}", r"PMAK-[A-Za-z0-9-]{50,}",
        rf"{B}(cio[A-Za-z0-9]{{32}}|oy2[a-z0-9]{{43}})\b",
        hints=("rubygems_", "dckr_", "pmak-", "cio", "oy2"),
    ),
    _tokens(
        "cloud-token", "a token of DigitalOcean, Databricks, Fly, Tailscale, Netlify, Supabase or PlanetScale",
        r"do[opr]_v1_[a-f0-9]{40,}", r"tskey-[a-z]+-[A-Za-z0-9-]{16,}", r"nfp_[A-Za-z0-9]{36,}", r"sbp_[a-f0-9]{40,}",
        r"sb_secret_[A-Za-z0-9_-]{20,}", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.-]{30,}",
        r"FlyV1 [A-Za-z0-9_+/=,-]{40,}", rf"{B}(dapi[0-9a-f]{{32}}|fm[12][a-z]?_[A-Za-z0-9_+/=-]{{60,}})",
        hints=("_v1_", "tskey-", "nfp_", "sbp_", "sb_secret_", "pscale_", "flyv1", "dapi", "fm1", "fm2"),
    ),
    _tokens(
        "tool-token", "a token of Linear, Notion, Figma, Atlassian, Sentry, Grafana, New Relic, Shopify or Square",
        r"lin_(?:api|oauth)_[A-Za-z0-9]{30,}", r"figd_[A-Za-z0-9_-]{30,}", r"ATATT3[A-Za-z0-9_=-]{60,}",
        r"sntry[su]_[A-Za-z0-9_+/=-]{40,}", r"gl(?:c|sa)_[A-Za-z0-9_+/=-]{32,}", r"NRAK-[A-Z0-9]{27}",
        r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}", r"sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,}",
        rf"{B}((?:ntn|secret)_[A-Za-z0-9]{{40,}})",
        hints=("lin_", "figd_", "atatt3", "sntry", "glc_", "glsa_", "nrak-", "shp", "sq0", "ntn_", "secret_"),
    ),
    _tokens(
        "vault-token", "a token of Vault, Terraform, Doppler or 1Password",
        rf"{B}(hv[sbr]\.[A-Za-z0-9_-]{{24,}}|dp\.[a-z]+\.[A-Za-z0-9]{{40,}})",
        r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{60,}", r"ops_eyJ[A-Za-z0-9_+/=-]{40,}",
        hints=("hvs.", "hvb.", "hvr.", "dp.", ".atlasv1.", "ops_eyj"),
    ),
    _tokens(
        "mail-service-key", "a key of SendGrid or Mailgun",
        r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{30,}", rf"{B}(key-[0-9a-f]{{32}})\b", hints=("sg.", "key-"),
    ),
    _tokens(
        "bot-token", "a webhook of Discord, or the token of a bot of Telegram",
        r"discord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/([0-9]+/[A-Za-z0-9_-]{30,})",
        rf"{B}([0-9]{{8,10}}:AA[A-Za-z0-9_-]{{33}})", hints=("/webhooks/", ":aa"),
    ),
    _tokens(
        "jwt", "a JSON web token",
        r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?",
        r"eyJ[A-Za-z0-9_-]{16,}\.(?:\.[A-Za-z0-9_-]{8,}){2,3}",
        hints=("eyj",),
    ),
    Rule(
        "url-password", "a password in an address, as of a database",
        (r"(?i:[a-z][a-z0-9+.-]*://)[^\s/:@\"'<>\\\xff]*:([^\s/@\"'<>\xff]+)@",), ("://",),
        check=is_password,
    ),
    Rule(
        "connection-password", "a password in a connection string",
        (
            r"(?i:(?:server|host|data source|user id|uid|database|initial catalog)\s*=[^;\n\"'\xff]*;"
            r"(?:[^;\n\"'\xff]*;)*?\s*(?:password|pwd)\s*=\s*)([^;\s\"'\\\xff]+)",
        ),
        ("password", "pwd"), check=is_password,
    ),
    Rule(
        "authorization", "what an authorization header carries",
        (
            rf"(?i:authorization){Q}\s*(?:=>|[:=,])\s*{Q}(?i:(?:bearer|basic|token|digest|apikey|key|negotiate)\s+)?"
            r"([^\s\"'`\\,;<>\[\](){}$\xff]{8,})",
        ),
        ("authorization",), check=is_bearer,
    ),
    Rule(
        "bearer-token", "a bearer token",
        (r"(?i:bearer)\s+([A-Za-z0-9._~+/=-]{16,})",), ("bearer",), check=is_bearer,
    ),
    Rule(
        "basic-account", "a name and password for basic authentication",
        (r"(?i:basic)\s+([A-Za-z0-9+/]{8,}={0,2})",), ("basic",), check=is_account,
    ),
    Rule(
        "command-password", "a password given to a command",
        (
            r"(?:curl|wget)\s[^\n\xff]*?(?:-u|--user)[ =]?[\"']?[^\s:\"'\xff]+:([^\s\"'\\\xff]+)",
            r"(?:--(?:[a-z]+-)?(?:password|passwd|pass)[ =]|sshpass -p ?|mysql[^\n\xff]*? -p)[\"']?"
            r"([^\s\"'\\\xff-][^\s\"'\\\xff]{5,})",
        ),
        ("curl ", "wget ", "--pass", "-pass", "sshpass", "mysql"), check=is_password,
    ),
    Rule(
        "cookie", "the cookies of a request or an answer",
        (
            rf"(?i:cookie){Q}\s*(?:[:=,]|\s)\s*{Q}"
            r"([A-Za-z0-9_.$-]+=[^\s;,\"'\\<>(){}\[\]\xff]{8,}(?:;\s*[^\s;,\"'\\<>\xff]+)*)",
        ),
        ("cookie",), check=is_cookie,
    ),
    Rule(
        "assigned-secret", "what is set as a password",
        (rf"(?i:{CHOSEN_NAME}){BETWEEN}([^\s\"'`\\,;<>\[\](){{}}\xff]{{6,}})",),
        ("pass", "pwd"), check=is_chosen,
    ),
    Rule(
        "assigned-secret", "what is set as a secret, token or key",
        (rf"(?i:{DRAWN_NAME}){BETWEEN}([^\s\"'`\\,;<>\[\](){{}}&\xff]{{12,}})",),
        ("secret", "token", "credential", "key"), check=is_drawn,
    ),
    Rule(
        "email", "an e-mail address",
        (r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}",), ("@",),
        check=is_mail, optional=True,
    ),
)  # fmt: skip
"""In the order in which they are tried: what is surest comes first."""
