"""The ledger: from floating-point euros to integer cents."""

from demo.story import (
    HAIKU,
    OPUS,
    SONNET,
    Ask,
    Overloaded,
    Plan,
    Session,
    answer,
    bash,
    edit,
    read,
    think,
    todo,
    write,
)

A_QUESTION = Session(
    "locking",
    "SQLite locking and backups",
    "ledger",
    "2026-08-27T11:16",
    HAIKU,
    (
        Ask(
            "Short question, no need to look at files: does SQLite lock the whole database when I write? My backup runs at "
            "night while the import does.",
            [
                answer(
                    "Yes: there is one writer at a time for the whole file. What readers notice depends on the journal mode.\n\n"
                    "- **Rollback journal (the default):** while a write is being committed, readers wait; while a reader "
                    "reads, the commit waits.\n"
                    "- **WAL:** readers and the one writer don't block each other.\n\n"
                    "For the backup, don't copy the file while an import runs: you may catch it half written. Use the backup "
                    'API, which is made for that:\n\n```sh\nsqlite3 ledger.db ".backup ledger-copy.db"\n```'
                )
            ],
        ),
        Ask(
            "And VACUUM INTO?",
            [
                answer(
                    "Also safe, and the copy comes out compact. The difference: `.backup` copies page by page and starts again "
                    "if a writer gets in between; `VACUUM INTO` reads everything in one transaction. For a ledger of a few "
                    "megabytes take whichever you remember at three in the morning."
                )
            ],
            after=75,
        ),
    ),
    version="2.1.112",
)

PLAN = """# Integer cents instead of REAL amounts

## Why
`0.1 + 0.2` is `0.30000000000000004`: sums of REAL amounts drift, and the tea account is off by a cent.

## Choice
An `INTEGER` column `cents`. Not `NUMERIC` (SQLite stores it as REAL all the same), not text (cannot be summed).

## Steps
1. `migrations/003_cents.sql`: a new table, copy with `round(amount * 100)`, rename, the index again.
2. `ledger/book.py`: `enter`, `balance` and `show` take and give cents.
3. `ledger/statement.py`: parse to cents without a float in between.
4. Tests; try the migration on a copy with awkward amounts.

## Risk
Amounts that were already wrong by less than half a cent are mended by the rounding. Anything with a third decimal place would lose it: check before that there is none.
"""

MIGRATION = """-- Amounts become integer cents: sums of REAL drift.
CREATE TABLE entries_in_cents (
    id INTEGER PRIMARY KEY,
    day TEXT NOT NULL,
    account TEXT NOT NULL,
    text TEXT NOT NULL,
    cents INTEGER NOT NULL
);
INSERT INTO entries_in_cents SELECT id, day, account, text, CAST(round(amount * 100) AS INTEGER) FROM entries;
CREATE INDEX entries_by_account ON entries_in_cents (account, day);
DROP TABLE entries;
ALTER TABLE entries_in_cents RENAME TO entries;
"""

TRY_IT = """python - <<'EOF'
import sqlite3
from ledger.migrate import migrate

db = sqlite3.connect(":memory:")
migrate(db, upto=2)
for amount in (0.1, 0.2, -0.3, 19.99, 1234.56, -840.0, 0.07, 1.005):
    db.execute("INSERT INTO entries (day, account, text, amount) VALUES ('2026-09-01', 'tea', 'x', ?)", (amount,))
print("before", db.execute("SELECT sum(amount) FROM entries").fetchone()[0])
print(migrate(db))
print("after ", db.execute("SELECT sum(cents), group_concat(cents, ' ') FROM entries").fetchone())
EOF"""

DECISION = """# Decisions

## Amounts are integer cents

*Question.* In which type do we keep money?

*Choice.* `INTEGER`, in cents.

- `REAL` drifts: 0.1 + 0.2 is not 0.3, and after some thousand entries a balance is off by a cent.
- `NUMERIC` or `DECIMAL` would be right in PostgreSQL, but in SQLite they are only names: the value is stored as REAL.
- Text with a decimal point is exact, but cannot be summed or compared in SQL.

*What we gave up.* Amounts have to be divided by 100 to be shown; `show()` is the one place that does it. Prices with a
tenth of a cent (electricity) would need another unit.
"""

