"""The long one: a flaky test, a wrong guess, two ways to mend it, and the day it came in."""

from demo.story import (
    OPUS,
    Ask,
    Compact,
    Rename,
    Rewind,
    Session,
    agent,
    answer,
    bash,
    edit,
    read,
    task,
    task_is,
    think,
    write,
)

TWENTY_RUNS = (
    "for i in $(seq 20); do pytest tests/test_orders.py >/dev/null 2>&1 && echo passed || echo failed; done"
    " | sort | uniq -c"
)
FIFTY_RUNS = TWENTY_RUNS.replace("seq 20", "seq 50")

WHO_CHANGED = (
    "Find out what changed in the order code of this shop, from git only. Which commits touched "
    "shop/orders.py, shop/clock.py or tests/conftest.py, and what did each change? Do not edit anything."
)
ALONE_OR_TOGETHER = (
    "Run tests/test_orders.py::test_the_latest_order_comes_first 15 times alone and the whole suite 15 times. Count "
    "how often the test fails each way. Report the two numbers, nothing else. Do not edit anything."
)
OTHER_SORTS = (
    "Find every place in shop/ that sorts by a time (ORDER BY, sorted, .sort, max/min over placed_at). For each: file, "
    "line, and whether two rows with the same second could swap. Do not edit anything."
)

SUMMARY = """1. Primary request: find out why `test_the_latest_order_comes_first` is flaky in CI, and mend the cause, not the test.

2. What we know:
   - A good third to a half of all runs fail, alone or in the whole suite, on Ada's machine too.
   - The shared, session-wide database was the first suspect. It was innocent: with a fresh database for each test the failures stayed. So were time zones.
   - The cause: `clock.now()` has whole seconds (changed for the CSV export), so two orders in a test have the same `placed_at`. `history()` then falls back to `ORDER BY … id DESC`, and ids are random: a coin toss.

3. Decisions:
   - No sleeps in tests (Ada said no to that edit).
   - Times stay whole seconds, because the bookkeeper's CSV needs them. Microseconds would only make the bug rarer.
   - The database knows the order of insertion: `history()` sorts by `rowid DESC`.

4. Files: `shop/orders.py` (sorts by rowid), `tests/conftest.py` (a fresh database for each test; kept, because it is right anyway). VACUUM keeps the order of rows.

5. Open: a test that would have caught it, other places that sort by time, the commit."""

NEW_TEST = '''from datetime import datetime, timezone

from shop import clock, orders


def test_orders_of_one_second_keep_their_order(book, monkeypatch):
    """The ids are chosen so that sorting by them would be wrong every time, not every second time."""
    noon = datetime(2026, 11, 3, 12, tzinfo=timezone.utc)
    ids = iter(["ffffffff", "77777777", "00000000"])
    monkeypatch.setattr(clock, "now", lambda: noon)
    monkeypatch.setattr(orders, "new_id", lambda: next(ids))
    placed = [book.place("linus", cents) for cents in (1450, 690, 820)]
    assert book.history("linus") == placed[::-1]
'''

LOOK_AT_BOTH = """python - <<'EOF'
from shop.orders import OrderBook

for run in range(8):
    book = OrderBook()
    first, second = book.place("linus", 1450), book.place("linus", 690)
    right = [o.id for o in book.history("linus")] == [second.id, first.id]
    print(first.placed_at, first.id, second.placed_at, second.id, "ok" if right else "WRONG")
EOF"""

VACUUM = """python - <<'EOF'
import sqlite3

db = sqlite3.connect("try.db")
db.execute("CREATE TABLE orders (id TEXT PRIMARY KEY, number INTEGER)")
db.executemany("INSERT INTO orders VALUES (?, ?)", [(f"{7 * n % 10}", n) for n in range(10)])
db.execute("DELETE FROM orders WHERE number IN (2, 3, 7)")
db.commit()
for when in ("before", "after"):
    print(when, db.execute("SELECT rowid, number FROM orders ORDER BY rowid").fetchall())
    db.execute("VACUUM")
EOF
rm try.db"""

