"""Decide whether a value next to a word like `password` is a secret, or only code, prose or a placeholder."""

import base64
import binascii
import math
import re
from collections import Counter
from typing import Final


def entropy(value: bytes) -> float:
    """Return the bits of information per character, from the frequency of each."""
    size = len(value)
    return -sum(count / size * math.log2(count / size) for count in Counter(value).values()) if size else 0.0


def is_password(value: bytes) -> bool:
    """Whether a value in a place for passwords is one: anything but a reference to a password elsewhere."""
    return not STAND_IN.search(value)


def is_stated(value: bytes) -> bool:
    """Whether a value in a file of passwords is one: not a word such as `password`, as in its documentation."""
    return not STAND_IN.search(value) and value.lower() not in CALLED


def is_url_password(value: bytes) -> bool:
    """Whether a value between a colon and an @ in an address is a password: not a port with a path after it.

    `5432/shop` is a port and a path, `5432/FGH4x7Q2z` a password that begins with digits.
    """
    return is_stated(value) and (not PORT.match(value) or is_chosen(value.partition(b"/")[2]))


def is_argument(value: bytes) -> bool:
    """Whether an argument of a command is a secret: no word of a sentence about the command, and no name of a value."""
    return not STAND_IN.search(value) and not NAMED.fullmatch(value)


def is_bearer(value: bytes) -> bool:
    """Whether the text after the name of a scheme is a secret, where prose may follow, too."""
    return not STAND_IN.search(value) and not _is_code(value) and bool(DIGIT.search(value)) and entropy(value) > 2.5


def is_account(value: bytes) -> bool:
    """Whether a value is base64 of a name, a colon and a password."""
    try:
        decoded = base64.b64decode(value + b"=" * (-len(value) % 4), validate=True)
    except binascii.Error:
        return False
    return b":" in decoded and decoded.isascii() and decoded.decode("ascii").isprintable()


def is_drawn(value: bytes) -> bool:
    """Whether the value of a token or key is a secret: it must look random."""
    if len(value) < 12 or STAND_IN.search(value) or _is_code(value):
        return False
    letters, digits = LETTERS.findall(value), DIGITS.findall(value)
    if not letters or sum(map(len, digits)) < (1 if len(value) >= 20 else 2) or entropy(value) < 3.0:
        return False
    return not all(WORD.fullmatch(part) for part in PARTS.split(value))


def is_chosen(value: bytes) -> bool:
    """Whether the value of a password is a secret: people choose weak ones, so a digit or a sign is enough."""
    if len(value) < 6 or STAND_IN.search(value) or _is_code(value):
        return False
    if not LETTERS.search(value) or not (DIGIT.search(value) or SIGN.search(value)):
        return False
    parts = PARTS.split(value)
    return len(parts) < 3 or not all(WORD.fullmatch(part) for part in parts)


def is_words(value: bytes) -> bool:
    """Whether the value of a passphrase is a secret: words, but no message about a passphrase."""
    if not value.strip().count(b" "):
        return is_chosen(value)
    words = value.lower().split()
    return (
        3 <= len(words) <= 30 and not STAND_IN.search(value) and not MESSAGE.search(value) and value[-1:] not in b".:"
    )


def is_phrase(value: bytes) -> bool:
    """Whether a password in quotation marks is a secret: also words, if they do not form a sentence."""
    if not SPACES.search(value):
        return is_chosen(value)
    return is_words(value) and not SENTENCE.search(value) and not CODE.search(value)


def is_said(value: bytes) -> bool:
    """Whether a word that a sentence calls a password or token is a secret: no word of the sentence itself."""
    if not DIGIT.search(value) or not LETTERS.search(value) or STAND_IN.search(value) or _is_code(value):
        return False
    return bool(SIGN_ANYWHERE.search(value)) or looks_drawn(value)


def is_discord(value: bytes) -> bool:
    """Whether a value begins with the number of an account, in base64."""
    number = value.partition(b".")[0]
    try:
        return base64.b64decode(number + b"=" * (-len(number) % 4), altchars=b"-_", validate=True).isdigit()
    except binascii.Error:
        return False


def looks_drawn(value: bytes) -> bool:
    """Whether a value has no words in it: letters and digits in random order."""
    if not LETTERS.search(value) or not (DIGIT.search(value) or len(value) >= 12):
        return False
    return not all(WORD.fullmatch(part) for part in PARTS.split(value))


