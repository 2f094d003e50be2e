"""A secret of every rule, drawn at random, and the text that it is found in."""

import base64
from collections.abc import Mapping
from typing import Final, NamedTuple

from hypothesis import strategies as st

LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
DIGITS: Final = "0123456789"
HEX: Final = DIGITS + "abcdef"
WORD: Final = LETTERS + DIGITS
TEXT: Final = WORD + "-_"


class Planted(NamedTuple):
    """A text, and the piece of it that must not survive."""

    text: str
    secret: str


def drawn(alphabet: str, size: int) -> st.SearchStrategy[str]:
    return st.text(alphabet=alphabet, min_size=size, max_size=size)


def mixed(size: int, alphabet: str = WORD) -> st.SearchStrategy[str]:
    """Letters and digits that look drawn: some of both, few repeated, and no word with a number behind it."""
    return st.permutations(list(alphabet)).map(lambda letters: "".join(letters)[: size - 6] + "4x7Q2z")


def plain(prefix: str, rest: st.SearchStrategy[str], suffix: str = "") -> st.SearchStrategy[Planted]:
    return rest.map(lambda text: Planted(prefix + text + suffix, prefix + text + suffix))


def beside(before: str, secret: st.SearchStrategy[str], after: str = "") -> st.SearchStrategy[Planted]:
    return secret.map(lambda text: Planted(before + text + after, text))


def _key(kind: str, newline: str) -> st.SearchStrategy[Planted]:
    lines = st.lists(drawn(WORD + "+/", 64), min_size=2, max_size=4)
    return lines.map(
        lambda body: Planted(
            newline.join([f"-----BEGIN {kind}PRIVATE KEY-----", *body, f"-----END {kind}PRIVATE KEY-----"]), body[0]
        )
    )


def _account(text: str) -> str:
    return base64.b64encode(f"ada:{text}".encode()).decode()


