"""Feed damaged lines to the decoder and check that it neither raises nor stalls.

    python -m bench.fuzz --inputs 1000000 --seed 1

With atheris the inputs are guided by coverage of `backscroll.records`; without it they are mutations of our own, the
same for the same seed. What is checked of each input is in `Checker`, how inputs are made in `Mutator`.
"""

import argparse
import importlib
import importlib.util
import json
import os
import re
import resource
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final

LONGEST_INPUT: Final = 64 * 1024
LONGEST_GUIDED: Final = 3 * 1024
"""For atheris, which goes on from what it found: long and deep inputs would only make it slow."""
LONGEST_SEED: Final = 2 * 1024
MAX_SEEDS: Final = 400
"""From each source: enough for every kind of record, few enough to be parsed at the start."""
MAX_SECONDS: Final = 5.0
MAX_GROWTH: Final = 300 * 1024 * 1024


class BrokenPromiseError(AssertionError):
    """A promise of what is fuzzed that did not hold."""


@dataclass
class Outcome:
    """The findings of a run so far."""

    inputs: int = 0
    size: int = 0
    records: int = 0
    problems: int = 0
    slowest: float = 0.0
    slowest_input: bytes = b""
    growth: int = 0
    growth_input: bytes = b""
    failures: dict[str, bytes] = field(default_factory=dict)
    """By what went wrong and where: the shortest input that shows it."""


class Checker:
    """Holds one input at a time against the promises of `backscroll.records`."""

    def __init__(self, instrument: Callable[[], Any] = nullcontext) -> None:
        # Imported here: under atheris the import is what adds the counters.
        with instrument():
            self._records: Any = importlib.import_module("backscroll.records")
        self.outcome = Outcome()

    def check(self, line: bytes) -> str | None:
        """Take one input into the outcome; what went wrong with it, if anything did."""
        outcome = self.outcome
        before = _peak()
        started = time.process_time()
        failure = self.failure_of(line)
        seconds = time.process_time() - started
        outcome.inputs += 1
        outcome.size += len(line)
        if seconds > outcome.slowest:
            outcome.slowest, outcome.slowest_input = seconds, line
        if (growth := _peak() - before) > outcome.growth:
            outcome.growth, outcome.growth_input = growth, line
        if failure is None and seconds > MAX_SECONDS:
            failure = f"slow: more than {MAX_SECONDS} s for one input"
        if failure is not None and len(line) < len(outcome.failures.get(failure, b" " * (LONGEST_INPUT + 1))):
            outcome.failures[failure] = line
        return failure

    def failure_of(self, line: bytes) -> str | None:
        """What goes wrong with this input, named so that equal failures have equal names; None if all is well."""
        try:
            self._hold(line)
        except (Exception, RecursionError) as error:
            frames = traceback.extract_tb(error.__traceback__)
            ours = [frame for frame in frames if "backscroll" in frame.filename]
            # A recursion ends anywhere in its circle: the door it came through names it better than the place.
            frame = ours[0] if ours and isinstance(error, RecursionError) else ours[-1] if ours else frames[-1]
            said = f": {error}" if isinstance(error, BrokenPromiseError) else ""
            return f"{type(error).__name__} in {Path(frame.filename).name} {frame.name}{said}"
        return None

    def _hold(self, line: bytes) -> None:
        records = self._records
        items = list(records.decode_all(line))
        if b"".join(item.raw for item in items) != line:
            raise BrokenPromiseError("the joined raw is not the line")
        first = records.decode_line(line)
        if type(first) is not type(items[0]) or first.raw != items[0].raw:
            raise BrokenPromiseError("decode_line is not the first of decode_all")
        for item in items:
            if isinstance(item, records.Problem):
                self.outcome.problems += 1
                continue
            self.outcome.records += 1
            fields = records.fields_of(item)
            name = fields.get("type")
            told = records.type_of(item)
            if not fields and told:
                raise BrokenPromiseError("fields_of a record with a type is empty")
            if told != (name if isinstance(name, str) else "") and told != "api-request":
                raise BrokenPromiseError("fields_of tells another type than the record has")
            for _ in records.drift(item):
                pass
            # What is shown, stored or sent has to be text that can be written.
            repr(item).encode()


