"""Mask secrets in texts and JSON values, and record the masked ones.

A secret is replaced by the name of its rule, and by a number from the second one on: equal secrets get equal masks
everywhere. Masking is idempotent, and takes time proportional to the text.
"""

import base64
import binascii
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from backscroll.redaction.checks import is_drawn, is_phrase
from backscroll.redaction.names import CHOSEN_FIELD, HIDDEN_FIELD
from backscroll.redaction.patterns import compile_pattern
from backscroll.redaction.pictures import without_metadata
from backscroll.redaction.rules import RULES, Rule
from backscroll.redaction.screening import (
    DEEPEST,
    HIDDEN,
    LONGEST_NAME,
    MASK,
    MASK_START,
    MAX_NAMES,
    MAYBE_UNSEEN,
    PICTURE_FIELDS,
    SHORTEST,
    Screen,
    any_pattern,
    tells,
)
from backscroll.redaction.wraps import broken_tokens, pieces_below

MAX_ROUNDS: Final = 4
LONGEST_RETRY: Final = 512
TOO_DEEP: Final = "[nested too deep to be shared]"


def usual_rules(*, emails: bool = False) -> tuple[Rule, ...]:
    """Return the rules that are always used, and those requested."""
    return tuple(rule for rule in RULES if not rule.optional or (emails and rule.name == "email"))


def redact(text: str, rules: Sequence[Rule] | None = None) -> tuple[str, Counter[str]]:
    """Return the text with its secrets hidden, and the number of hidden places by rule."""
    redactor = Redactor(rules)
    return redactor.text(text), redactor.places


