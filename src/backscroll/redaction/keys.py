"""Beginnings and ends of private keys, also with lines that are numbered, quoted, escaped or missing."""

from typing import Final

from backscroll.redaction.patterns import compile_pattern

LONGEST: Final = 64 * 1024
MATERIAL: Final = r"[A-Za-z0-9+/=]{24,}"
NEXT: Final = r"-----(BEGIN|END) (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"
# The text between the lines of a key: their ends, numbers that a tool put before them, quotes, headers.
GAP: Final = (
    r"(?:[\s\"'`+,>|#*;:-]|\\+[nrt\"']?|\xe2\x86\x92|[0-9]{1,6}(?:\xe2\x86\x92|[\t:|])"
    r"|(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset): ?[^\n\\\xff]*)"
)
BODY: Final = rf"(?:{GAP}|{MATERIAL})*[A-Za-z0-9+/=]*"

HEAD: Final = r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"
HEADLESS: Final = (
    rf"((?:[A-Za-z0-9+/]{{4,}}(?:\r?\n|\\+n){GAP}*)?{MATERIAL}(?:{GAP}|{MATERIAL})*(?:[A-Za-z0-9+/=]+{GAP}+)?)"
    r"-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"
)
"""A key whose first lines are missing."""
UNFRAMED: Final = (
    # The beginnings of OpenSSH keys, of RSA keys, plain or in PKCS 8, and of the lines of PuTTY keys.
    rf"((?:b3BlbnNzaC1rZXktdjE|MII[A-Za-z0-9+/]{{2}}[AQ]IBA(?:AKCA|DANBgkqh))[A-Za-z0-9+/=]{{20,}}{BODY})"
)
PUTTY: Final = rf"Private-Lines: ?[0-9]+{GAP}+({MATERIAL}(?:{GAP}|{MATERIAL})*)"
PUTTY_SUM: Final = r"Private-MAC: ?([0-9a-f]{40,})"


def key_end(data: bytes, begin: int) -> int:
    """Return the end of the key whose first line ends at `begin`; `begin` itself if no key follows."""
    end = min(len(data), begin + LONGEST)
    following = compile_pattern(NEXT).search(data, begin, end)
    if following is not None and following[1] == b"END":
        return following.end() if compile_pattern(MATERIAL).search(data, begin, following.start()) else begin
    body = compile_pattern(BODY).match(data, begin, following.start() if following is not None else end)
    return body.end() if body is not None and compile_pattern(MATERIAL).search(body[0]) else begin
