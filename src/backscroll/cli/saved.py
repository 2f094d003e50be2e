"""`backscroll saved`: saved searches."""

import click

from backscroll.cli.options import current_request, global_options
from backscroll.cli.output import write, write_json
from backscroll.errors import NothingFound
from backscroll.render.terminal import clean_line


@click.command("saved")
@click.option("--remove", metavar="NAME", help="Delete the saved search of this name.")
@global_options(unused=("home",), instead="saved searches are in the library")
def command(remove: str | None) -> None:
    """List the searches saved with `backscroll search --save NAME`; `--saved NAME` runs one again.

    \b
    Examples:
      backscroll search --save broken 'is:error since:7d'
      backscroll saved
      backscroll search --saved broken
      backscroll saved --remove broken
    """
    from backscroll.library.marks import change_marks, read_marks

    request = current_request()
    library = request.settings().library
    searches = read_marks(library).searches
    if remove is not None:
        if remove not in searches:
            known = ", ".join(sorted(searches)) or "none yet"
            raise NothingFound(f"there is no saved search {remove}", f"the saved searches are: {known}")
        query = change_marks(library, lambda marks: marks.searches.pop(remove, ""))
        if request.json:
            write_json({"removed": {"name": remove, "query": query}})
        else:
            write(f"deleted {clean_line(remove)}: {clean_line(query)}")
        return
    if not searches:
        raise NothingFound("there are no saved searches", "backscroll search --save NAME QUERY")
    if request.json:
        write_json({"searches": [{"name": name, "query": query} for name, query in sorted(searches.items())]})
        return
    width = max(len(clean_line(name)) for name in searches)
    for name, query in sorted(searches.items()):
        write(f"{click.style(f'{clean_line(name):<{width}}', bold=True)}  {clean_line(query)}")
