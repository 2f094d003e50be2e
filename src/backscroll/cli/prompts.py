"""`backscroll prompts …`: save prompts as templates, fill them in, and install them as slash commands."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

import click

from backscroll.cli.groups import CommandGroup
from backscroll.cli.install import YES, confirm_and_apply
from backscroll.cli.options import PATH, Request, current_request, global_options
from backscroll.cli.output import open_library, warning, write, write_json, write_note
from backscroll.cli.prompts_output import prompt_as_json, write_prompt, write_prompts
from backscroll.errors import BackscrollError, NothingFound, UsageError
from backscroll.render.terminal import clean, clean_line

if TYPE_CHECKING:
    from backscroll.library.prompts.prompt import SavedPrompt
    from backscroll.library.prompts.prompt_file import PromptFile

LONGEST_PIPED: Final = 1_000_000
LONGEST_FILE: Final = 50_000_000
TAG = click.option("--tag", "tags", metavar="TAG", multiple=True, help="A tag; may be given several times.")
DESCRIPTION = click.option("--description", metavar="TEXT", help="What it is for, on one line.")
INTO = click.option(
    "--project", "folder", type=PATH, metavar="FOLDER", help="Use .claude/commands of this project, not of your home."
)


@click.group("prompts", cls=CommandGroup, invoke_without_command=True)
@global_options()
@click.pass_context
def command(context: click.Context) -> None:
    """Keep prompts to use again: with variables, tags, and how often each was used.

    A variable is written {{name}}, and gets its value when you use the prompt. Without a command, lists all prompts.
    They are in prompts.json in the library, are part of every backup, and agents get them over MCP.

    \b
    Examples:
      backscroll prompts
      backscroll prompts save review 4f8c --variable branch=main
      backscroll prompts fill review branch=release-2 | claude
      backscroll prompts install review
    """
    if context.invoked_subcommand is None:
        _list(current_request(), (), None)


@command.command("list", short_help="List prompts, with how often each was used.")
@click.argument("words", metavar="[WORDS]...", nargs=-1)
@click.option("--tag", metavar="TAG", help="Only those with this tag.")
@global_options()
def list_prompts(words: tuple[str, ...], tag: str | None) -> None:
    """List your prompts: all, or those that contain these words.

    A use is a `fill`, a copy in the viewer, an agent that fetched the prompt over MCP, or a run of /NAME in your chats
    since the prompt was saved.

    \b
    Examples:
      backscroll prompts list
      backscroll prompts list release --tag git
      backscroll prompts list --json
    """
    _list(current_request(), words, tag)


@command.command("show", short_help="Show a prompt: its text, variables and uses.")
@click.argument("name", metavar="NAME")
@global_options()
def show_prompt(name: str) -> None:
    """Show a prompt as it was saved. This does not count as a use.

    \b
    Examples:
      backscroll prompts show review
      backscroll prompts show review --json | jq -r .prompt.text
    """
    request = current_request()
    prompt = _prompts(request).find(name)
    runs = _command_uses(request, [prompt]).get(prompt.key, 0)
    if request.json:
        write_json({"prompt": {**prompt_as_json(prompt, runs), "text": prompt.text}})
    else:
        write_prompt(prompt, runs)


@command.command("save", short_help="Save a prompt, from a chat or from what you type.")
@click.argument("name", metavar="NAME")
@click.argument("message", metavar="[MESSAGE]", required=False)
@click.option("--text", metavar="TEXT", help="The text itself.")
@click.option(
    "--variable",
    "variables",
    metavar="NAME=WORDS",
    multiple=True,
    help="Put the variable {{NAME}} where the prompt has WORDS.",
)
@DESCRIPTION
@TAG
@global_options()
def save_prompt(
    name: str,
    message: str | None,
    text: str | None,
    variables: tuple[str, ...],
    description: str | None,
    tags: tuple[str, ...],
) -> None:
    """Save a prompt under a name: lower-case letters, digits, - and _.

    MESSAGE is a prompt in a chat: CHAT/MESSAGE or the message alone, as search and recall give them, or a chat for its
    first prompt. Without MESSAGE and --text, the text is read from stdin, or typed in your editor.

    Variables are written {{name}}. Braces that are no variable get a backslash before them.

    \b
    Examples:
      backscroll prompts save review 4f8c
      backscroll prompts save review 4f8c1d2e/91ab03cd --variable branch=main --tag git
      backscroll prompts save explain --text 'Explain {{file}} to a new colleague.'
      backscroll prompts save release <release.md
    """
    from backscroll.library.prompts.prompt import PromptSource, new_prompt, secrets_in
    from backscroll.library.prompts.template import with_variables

    request = current_request()
    if message is not None and text is not None:
        raise UsageError("MESSAGE and --text cannot be combined", "use only one of them")
    words = _pairs(variables, "--variable NAME=WORDS")
    source = None
    if message is not None:
        from backscroll.library.chats.typed_prompts import typed_prompt_named

        with open_library(request) as library:
            typed = typed_prompt_named(library, message)
        text, source = typed.text, PromptSource(chat=typed.chat, message=typed.message)
    elif text is None:
        text = _given("")
    text = with_variables(text, words)
    prompt = new_prompt(name, text, description=description or "", tags=tags, source=source)
    saved = _prompts(request).add(prompt)
    if request.json:
        write_json({"saved": {**prompt_as_json(saved), "text": saved.text}})
        return
    write(f"saved: {saved.name}")
    if request.quiet:
        return
    if saved.variables:
        write_note(f"variables: {', '.join(map(clean_line, saved.variables))}")
    if secrets := secrets_in(saved.text):
        problem = f"it seems to contain a secret ({', '.join(secrets)}): put a variable in its place"
        write_note(warning(f"note: {problem}, with backscroll prompts edit {saved.name}"))


@command.command("fill", short_help="Print a prompt with values for its variables.")
@click.argument("name", metavar="NAME")
@click.argument("values", metavar="[VARIABLE=VALUE]...", nargs=-1)
@global_options(unused=("home",), instead="saved prompts are in the library")
def fill_prompt(name: str, values: tuple[str, ...]) -> None:
    """Print a prompt with its variables filled in, and count a use.

    \b
    Examples:
      backscroll prompts fill review branch=release-2
      backscroll prompts fill review branch=release-2 | claude
      claude "$(backscroll prompts fill explain file=src/parser.py)"
    """
    request = current_request()
    prompts = _prompts(request)
    prompt = prompts.find(name)
    text = prompt.filled(_pairs(values, "VARIABLE=VALUE"))
    used = prompts.count_use(prompt.key)
    if request.json:
        write_json({"text": text, "prompt": prompt_as_json(used)})
    else:
        click.echo(clean(text) if sys.stdout.isatty() else text)


@command.command("edit", short_help="Change the text, name, description or tags of a prompt.")
@click.argument("name", metavar="NAME")
@click.option("--name", "new_name", metavar="NAME", help="Another name.")
@click.option("--text", metavar="TEXT", help="Another text; - reads it from stdin.")
@DESCRIPTION
@TAG
@click.option("--untag", "untags", metavar="TAG", multiple=True, help="Remove a tag; may be given several times.")
@global_options()
def edit_prompt(
    name: str,
    new_name: str | None,
    text: str | None,
    description: str | None,
    tags: tuple[str, ...],
    untags: tuple[str, ...],
) -> None:
    """Change a prompt. Without options, its text opens in your editor.

    An installed slash command stays as it is: run `prompts install` again, after a new name also `prompts uninstall`.

    \b
    Examples:
      backscroll prompts edit review
      backscroll prompts edit review --name pr-review --tag git --untag draft
      backscroll prompts edit review --text - <review.md
    """
    from backscroll.library.prompts.prompt import PromptChange

    request = current_request()
    prompts = _prompts(request)
    prompt = prompts.find(name)
    if (new_name, text, description) == (None, None, None) and not tags and not untags:
        text = _given(prompt.text)
    elif text == "-":
        text = sys.stdin.read(LONGEST_PIPED)
    gone = {tag.strip().lower() for tag in untags}
    kept = [*(tag for tag in prompt.tags if tag.lower() not in gone), *tags] if tags or untags else None
    change = PromptChange(name=new_name, text=text, description=description, tags=kept)
    changed = prompts.change(name, change)
    if request.json:
        write_json({"changed": {**prompt_as_json(changed), "text": changed.text}})
    else:
        write(f"changed: {changed.name}")
        _note_installed(request, name, f"run backscroll prompts install {changed.name} to bring it up to date")


@command.command("delete", short_help="Delete a prompt.")
@click.argument("name", metavar="NAME")
@global_options()
def delete_prompt(name: str) -> None:
    """Delete a prompt. An installed slash command stays until `backscroll prompts uninstall NAME`.

    \b
    Examples:
      backscroll prompts delete review
    """
    request = current_request()
    gone = _prompts(request).remove(name)
    if request.json:
        write_json({"deleted": {**prompt_as_json(gone), "text": gone.text}})
    else:
        write(f"deleted: {gone.name}")
        _note_installed(request, name, f"backscroll prompts uninstall {name} removes it")


@command.command("import", short_help="Add the prompts of a file.")
@click.argument("file", type=click.File("rb"), metavar="FILE")
@global_options(unused=("home",), instead="saved prompts are in the library")
def import_from_file(file: IO[bytes]) -> None:
    """Add the prompts of a prompts.json: of another machine, or what a team server exports.

    A prompt whose name is taken here is left out. To export yours, copy prompts.json from the library.

    \b
    Examples:
      backscroll prompts import ~/Downloads/prompts.json
      ssh laptop cat .local/share/backscroll/prompts.json | backscroll prompts import -
    """
    from backscroll.library.prompts.transfer import import_prompts, read_prompts

    request = current_request()
    done = import_prompts(_prompts(request), read_prompts(file.read(LONGEST_FILE)))
    if request.json:
        write_json({"added": done.added, "kept": done.kept})
        return
    write(f"added: {', '.join(done.added) or 'nothing'}")
    if done.kept and not request.quiet:
        write_note(f"left out, because there is one of this name: {', '.join(done.kept)}")


@command.command("install", short_help="Write a prompt as a slash command, after showing it.")
@click.argument("name", metavar="NAME")
@INTO
@YES
@click.option("--print", "only_print", is_flag=True, help="Only show what would be written; change nothing.")
@global_options()
def install_prompt(name: str, folder: Path | None, yes: bool, only_print: bool) -> None:
    """Write a prompt as the slash command /NAME of Claude Code: commands/NAME.md in your home (~/.claude).

    Shows the file and asks before writing it. A file of that name that backscroll did not write is left alone. With
    one variable, all that you type after /NAME is its value; with several, give the values in their order.

    \b
    Examples:
      backscroll prompts install review
      backscroll prompts install review --project . --yes
      backscroll prompts install review --print
    """
    from backscroll.library.setup.slash_commands import plan_command

    request = current_request()
    request.refuse_demo("install anything")
    plan = plan_command(_prompts(request).find(name), _folders(request, folder))
    confirm_and_apply(request, [plan], yes=yes, only_show=only_print, nothing=f"/{name} is up to date")


@command.command("uninstall", short_help="Remove the slash command of a prompt.")
@click.argument("name", metavar="NAME")
@INTO
@YES
@global_options(unused=("library",), instead="slash commands are in a home")
def uninstall_prompt(name: str, folder: Path | None, yes: bool) -> None:
    """Remove the slash command that `prompts install` wrote; the prompt stays.

    \b
    Examples:
      backscroll prompts uninstall review
    """
    from backscroll.library.setup.slash_commands import plan_no_command

    request = current_request()
    request.refuse_demo("uninstall anything")
    plan = plan_no_command(name, _folders(request, folder, is_removed=True))
    confirm_and_apply(request, [plan], yes=yes, nothing=f"/{name} is not installed")


def _list(request: Request, words: tuple[str, ...], tag: str | None) -> None:
    from backscroll.library.prompts.prompt import matching_prompts

    prompts = _prompts(request).all()
    if not prompts:
        raise NothingFound("there are no saved prompts", "save one with backscroll prompts save NAME CHAT")
    matching = matching_prompts(prompts, words, tag or "")
    if not matching:
        raise NothingFound("no saved prompt matches", "see backscroll prompts")
    runs = _command_uses(request, matching)
    if request.json:
        write_json({"prompts": [prompt_as_json(prompt, runs.get(prompt.key, 0)) for prompt in matching]})
    else:
        write_prompts(matching, runs)


def _command_uses(request: Request, prompts: "Sequence[SavedPrompt]") -> dict[str, int]:
    """Return how often each was run as a slash command; nothing if the library cannot be opened: prompts do not need
    it."""
    from backscroll.library.prompts.command_uses import command_uses

    try:
        with open_library(request, with_text=True, soon=True) as library:
            return command_uses(library, prompts)
    except BackscrollError:
        return {}


def _prompts(request: Request) -> "PromptFile":
    from backscroll.library.prompts.prompt_file import PromptFile

    return PromptFile(request.settings().library)


def _folders(request: Request, project: Path | None, *, is_removed: bool = False) -> list[Path]:
    """Return the `.claude` folders that a slash command is written to, or removed from."""
    from backscroll.library.homes import named_homes, open_homes

    if project is None:
        settings = request.settings()
        homes = named_homes(settings) if is_removed else open_homes(settings, with_caches=False)
        return [home.path for home in homes]
    if not project.is_dir():
        raise UsageError(f"{project} is not a folder", "name the folder of a project")
    return [project / ".claude"]


def _note_installed(request: Request, name: str, what: str) -> None:
    from backscroll.library.setup.slash_commands import is_installed

    if not request.quiet and not request.demo and is_installed(name, _folders(request, None)):
        write_note(f"the slash command /{name} is still as it was: {what}")


def _given(text: str) -> str:
    """Read the user's text from stdin, or at a terminal from their editor."""
    if sys.stdin is None or not sys.stdin.isatty():
        return sys.stdin.read(LONGEST_PIPED) if sys.stdin else ""
    edited = click.edit(text, extension=".md")
    if edited is None:
        raise UsageError("the editor was closed without saving; nothing was changed", "save the file in the editor")
    return edited


def _pairs(values: Sequence[str], form: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for value in values:
        name, equals, words = value.partition("=")
        if not equals or not name:
            raise UsageError(f"{value} is not {form}", f"write {form}")
        if name in pairs:
            raise UsageError(f"{name} was given twice", "give it once")
        pairs[name] = words
    return pairs