PLANTED: Final[Mapping[str, st.SearchStrategy[Planted]]] = {
    "private-key": st.one_of(
        _key("RSA ", "\n"), _key("", "\\n"), _key("OPENSSH ", "\r\n"), _key("EC ", "\\\\n"), _key("", "\n    12→"),
        drawn(WORD, 64).map(lambda line: Planted(f"-----BEGIN PRIVATE KEY-----\n{line}\n{line[:30]}", line)),
        drawn(WORD, 64).map(lambda line: Planted(f"{line}\n{line[:30]}\n-----END RSA PRIVATE KEY-----", line)),
    ),
    "age-key": plain("AGE-SECRET-KEY-1", drawn("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", 58)),
    "anthropic-key": st.one_of(plain("sk-ant-api03-", drawn(TEXT, 95)), plain("sk-ant-oat01-", drawn(TEXT, 60))),
    "openrouter-key": plain("sk-or-v1-", drawn(HEX, 64)),
    "openai-key": st.one_of(plain("sk-proj-", drawn(TEXT, 60)), plain("sk-", drawn(WORD, 48))),
    "model-service-key": st.one_of(plain("gsk_", drawn(WORD, 52)), plain("r8_", drawn(WORD, 37))),
    "huggingface-token": plain("hf_", drawn(WORD, 34)),
    "aws-key-id": plain("AKIA", drawn("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16)),
    "aws-secret": st.one_of(
        beside("aws_secret_access_key = ", drawn(WORD + "/+", 40)), beside('"SecretAccessKey": "', drawn(WORD, 40), '"')
    ),
    "google-key": st.one_of(plain("AIza", drawn(TEXT, 35)), plain("GOCSPX-", drawn(TEXT, 28))),
    "azure-key": st.one_of(
        beside("AccountKey=", drawn(WORD, 86), "==;EndpointSuffix=core.windows.net"),
        beside("?sv=2022&sig=", drawn(WORD, 43), "%3D"),
    ),
    "github-token": st.one_of(plain("ghp_", drawn(WORD, 36)), plain("github_pat_", drawn(WORD + "_", 82))),
    "gitlab-token": plain("glpat-", drawn(TEXT, 20)),
    "slack-token": st.one_of(
        plain("xoxb-", drawn(DIGITS + LETTERS, 40)),
        drawn(WORD, 40).map(lambda text: Planted(f"https://hooks.slack.com/services/{text}", f"services/{text}")),
    ),
    "stripe-key": st.one_of(plain("sk_live_", drawn(WORD, 24)), plain("whsec_", drawn(WORD, 32))),
    "npm-token": plain("npm_", drawn(WORD, 36)),
    "pypi-token": plain("pypi-", drawn(TEXT, 100)),
    "package-registry-token": st.one_of(plain("rubygems_", drawn(HEX, 48)), plain("dckr_pat_", drawn(TEXT, 27))),
    "cloud-token": st.one_of(plain("dop_v1_", drawn(HEX, 64)), plain("dapi", drawn(HEX, 32))),
    "tool-token": st.one_of(plain("lin_api_", drawn(WORD, 40)), plain("figd_", drawn(TEXT, 40))),
    "vault-token": st.one_of(plain("hvs.", drawn(TEXT, 90)), plain("dp.pt.", drawn(WORD, 43))),
    "mail-service-key": st.tuples(drawn(TEXT, 22), drawn(TEXT, 43)).map(
        lambda parts: Planted(f"SG.{parts[0]}.{parts[1]}", parts[1])
    ),
    "bot-token": st.one_of(
        plain("123456789:AA", drawn(TEXT, 33)),
        beside("https://api.telegram.org/bot123456789:AA", drawn(TEXT, 33), "/sendMessage"),
    ),
    "jwt": st.tuples(drawn(TEXT, 30), drawn(TEXT, 40), drawn(TEXT, 43)).map(
        lambda parts: Planted(f"eyJ{parts[0]}.eyJ{parts[1]}.{parts[2]}", parts[1])
    ),
    "url-password": st.one_of(
        beside("postgres://ada:", mixed(14), "@db.example.org:5432/shop"),
        beside("postgres://ada:", mixed(14).map(lambda text: f"{text[:5]}/{text[5:]}"), "@db.example.org:5432/shop"),
        beside("redis://:", mixed(20), "@cache/0"),
    ),
    "connection-password": beside("Server=db;Database=shop;User Id=ada;Password=", mixed(14), ";Encrypt=True"),
    "authorization": st.one_of(
        beside("Authorization: Bearer ", mixed(30)), beside('"authorization": "Token ', mixed(24), '"')
    ),
    "bearer-token": beside("sent as bearer ", mixed(30)),
    "basic-account": mixed(12).map(lambda text: Planted(f"basic {_account(text)}", _account(text))),
    "command-password": st.one_of(
        beside("curl -s -u ada:", mixed(12), " https://example.org"),
        beside("tool --db-password ", mixed(12)),
        beside("docker login -u ada -p ", mixed(12), " registry.example.org"),
        beside("htpasswd -b .htpasswd ada ", mixed(12)),
        beside("echo ada:", mixed(12), " | sudo chpasswd"),
        beside("keytool -list -storepass ", mixed(12), " -v"),
    ),
    "cookie": st.one_of(
        beside("Cookie: theme=dark1234; session=", mixed(32)), beside("set-cookie: sid=", mixed(32), "; Path=/")
    ),
    "assigned-secret": st.one_of(
        beside("DB_PASSWORD=", mixed(12)),
        beside('{"password": "', mixed(12), '"}'),
        beside("{\\\"api_key\\\": \\\"", mixed(32), "\\\"}"),
        beside("client_secret: '", mixed(32), "'"),
        beside("export API_TOKEN=", mixed(40)),
        beside('os.environ["ACCESS_KEY"] = "', mixed(24), '"'),
        beside("<password>", mixed(12), "</password>"),
        beside("{&quot;apiKey&quot;:&quot;", mixed(32), "&quot;}"),
        beside("{\\u0022apiKey\\u0022:\\u0022", mixed(32), "\\u0022}"),
        beside("setx API_KEY ", mixed(32)),
        beside("ENV DB_PASSWORD ", mixed(12)),
        beside("Ocp-Apim-Subscription-Key: ", mixed(32)),
        beside('const API_TOKEN: &str = "', mixed(32), '";'),
        beside("- name: JWT_SECRET\n  value: ", mixed(32)),
    ),
    "discord-token": st.tuples(st.integers(10**17, 10**18 - 1), drawn(WORD, 6), drawn(TEXT, 38)).map(
        lambda parts: Planted(f"{base64.b64encode(str(parts[0]).encode()).decode()}.{parts[1]}.{parts[2]}", parts[2])
    ),
    "command-key": st.one_of(
        beside("tool run --api-key ", mixed(32), " --fast"), beside("tool --auth-token=", mixed(40), " x")
    ),
    "password-file": st.one_of(
        beside("db.example.org:5432:shop:ada:", mixed(12)),
        beside("machine git.example.org login ada password ", mixed(12)),
        beside("machine git.example.org\n  login ada\n  password ", mixed(12)),
    ),
    "sql-password": st.one_of(
        beside("ALTER ROLE shop PASSWORD '", mixed(12), "';"),
        beside("CREATE USER 'ada'@'%' IDENTIFIED BY '", mixed(12), "';"),
    ),
    "said-password": st.one_of(
        beside("the password is ", mixed(12), " by the way"), beside("my token is ", mixed(40), " for now")
    ),
    "email": mixed(10, LETTERS).map(lambda text: Planted(f"ask {text}@shop.example.org", text)),
}  # fmt: skip


def planted(*, emails: bool = False) -> st.SearchStrategy[Planted]:
    """A secret of any rule."""
    return st.one_of([given for name, given in PLANTED.items() if emails or name != "email"])
