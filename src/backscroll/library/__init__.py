"""Everything a user can do. Doors call this package, and below it only the values of `conversation` and `records`.

Import a name from the module that defines it; the names here are values from below that the doors handle.

Rooms. Each imports, of the others, only those in parentheses, which stand above it:

    archives: The archive of a library: its place and how it is opened.
    captures: Records of automatic captures by hooks, plugin, timer and watcher: the last success, the last failure.
    git_remotes: The git remotes of a folder and the repository around it, read from git's own files.
    growing: Sessions that are being written: a file that grows is live.
    machine: The id of this machine, part of the key of every file. It outlives a change of host name.
    gone_homes (machine): Homes of this machine that no longer exist.
    homes (archives, gone_homes, machine): The homes that a request is about, and their settings.
    own_file: Small JSON files that only the user's actions change: reading, changing, never losing one.
    project_folders (git_remotes): Folders of projects, recorded while they exist.
    marks (own_file): What the user adds to chats (pins, tags, notes), and saved searches.
    forget_requests: Requests of other devices to forget chats, and the user's answers.
    indexing (archives, captures, forget_requests, gone_homes, machine, project_folders): From files to rows: what
        must be read into the store, and reading it.
    opened_chat (indexing, machine): A chat opened for reading: its messages and their sources.
    searching (indexing): Passages that answer a query, and the piece of text that shows why.
    scope (gone_homes, growing, machine, marks): What a library shows: which homes, and which sessions are live,
        pinned or tagged.
    library (archives, homes, indexing, machine, marks, opened_chat, scope, searching): An open library: its chats,
        what was said in them, and how to find it.
    local (library): The library of this machine, with its store on disk.
    postgres (library): A library whose index is in PostgreSQL: on a team server.
    marked_chats (library, marks): Chats that the user marked.
    memory (indexing, library, searching): Answers to a question or an error from earlier chats, within a token
        budget.
    pool (library): Open libraries, reused between requests; each serves one reader at a time.
    prompts (library, own_file): Saved prompts and how often each is used.
    keeping (archives, captures, homes, indexing, library, machine, marks, memory, opened_chat, project_folders,
        prompts): Archive, verification, backup, restore and deletion of what is in the homes.
    setup (archives, captures, homes, local, machine, marks, memory, prompts): Installation of hooks, plugin and
        timer, and checks of the whole.
    sharing (indexing, library, marked_chats, opened_chat): Chats exported without their secrets.
    syncing (archives, forget_requests, git_remotes, homes, indexing, keeping, local, machine, project_folders):
        Sync of a library: its remotes, what may leave, and a run.
    analytics (archives, indexing, keeping, library, syncing): Reports about the library, each with what it counted
        and what it left out.
    chats (analytics, homes, indexing, library, machine, opened_chat, searching): The contents of one chat, read
        piece by piece.
    resuming (chats, git_remotes, growing, indexing, keeping, library, project_folders): Continuing a chat in Claude
        Code: what to restore first, and in which folder.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from backscroll.files.homes import Home
    from backscroll.store.reader import Facets, Hit, StatementResult, StoredChat
else:

    def __getattr__(name: str) -> object:
        # Only on demand: hooks and sync import this package too, and need no index.
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from backscroll.files import homes
        from backscroll.store import reader

        return globals().setdefault(name, getattr(homes if name == "Home" else reader, name))


__all__ = ["Facets", "Hit", "Home", "StatementResult", "StoredChat"]
