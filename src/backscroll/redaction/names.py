"""Names of secrets, and the text that may come between such a name and its value."""

import re
from typing import Final

# A quotation mark: plain, escaped any number of times, or as JSON, HTML and URLs spell it.
PLAIN_QUOTE: Final = r"""(?:\\*["'`])"""
SPELLED_QUOTE: Final = r"""(?:&quot;|&apos;|&#0*3[49];|&#[xX]2[27];|\\+u002[27]|%2[27])"""
QUOTE: Final = rf"(?:{PLAIN_QUOTE}|{SPELLED_QUOTE})"
Q: Final = rf"{PLAIN_QUOTE}?"
# Where a word begins, also behind the escaped end of a line.
START: Final = r"(?:\b|\\[nrt])"
# Spaces and ends of lines, also escaped ones.
SPACE: Final = r"(?:\s|\\+[nrt])"
SEPARATOR: Final = r"(?::=|=>|={1,3}|:|%3[aAdD])"
TYPE: Final = r":\s*[&\w<>\[\]|' .]{1,30}=\s*"
"""The type that some languages write between a name and its value."""
BETWEEN: Final = rf"(?:{Q}[\])]?\s*{SEPARATOR}\s*{Q}|{PLAIN_QUOTE}\s*,\s*{PLAIN_QUOTE}{{1,2}}|{TYPE}{PLAIN_QUOTE})"
SPELLED_BETWEEN: Final = rf"{SPELLED_QUOTE}\s*{SEPARATOR}\s*{SPELLED_QUOTE}"

SUFFIX: Final = r"(?:[_.-]?(?:key|value|string|base64|plain|text|prod|dev|test|live|[0-9]))?"
CHOSEN: Final = rf"(?:pass(?:word|wd|phrase|code)|pwd|[_.-]pass|(?-i:[a-z]Pass)|mnemonic|seed[_.-]?phrase){SUFFIX}"
DRAWN: Final = (
    r"(?:secret|token|credential|(?:api|app|application|access|auth|account|admin|client|consumer|crypt|decryption"
    r"|deploy|encryption|encrypt|functions?|hmac|integration|license|maps|master|private|root|service|shared|signing"
    r"|session|storage|subscription|webhook)[_.-]?key"
    rf"|(?-i:[A-Z0-9]_KEY)){SUFFIX}"
)
PHRASE: Final = r"(?:passphrase|mnemonic|seed[_.-]?phrase|(?-i:PASSWORD|PASSPHRASE|PASSWD))"
"""A name whose value may be several words."""
BEFORE: Final = r"[a-z0-9_.-]*"

FIELD: Final = re.compile(rf"(?i:\A(?:{BEFORE}(?:{CHOSEN}|{DRAWN})|(?:proxy-)?authorization|(?:set-)?cookie|_?auth)\Z)")
"""The name of a field whose value is checked together with it."""
CHOSEN_FIELD: Final = re.compile(rf"(?i:\A{BEFORE}{CHOSEN}\Z)")
HIDDEN_FIELD: Final = re.compile(rf"(?i:\A{BEFORE}(?:{CHOSEN}|{DRAWN})\Z)")
PUBLIC: Final = re.compile(
    rb"(?i)(?:\bAWS::\w+::\w+|\barn:aws[\w-]*:secretsmanager:\S*:secret|amz-credential|public_?-?key_?-?token|public_?-?key|(?:next(?:forward|backward)?|lock|page|starting|request|creation|update|change|lifecycle-?action|continuation|pagination|sync|cancellation|cancel|resume"
    rb"|cursor|cache|partition|sort|primary|foreign|idempotency|dedupe?|i18n|translation|query|row|object|registry|design"
    rb"|color|syntax|stop|eos|bos|pad|unk|mask|sep|cls|special)[_.-]?(?:page[_.-]?)?(?:token|key))[^A-Za-z0-9]{0,12}\Z"
)
"""Names of tokens and keys that are no secrets."""
