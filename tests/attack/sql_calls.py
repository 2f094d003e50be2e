"""Statements that call the functions of the catalogue, with arguments made up for their types."""

import random
from collections.abc import Mapping
from typing import Final

import psycopg

VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    "text": ("''", "'x'", "'team.person'", "'backscroll.build'", "'select password from team.person'", "'{other}'",
             "'backscroll'", "'a=>b'", "'%'"),
    "name": ("'backscroll'", "'person'", "'team'", "'zyx'"),
    "cstring": ("'1'::cstring",),
    "integer": ("0", "1", "-1", "{victim}", "{other}", "2147483647"),
    "bigint": ("0", "1", "-1", "{other}::bigint", "9223372036854775807"),
    "smallint": ("1::smallint", "0::smallint"),
    "oid": ("1::oid", "1259::oid", "{other}::oid", "'backscroll_sql.v_chats'::regclass::oid"),
    "regclass": ("'pg_class'::regclass", "'backscroll_sql.v_chats'::regclass", "1262::regclass", "{other}::regclass"),
    "boolean": ("true", "false"),
    "double precision": ("0", "0.5", "60", "'nan'"),
    "real": ("0.5", "1"),
    "numeric": ("0", "1.5", "1e100"),
    "bytea": ("'x'::bytea", "''::bytea"),
    "interval": ("interval '1 minute'", "interval '-1 day'"),
    "timestamp with time zone": ("now() + interval '1 minute'", "'infinity'::timestamptz"),
    "timestamp without time zone": ("localtimestamp",),
    "date": ("current_date",),
    "json": ("'{{\"a\": 1}}'::json", "'[1]'::json"),
    "jsonb": ("'{{\"a\": 1}}'::jsonb", "'[1]'::jsonb"),
    "jsonpath": ("'$.a'::jsonpath",),
    "xml": ("'<a/>'::xml",),
    "tsquery": ("'a & b'::tsquery",),
    "tsvector": ("'a b'::tsvector",),
    "uuid": ("gen_random_uuid()",),
    "xid": ("'3'::xid", "'1000'::xid"),
    "xid8": ("'3'::xid8",),
    "pg_lsn": ("'0/1'::pg_lsn",),
    "refcursor": ("'answer'::refcursor",),
    "text[]": ("array['a', 'b']", "'{{}}'::text[]"),
    "anyelement": ("1", "'x'::text"),
    "anyarray": ("array[1, 2]",),
    "anynonarray": ("1",),
    "anycompatible": ("1",),
    "anycompatiblearray": ("array[1, 2]",),
    '"any"': ("1", "'x'::text"),
}  # fmt: skip
SHAPES: Final = (
    "select {call}",
    "select * from {call} as x",
    "select count(*) from v_chats where {call} is not null",
    "select {call} from v_chats order by {call}",
    "select max(({call})::text) from v_messages",
    "select * from v_chats c cross join lateral (select {call}) x",
    "with a as materialized (select {call} as b) select * from a, v_sessions",
    "select case when {call} is null then 1 else 2 end",
    "select coalesce(({call})::text, title) from v_chats group by title",
)
FUNCTIONS: Final = """
select n.nspname, p.proname, array(select format_type(t, null) from unnest(p.proargtypes) t), p.provariadic <> 0
from pg_proc p join pg_namespace n on n.oid = p.pronamespace
where p.prokind = 'f' and n.nspname not in ('information_schema') and not 'internal'::regtype = any(p.proargtypes)
order by 1, 2, p.oid
"""


def calls(address: str, choose: random.Random, names: Mapping[str, object]) -> list[str]:
    """One call of each function for whose types there are values."""
    made = []
    with psycopg.connect(address) as connection:
        functions = connection.execute(FUNCTIONS).fetchall()
    for schema, name, types, is_variadic in functions:
        if all(kind in VALUES for kind in types):
            arguments = [choose.choice(VALUES[kind]) for kind in types]
            if is_variadic and arguments:
                arguments[-1] = f"variadic {arguments[-1]}" if types[-1].endswith("[]") else arguments[-1]
            call = f'{schema}."{name}"({", ".join(arguments)})'.format(**names)
            made.append(choose.choice(SHAPES).replace("{call}", call))
    return made
