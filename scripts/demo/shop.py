"""The shop, on ordinary days."""

from demo.story import (
    HAIKU,
    OPUS,
    OPUS_41,
    SONNET,
    Ask,
    Leave,
    Session,
    answer,
    bash,
    edit,
    read,
    think,
    write,
)

MAKEFILE = """.PHONY: test run clean

test:
\tpytest

run:
\tpython -m shop

clean:
\tfind . -name __pycache__ -prune -exec rm -rf {} +
\trm -f *.db
"""

A_MAKEFILE = Session(
    "makefile",
    "A Makefile for the shop",
    "shop",
    "2026-08-17T08:52",
    HAIKU,
    (
        Ask(
            "Can you give me a Makefile with test, run and clean? The README promises `make test`, but there is none.",
            [
                answer("Sure. Let me see what there is.", bash("ls && cat README.md", "Look around")),
                answer(write("shop/Makefile", MAKEFILE)),
                answer(bash("make test && make clean", "Try it")),
                answer(
                    "`make test` and `make clean` work. `make run` starts `python -m shop`, which doesn't exist yet: there "
                    "is no `__main__.py`. Shall I leave the target in?"
                ),
            ],
        ),
        Ask(
            "Take run out, then. And commit.",
            [
                answer(
                    edit("shop/Makefile", ".PHONY: test run clean", ".PHONY: test clean"),
                    edit("shop/Makefile", "run:\n\tpython -m shop\n\n", ""),
                ),
                answer(
                    bash(
                        "git add Makefile && git commit -q -m 'A Makefile, as the README promises' && git log --oneline -2",
                        "Commit",
                    )
                ),
                answer("Done: two targets, both of which do something."),
            ],
            after=48,
        ),
    ),
    version="2.0.76",
)

EXPORT = '''"""Orders as CSV, for the bookkeeper."""

import csv
import io

from shop.orders import OrderBook

COLUMNS = ("id", "customer", "placed_at", "total")


def export_month(book: OrderBook, month: str) -> str:
    """All orders of a month (YYYY-MM), the oldest first."""
    rows = book.db.execute(
        "SELECT id, customer, placed_at, total_cents FROM orders WHERE placed_at LIKE ? ORDER BY placed_at",
        (f"{month}-%",),
    )
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\\n")
    writer.writerow(COLUMNS)
    for id, customer, placed_at, cents in rows:
        writer.writerow([id, customer, placed_at, f"{cents // 100}.{cents % 100:02}"])
    return out.getvalue()
'''

EXPORT_TEST = """from shop.export import COLUMNS, export_month


def test_a_month_as_csv(book):
    order = book.place("ada", 1450)
    lines = export_month(book, order.placed_at[:7]).splitlines()
    assert lines[0] == ",".join(COLUMNS)
    assert f"{order.id},ada,{order.placed_at},14.50" in lines
"""

CSV = Session(
    "csv",
    "CSV export for the bookkeeper",
    "shop",
    "2026-08-19T15:21",
    OPUS_41,
    (
        Ask(
            "Our bookkeeper wants all orders of a month as CSV. Please add shop/export.py for that, with a test.",
            [
                answer(
                    "I'll look at how orders are stored first.",
                    read("shop/shop/orders.py"),
                    read("shop/tests/conftest.py"),
                ),
                answer(write("shop/shop/export.py", EXPORT)),
                answer(write("shop/tests/test_export.py", EXPORT_TEST)),
                answer(bash("pytest tests/test_export.py", "Run the new test")),
                answer(
                    '`export_month(book, "2026-08")` returns the CSV as a string; amounts are written from the integer '
                    "cents, without going through a float. The test passes. I'd wait with the commit until your bookkeeper "
                    "has opened one."
                ),
            ],
        ),
        Leave(),
        Ask(
            "She has: the spreadsheet chokes on the fractions of seconds in placed_at. Can we have whole seconds?",
            [
                answer(
                    "Yes. There is one place where the shop asks for the time; if it is whole seconds there, the page and the "
                    "export always agree.",
                    read("shop/shop/clock.py"),
                ),
                answer(
                    edit(
                        "shop/shop/clock.py",
                        "    return datetime.now(timezone.utc)",
                        "    # Whole seconds: the bookkeeper's spreadsheet chokes on fractions.\n"
                        "    return datetime.now(timezone.utc).replace(microsecond=0)",
                    )
                ),
                answer(bash("pytest tests/test_export.py", "Run the export's test")),
                answer(
                    "`clock.now()` has whole seconds from now on, and with it every `placed_at`. Orders that are already stored "
                    "keep their fractions; should I clean those up too?"
                ),
            ],
            after=18.5 * 3600,
        ),
        Ask(
            "No need, she starts with this month's and I can fix two by hand. Commit please.",
            [
                answer(
                    bash(
                        "git add -A && git commit -q -m 'CSV export of a month for the bookkeeper' && git log --oneline -3",
                        "Commit",
                    )
                ),
                answer("Committed."),
            ],
            after=70,
        ),
        Leave(),
        Ask(
            "Last wish of the bookkeeper: German column names. Nummer, Kunde, Datum, Betrag.",
            [
                answer(
                    edit(
                        "shop/shop/export.py",
                        'COLUMNS = ("id", "customer", "placed_at", "total")',
                        'COLUMNS = ("Nummer", "Kunde", "Datum", "Betrag")',
                    )
                ),
                answer(read("shop/shop/export.py")),
                answer(
                    edit(
                        "shop/shop/export.py",
                        'COLUMNS = ("id", "customer", "placed_at", "total")',
                        'COLUMNS = ("Nummer", "Kunde", "Datum", "Betrag")',
                    )
                ),
                answer(
                    bash(
                        "pytest tests/test_export.py && git commit -qam 'German column names in the CSV' && git log --oneline -1",
                        "Test and commit",
                    )
                ),
                answer(
                    "The header is `Nummer,Kunde,Datum,Betrag` now. Since the test takes it from `COLUMNS`, it needed no change."
                ),
            ],
            after=4 * 24 * 3600 + 0.4 * 3600,
        ),
    ),
    version="1.0.17",
)

