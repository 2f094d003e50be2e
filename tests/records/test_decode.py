"""Any bytes become records and problems, and nothing is lost."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll.records.content import Text, UnknownBlock
from backscroll.records.decode import Problem, decode_all, decode_line, fields_of, value_of
from backscroll.records.drift import drift
from backscroll.records.kinds import Assistant, UnknownRecord, User, type_of
from backscroll.records.outside import Tag
from backscroll.records.record import Record
from backscroll.records.salvage import RECORD_TYPES
from tests.support.samples import TRY_ALL

SURROGATE = re.compile("[\ud800-\udfff]")
USER = b'{"type":"user","uuid":"a","message":{"role":"user","content":"hi"}}'
TAG = b'{"type":"tag","tag":"later"}'


def shape(line: bytes) -> list[str]:
    """What stands on the line: record types, and problem kinds in brackets."""
    items = list(decode_all(line))
    assert b"".join(item.raw for item in items) == line
    return [f"[{item.kind}]" if isinstance(item, Problem) else type_of(item) for item in items]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (USER, ["user"]),
        (USER + b"\r", ["user"]),
        (b"\0\0\0" + USER, ["user"]),
        (b"\xef\xbb\xbf" + USER, ["user"]),
        (USER + TAG, ["user", "tag"]),
        (USER + b"  " + TAG + b" ", ["user", "tag"]),
        (USER + TAG * 200, ["user"] + ["tag"] * 200),
        (USER + b"\0\0", ["user", "[nul]"]),
        (b"\0\0\0", ["[nul]"]),
        (b"", ["[blank]"]),
        (b" \t ", ["[blank]"]),
        (b"// a comment", ["[not-json]"]),
        (b"[1, 2]", ["[not-json]"]),
        (b"null", ["[not-json]"]),
        (b'{"type":"user","uuid":"a","mess', ["[damaged]"]),
        (b'{"type":"user","uuid":"a","mess' + TAG, ["[damaged]", "tag"]),
        (b'{"type":"user","message":{"content":[{"type":"text","text":"a"}' + TAG, ["[damaged]", "tag"]),
        (b"garbage " + USER + TAG, ["[not-json]", "user", "tag"]),
        (USER + b"garbage", ["user", "[not-json]"]),
        (b'{"type":"user","a":REDACTED,"b":{"type":"text","text":"x"}}', ["[damaged]"]),
        (b'{"type":"brand-new","x":1}', ["brand-new"]),
        (b"{}", [""]),
        (b'{"type":7}', [""]),
        (b'{"type":"user","x":' + b"[" * 100_000, ["[damaged]"]),
        (b'{"type":"user","x":' + b"[" * 500 + b"]" * 500 + b"}", ["user"]),
        (b'{"type":"user","x":1' + b"0" * 10_000 + b"}", ["user"]),
        (b'{"type":"user","x":NaN,"y":-Infinity}', ["user"]),
    ],
)
def test_items_on_a_line(line: bytes, expected: list[str]) -> None:
    assert shape(line) == expected


def test_a_line_gives_its_first_record() -> None:
    record = decode_line(USER + TAG)
    assert isinstance(record, User)
    assert record.raw == USER


def test_a_record_has_its_bytes_and_those_before_it() -> None:
    record = decode_line(b"\0" + USER)
    assert isinstance(record, User)
    assert record.raw == b"\0" + USER
    assert record.uuid == "a"


def test_a_lone_surrogate_costs_a_character() -> None:
    record = decode_line(b'{"type":"user","cwd":"/a\\ud800b","uuid":"u"}')
    assert isinstance(record, User)
    assert (record.cwd, record.uuid) == ("/a\ufffdb", "u")


def test_invalid_utf_8_costs_a_character() -> None:
    record = decode_line(b'{"type":"user","cwd":"/a\xffb","uuid":"\xc3\xa9"}')
    assert isinstance(record, User)
    assert (record.cwd, record.uuid) == ("/a\ufffdb", "é")


def test_of_duplicate_keys_the_last_counts() -> None:
    record = decode_line(b'{"type":"user","uuid":"a","uuid":"b"}')
    assert isinstance(record, User)
    assert record.uuid == "b"
    assert isinstance(decode_line(b'{"type":"user","type":"tag","tag":"x"}'), Tag)


def test_a_field_of_the_wrong_type_costs_that_field() -> None:
    record = decode_line(
        b'{"type":"assistant","uuid":5,"parentUuid":"p","timestamp":12,"isSidechain":"no","cwd":["x"],"version":"2.1.0",'
        b'"message":{"id":"m","model":3,"content":[{"type":"text","text":"kept"}],'
        b'"usage":{"input_tokens":"many","output_tokens":7,"cache_creation":5}}}'
    )
    assert isinstance(record, Assistant)
    assert (record.uuid, record.timestamp, record.is_sidechain, record.cwd) == (None, None, False, None)
    assert (record.parent_uuid, record.version) == ("p", "2.1.0")
    assert record.message is not None
    assert (record.message.id, record.message.model) == ("m", None)
    assert record.message.content == [Text(text="kept")]
    assert record.message.usage is not None
    assert (record.message.usage.input_tokens, record.message.usage.output_tokens) == (0, 7)
    assert record.message.usage.cache_creation is None


ARN = "arn:aws:bedrock:us-west-2:123456789012:inference-profile/us.anthropic.claude-3-7-sonnet-20250219-v1:0"


@pytest.mark.parametrize(
    ("model", "is_kept"), [(ARN, True), ("m" * 300, True), ("m" * 301, False), ("模" * 100, True), ("模" * 101, False)]
)
def test_a_model_may_have_the_name_of_a_cloud_profile(model: str, is_kept: bool) -> None:
    record = decode_line(
        json.dumps({"type": "assistant", "uuid": "a", "message": {"id": "m", "model": model}}).encode()
    )
    assert isinstance(record, Assistant)
    assert record.message is not None
    assert record.message.model == (model if is_kept else None)
    assert record.message.id == "m"


def test_odd_blocks_do_not_affect_the_others() -> None:
    record = decode_line(
        b'{"type":"user","message":{"content":["bare",{"type":"text","text":1},{"type":"sparkle","glow":9},7,'
        b'{"type":"text","text":"last"}]}}'
    )
    assert isinstance(record, User)
    assert record.message is not None
    assert record.message.content == [
        Text(text="bare"),
        Text(),
        UnknownBlock(name="sparkle", fields={"type": "sparkle", "glow": 9}),
        Text(text="last"),
    ]


@pytest.mark.parametrize("value", [{"stdout": "x"}, "Error: no", [{"type": "text", "text": "x"}], None, 5])
def test_a_tool_use_result_of_any_type_is_there_for_who_looks(value: object) -> None:
    record = decode_line(json.dumps({"type": "user", "toolUseResult": value}).encode())
    assert isinstance(record, User)
    assert value_of(record.tool_use_result) == value


def test_a_tool_use_result_survives_the_slow_path() -> None:
    record = decode_line(b'{"type":"user","uuid":5,"toolUseResult":{"stdout":"\\ud800"}}')
    assert isinstance(record, User)
    assert value_of(record.tool_use_result) == {"stdout": "\ufffd"}


def test_an_unknown_record_keeps_all_its_fields_and_its_place() -> None:
    record = decode_line(b'{"type":"brand-new","uuid":"a","parentUuid":"b","glow":{"x":[1]}}')
    assert isinstance(record, UnknownRecord)
    assert (record.name, record.uuid, record.parent_uuid) == ("brand-new", "a", "b")
    assert record.fields == {"type": "brand-new", "uuid": "a", "parentUuid": "b", "glow": {"x": [1]}}


def test_requests_to_the_api_are_not_looked_into() -> None:
    for name in ("api-request", "api-request-body"):
        record = decode_line(json.dumps({"type": name, "messages": ["secret"]}).encode())
        assert isinstance(record, Record)
        assert type_of(record) == "api-request"


def test_names_that_only_we_use_cannot_be_written_from_outside() -> None:
    record = decode_line(b'{"type":"user","~raw":"aGk=","uuid":"a"}')
    assert record.raw == b'{"type":"user","~raw":"aGk=","uuid":"a"}'
    unknown = decode_line(b'{"type":"new","~name":"user","~fields":{},"~raw":1}')
    assert isinstance(unknown, UnknownRecord)
    assert unknown.name == "new"
    assert unknown.fields["~name"] == "user"


@pytest.mark.parametrize("depth", [150, 245, 330, 490, 700])
@pytest.mark.parametrize("core", [b'{"type":"odd"}', b'{"type":"text","text":"x"}'])
def test_blocks_in_blocks_in_blocks_end_somewhere(depth: int, core: bytes) -> None:
    nested = b'{"type":"tool_result","content":[' * depth + core + b"]}" * depth
    check_any(b'{"type":"user","message":{"content":[' + nested + b"]}}")


@pytest.mark.parametrize("blank", [b"\x1c", b"\xc2\xa0", b"\xe2\x80\xa8", b"\xef\xbb\xbf" * 2, b"\0\xef\xbb\xbf\0"])
def test_fields_are_found_after_any_white_space(blank: bytes) -> None:
    record = decode_line(blank + USER)
    assert isinstance(record, User)
    assert fields_of(record)["uuid"] == "a"


def test_a_field_that_is_nested_too_deep_costs_that_field() -> None:
    record = decode_line(b'{"type":"user","uuid":"a","x":"\xff","deep":' + b'{"":[' * 400 + b"]}" * 400 + b"}")
    assert isinstance(record, User)
    assert fields_of(record)["uuid"] == "a"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=8), children, max_size=4),
    max_leaves=10,
)
field_names = st.sampled_from(
    "uuid parentUuid timestamp sessionId message cwd version isSidechain toolUseResult snapshot replacements content "
    "subtype compactMetadata attachment data forkedFrom origin leafUuid tag input usage".split()
)
blocks = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "tool_use", "tool_result", "thinking", "image", "new"]) | json_values},
    optional=dict.fromkeys(("text", "id", "name", "input", "content", "tool_use_id", "source"), json_values),
)
messages = st.fixed_dictionaries(
    {}, optional={"content": st.lists(blocks, max_size=4), "usage": json_values, "id": json_values}
)
rows = st.builds(
    lambda kind, fields, message: {"type": kind, **fields, **({"message": message} if message is not None else {})},
    st.sampled_from(sorted(RECORD_TYPES)) | st.text(max_size=5),
    st.dictionaries(field_names | st.text(max_size=5), json_values, max_size=6),
    st.none() | messages,
)
lines = st.builds(lambda row, ascii_only: json.dumps(row, ensure_ascii=ascii_only), rows, st.booleans()).map(
    lambda text: text.encode("utf-8", "surrogatepass")
)
junk = st.binary(max_size=40) | st.sampled_from([b"\0", b"{", b'{"type":', b'"', b"\\", b"}", b"]", b" ", b"\xff"])


def check_any(line: bytes) -> None:
    items = list(decode_all(line))
    assert items
    assert b"".join(item.raw for item in items) == line
    assert decode_line(line) == items[0]
    for item in items:
        if isinstance(item, Record):
            assert isinstance(fields_of(item), dict)
            list(drift(item))
            json.dumps(fields_of(item), allow_nan=False).encode("utf-8")
            repr(item).encode("utf-8")


@given(st.binary())
def test_any_bytes_decode_without_raising(line: bytes) -> None:
    check_any(line)


@settings(max_examples=400 if TRY_ALL else 100)
@given(st.lists(lines | junk, max_size=4).map(b"".join))
def test_any_mixture_of_rows_and_junk_decodes_without_raising(line: bytes) -> None:
    check_any(line)


@settings(max_examples=300 if TRY_ALL else 80)
@given(rows)
def test_a_row_is_one_record_for_any_field_values(row: dict[str, Any]) -> None:
    line = json.dumps(row).encode()
    items = list(decode_all(line))
    assert len(items) == 1
    assert isinstance(items[0], Record)
    name = row["type"] if isinstance(row["type"], str) else ""
    if not name.startswith("api-request"):
        assert type_of(items[0]) == SURROGATE.sub("\ufffd", name)


def test_the_corpus_holds_what_an_independent_count_says(corpus: Path) -> None:
    """Plain json, line by line; glued objects are counted by cutting the line where json says that it ended."""
    counted: Counter[str] = Counter()
    expected: Counter[str] = Counter()
    files = sorted(corpus.rglob("*.jsonl"))
    assert len(files) > 100
    for file in files:
        for line in file.read_bytes().split(b"\n"):
            for item in decode_all(line):
                if isinstance(item, Record):
                    counted[type_of(item)] += 1
                elif item.kind != "blank":
                    counted["a problem"] += 1
            expected.update(_count_with_json(line.decode("utf-8", "replace")))
    assert counted == expected
    assert counted["assistant"] > 10_000


def _count_with_json(text: str) -> list[str]:
    text = text.strip("\0 \r\t")
    if not text:
        return []
    try:
        value, end = json.JSONDecoder().raw_decode(text)
    except ValueError:
        return ["a problem"]
    return [value["type"], *_count_with_json(text[end:])]