def is_cookie(value: bytes) -> bool:
    """Whether any cookie has a value that a server issued."""
    return any(
        len(secret) >= 8 and not STAND_IN.search(secret) and bool(DIGIT.search(secret))
        for secret in (cookie.partition(b"=")[2] for cookie in value.split(b";"))
    )


def is_mail(value: bytes) -> bool:
    """Whether a value is the mail address of a person."""
    name = value.partition(b"@")[0].lower()
    return name not in SERVICE_NAMES and not FILE_END.search(value)


def _is_code(value: bytes) -> bool:
    return bool(CODE.search(value))


DIGIT: Final = re.compile(rb"[0-9]")
DIGITS: Final = re.compile(rb"[0-9]+")
LETTERS: Final = re.compile(rb"[A-Za-z]+")
SIGN: Final = re.compile(rb"[!@#$%^&*+?~].")
SIGN_ANYWHERE: Final = re.compile(rb"[!@#$%^&*+?~]")
SPACES: Final = re.compile(rb"\s")
PORT: Final = re.compile(rb"/|[0-9]{1,5}(?:/|\Z)")
CALLED: Final = frozenset({b"pass", b"password", b"passwd", b"pwd", b"secret", b"token", b"user"})
NAMED: Final = re.compile(rb"[a-z]+(?:[_-][a-z]+)*|[A-Z]+(?:[_-][A-Z]+)*|[A-Z][a-z]+")
MESSAGE: Final = re.compile(
    rb"(?i)\b(?:pass(?:word|phrase|wd|code)?s?|pwd|enter|invalid|incorrect|wrong|required?|requires|missing|must|should"
    rb"|cannot|can't|characters?|please|forgot|reset|confirm\w*|match(?:es)?|mismatch|login|log|sign|users?|username"
    rb"|e-?mail|field|error|failed|hash\w*|encrypted|empty|optional|default|mnemonic|words?|seed|phrase|strings?|value)\b"
    rb"|[{}<>]|%[sdvr]|=|\(\)|::|//"
)
"""Prose about a password, not a password."""
SENTENCE: Final = re.compile(
    rb"(?i)\b(?:a|an|the|is|are|was|be|been|to|of|for|in|on|at|by|with|and|or|if|it|its|this|that|your|you|my|our|we|they|not"
    rb"|no|do|does|don't|has|have|can|will|would|from|as|when|which|use[ds]?|using|new|old|current|show|hide|set|get)\b"
)
PARTS: Final = re.compile(rb"[_.:/=@+-]+")
WORD: Final = re.compile(rb"(?:[A-Za-z][a-z]*|[A-Z]+)?[0-9]{0,4}|(?:[A-Z]?[a-z]+){1,4}[0-9]{0,3}")
"""A part that is a word, perhaps followed by a number."""
STAND_IN: Final = re.compile(
    rb"\A[$%&@#*<{(\[|=]|\$\{|\{\{|%\(|\*{3}|\.{3}|\xe2\x80\xa6|\xff"
    rb"|(?i:x{4,}|\byour|placeholder|change[_-]?me|redacted|\bexample\b|dummy|undefined|\bnull\b)"
)
"""A placeholder for a secret."""
CODE: Final = re.compile(
    rb"\A(?:[~.]{0,2}/|:|arn:|AWS4-|[a-z]+://|[0-9.,:]+\Z|(?:0x)?[0-9]+\Z|(?:[A-Za-z_]\w*[.:]){1,9}[A-Za-z_]\w*\Z|-)"
    rb"|\A[A-Za-z_]\w*(?:Key|Token|Type|Secret|Password|Credential|Provider|Config|Option|Class|Request|Response)s?\Z"
    rb"|\A[\w.-]+(?:/[\w.-]+)+\.[a-z]{1,4}\Z|->|=>|&&|\|\||::|\Aos\.|\Aprocess\.|getenv|environ"
)
"""A path, an address, a number, a name with dots in it, or an expression."""
SERVICE_NAMES: Final = frozenset({b"git", b"noreply", b"no-reply"})
FILE_END: Final = re.compile(rb"\.(?:png|svg|jpe?g|gif|webp|js|css|py|ts)\Z", re.IGNORECASE)
"""A name such as `icon@2x.png` is not an address."""