def redacted_value(value: Any, rules: Sequence[Rule] | None = None) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return a JSON value with the secrets in all its strings and keys hidden."""
    return Redactor(rules).value(value)


class Redactor:
    """Hides secrets by some rules. Use one instance for everything shared together, so that numbers agree."""

    def __init__(self, rules: Sequence[Rule] | None = None, mask: Callable[[str, bytes], str] | None = None) -> None:
        """Without `mask`, different secrets of a rule are numbered in the order in which they are found."""
        self._rules = tuple(usual_rules() if rules is None else rules)
        self._make_mask = mask or self._numbered
        self._screen = Screen(self._rules)
        self._masks: dict[tuple[str, bytes], str] = {}
        self._numbers: Counter[str] = Counter()
        self._names: set[str] = set()
        self._clean: set[str] = set()
        """Short texts without secrets: most fields of a record repeat those of the record before."""
        self.places: Counter[str] = Counter()
        """Number of hidden places, by rule."""

    @property
    def secrets(self) -> Counter[str]:
        """Number of different hidden secrets, by rule."""
        return Counter(self._numbers)

    def masks(self) -> Iterator[tuple[str, bytes, str]]:
        """Yield every hidden secret: its rule, the secret itself, and its mask."""
        return ((rule, secret, mask) for (rule, secret), mask in self._masks.items())

    def text(self, text: str) -> str:
        """Return the text with its secrets hidden."""
        if len(text) < SHORTEST or not self._rules:
            return text
        # Invisible characters, such as colours, can be in the middle of a secret. A viewer leaves them out, and
        # the part before them may look like a whole secret. So they are removed from texts with secrets.
        if text in self._clean:
            return text
        data = text.encode("utf-8", "surrogatepass")
        if text.isascii() and text.isprintable() and "\\" not in text:
            hidden = self._hide(text, data)
            if hidden is text and len(text) <= LONGEST_NAME:
                if len(self._clean) >= MAX_NAMES:
                    self._clean.clear()
                self._clean.add(text)
            return hidden
        if compile_pattern(MAYBE_UNSEEN).search(data) is not None and UNSEEN.search(text):
            plain = UNSEEN.sub("", text)
            hidden = self._hide(plain, plain.encode("utf-8", "surrogatepass"))
            if hidden is not plain:
                return hidden
        return self._hide(text, data)

    def is_clean_line(self, line: bytes) -> bool:
        """Whether a line, JSON or text, certainly has no secrets. Other lines may have none either."""
        return self._screen.is_clean_line(line)

    def value(self, value: Any) -> Any:  # noqa: ANN401
        """Return a JSON value with the secrets in all its strings and keys hidden; the same object if it has none."""
        return value if self._screen.is_clean(value) else self._value(value, 0)

    def _value(self, value: Any, depth: int) -> Any:  # noqa: ANN401
        if isinstance(value, str):
            return self.text(value)
        if not isinstance(value, (dict, list)) or not value:
            return value
        if depth > DEEPEST:
            return TOO_DEEP
        if isinstance(value, list):
            items = [self._value(item, depth + 1) for item in value]
            return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
        value = _picture(value)
        # A list of settings has the name of each beside its value.
        name = value.get("name") or value.get("key")
        fields = {}
        is_same = True
        for key, item in value.items():
            about = name if key == "value" and isinstance(name, str) else key
            new = self._field(about, item) if isinstance(item, str) else self._value(item, depth + 1)
            new_key = key if key in self._names else self._name(key)
            is_same = is_same and new is item and new_key is key
            fields[new_key] = new
        return value if is_same else fields

    def _name(self, key: str) -> str:
        """Return the name of a field, masked if it is a secret. There are few names, so clean ones are remembered."""
        hidden = self.text(key)
        if hidden is key and len(self._names) < MAX_NAMES:
            self._names.add(key)
        return hidden

    def _field(self, name: str, value: str) -> str:
        """Return the masked text of a field, whose name may show that it is a secret."""
        if not tells(name):
            return self.text(value)
        before = f"{name}: "
        masked = self.text(before + value)
        if masked != before + value:
            # The name itself may be a secret, and is hidden elsewhere.
            return masked.removeprefix(before) if masked.startswith(before) else self.text(value)
        data = value.encode("utf-8", "surrogatepass")
        check = is_phrase if CHOSEN_FIELD.search(name) else is_drawn
        if HIDDEN_FIELD.search(name) and not MASK.search(data) and not BLANK.search(value) and check(data):
            return self._mask("assigned-secret", data)
        return value

    def _mask(self, rule: str, secret: bytes) -> str:
        self.places[rule] += 1
        mask = self._masks.get((rule, secret))
        if mask is None:
            self._numbers[rule] += 1
            mask = self._masks[rule, secret] = self._make_mask(rule, secret)
        return mask

    def _numbered(self, rule: str, _secret: bytes) -> str:
        number = self._numbers[rule]
        return f"[redacted: {rule}{f' {number}' if number > 1 else ''}]"

    def _hide(self, text: str, data: bytes) -> str:
        masks = [mask.decode() for mask in MASK.findall(data)] if MASK_START in data else []
        data = MASK.sub(HIDDEN, data) if masks else data
        rules = self._screen.rules_for(data)
        if not rules:
            return text
        before = len(masks), len(data)
        for _ in range(MAX_ROUNDS):
            size = len(data), len(masks)
            for rule in rules:
                if rule.prefixes and (b"\n" in data or b"\\n" in data):
                    data, masks = self._apply(rule, broken_tokens(rule, data), data, masks)
                if compile_pattern(any_pattern(rule.patterns)).search(data) is None:
                    continue  # one search for all patterns of a rule: most texts with its hints have no secrets
                for pattern in rule.patterns:
                    data, masks = self._apply(rule, _find_secrets(rule, pattern, data), data, masks)
            if size == (len(data), len(masks)):
                break
            rules = self._screen.rules_for(data)
        if before == (len(masks), len(data)):
            return text
        return _join_masked(data.split(HIDDEN), masks)

    def _apply(
        self, rule: Rule, spans: Iterable[tuple[int, int]], data: bytes, masks: list[str]
    ) -> tuple[bytes, list[str]]:
        """Return the data with these places hidden, and its masks, in order."""
        pieces: list[bytes] = []
        kept: list[str] = []
        done = used = 0
        for start, end in spans:
            before = data[done:start]
            count = before.count(HIDDEN)
            kept += masks[used : used + count]
            used += count + data.count(HIDDEN, start, end)
            kept.append(self._mask(rule.name, data[start:end]))
            pieces += [before, HIDDEN]
            done = end
        if not pieces:
            return data, masks
        return b"".join([*pieces, data[done:]]), kept + masks[used:]


def _find_secrets(rule: Rule, pattern: str, data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the positions of the secrets that a pattern finds, in order."""
    expression = compile_pattern(pattern)
    group = 1 if expression.groups else 0
    at = 0
    while (match := expression.search(data, at)) is not None:
        start, end = match.span(group)
        if rule.extend is not None:
            until = rule.extend(data, end)
            is_one, end = until > end, until
        else:
            is_one = rule.check is None or rule.check(data[start:end])
            if is_one and rule.unless is not None:
                is_one = rule.unless.search(data, max(0, match.start() - LONGEST_NAME), start) is None
            if is_one and rule.wraps:
                pieces = pieces_below(data, start, end)
                end = pieces[-1][1] if pieces else end
        if is_one:
            yield start, end
        elif end - start <= LONGEST_RETRY and start > match.start():
            end = start  # the value may be the name of another: `token: password=…`
        at = max(end, at + 1)


def _join_masked(pieces: list[bytes], masks: list[str]) -> str:
    texts = [piece.decode("utf-8", "surrogatepass") for piece in pieces]
    return texts[0] + "".join(mask + text for mask, text in zip(masks, texts[1:], strict=True))


def _picture(value: dict[str, Any]) -> dict[str, Any]:
    """Return the value with its picture's metadata removed; the same object if there is none to remove."""
    for kind, content in PICTURE_FIELDS:
        data = value.get(content)
        if isinstance(data, str) and str(value.get(kind)).startswith("image/"):
            try:
                picture = base64.b64decode(data, validate=True)
            except (binascii.Error, ValueError):
                continue
            plain = without_metadata(picture)
            if plain is not picture:
                return value | {content: base64.b64encode(plain).decode()}
    return value


BLANK: Final = re.compile(r"\s\s|[^\S ]")
UNSEEN: Final = re.compile(
    r"\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|\x1b\[[0-?]*[ -/]*[@-~]?|\x1b[ -/]*[0-~]?"
    "|[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]"
    r"|(?<=\w)\\(?=[_-]\w)"
)
"""Escape sequences, characters without width, and backslashes that Markdown drops."""
