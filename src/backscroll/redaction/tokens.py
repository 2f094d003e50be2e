"""The rules for secrets with a known prefix, chosen by the services that issue them.

Patterns are RE2, run over UTF-8 bytes. A pattern with a group hides what the group matches, one without hides all of
the match. No pattern may match the byte 0xff, which marks hidden secrets.
"""

from typing import Final

from backscroll.redaction.checks import is_discord
from backscroll.redaction.names import Q
from backscroll.redaction.rule import Rule, leads, token
from backscroll.redaction.wraps import edge

# The text before a token that could also end a word; an escaped line has `\n` as two characters.
B: Final = r"(?:^|[^A-Za-z0-9_\xff]|\\[nrtbf]|\\u[0-9a-fA-F]{4})"


def named(name: str, what: str, *patterns: str, hints: tuple[str, ...]) -> Rule:
    """Return a rule for secrets beside their name, a common word, so that the hint is all text before the secret.

    If a terminal broke the name itself over two lines, the hint is its beginning at the end of a line.
    """
    rule = token(name, what, *patterns, hints=hints)
    return rule._replace(hints=(*leads(patterns), edge(rule.prefixes)))


TOKENS: Final[tuple[Rule, ...]] = (
    token("age-key", "an age secret key", r"AGE-SECRET-KEY-1[A-Z0-9]{40,}", hints=("age-secret-key-1",)),
    token("anthropic-key", "an Anthropic key or token", r"sk-ant-[A-Za-z0-9_-]{16,}", hints=("sk-ant-",)),
    token("openrouter-key", "an OpenRouter key", r"sk-or-(?:v[0-9]+-)?[0-9a-f]{32,}", hints=("sk-or-",)),
    token(
        "openai-key", "an OpenAI key, or a similar key of another service",
        r"sk-(?:proj|svcacct|admin|service|None)-[A-Za-z0-9_-]{20,}",
        rf"{B}(sk-[A-Za-z0-9]{{32,}})", hints=("sk-",),
    ),
    token(
        "model-service-key", "a key for Groq, xAI, Perplexity, Replicate or Fireworks",
        r"gsk_[A-Za-z0-9]{40,}", r"xai-[A-Za-z0-9]{60,}", r"pplx-[A-Za-z0-9]{40,}",
        r"(?:^|[^A-Za-z0-9_+/=\xff-]|\\[nrtbf]|[A-Z]=)(r8_[A-Za-z0-9]{37,}|fw_[A-Za-z0-9]{22,})",
        hints=("gsk_", "xai-", "pplx-", "r8_", "fw_"),
    ),
    token(
        "huggingface-token", "a Hugging Face token",
        rf"{B}((?:hf|api_org)_[A-Za-z0-9]{{30,}})", hints=("hf_", "api_org_"),
    ),
    token(
        "aws-key-id", "an AWS access key id",
        r"(?:^|[^A-Za-z0-9/+=\xff]|\\[nrt])((?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16})\b",
        hints=("akia", "asia", "abia", "acca"),
    ),
    named(
        "aws-secret", "an AWS secret key, session token or signature next to its name",
        rf"(?i:secret_?-?access_?-?key|session_?-?token|security_?-?token){Q}\s*(?:=>|[:=])?\s*{Q}"
        r"([A-Za-z0-9/+=%]{40,})",
        r"(?i:\bX-(?:Amz|Goog)-Signature=|\bSignature=)([0-9a-f]{40,})", hints=("secret", "token", "signature="),
    ),
    token(
        "google-key", "a Google key, client secret or token",
        rf"{B}(AIza[0-9A-Za-z_-]{{35}}|ya29\.[0-9A-Za-z_-]{{20,}}|1//0[0-9A-Za-z_-]{{40,}})",
        r"GOCSPX-[A-Za-z0-9_-]{20,}", hints=("aiza", "ya29.", "1//0", "gocspx-"),
    ),
    token(
        "azure-key", "an Azure key, client secret or signature",
        r"(?i:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{40,}={0,2})",
        r"(?i:[?&]sig=)([A-Za-z0-9%+/]{40,}(?:%3[Dd]|=)?)",
        rf"{B}([A-Za-z0-9_~.-]{{3}}[0-9]Q~[A-Za-z0-9_~.-]{{31,}})",
        hints=("accountkey=", "sharedaccesskey=", "sig=", "q~"),
    ),
    token(
        "github-token", "a GitHub token",
        r"gh[pousr]_[A-Za-z0-9]{30,}", r"github_pat_[A-Za-z0-9_]{30,}",
        hints=("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    ),
    token(
        "gitlab-token", "a GitLab token",
        r"gl(?:pat|dt|rt|cbt|ptt|ft|soat|imt|agent|oas)-[A-Za-z0-9_.-]{20,}",
        hints=("glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "glimt-", "glagent-", "gloas-"),
    ),
    token(
        "slack-token", "a Slack token or webhook",
        rf"{B}(xox[a-z]-[A-Za-z0-9-]{{10,}})", r"xoxe\.xox[a-z]-[A-Za-z0-9-]{10,}", r"xapp-[0-9]-[A-Za-z0-9-]{10,}",
        r"hooks\.slack\.com/((?:services|workflows|triggers)/[A-Za-z0-9+/]{20,})",
        hints=("xox", "xapp-", "hooks.slack.com"),
    ),
    token(
        "stripe-key", "a Stripe key",
        rf"{B}((?:sk|rk)_(?:live|test)_[A-Za-z0-9]{{10,}}|whsec_[A-Za-z0-9+/=]{{24,}})",
        hints=("sk_", "rk_", "whsec_"),
    ),
    token("npm-token", "an npm token", rf"{B}(npm_[A-Za-z0-9]{{36,}})", hints=("npm_",)),
    token("pypi-token", "a PyPI token", r"pypi-[A-Za-z0-9_-]{50,}", hints=("pypi-",)),
    token(
        "package-registry-token", "a token for RubyGems, crates.io, Docker, NuGet or Postman",
        r"rubygems_[a-f0-9]{40,}", r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}", r"PMAK-[A-Za-z0-9-]{50,}",
        rf"{B}(cio[A-Za-z0-9]{{32}}|oy2[a-z0-9]{{43}})\b",
        hints=("rubygems_", "dckr_", "pmak-", "cio", "oy2"),
    ),
    token(
        "cloud-token", "a token for DigitalOcean, Databricks, Fly, Tailscale, Netlify, Supabase or PlanetScale",
        r"do[opr]_v1_[a-f0-9]{40,}", r"tskey-[a-z]+-[A-Za-z0-9-]{16,}", r"nfp_[A-Za-z0-9]{36,}", r"sbp_[a-f0-9]{40,}",
        r"sb_secret_[A-Za-z0-9_-]{20,}", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.-]{30,}",
        r"FlyV1 [A-Za-z0-9_+/=,-]{40,}", rf"{B}(dapi[0-9a-f]{{32}}|fm[12][a-z]?_[A-Za-z0-9_+/=-]{{60,}})",
        hints=("_v1_", "tskey-", "nfp_", "sbp_", "sb_secret_", "pscale_", "flyv1", "dapi", "fm1", "fm2"),
    ),
    token(
        "tool-token", "a token for Linear, Notion, Figma, Atlassian, Sentry, Grafana, New Relic, Shopify or Square",
        r"lin_(?:api|oauth)_[A-Za-z0-9]{30,}", r"figd_[A-Za-z0-9_-]{30,}", r"ATATT3[A-Za-z0-9_=-]{60,}",
        r"sntry[su]_[A-Za-z0-9_+/=-]{40,}", rf"{B}(gl(?:c|sa)_[A-Za-z0-9_+/=-]{{32,}})", r"NRAK-[A-Z0-9]{27}",
        r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}", r"sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,}",
        rf"{B}((?:ntn|secret)_[A-Za-z0-9]{{40,}})",
        hints=("lin_", "figd_", "atatt3", "sntry", "glc_", "glsa_", "nrak-", "shp", "sq0", "ntn_", "secret_"),
    ),
    token(
        "vault-token", "a token for Vault, Terraform, Doppler or 1Password",
        rf"{B}(hv[sbr]\.[A-Za-z0-9_-]{{24,}}|dp\.[a-z]+\.[A-Za-z0-9]{{40,}})",
        r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{60,}", r"ops_eyJ[A-Za-z0-9_+/=-]{40,}",
        hints=("hvs.", "hvb.", "hvr.", "dp.", ".atlasv1.", "ops_eyj"),
    ),
    token(
        "mail-service-key", "a SendGrid or Mailgun key",
        r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{30,}", rf"{B}(key-[0-9a-f]{{32}})\b", hints=("sg.", "key-"),
    ),
    token(
        "bot-token", "a Discord webhook or a Telegram bot token",
        r"discord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/([0-9]+/[A-Za-z0-9_-]{30,})",
        rf"(?:{B}|/bot)([0-9]{{8,10}}:AA[A-Za-z0-9_-]{{33}})", hints=("/webhooks/", ":aa"),
    ),
    Rule(
        "discord-token", "a Discord bot or user token",
        (rf"{B}([MNO][ADTjzQgw][A-Za-z0-9_-]{{21,26}}\.[A-Za-z0-9_-]{{6}}\.[A-Za-z0-9_-]{{27,}})",),
        (r"\.[a-z0-9_-]{6}\.[a-z0-9_-]{27}",), check=is_discord,
    ),
    token(
        "jwt", "a JSON web token",
        r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?",
        r"eyJ[A-Za-z0-9_-]{16,}\.(?:\.[A-Za-z0-9_-]{8,}){2,3}",
        hints=("eyj",),
    ),
)  # fmt: skip