MIGRATING = Session(
    "migration",
    "Migrate amounts to integer cents",
    "ledger",
    "2026-09-08T09:04",
    OPUS,
    (
        Ask(
            "The balance of our tea account is off by a cent, 0.1 + 0.2 strikes again. I want to get rid of the REAL amounts. "
            "Make a plan first: which type, how do we migrate, what breaks?",
            [
                answer(
                    think("Plan mode: read only. Which code touches amounts? Schema, book, statement, tests."),
                    "I'll read everything that touches an amount.",
                    read("ledger/migrations/001_entries.sql"),
                    read("ledger/ledger/book.py"),
                    read("ledger/ledger/statement.py"),
                    read("ledger/ledger/migrate.py"),
                    read("ledger/tests/test_book.py"),
                ),
                answer(
                    bash(
                        'python -c "print(0.1 + 0.2, sum([0.1] * 10) == 1.0)"; sqlite3 :memory: "CREATE TABLE t (a NUMERIC); '
                        'INSERT INTO t VALUES (0.1), (0.2); SELECT sum(a) = 0.3, typeof(a) FROM t"',
                        "Does NUMERIC help in SQLite?",
                    )
                ),
                Plan(PLAN),
                answer(
                    "Thanks. Step by step, then.",
                    todo(
                        "> Write migration 003",
                        "- Change book.py to cents",
                        "- Change statement.py to cents",
                        "- Mend the tests",
                    ),
                    write("ledger/migrations/003_cents.sql", MIGRATION),
                ),
                answer(
                    "Before anything else is touched: does the migration work, with awkward amounts in it?",
                    bash(TRY_IT, "Migrate a ledger with awkward amounts"),
                ),
                answer(
                    think(
                        "The index name is still taken by the old table's index. Drop the old table first, then create the "
                        "index. Order: drop, rename, create index."
                    ),
                    "The old table still owns the index of that name. It has to go before the new index can come:",
                    edit(
                        "ledger/migrations/003_cents.sql",
                        "CREATE INDEX entries_by_account ON entries_in_cents (account, day);\nDROP TABLE entries;\n"
                        "ALTER TABLE entries_in_cents RENAME TO entries;\n",
                        "DROP TABLE entries;\nALTER TABLE entries_in_cents RENAME TO entries;\n"
                        "CREATE INDEX entries_by_account ON entries (account, day);\n",
                    ),
                ),
                answer(bash(TRY_IT, "Once more")),
                answer(
                    think(
                        "1.005 becomes 100 or 101? round(100.49999999999999)=100: a third decimal is lost, as the plan warns. "
                        "Real data has none; fine. Now book.py."
                    ),
                    "That works; the sum is exact. (`1.005` became 100 cents: that is the third decimal the plan warns about, and "
                    "no bank writes one.) Now the code:",
                    edit(
                        "ledger/ledger/book.py",
                        'text: str, amount: float) -> None:\n    db.execute("INSERT INTO entries (day, account, text, amount) '
                        'VALUES (?, ?, ?, ?)", (day, account, text, amount))',
                        'text: str, cents: int) -> None:\n    db.execute("INSERT INTO entries (day, account, text, cents) '
                        'VALUES (?, ?, ?, ?)", (day, account, text, cents))',
                    ),
                    edit(
                        "ledger/ledger/book.py",
                        'account: str) -> float:\n    return db.execute("SELECT coalesce(sum(amount), 0)',
                        'account: str) -> int:\n    return db.execute("SELECT coalesce(sum(cents), 0)',
                    ),
                    edit(
                        "ledger/ledger/book.py",
                        'def show(amount: float) -> str:\n    return f"{amount:,.2f} €"',
                        "def show(cents: int) -> str:\n    euros, rest = divmod(abs(cents), 100)\n"
                        "    return f\"{'-' if cents < 0 else ''}{euros:,}.{rest:02} €\"",
                    ),
                    edit(
                        "ledger/ledger/statement.py",
                        "tuple[str, str, float]:",
                        "tuple[str, str, int]:",
                    ),
                    edit(
                        "ledger/ledger/statement.py",
                        'float(amount.replace(",", "."))',
                        'int(amount.replace(",", ""))',
                    ),
                ),
                answer(bash("pytest", "What breaks?")),
                answer(
                    "Exactly the tests that name amounts. I'll say them in cents, and add the one that started all this:",
                    edit(
                        "ledger/tests/test_book.py",
                        '    for _ in range(3):\n        enter(db, "2026-08-31", "tea", "samples", 1.5)\n'
                        '    assert balance(db, "tea") == 4.5',
                        '    for _ in range(10):\n        enter(db, "2026-08-31", "tea", "samples", 10)\n'
                        '    assert balance(db, "tea") == 100  # ten times ten cents; with REAL it was 0.9999999999999999',
                    ),
                    edit(
                        "ledger/tests/test_book.py",
                        'show(1234.5) == "1,234.50 €"',
                        'show(123450) == "1,234.50 €"\n    assert show(-7) == "-0.07 €"',
                    ),
                    read("ledger/tests/test_statement.py"),
                ),
                answer(
                    edit("ledger/tests/test_statement.py", '"RENT SEPTEMBER", -840.0)', '"RENT SEPTEMBER", -84000)')
                ),
                answer(
                    bash("pytest", "All tests"),
                    todo(
                        "x Write migration 003",
                        "x Change book.py to cents",
                        "x Change statement.py to cents",
                        "x Mend the tests",
                    ),
                ),
                answer(
                    "Done, and all tests pass. What changed for a caller: `enter` takes cents, `balance` gives cents, and `show` is "
                    "the only place that divides by 100. Your ledger itself is not migrated yet: run "
                    "`python -m ledger.migrate ledger.db`, after a backup."
                ),
            ],
            approves=True,
        ),
        Ask(
            "Lovely. Why integer cents and not DECIMAL again? I will have forgotten in half a year. Please write it down.",
            [
                answer(
                    "Because in SQLite `DECIMAL` is only a name: my check above showed `typeof` = `real` for a NUMERIC column. It "
                    "would be the right choice in PostgreSQL. I'll put it where you will find it:",
                    write("ledger/docs/decisions.md", DECISION),
                ),
                answer("It is in `docs/decisions.md`: the question, the choice, and what we gave up."),
            ],
            after=130,
        ),
        Ask(
            "Commit in two steps please, the schema first.",
            [
                answer(
                    bash(
                        "git add migrations && git commit -q -m 'Migration 003: amounts are integer cents'"
                        " && git add -A && git commit -q -m 'Book and statement count in cents' && git log --oneline -3",
                        "Two commits",
                    )
                ),
                answer("Two commits, schema first. Between them the tests are red, so don't stop a bisect there."),
            ],
            after=45,
        ),
    ),
    version="2.0.76",
    options=("--permission-mode", "plan"),
)

