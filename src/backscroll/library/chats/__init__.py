"""Read one chat piece by piece.

A `ChatReader` has the shape of a chat in memory (from the rows of the store, never the files) and reads records when
they are shown. Its `BranchMessages` are a branch as messages, each by its rows; they grow at the end, and record which
change last altered each message. `OpenChats` holds the chats that are open. `outline` and `find_in_chat` answer from a
reader. `branch_comparison` compares two branches after the point where they part; `resume` returns the session that
continues a branch, and `terminal` opens a terminal for it.
"""