class Mutator:
    """Makes inputs out of seed lines: the same ones for the same seeds and number."""

    def __init__(self, seeds: Sequence[bytes], seed: int) -> None:
        self._seeds = [line for line in seeds if len(line) <= LONGEST_SEED] or [b'{"type":"user"}']
        self._values = [value for line in self._seeds if isinstance(value := _json_of(line), dict)]
        self._seed = seed

    def make(self, number: int) -> bytes:
        """The input with this number."""
        rng = Random((self._seed << 48) + number)
        line = self._structured(rng) if rng.random() < 0.5 else rng.choice(self._seeds)
        for _ in range(rng.choice((0, 1, 1, 1, 2, 2, 3, 5))):
            line = self.mutate(line, rng)
        return line[:LONGEST_INPUT]

    def mutate(self, line: bytes, rng: Random, deep: float = 0.015) -> bytes:
        """The line with one thing done to it; `deep` is how often that is to nest it."""
        at = rng.randrange(len(line) + 1)
        # Deep lines are slow to take apart, so there are few of them.
        match rng.randrange(11) if rng.random() >= deep else 11:
            case 0:  # a bit flips
                if at < len(line):
                    line = line[:at] + bytes([line[at] ^ 1 << rng.randrange(8)]) + line[at + 1 :]
            case 1:  # a splice of two lines
                other = rng.choice(self._seeds)
                line = line[:at] + other[rng.randrange(len(other) + 1) :]
            case 2:  # it breaks off
                line = line[:at]
            case 3:  # two lines glued, perhaps in the middle of one
                line = line[: at if rng.random() < 0.5 else len(line)] + rng.choice(GLUE) + rng.choice(self._seeds)
            case 4:  # something is lost
                line = line[:at] + line[at + rng.randrange(1, 40) :]
            case 5:  # something is said twice
                line = line[:at] + line[max(0, at - rng.randrange(1, 200)) :]
            case 6:  # odd bytes come in between
                line = line[:at] + rng.choice(ODD_BYTES) * rng.choice((1, 1, 1, 2, 50)) + line[at:]
            case 7:  # odd bytes around it
                odd = rng.choice(ODD_BYTES)
                line = odd + line if rng.random() < 0.5 else line + odd
            case 8:  # a string becomes another
                line = _replace_one(STRING, rng.choice(ODD_STRINGS), line, rng)
            case 9:  # a number becomes another
                line = _replace_one(NUMBER, rng.choice(ODD_NUMBERS), line, rng)
            case 10:  # a value becomes another value
                line = _replace_one(VALUE, rng.choice(ODD_VALUES), line, rng)
            case _:  # something stands very deep
                line = self._nested(line, at, rng)
        return line[:LONGEST_INPUT]

    def _nested(self, line: bytes, at: int, rng: Random) -> bytes:
        begin, end = rng.choice(NESTS)
        depth = min(rng.choice((2, 10, 60, 120, 180, 240, 300, 400, 499, 700, 999, 1100, 5000)), 60_000 // len(begin))
        core = rng.choice((b"", b"1", b'{"type":"text","text":"x"}', b'{"type":"odd"}', b'{"uuid":1}'))
        nest = begin * depth + core + end * (depth if rng.random() < 0.8 else rng.randrange(depth))
        if rng.random() < 0.5:
            return _replace_one(VALUE, b":" + nest, line, rng)
        if rng.random() < 0.5:
            return b'{"type":"user","message":{"content":[' + nest + b"]}}"
        return line[:at] + nest + line[at:]

    def _structured(self, rng: Random) -> bytes:
        """A seed with values of other types, or fields lost, renamed or moved: JSON all the same."""
        if not self._values:
            return rng.choice(self._seeds)
        value = _copy(rng.choice(self._values))
        for _ in range(rng.choice((1, 1, 2, 3))):
            places = list(_places(value))
            if not places:
                break
            holder, key = rng.choice(places)
            match rng.randrange(6):
                case 0:
                    del holder[key]
                case 1:
                    holder[key] = [holder[key]]
                case 2:
                    holder[key] = {rng.choice(("type", "content", "x", "")): holder[key]}
                case 3:
                    other, other_key = rng.choice(places)
                    holder[key] = _copy(other[other_key])
                case 4:
                    holder[key] = _copy(rng.choice(self._values))
                case _:
                    holder[key] = _copy(rng.choice(OTHER_VALUES))
        separators = (",", ":") if rng.random() < 0.8 else None
        text = json.dumps(value, ensure_ascii=rng.random() < 0.5, separators=separators)
        return text.encode("utf-8", "surrogatepass")[:LONGEST_INPUT]


def find_seeds() -> dict[str, list[bytes]]:
    """Lines to begin with, by where they are from: one for each kind of record, generated ones, and real ones."""
    from bench.decode import find_corpus  # not at the top: it imports the records

    seeds = {"kinds": [line.encode() for line in KINDS.strip().split("\n")]}
    with tempfile.TemporaryDirectory() as folder:
        generate = importlib.import_module("bench.generate").generate
        generate(Path(folder) / "home", sessions=12, total_bytes=6_000_000, seed=1)
        seeds["generated"] = list(_sample(Path(folder)))
    corpus = find_corpus()
    if corpus is not None:
        seeds["corpus"] = list(_sample(corpus))
    return seeds


def shrink(line: bytes, failure: str, checker: Checker, seconds: float = 20.0) -> bytes:
    """A short input that fails in the same way."""
    ends = time.monotonic() + seconds
    size = len(line) // 2
    while size:
        at = 0
        while at < len(line) and time.monotonic() < ends:
            shorter = line[:at] + line[at + size :]
            if checker.failure_of(shorter) == failure:
                line = shorter
            else:
                at += size
        size //= 2
    return line


def _sample(folder: Path) -> Iterator[bytes]:
    """Lines of as many shapes as there are: the first of each set of keys, in the order of the paths."""
    shapes = set()
    for path in sorted(folder.rglob("*.jsonl")):
        for line in path.read_bytes().split(b"\n"):
            shape = frozenset(KEY.findall(line[:LONGEST_SEED]))
            if 0 < len(line) <= LONGEST_SEED and shape not in shapes:
                shapes.add(shape)
                yield line
                if len(shapes) == MAX_SEEDS:
                    return


def _json_of(line: bytes) -> Any:  # noqa: ANN401
    try:
        return json.loads(line)
    except ValueError:
        return None


def _copy(value: Any) -> Any:  # noqa: ANN401
    return json.loads(json.dumps(value))


def _places(value: Any) -> Iterator[tuple[Any, Any]]:  # noqa: ANN401
    """Every place in a value, as what holds it and the key there."""
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from _places(value[key])


def _replace_one(pattern: re.Pattern[bytes], replacement: bytes, line: bytes, rng: Random) -> bytes:
    matches = list(pattern.finditer(line))
    if not matches:
        return line
    match = rng.choice(matches)
    return line[: match.start()] + replacement + line[match.end() :]


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


GLUE: Final = (b"", b"", b" ", b"\0\0\0", b",", b"\r", b"\xef\xbb\xbf", b"}{", b"\xc2\xa0")
ODD_BYTES: Final = (
    b"\0", b"\x01", b"\n", b"\r", b"\t", b"\x0b", b"\x1c", b"\x7f", b"\xff", b"\xfe", b"\xc0\x80", b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80", b"\xe2\x82", b"\xef\xbb\xbf", b"\xc2\xa0", b"\xe2\x80\xa8", b"\xc2\x85", b"\\", b"\\u",
    b"\\ud83d", b"\\udc00", b'"', b"{", b"}", b"[", b"]", b",", b":", b"{}", b'{"type":', b'{"type":"user"}',
    b"\\u0000",
)  # fmt: skip
ODD_STRINGS: Final = (
    b'""', b'"\\ud800"', b'"\\udc00\\ud800"', b'"\\ud83d\\ude00"', b'"\xff"', b'"\xed\xa0\x80"', b'"\\u0000"', b'"\\x"',
    b'"type"', b'"content"', b'"message"', b'"user"', b'"assistant"', b'"tool_result"', b'"text"', b'"api-request-1"',
    b'"backscroll:unknown"', b'"~raw"', b'"~name"', b'"~fields"', b'"0001-01-01T00:00:00+23:59"',
    b'"2024-02-30T00:00:00Z"',
    b'"9999-12-31T23:59:59.999999999-23:59"', b'"2024-01-01T00:00:00"', b'"', b'"\\', b"'a'",
    "\"\u00e9\U0001f600\"".encode(),
)  # fmt: skip
ODD_NUMBERS: Final = (
    b"0", b"-0", b"-1", b"1.5", b"1e5", b"1E400", b"-1e400", b"1e-400", b"9223372036854775807", b"9223372036854775808",
    b"18446744073709551616", b"-9223372036854775809", b"9" * 40, b"9" * 4301, b"1." + b"3" * 2000, b"NaN", b"Infinity",
    b"-Infinity", b"01", b"1.", b".5", b"+1", b"0x10", b"1_000", b"-",
)  # fmt: skip
ODD_VALUES: Final = tuple(
    b":" + value
    for value in (
        b"null", b"true", b"false", b"0", b'""', b"[]", b"{}", b"[[]]", b"[null]", b'{"type":"text"}', b'["a"]', b"{",
        b"",
        b'[{"type":"image","source":{"type":"base64","data":"AA=="}}]', b'[{"type":"odd","x":1},"bare"]', b"nul",
        b"TRUE",
    )
)  # fmt: skip
OTHER_VALUES: Final[tuple[Any, ...]] = (
    None, True, False, 0, -1, 1.5, 10**40, "", "x", "\ud800", "\x00", [], {}, [[]], [{}], {"": None}, {"type": 1},
    {"type": "text", "text": 1}, {"type": "odd"}, [{"type": "tool_result", "content": [{"type": "odd"}]}], ["bare"],
)  # fmt: skip
NESTS: Final = (
    (b"[", b"]"),
    (b'{"a":', b"}"),
    (b'{"type":"tool_result","content":[', b"]}"),
    (b'[{"content":', b"}]"),
    (b'{"type":"user","message":', b"}"),
)
STRING: Final = re.compile(rb'"(?:[^"\\]|\\.)*"')
NUMBER: Final = re.compile(rb"-?\d+(?:\.\d+)?")
VALUE: Final = re.compile(rb':(?:"(?:[^"\\]|\\.)*"|[-\d.]+|null|true|false|\[[^\[\]]*\]|\{[^{}]*\})')
KEY: Final = re.compile(rb'"(\w+)":')
KINDS: Final = """
{"type":"user","uuid":"a","parentUuid":null,"sessionId":"s","timestamp":"2026-01-05T10:00:00.000Z","isSidechain":false,"cwd":"/w","version":"2.1.42","message":{"role":"user","content":"hi"}}
{"type":"user","uuid":"b","parentUuid":"a","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":[{"type":"text","text":"x"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}]}]},"toolUseResult":{"stdout":"x","stderr":""}}
{"type":"assistant","uuid":"c","message":{"id":"m","role":"assistant","model":"x","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"ok"},{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}],"stop_reason":null,"usage":{"input_tokens":1,"output_tokens":2,"cache_creation":{"ephemeral_5m_input_tokens":1},"server_tool_use":{"web_search_requests":1}}}}
{"type":"assistant","uuid":"d","message":{"id":"m","content":[{"type":"server_tool_use","id":"t","name":"web_search","input":{}},{"type":"web_search_tool_result","tool_use_id":"t","content":[]},{"type":"web_fetch_tool_result","tool_use_id":"t","content":{}},{"type":"redacted_thinking","data":"x"},{"type":"document","source":{"type":"text","data":"x"},"title":"t"},{"type":"tool_reference","tool_name":"x"}]}}
{"type":"system","subtype":"compact_boundary","uuid":"e","parentUuid":null,"logicalParentUuid":"d","content":"Conversation compacted","compactMetadata":{"trigger":"auto","preTokens":1,"preservedSegment":{"headUuid":"a"},"preservedMessages":{"anchorUuid":"a","uuids":["a"]}}}
{"type":"attachment","uuid":"f","attachment":{"type":"queued_command","prompt":[{"type":"text","text":"x"}]}}
{"type":"progress","uuid":"g","data":{"type":"bash_progress","output":"x"},"toolUseID":"t","parentToolUseID":"t"}
{"type":"summary","summary":"x","leafUuid":"a"}
{"type":"custom-title","customTitle":"x","sessionId":"s"}
{"type":"ai-title","aiTitle":"x","sessionId":"s"}
{"type":"tag","tag":"x","sessionId":"s"}
{"type":"last-prompt","lastPrompt":"x","leafUuid":"a","explicit":true}
{"type":"agent-name","agentName":"x"}
{"type":"agent-color","agentColor":"red"}
{"type":"agent-setting","agentSetting":"x"}
{"type":"mode","mode":"plan"}
{"type":"permission-mode","permissionMode":"default"}
{"type":"file-history-snapshot","messageId":"a","isSnapshotUpdate":false,"snapshot":{"messageId":"a","trackedFileBackups":{"x.py":{"backupFileName":null,"version":1,"backupTime":"2026-01-05T10:00:00.000Z"}},"timestamp":"2026-01-05T10:00:00.000Z"}}
{"type":"file-history-delta","messageId":"a","backup":{}}
{"type":"attribution-snapshot","messageId":"a"}
{"type":"queue-operation","operation":"enqueue","content":"x","timestamp":"2026-01-05T10:00:00.000Z"}
{"type":"content-replacement","replacements":[{"kind":"tool-result","toolUseId":"t","replacement":"x"}]}
{"type":"pr-link","prNumber":12,"prUrl":"https://example.com/12","prRepository":"a/b"}
{"type":"worktree-state","worktreeSession":null}
{"type":"fork-context-ref","parentSessionId":"s"}
{"type":"relocated","relocatedCwd":"/x"}
{"type":"continued-in","continuedInSessionId":"s"}
{"type":"derived-from","sessions":["s"]}
{"type":"cost-state","totalCostUSD":1.5}
{"type":"ended-by-model"}
{"type":"bridge-session","bridgeSessionId":"x","lastSequenceNum":1}
{"type":"api-request","body":{}}
{"type":"never-met","uuid":"h","parentUuid":"g","payload":{"a":[1,2.5,null,true]}}
{"no":"type"}
"""  # noqa: E501


def _run_own(checker: Checker, mutator: Mutator, first: int, inputs: int) -> None:
    for number in range(first, first + inputs):
        line = mutator.make(number)
        known = len(checker.outcome.failures)
        if (failure := checker.check(line)) and len(checker.outcome.failures) > known:
            print(f"input {number}: {failure}", flush=True)
        if (number + 1) % 100_000 == 0:
            print(f"{number + 1:,} inputs, slowest {checker.outcome.slowest * 1000:.0f} ms", flush=True)


def _run_atheris(
    atheris: Any,  # noqa: ANN401
    checker: Checker,
    seeds: dict[str, list[bytes]],
    mutator: Mutator,
    inputs: int,
    seed: int,
) -> None:
    """Hand over to atheris. It does not return: the report is printed, and the process ended, after the last input."""

    def mutate(data: bytes, longest: int, number: int) -> bytes:
        # Half by libFuzzer, which learns from coverage; half by ours, which knows what a line looks like.
        rng = Random(number)
        made: bytes = (
            atheris.Mutate(data, len(data)) if data and rng.random() < 0.5 else mutator.mutate(data, rng, deep=0)
        )
        return made[:longest]

    def test_one_input(data: bytes) -> None:
        known = len(checker.outcome.failures)
        if (failure := checker.check(data)) and len(checker.outcome.failures) > known:
            print(failure, flush=True)
        if checker.outcome.inputs >= inputs:
            code = report(checker, "atheris")
            sys.stdout.flush()
            shutil.rmtree(folder)
            os._exit(code)

    folder = Path(tempfile.mkdtemp(prefix="backscroll-fuzz-"))
    for number, line in enumerate(line for lines in seeds.values() for line in lines):
        (folder / f"seed-{number:04}").write_bytes(line)
    # -1: we count ourselves, so that there is a report at the end.
    options = [
        f"-seed={seed}",
        "-runs=-1",
        f"-max_len={LONGEST_GUIDED}",
        "-timeout=60",
        "-rss_limit_mb=2048",
        "-verbosity=1",
    ]
    atheris.Setup([sys.argv[0], *options, str(folder)], test_one_input, custom_mutator=mutate)
    atheris.Fuzz()


def report(checker: Checker, engine: str) -> int:
    """Print the findings, with a short input for every failure; return the exit code."""
    outcome = checker.outcome
    print(f"engine: {engine}")
    print(f"inputs: {outcome.inputs:,} ({outcome.size / 1e6:,.0f} MB)")
    print(f"decoded: {outcome.records:,} records, {outcome.problems:,} problems")
    print(
        f"slowest input: {outcome.slowest * 1000:.1f} ms CPU, {len(outcome.slowest_input):,} bytes: "
        f"{_shown(outcome.slowest_input)}"
    )
    print(f"largest growth of memory by one input: {outcome.growth / 1e6:.1f} MB, {len(outcome.growth_input):,} bytes")
    if outcome.growth > MAX_GROWTH:
        outcome.failures[f"memory: grew by more than {MAX_GROWTH} bytes"] = outcome.growth_input
    print(f"failures: {len(outcome.failures)}")
    for failure, line in list(outcome.failures.items()):
        shortest = shrink(line, failure, checker)
        print(f"  {failure}\n    {len(shortest):,} bytes: {_shown(shortest, 400)}")
    return 1 if outcome.failures else 0


def _shown(line: bytes, most: int = 100) -> str:
    return repr(line) if len(line) <= most else f"{line[:most]!r}…"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.fuzz", description="Fuzz the decoder of session lines.")
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the number of the first input (own engine)")
    parser.add_argument(
        "--engine", choices=("auto", "atheris", "own"), default="auto", help="auto: atheris if it is there"
    )
    parser.add_argument(
        "--show", type=int, metavar="NUMBER", help="print this input of the own engine, and what it does"
    )
    options = parser.parse_args(arguments)
    engine = options.engine
    if engine == "auto":
        engine = "atheris" if importlib.util.find_spec("atheris") else "own"
    instrument: Callable[[], Any] = nullcontext
    if engine == "atheris":
        atheris: Any = importlib.import_module("atheris")
        instrument = lambda: atheris.instrument_imports(include=["backscroll.records"])  # noqa: E731
    checker = Checker(instrument)  # before anything else imports the records, for only this import is instrumented
    seeds = find_seeds()
    print("seeds:", ", ".join(f"{len(lines)} {source}" for source, lines in seeds.items()), flush=True)
    mutator = Mutator([line for lines in seeds.values() for line in lines], options.seed)
    if options.show is not None:
        line = mutator.make(options.show)
        print(line, checker.failure_of(line) or "no failure", sep="\n")
        return 0
    if engine == "atheris":
        _run_atheris(atheris, checker, seeds, mutator, options.inputs, options.seed)
        return 0
    _run_own(checker, mutator, options.first, options.inputs)
    return report(checker, "own mutations")


if __name__ == "__main__":
    sys.exit(main())
