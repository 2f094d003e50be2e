"""Chats, search results and reports as text. Pure: values in, text out.

Rooms. Each imports, of the others, only those in parentheses, which stand above it:

    cells: Terminal columns of a text: measuring, cutting, padding, wrapping.
    layout: Columns of a table that fit a terminal, and their widths.
    parts: A chat cut into the parts that a reader sees, the same for every format.
    terminal: Text from transcripts made safe and readable in a terminal.
    validation: Validation errors of msgspec in plain words.
    folding (cells, terminal): Long lines broken between words.
    chats (parts, terminal): Chats as plain data: what `--json` prints.
    markdown (parts, terminal): A chat as a Markdown document.
    picker (cells, terminal): The picker's screen without a terminal: its state, and the lines that show it.
    pretty (parts, terminal): A chat for the terminal: colours, Markdown and diffs, through rich. Imported only
        where there is a terminal.
    projects (terminal): Short names of projects.
    recall (terminal): The answer to a question: passages as quotations, each with its source.
    search_results (cells, terminal): Search results as lines for a terminal and as plain data.
    tables (cells, layout, terminal): Tables for people that fit a terminal; CSV and plain values for programs.
    following (parts): The parts of a growing chat, each once.
    documents (markdown, parts, terminal): A whole chat as one document: its head, its branches and its agents.
    preview (cells, picker, terminal): The picker's preview of a chat.
    reports (layout, tables, terminal): Reports as tables for a terminal: readable numbers, bars, a total.
    charts (reports, tables, terminal): Charts made of characters: sparklines, heatmaps, durations, and the
        overview.
    html (charts, chats, documents, markdown, parts, projects, reports, tables, terminal): HTML for the viewer, for
        exported files and for notebooks.
"""