REGEX = Session(
    "regex",
    "Bank statement amounts with separators",
    "ledger",
    "2026-09-15T10:48",
    SONNET,
    (
        Ask(
            "The import dies on this line of the bank statement, why?\n\n14.09. TEA IMPORT HAMBURG -1.234,56\n\nAnd can amounts have a plus sign?",
            [
                answer(
                    read("ledger/ledger/statement.py"),
                    bash(
                        "python -c \"from ledger.statement import parse; print(parse('14.09. TEA IMPORT HAMBURG -1.234,56'))\"",
                        "Try the line",
                    ),
                ),
                answer(
                    think(
                        "The greedy (.+) eats '-1.' and the amount matches only 234,56! That is worse than dying: for this line "
                        "it returns 23456 with text 'TEA IMPORT HAMBURG -1.'? Needs a blank before. ' -1.234,56': pattern "
                        "needs a space before the amount; '-1.234,56' doesn't match -?\\d+,\\d\\d after the space. So no match, "
                        "ValueError. Fix: allow dots as thousands separators and a sign."
                    ),
                    "The pattern knows no thousands separator: after the blank it wants digits up to the comma, and finds a dot. A "
                    "plus sign would fail as well. Both are easy:",
                    edit(
                        "ledger/ledger/statement.py",
                        'LINE = re.compile(r"(\\d\\d\\.\\d\\d\\.) (.+) (-?\\d+,\\d\\d)")',
                        'LINE = re.compile(r"(\\d\\d\\.\\d\\d\\.) (.+) ([+-]?\\d{1,3}(?:\\.?\\d{3})*,\\d\\d)$")',
                    ),
                    edit(
                        "ledger/ledger/statement.py",
                        'int(amount.replace(",", ""))',
                        'int(amount.replace(".", "").replace(",", ""))',
                    ),
                ),
                answer(
                    read("ledger/tests/test_statement.py"),
                ),
                answer(
                    edit(
                        "ledger/tests/test_statement.py",
                        "from ledger.statement import parse\n",
                        "import pytest\n\nfrom ledger.statement import parse\n\n\n@pytest.mark.parametrize(\n"
                        '    ("written", "cents"),\n    [("-1.234,56", -123456), ("+12,00", 1200), ("0,07", 7), ("1234567,89", 123456789)],\n)\n'
                        "def test_amounts(written, cents):\n"
                        '    assert parse(f"14.09. TEA IMPORT HAMBURG {written}")[2] == cents\n',
                    )
                ),
                answer(bash("pytest", "Run the tests")),
                answer(
                    "It reads `-1.234,56` and `+12,00` now. The `$` at the end is new on purpose: before, a line with something "
                    "after the amount was accepted and the rest was dropped without a word."
                ),
            ],
        ),
        Ask(
            "Good point about the $. Commit.",
            [
                answer(
                    bash(
                        "git commit -qam 'Statements may have thousands separators and signs' && git log --oneline -1",
                        "Commit",
                    )
                ),
                answer("Committed."),
            ],
            after=35,
        ),
    ),
    version="2.1.112",
)

