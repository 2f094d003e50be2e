"""Names whose signs matter: `c++`, `C#`, `.env`, `$HOME`, `__dir__`, `--no-verify`, `-rf`.

The engine takes signs for spaces. So such a name is also indexed as one word, in which rare letters stand for signs.
Both sides use this module: a text when it is indexed, a word when it is searched for.
"""

import re
from typing import Final

LETTERS: Final = str.maketrans("+#.-$_", "\ua500\ua501\ua502\ua503\ua504\ua505")
"""Letters of the Vai script, which do not occur next to Latin letters."""
# Begins with the sign itself, and looks back from there: so the regex engine skips all other characters at once.
SIGN_FIRST: Final = re.compile(
    r"[-.$_](?<![\w.+#$-].)(?:"
    r"(?<=-)-?[A-Za-z][A-Za-z0-9]*+(?:-[A-Za-z0-9]++)*+"  # --no-verify, -rf
    r"|(?<=\$)[A-Za-z_]\w*+"  # $HOME
    r"|(?<=\.)[A-Za-z][\w-]*+"  # .env
    r"|(?<=_)_[A-Za-z]\w*?__(?!\w)"  # __dir__
    r")",
    re.ASCII,
)
SIGN_LAST: Final = re.compile(r"(?<![\w.+#$-])[A-Za-z]\w{0,15}(?:\+\+|#)(?![\w#+])", re.ASCII)
"""Names that end in signs: `c++`, `C#`."""
MAX_SIGN_LOOKBACK: Final = 18
SLASH: Final = "\ua506"
OTHER_SIGN: Final = re.compile(r"\W")


def signed_word(word: str) -> str | None:
    """Return the word that stands for a name with signs; None if the word is not such a name."""
    return word.translate(LETTERS) if SIGN_FIRST.fullmatch(word) or SIGN_LAST.fullmatch(word) else None


def command_word(name: str) -> str:
    """Return the word that stands for a run of a slash command, which no text has by chance."""
    return SLASH + OTHER_SIGN.sub(SLASH, name.translate(LETTERS))


def name_pattern(word: str) -> str:
    """Return the pattern of a name with signs where it stands by itself; empty if the word is not such a name."""
    return rf"(?<![\w.+#$-]){re.escape(word)}(?![\w#+-])" if signed_word(word) is not None else ""


def signed_words(text: str) -> set[str]:
    """Return the words that stand for the names with signs in a text."""
    names = set(SIGN_FIRST.findall(text))
    for sign in ("++", "#"):
        at = text.find(sign)
        while at >= 0:
            if at and text[at - 1].isalnum():
                names.update(SIGN_LAST.findall(text[max(0, at - MAX_SIGN_LOOKBACK) : at + 3]))
            at = text.find(sign, at + len(sign))
    return {name.translate(LETTERS) for name in names}
