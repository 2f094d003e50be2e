"""`backscroll prices`: the prices of models, and their source."""

from typing import TYPE_CHECKING, Any

import click

from backscroll.cli.options import current_request, global_options
from backscroll.cli.output import heading, write_json, write_note
from backscroll.cli.paging import width, write_lines

if TYPE_CHECKING:
    from backscroll.library.indexing.prices import ListedPrice

RATES = ("input", "output", "cache_write_5m", "cache_write_1h", "cache_read")
COLUMNS = ("model", "input", "output", "write 5m", "write 1h", "read", "when", "from", "source")
RIGHT = COLUMNS[1:6]


@click.command("prices")
@click.argument("model", required=False)
@click.option("--all", "past", is_flag=True, help="Include retired models and past prices.")
@global_options(unused=("home", "library"), instead="prices come with the program and from the settings file")
def command(model: str | None, past: bool) -> None:
    """List the prices used to compute costs, in USD per million tokens.

    With MODEL, in any spelling, list every price it ever had. Batch requests cost half, requests restricted to the US
    10 % more, a web search $0.01. If a model has no price, its cost is unknown, not 0; you can set a price in your
    settings.

    \b
    Examples:
      backscroll prices
      backscroll prices claude-sonnet-4-5-20250929
      backscroll prices --all --json | jq -r '.prices[] | [.model, .input] | @tsv'
    """
    from backscroll.library.indexing.prices import list_prices

    request = current_request()
    listed = list_prices(request.settings(), model, past=past)
    if request.json:
        taken = {name: str(getattr(listed.snapshot, name)) for name in ("package", "version", "made")}
        write_json({"prices": [_as_json(item) for item in listed.prices], "snapshot": taken})
        return
    from backscroll.render.layout import Column
    from backscroll.render.tables import fit

    rows = [row for item in listed.prices for row in _rows(item)]
    columns = [
        Column(name.upper(), right=name in RIGHT, shrinks="never", extra={"source": 2, "from": 1}.get(name, 0))
        for name in COLUMNS
    ]
    lines = fit(columns, rows, width()).lines
    write_lines([heading(lines[0]), *lines[1:]])
    if not request.quiet:
        write_note(
            f"USD per million tokens. {listed.snapshot.package} {listed.snapshot.version}, of {listed.snapshot.made}."
        )


def _rows(item: "ListedPrice") -> list[list[Any]]:
    """Return a line for the price, and one for long prompts if they cost more."""
    price = item.price
    since = str(price.since) if price.since else None
    rows = [[price.model, *_rates(price.rates).values(), "fast mode" if price.is_fast else None, since, price.source]]
    if price.long_rates and price.long_from:
        long = f"over {price.long_from // 1000}k"
        rows.append([price.model, *_rates(price.long_rates).values(), long, since, price.source])
    return rows


def _as_json(item: "ListedPrice") -> dict[str, Any]:
    price = item.price
    return {
        "model": price.model,
        "from": str(price.since) if price.since else None,
        **_rates(price.rates),
        "long_from": price.long_from,
        "long": _rates(price.long_rates) if price.long_rates else None,
        "fast": price.is_fast,
        "current": item.is_current,
        "retired": price.is_retired,
        "source": price.source,
    }


def _rates(rates: object) -> dict[str, float]:
    return {name: getattr(rates, name) / 1000 for name in RATES}