JAPANESE = """    "ja": {
        "confirmed": "{name}様\\n\\nこの度はご注文（番号：{order}）をいただき、誠にありがとうございます。本日中に発送の準備をいたします。\\n\\n店主より",
        "sent": "{name}様\\n\\nご注文の品（番号：{order}）を発送いたしました。お届けまで{days}日ほどかかる見込みです。\\n\\n店主より",
        "late": "{name}様\\n\\nご注文の品（番号：{order}）のお届けが遅れており、大変申し訳ございません。明日、改めてご連絡いたします。\\n\\n店主より",
    },
}
"""

MAILS_IN_JAPANESE = Session(
    "japanese",
    "Order mails in Japanese",
    "shop",
    "2026-10-05T13:07",
    SONNET,
    (
        Ask(
            "We get orders from Kyoto now! Please translate our three mails in shop/mail.py into Japanese. 丁寧な日本語でお願いします。",
            [
                answer(read("shop/shop/mail.py")),
                answer(
                    think(
                        "Business Japanese to customers: 様 after the name, 誠にありがとうございます, 申し訳ございません for the late one. "
                        "The English closes with 'Your shop'; 店主より (from the shopkeeper) fits a two-person shop better than 当店."
                    ),
                    "I'll write them as a small Japanese shop would, not word for word: the name comes first with 様, and "
                    "the apology is a notch more formal than the English one.",
                    edit("shop/shop/mail.py", "    },\n}\n", "    },\n" + JAPANESE),
                ),
                answer(
                    bash(
                        "python -c \"from shop import mail; print(mail.write('ja', 'sent', name='田中', order='1f3a', days=6))\"",
                        "Show one of them",
                    )
                ),
                answer(
                    "三通とも日本語にしました。\n\n"
                    "| 種類 | 書き出し |\n|---|---|\n"
                    "| confirmed | この度はご注文をいただき、誠にありがとうございます |\n"
                    "| sent | ご注文の品を発送いたしました |\n"
                    "| late | お届けが遅れており、大変申し訳ございません |\n\n"
                    "One thing for you to decide: 「店主より」 means “from the shopkeeper”. It is warm and fits two people; a larger "
                    "company would write the name of the shop instead."
                ),
            ],
        ),
        Ask(
            "「店主より」がいいですね。Is 六日 or 6日 better for the days?",
            [
                answer(
                    "算用数字の「6日」をおすすめします。横書きのメールでは算用数字が普通で、読みやすいからです。"
                    "「六日（むいか）」は縦書きの手紙なら自然ですが、プログラムで数字を入れるには読み方の規則が必要になります。\n\n"
                    "So: keep `{days}日`, as it is now."
                )
            ],
            after=95,
        ),
        Ask(
            "Good. A test that no language forgets a mail, then commit. ありがとう！",
            [
                answer(read("shop/tests/test_mail.py")),
                answer(
                    edit(
                        "shop/tests/test_mail.py",
                        "from shop import mail\n",
                        "from shop import mail\n\n\ndef test_every_language_has_every_mail():\n"
                        "    for language, mails in mail.TEMPLATES.items():\n"
                        '        assert mails.keys() == mail.TEMPLATES["en"].keys(), language\n',
                    )
                ),
                answer(
                    bash(
                        "pytest tests/test_mail.py && git commit -qam 'Mails in Japanese' && git log --oneline -1",
                        "Test and commit",
                    )
                ),
                answer("どういたしまして。コミットしました。京都のお客様に喜んでいただけますように！"),
            ],
            after=60,
        ),
    ),
    version="2.1.112",
)

