"""The web door: pages, the HTTP API and live events, on this machine alone unless the user says otherwise.

Rooms. Each imports, of the others, only those in parentheses, which stand above it:

    addresses: URLs of the viewer's pages.
    assets: Static files that browsers load.
    events: The event stream that tells open pages which chats changed.
    export_assets: Static files that an exported page carries inside it.
    layout: The frame that every page has around its contents.
    counted_parts: Parts of pages that take long to count, cached while nothing changes.
    recent_writes: Sessions that are being written.
    reader_zone: The time zone of the reader: the browser's on a team server, else that of this machine.
    state (counted_parts, recent_writes): State shared by requests: open libraries, open chats, and threads for
        writing.
    asker (addresses): On a team server: who asks, whose a chat is, and whose chats a list shows.
    chat_view (addresses, asker, reader_zone): One branch of an open chat, as its page shows it.
    live_updates (events, state): The thread that follows the homes and announces changed chats.
    requests (layout, state): Running page handlers in threads; errors as responses.
    running_server (state): Finding a viewer that is already running, with proof that it is ours.
    api (asker, events, layout, requests, state): The HTTP API under `/api/v1`.
    pages (addresses, asker, chat_view, export_assets, layout, live_updates, reader_zone, requests, state): The
        pages: each handler takes a request and returns HTML.
    refusals (api): Responses to requests that the guard refuses.
    app (api, assets, live_updates, pages, refusals, requests, state): The application: routes and their handlers.
    server (app, live_updates, running_server, state): Start and stop of the viewer.

`server` starts and stops the viewer; `running_server` finds one that is already running; `refusals` answers
requests that the guard refuses. `state` holds open libraries, open chats and the threads for writing; `requests`
runs a page handler and turns its errors into responses. `live_updates` follows the homes, restarts after any
failure, and records in `events` which chats changed; every open page listens to that stream. `chat_view` is one
branch of an open chat; `pages` and `api` are what people and programs see. `static` is what browsers load, as it
is: there is no build step.
"""