REPORT = '''"""What came in and what went out, by month."""

import sqlite3

from ledger.book import show


def by_month(db: sqlite3.Connection) -> str:
    rows = db.execute(
        "SELECT substr(day, 1, 7), sum(max(cents, 0)), sum(min(cents, 0)), sum(cents) FROM entries GROUP BY 1 ORDER BY 1"
    )
    lines = [f"{'month':8}{'in':>14}{'out':>14}{'left':>14}"]
    lines += [f"{month:8}{show(came):>14}{show(went):>14}{show(left):>14}" for month, came, went, left in rows]
    return "\\n".join(lines)
'''

SHOW_REPORT = """python - <<'EOF'
import sqlite3
from ledger.book import enter
from ledger.migrate import migrate
from ledger.report import by_month

db = sqlite3.connect(":memory:")
migrate(db)
for day, cents in (("2026-09-03", -84000), ("2026-09-30", 212050), ("2026-10-02", -84000), ("2026-10-31", 198099)):
    enter(db, day, "shop", "x", cents)
print(by_month(db))
EOF"""

A_REPORT = Session(
    "report",
    "Monthly report of the ledger",
    "ledger",
    "2026-11-06T14:25",
    SONNET,
    (
        Ask(
            "For the end of the month I'd like a small report: what came in, what went out and what is left, by month.",
            [Overloaded()],
        ),
        Ask(
            "Overloaded, aha. Please try again.",
            [
                answer(read("ledger/ledger/book.py")),
                answer(
                    "One query does it: positive cents are what came in, negative what went out.",
                    write("ledger/ledger/report.py", REPORT),
                ),
                answer(bash(SHOW_REPORT, "Show a report of two made-up months")),
                answer(
                    "`by_month` in `ledger/report.py`:\n\n- one line a month, the sums straight from SQL\n"
                    "- integer cents all the way; `show` does the euros at the very end\n\nShall I make it a command?"
                ),
            ],
            after=150,
        ),
        Ask(
            "Later. A test and a commit are enough for today.",
            [
                answer(
                    write(
                        "ledger/tests/test_report.py",
                        "import sqlite3\n\nfrom ledger.book import enter\nfrom ledger.migrate import migrate\n"
                        "from ledger.report import by_month\n\n\ndef test_a_month_has_one_line():\n"
                        '    db = sqlite3.connect(":memory:")\n    migrate(db)\n'
                        '    enter(db, "2026-10-02", "shop", "rent", -84000)\n    enter(db, "2026-10-31", "shop", "sales", 198099)\n'
                        '    assert by_month(db).splitlines()[1].split() == ["2026-10", "1,980.99", "€", "-840.00", "€", "1,140.99", "€"]\n',
                    )
                ),
                answer(
                    bash(
                        "pytest && git add -A && git commit -q -m 'A report by month' && git log --oneline -1",
                        "Test and commit",
                    )
                ),
                answer("Tested and committed."),
            ],
            after=90,
        ),
    ),
    environment={"CLAUDE_CODE_MAX_RETRIES": "0"},
)

YEN = Session(
    "yen",
    "Why amounts are in cents",
    "ledger",
    "2026-11-11T10:12",
    SONNET,
    (
        Ask(
            "We had a reason to keep amounts in cents. What was it, and does it still hold now that customers pay in yen?",
            [
                answer(
                    bash("grep -rn -i 'cent' docs/ README.md", "Where it is written down"),
                    read("ledger/docs/decisions.md"),
                ),
                answer(
                    think(
                        "The decision: integer, because SQLite has no real decimal type. Yen has no minor unit: 100 JPY is 100, not "
                        "10000. So 'cents' must become 'minor units', with the number of decimals by currency (ISO 4217)."
                    ),
                    "From `docs/decisions.md`: **SQLite has no decimal type.** `REAL` drifts, `DECIMAL` is stored as REAL all the "
                    "same, and text cannot be summed. So: integers.\n\n"
                    "That still holds for yen. What does not hold is the word *cents*: the yen has no smaller unit, so ¥1,200 is "
                    "1200, not 120000. I would:\n\n"
                    "1. add a column `currency` (`EUR` for all there is),\n"
                    "2. read the integer as the *smallest unit of its currency*,\n"
                    "3. let `show` know the decimals: EUR 2, JPY 0,\n"
                    "4. never sum over two currencies.",
                ),
            ],
        ),
        Ask(
            "Smallest unit, good. I'll sleep on the column. Add the thought to the decision, please.",
            [
                answer(
                    edit(
                        "ledger/docs/decisions.md",
                        "tenth of a cent (electricity) would need another unit.",
                        "tenth of a cent (electricity) would need another unit.\n\n*Since then.* With another currency the integer "
                        "means its smallest unit: 1200 is ¥1,200, but €12.00.",
                    )
                ),
                answer(bash("git commit -qam 'Decisions: the smallest unit of a currency'", "Commit")),
                answer("Added and committed."),
            ],
            after=110,
        ),
    ),
)

SESSIONS = (A_QUESTION, MIGRATING, REGEX, A_REPORT, YEN)