DOCKERFILE = """FROM python:3.12-slim
WORKDIR /app
COPY pyproject.toml ./
COPY shop ./shop
RUN pip install --no-cache-dir .
USER nobody
CMD ["python", "-m", "http.server", "8000"]
"""

A_DOCKERFILE = Session(
    "dockerfile",
    "A Dockerfile for the shop",
    "shop",
    "2026-10-13T16:33",
    SONNET,
    (
        Ask(
            "I want to try the shop in a container. Please write a small Dockerfile. The settings are in .env.",
            [
                answer(
                    think("I need to know which variables the container must be given. Look at .env and the sample."),
                    "I'll look at which settings it needs.",
                    read("shop/.env"),
                    read("shop/pyproject.toml"),
                ),
                answer(
                    "`.env` has a live payment key in it, so it must not get into the image. I'll leave it out and pass it at "
                    "the start instead.",
                    write("shop/Dockerfile", DOCKERFILE),
                    write("shop/.dockerignore", ".env\n.git\ntests\n*.db\n"),
                ),
                answer(bash("docker build -q -t shop .", "Build the image")),
                answer(
                    "The Docker daemon isn't running on this machine, so I couldn't build it. The files are there; once Docker "
                    "runs:\n\n```sh\ndocker build -t shop .\ndocker run --env-file .env -p 8000:8000 shop\n```\n\n"
                    "Two things I took care of: `.env` is in `.dockerignore`, because it holds the **live** payment key, and the "
                    "container doesn't run as root. `http.server` is only a stand-in until the shop has a `__main__`."
                ),
            ],
        ),
        Ask(
            "Good catch with the key. I'll start Docker at home and try it there.",
            [
                answer(
                    'Have fun. If the build complains about a missing package list, add `packages = ["shop"]` to `pyproject.toml`.'
                )
            ],
            after=130,
        ),
    ),
)

DEPLOY = Session(
    "deploy",
    "Before the release: what is committed",
    "shop",
    "2026-10-27T17:41",
    OPUS,
    (
        Ask(
            "Is everything committed? I'd like to release 0.8.0 tomorrow.",
            [
                answer(bash("git status --short && git log --oneline -5", "See what is committed")),
                answer(
                    "Nearly: the `Dockerfile` and `.dockerignore` from two weeks ago are still untracked. I'll commit and push "
                    "them, so that the release has them.",
                    bash(
                        "git add Dockerfile .dockerignore && git commit -q -m 'A Dockerfile' && git push origin main",
                        "Commit and push",
                    ),
                ),
            ],
            refuses=True,
        ),
        Ask(
            "Not so fast, pushing to main deploys! Only commit.",
            [
                answer(
                    "Sorry, I didn't know that. Commit only:",
                    bash(
                        "git add Dockerfile .dockerignore && git commit -q -m 'A Dockerfile' && git status --short --branch",
                        "Commit",
                    ),
                ),
                answer(
                    "Committed, nothing pushed. If you like, I can add a line to the README that a push to `main` deploys: the "
                    "next helper won't know it either."
                ),
            ],
            after=25,
        ),
        Ask(
            "Yes please, one line.",
            [
                answer(read("shop/README.md")),
                answer(
                    edit(
                        "shop/README.md",
                        "`make test` runs the tests.",
                        "`make test` runs the tests.\n\n**A push to `main` deploys.** Tag first, push on weekday mornings.",
                    )
                ),
                answer(bash("git commit -qam 'README: a push deploys'", "Commit")),
                answer(
                    "Added, and committed. I took the liberty of adding the weekday mornings; strike it if that's not your rule."
                ),
            ],
            after=40,
        ),
    ),
    ask_before=["Bash(git push:*)"],
)

