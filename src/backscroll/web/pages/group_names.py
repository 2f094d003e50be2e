"""Short names for the groups of a report or a chart, no two of them equal."""

from collections.abc import Iterable, Sequence

from backscroll.conversation.model_names import short_models
from backscroll.render.html.charts import Series
from backscroll.render.projects import names_of
from backscroll.web.pages.stats_links import cut_name, short_path


def group_names(dimension: str, names: Iterable[str]) -> dict[str, str]:
    """Return the names of models, projects, files or anything else, as lists and legends show them."""
    if dimension == "model":
        return short_models(names)
    if dimension == "project":
        return names_of(names)
    return {name: short_path(name) if dimension == "file" else cut_name(name) for name in names}


def named_series(series: Sequence[Series], dimension: str) -> list[Series]:
    """Return the series with the names that legends show."""
    names = group_names(dimension, [row.name for row in series])
    return [row._replace(name=names[row.name]) for row in series]