FLAKY = Session(
    "flaky",
    "Flaky order test in CI",
    "shop",
    "2026-11-03T09:14",
    OPUS,
    (
        Ask(
            "We have a flaky test: test_the_latest_order_comes_first fails in CI about every second run, and of course "
            "never when I look at it. Can you find out why? Please don't just retry it until it is green.",
            [
                answer(
                    think(
                        "A flaky test. Before any theory I want to see it fail here. I'll run the suite once, look at "
                        "the test and its fixture, then run it many times to get a rate."
                    ),
                    "I'll run it as CI does first, and read the test while it runs.",
                    bash("pytest", "Run the test suite"),
                    read("shop/tests/test_orders.py"),
                    read("shop/tests/conftest.py"),
                ),
                answer(
                    "One run tells us little about a flaky test. Twenty runs give a rate.",
                    bash(TWENTY_RUNS, "Run the order tests twenty times and count"),
                ),
                answer(
                    think(
                        "So it is not only CI. That is good news: I can reproduce it. Let me see one failure in full "
                        "before I read the code."
                    ),
                    "It fails here as well, so we don't need CI to hunt it. Let me see one failure in full.",
                    bash(
                        "for i in $(seq 10); do pytest tests/test_orders.py > failure.txt || break; done; cat failure.txt;"
                        " rm failure.txt",
                        "Run until it fails and show the failure",
                    ),
                ),
                answer(read("shop/shop/orders.py")),
                answer(
                    "I can reproduce it on your machine: **7 of 20 runs fail**, so it is not CI's fault.\n\n"
                    "What a failure looks like: both orders are there, but in the wrong order, the older one first. "
                    "Nothing is missing and nothing is there twice.\n\n"
                    'What I noticed on the way: the `book` fixture has `scope="session"`. All tests share one database '
                    "file. That is my first suspect, but I'd like to know *when* this began before I touch anything. "
                    "Do you have a history of the failures?"
                ),
            ],
        ),
        Ask(
            "Yes, this is from the CI dashboard, the last 13 weeks. It was quiet until the third week.",
            [
                answer(
                    think(
                        "The chart: 0, 1, then 4 and from there 4 to 8 red builds a week. So it did not creep in, it "
                        "was switched on in week three. Something was merged then. Two independent questions: what "
                        "changed, and does the test fail alone or only among others? Two agents can do that in parallel."
                    ),
                    "That is a step, not a slope: 0 and 1 red builds, then never fewer than 4. Something was merged in "
                    "the third week.\n\nLet me write down the plan, and give two questions to agents that can work at the "
                    "same time.",
                    task("Reproduce the failure", "Rate over twenty runs"),
                    task("Find the commit that switched it on", "Third week of the chart"),
                    task("Find the cause", "Shared database is the first suspect"),
                    task("Mend it, with a test that would have caught it", "No retries, no sleeps"),
                ),
                answer(task_is(1, "completed"), task_is(2, "in_progress")),
                answer(
                    agent("History of the order code", WHO_CHANGED, "Explore"),
                    agent("Alone or together", ALONE_OR_TOGETHER),
                ),
                answer(
                    think(
                        "Fails alone as often as in the suite... The second agent's numbers speak against the shared "
                        "database, at least against other tests' leftovers. But inside the file three tests share the "
                        "book, and the first agent says conftest has been session-scoped from the start. Hmm, I'd still "
                        "try it: it is one line and it rules something out."
                    ),
                    "Both are back:\n\n"
                    "- **History:** the order code changed twice. On 2026-07-20 ids became random; on 2026-08-20 "
                    "`clock.now()` was cut to whole seconds for the CSV export. The fixture was always session-wide.\n"
                    "- **Alone or together:** 8 of 15 runs fail alone, 6 of 15 in the suite. No real difference.\n\n"
                    "My guess is still the shared database: orders left over from an earlier test could get between "
                    "the two. It is cheap to rule out: give every test a book of its own and count again. Shall I?",
                ),
            ],
            after=140,
            images=["red-builds.png"],
            agents=[
                Ask(
                    WHO_CHANGED,
                    [
                        answer(
                            bash(
                                "git log --date=short --format='%h %ad %s' -- shop/orders.py shop/clock.py tests/conftest.py",
                                "Commits to the order code",
                            )
                        ),
                        answer(
                            bash("git log -p --format='%h %s' -2 -- shop/orders.py shop/clock.py", "What they changed")
                        ),
                        answer(
                            "Three commits touched these files:\n\n"
                            "1. *First version*: everything, with `tests/conftest.py` session-scoped from the start.\n"
                            "2. *Order ids are random, so that they do not tell how much we sell* (2026-07-20): `new_id()` "
                            "returns `random.getrandbits(32)` instead of a counter.\n"
                            "3. *CSV export of a month for the bookkeeper* (2026-08-20): `clock.now()` gets "
                            "`.replace(microsecond=0)`.\n\n"
                            "`tests/conftest.py` has not changed since the first version."
                        ),
                    ],
                ),
                Ask(
                    ALONE_OR_TOGETHER,
                    [
                        answer(
                            bash(
                                "for i in $(seq 15); do pytest tests/test_orders.py::test_the_latest_order_comes_first"
                                " >/dev/null 2>&1 && echo passed || echo failed; done | sort | uniq -c",
                                "Fifteen runs alone",
                            ),
                            bash(
                                "for i in $(seq 15); do pytest 2>&1 | grep -q 'FAILED.*latest_order' && echo failed"
                                " || echo passed; done | sort | uniq -c",
                                "Fifteen runs of the suite",
                            ),
                        ),
                        answer("Alone: 8 of 15 runs fail. In the whole suite: 6 of 15."),
                    ],
                ),
            ],
        ),
        Ask(
            "Sounds plausible. Go ahead.",
            [
                answer(
                    edit(
                        "shop/tests/conftest.py",
                        '@pytest.fixture(scope="session")\ndef book(tmp_path_factory):\n'
                        '    return OrderBook(str(tmp_path_factory.mktemp("shop") / "orders.db"))',
                        '@pytest.fixture\ndef book(tmp_path):\n    return OrderBook(str(tmp_path / "orders.db"))',
                    )
                ),
                answer(bash(TWENTY_RUNS, "Count again with a database for each test")),
                answer(
                    think(
                        "Still failing at the same rate. So my hypothesis is simply wrong. Say so clearly, and stop "
                        "guessing: look at the data of a failing run instead."
                    ),
                    "I was wrong. With a fresh database for every test it fails just as often, so the leftovers are "
                    "innocent. (I'd keep the change anyway: tests that share a database will bite someone one day.)\n\n"
                    "No more guessing. Next I want to see what the two orders look like in a run that fails.",
                ),
            ],
            after=65,
        ),
        Ask(
            "Could it be the time zone? CI runs in UTC, and my laptop in Berlin time.",
            [
                answer(
                    think("Possible in principle, cheap to test: run under three zones and compare the rates."),
                    "Worth a look, and quick to try: ten runs in each of three time zones.",
                    bash(
                        "for zone in UTC Europe/Berlin Asia/Tokyo; do echo $zone; for i in $(seq 10); do TZ=$zone pytest"
                        " tests/test_orders.py >/dev/null 2>&1 && echo passed || echo failed; done | sort | uniq -c; done",
                        "Ten runs in each of three time zones",
                    ),
                ),
                answer(bash("grep -rn 'timezone\\|localtime\\|fromtimestamp' shop/", "Where time zones are used")),
                answer(
                    "No: it fails in all three, and the only clock in the shop is `datetime.now(timezone.utc)`, which doesn't care "
                    "where you sit. Two suspects down."
                ),
            ],
            after=40,
        ),
        Ask(
            "OK, so not the shared database. What is different between a run that passes and one that fails?",
            [
                answer(
                    "Let me look at the rows themselves.",
                    bash("python -m shop.debug --orders linus", "Show the orders of the test's customer"),
                ),
                answer(
                    "There is no such module; I mixed that up with another project. A few lines will do.",
                    bash(LOOK_AT_BOTH, "Place two orders eight times and compare"),
                ),
                answer(
                    think(
                        "There it is. placed_at is identical for both orders in every run, because now() is cut to the "
                        "second. ORDER BY placed_at DESC, id DESC: a tie, broken by id, and ids are random. So the "
                        "outcome is a coin toss: right exactly when the second id happens to be larger. That also fits "
                        "the chart: it needs BOTH changes, first random ids, then whole seconds. Check when "
                        "the whole seconds came."
                    ),
                    "There it is. Look at the first and third columns: **both orders have the same `placed_at`**, in "
                    "every run. When did that begin?",
                    bash(
                        "git log -S'microsecond=0' --date=short --format='%h %ad %s' -- shop/clock.py && cat shop/clock.py",
                        "When the clock lost its fractions",
                    ),
                    task_is(2, "completed"),
                    task_is(3, "completed"),
                    task_is(4, "in_progress"),
                ),
                answer(
                    "Found it, and it took two changes that are each harmless:\n\n"
                    "| when | change | alone |\n|---|---|---|\n"
                    "| 2026-07-20 | order ids are random | fine: `placed_at` still decides |\n"
                    "| 2026-08-20 | `clock.now()` has whole seconds | fine while ids were counted up |\n\n"
                    "Together: two orders within one second have equal times, and the query\n\n"
                    "```sql\nORDER BY placed_at DESC, id DESC\n```\n\n"
                    "lets the **random id** decide. That is a coin toss, which is why about half of the runs fail. It is "
                    "also a real bug: a customer who orders twice within a second may see the older order on top."
                ),
            ],
            after=95,
        ),
        Ask(
            "Oh no, the whole seconds were my bookkeeper's wish! Nice find. How do we fix it?",
            [
                answer(
                    think("The smallest change: make the test place its orders in different seconds."),
                    "The smallest change would be in the test: let the two orders be placed in different seconds.",
                    edit(
                        "shop/tests/test_orders.py",
                        '    first = book.place("linus", 1450)\n    second',
                        '    first = book.place("linus", 1450)\n    time.sleep(1.1)\n    second',
                    ),
                ),
            ],
            after=50,
            refuses=True,
        ),
        Ask(
            "No sleeps in tests, please. That hides the bug and makes the suite slower. Fix the code: give the orders "
            "their microseconds back and round in the export only.",
            [
                answer(
                    think("Fair. Restore precision at the source and format in export."),
                    "You're right, that would only have hidden it. Precision back at the source, rounding where the "
                    "bookkeeper needs it:",
                    read("shop/shop/clock.py"),
                    read("shop/shop/export.py"),
                ),
                answer(
                    edit(
                        "shop/shop/clock.py",
                        "    # Whole seconds: the bookkeeper's spreadsheet chokes on fractions.\n"
                        "    return datetime.now(timezone.utc).replace(microsecond=0)",
                        "    return datetime.now(timezone.utc)",
                    ),
                    edit(
                        "shop/shop/export.py",
                        "writer.writerow([id, customer, placed_at, ",
                        'writer.writerow([id, customer, placed_at[:19] + "+00:00", ',
                    ),
                ),
                answer(bash(TWENTY_RUNS + "; pytest", "Count once more, then the whole suite")),
                answer(
                    "Twenty of twenty runs pass for the orders, but the export's own test is red now: it compares with "
                    "`order.placed_at`, which has fractions again. I would adapt that test too. Shall I?"
                ),
            ],
            after=75,
        ),
        Ask(
            "Wait. What happens when two orders come in the same microsecond, say from an import of old orders?",
            [
                answer(
                    think(
                        "Be honest: same tie, same coin toss, just rarer. And an import may well set placed_at from a "
                        "file with whole seconds, in which case it is not even rare."
                    ),
                    "Then it is a coin toss again. Within one process it is very unlikely, but an import would take "
                    "`placed_at` from its file, with whole seconds: then it is as likely as today.\n\n"
                    "So microseconds make the bug rarer, and a rarer flaky test is a worse flaky test. The order has to "
                    "come from something that cannot tie.",
                )
            ],
            after=110,
        ),
        Rewind(prompts=2, after=45),
        Ask(
            "No sleeps in tests, please. Times may stay whole seconds for the bookkeeper. Let the database say which "
            "order came first, it knows.",
            [
                answer(
                    think(
                        "SQLite: the table has a TEXT primary key, so there is an implicit rowid, which grows with every "
                        "insert as long as rows are not deleted at the end. Orders are never deleted here. ORDER BY rowid "
                        "DESC is exact, needs no migration and no new column. Check that nothing deletes orders and "
                        "that the table is not WITHOUT ROWID."
                    ),
                    "Agreed, that is the better source: SQLite numbers the rows itself. Two things to check first: that "
                    "the table has a `rowid`, and that we never delete orders (a number could be given again).",
                    bash(
                        "grep -rniE 'delete from|without rowid' shop/ || echo none",
                        "Look for deletes and WITHOUT ROWID",
                    ),
                ),
                answer(
                    edit(
                        "shop/shop/orders.py",
                        '            " WHERE customer = ? ORDER BY placed_at DESC, id DESC",',
                        "            # Not by placed_at: it has whole seconds, and ids are random. Rows are numbered as they come.\n"
                        '            " WHERE customer = ? ORDER BY rowid DESC",',
                    )
                ),
                answer(bash(FIFTY_RUNS, "Fifty runs")),
                answer(
                    "**Fifty of fifty pass.** No new column and no migration, and it stays right for imports and for two orders in "
                    "the same microsecond. `placed_at` keeps its whole seconds, so the CSV is as the bookkeeper likes it.\n\n"
                    "What we rely on: orders are never deleted. I left a comment where someone would need it."
                ),
            ],
            after=30,
        ),
        Ask(
            "Is rowid really safe? I run VACUUM on the database every night.",
            [
                answer(
                    think(
                        "Good question. Without an INTEGER PRIMARY KEY, VACUUM may renumber rows. What matters is whether their "
                        "order survives. It copies the table in rowid order, so it should. Show it rather than claim it."
                    ),
                    "Good question: in a table like ours VACUUM may hand out new numbers. What counts is whether the *order* "
                    "survives. Let me try it, with gaps:",
                    bash(VACUUM, "What VACUUM does to row numbers"),
                ),
                answer(
                    "Here it even keeps the numbers, gaps and all. SQLite's documentation allows VACUUM to hand out new ones in a table "
                    "like ours, but it copies the rows one after the other, so their order stays. As long as we only sort by "
                    "`rowid` and never store it, your nightly VACUUM does no harm."
                ),
            ],
            after=85,
        ),
        Ask(
            "Good. Show me the diff so far?",
            [
                answer(bash("git diff", "The diff so far")),
                answer(
                    "Two files: the fixture (a database for each test) and the one line that matters, in `history()`."
                ),
            ],
            after=30,
        ),
        Compact(SUMMARY, after=240),
        Ask(
            "Much better than what I asked for first. Now a test that would have caught it, always, not every second time.",
            [
                answer(
                    think(
                        "Make the tie certain: freeze the clock. Make the wrong tie-break certain: ids that descend. Then "
                        "prove it by running it against the old code."
                    ),
                    "Such a test has to leave nothing to chance: one frozen second, and ids that are wrong on purpose.",
                    write("shop/tests/test_order_history.py", NEW_TEST),
                ),
                answer(
                    "Now the important part: it has to fail without the fix.",
                    bash(
                        "git stash push -q shop/orders.py && pytest tests/test_order_history.py; git stash pop -q"
                        " && pytest tests/test_order_history.py",
                        "Run the new test without and with the fix",
                    ),
                ),
                answer("Red without the fix, green with it, and no dice involved either way."),
            ],
            after=80,
        ),
        Ask(
            "Are there other places where we sort by time?",
            [
                answer(agent("Other places that sort by time", OTHER_SORTS, "Explore")),
                answer(
                    "One: the CSV export sorts by `placed_at` too, so orders of the same second could change places "
                    "between two exports of the same month. Same cure:",
                    read("shop/shop/export.py"),
                ),
                answer(edit("shop/shop/export.py", "ORDER BY placed_at", "ORDER BY rowid")),
                answer(bash("pytest && git diff --stat", "Run everything and see what changed")),
                answer("All green. The export is sorted as the orders came in, the same way every time."),
            ],
            after=70,
            agents=[
                Ask(
                    OTHER_SORTS,
                    [
                        answer(
                            bash("grep -rnE 'ORDER BY|sorted\\(|\\.sort\\(|placed_at' shop/", "Everything that sorts")
                        ),
                        answer(
                            "One place besides `history()`: `shop/export.py`, `ORDER BY placed_at` in `export_month`. Two "
                            "orders of the same second could swap there. Nothing else sorts by a time."
                        ),
                    ],
                )
            ],
        ),
        Ask(
            "Great. Commit it, and say in the message what it was, so that I find it in a year.",
            [
                answer(
                    bash(
                        "git add -A && git commit -q -m 'Orders of the same second keep their order\n\n"
                        "The flaky test was right: with whole seconds (for the CSV) and random ids, two\n"
                        "orders of one second were sorted by a coin toss. Sort by rowid instead.' && git log --oneline -4",
                        "Commit",
                    ),
                    task_is(4, "completed"),
                ),
                answer(
                    "Committed. In short:\n\n"
                    "- **Cause:** whole seconds in `clock.now()` + random order ids = ties decided by chance.\n"
                    "- **Fix:** `history()` and the export sort by `rowid`.\n"
                    "- **Guard:** `tests/test_order_history.py` fails every time if that is undone.\n"
                    "- **By the way:** every test has a database of its own now.\n\n"
                    "CI should be green from here on. If it isn't, I'd like to know!"
                ),
            ],
            after=55,
        ),
        Ask(
            "One more thought: should I have asked the bookkeeper to fix her spreadsheet instead?",
            [
                answer(
                    "No, I think whole seconds are fine: people read them. The mistake was ours, to sort by something that is made "
                    "for reading. If two things can be equal, they will be, and in CI first."
                )
            ],
            after=65,
        ),
        Rename("The flaky order test", after=20),
        Ask(
            "You can stop worrying: ten green builds in a row. Thank you!",
            [
                answer(
                    "Ten out of ten, at last. With the coin it would have been one chance in a thousand. Enjoy the quiet dashboard!"
                )
            ],
            after=5400,
        ),
    ),
    ask_before=["Edit(tests/test_orders.py)"],
)