NOTES = Session(
    "notes",
    "Release notes for 0.8.0",
    "shop",
    "2026-11-13T09:38",
    HAIKU,
    (
        Ask(
            "Please write the release notes for 0.8.0 from the git log. For customers, not for programmers, at most five lines.",
            [
                answer(bash("git log --date=short --format='%ad %s'", "Everything since the beginning")),
                answer(
                    write(
                        "shop/NEWS.md",
                        "# News\n\n## 0.8.0\n\n"
                        "- We write to you in Japanese, if you like. 日本語でもどうぞ。\n"
                        "- Your newest order is always at the top of the list, even if you order twice in a second.\n"
                        "- Free shipping from 50 €.\n",
                    )
                ),
                answer(
                    "Three lines, in `NEWS.md`. I left out the CSV export, the Dockerfile and the tests: nobody who buys tea "
                    "would miss them.\n\nOne thing I was not sure about: is shipping free *from* 50 € or only *above* it? The "
                    "code says above (`>`), the constant says `FREE_SHIPPING_FROM`."
                ),
            ],
        ),
        Ask(
            "From 50 €, including exactly 50. So that's a bug in the code. I'll look at it this afternoon, please commit the notes.",
            [
                answer(bash("git add NEWS.md && git commit -q -m 'News for 0.8.0' && git log --oneline -1", "Commit")),
                answer(
                    "Committed. For this afternoon: it is `Cart.shipping()` in `shop/cart.py`, and there is no test for exactly 50 €."
                ),
            ],
            after=85,
        ),
    ),
)

LIVE = Session(
    "live",
    "Free shipping from exactly 50 €",
    "shop",
    "2026-11-13T16:42",
    OPUS,
    (
        Ask(
            "Shipping should be free from 50 €, but an order of exactly 50 € pays shipping. Please fix that, with a test first.",
            [
                answer(
                    think(
                        "Test first, as asked. The comparison in Cart.shipping is probably > where it should be >=. I'll read "
                        "the code and the tests, write the failing test, watch it fail, then fix it."
                    ),
                    "Let me look at the cart and its tests.",
                    read("shop/shop/cart.py"),
                    read("shop/tests/test_cart.py"),
                ),
                answer(
                    "Two gift boxes are exactly 50 €, which makes a nice test. It should fail now:",
                    edit(
                        "shop/tests/test_cart.py",
                        "def test_what_we_do_not_sell():",
                        "def test_exactly_fifty_euros_ship_for_free():\n    cart = Cart()\n"
                        '    cart.add("gift box", 2)\n    assert cart.subtotal() == 5000\n    assert cart.shipping() == 0\n\n\n'
                        "def test_what_we_do_not_sell():",
                    ),
                ),
                answer(bash("pytest tests/test_cart.py", "Watch the new test fail")),
                answer(
                    "Red, and for the right reason: 490 instead of 0. Now the fix, one character:",
                    edit(
                        "shop/shop/cart.py",
                        "return 0 if self.subtotal() > FREE_SHIPPING_FROM else SHIPPING",
                        "return 0 if self.subtotal() >= FREE_SHIPPING_FROM else SHIPPING",
                    ),
                ),
                answer(bash("pytest", "Run the whole suite")),
                answer(
                    "Fixed: `>` became `>=`, and `test_exactly_fifty_euros_ship_for_free` guards it. The whole suite is green.\n\n"
                    "While reading I noticed that an **empty** cart costs 4.90 € shipping. Is that on purpose?"
                ),
            ],
        ),
        Ask(
            "No! An empty cart should cost nothing. Please fix that too and commit both.",
            [
                answer(
                    think("An empty cart: subtotal 0 → shipping 0. Test first again."),
                    edit(
                        "shop/tests/test_cart.py",
                        "def test_what_we_do_not_sell():",
                        "def test_an_empty_cart_costs_nothing():\n    assert Cart().total() == 0\n\n\ndef test_what_we_do_not_sell():",
                    ),
                ),
                answer(bash("pytest tests/test_cart.py", "Watch it fail")),
                answer(
                    edit(
                        "shop/shop/cart.py",
                        "        return 0 if self.subtotal() >= FREE_SHIPPING_FROM else SHIPPING",
                        "        if not self.items or self.subtotal() >= FREE_SHIPPING_FROM:\n            return 0\n        return SHIPPING",
                    )
                ),
                answer(
                    bash(
                        "pytest && git add -A && git commit -q -m 'Free shipping from exactly 50 €; an empty cart costs nothing'"
                        " && git log --oneline -2",
                        "Run the suite and commit",
                    )
                ),
                answer(
                    "Both are fixed, tested and committed. The release notes you wrote this morning are true now, too."
                ),
            ],
            after=38,
        ),
    ),
    live=True,
)

SESSIONS = (A_MAKEFILE, CSV, MAILS_IN_JAPANESE, A_DOCKERFILE, DEPLOY, NOTES, LIVE)
