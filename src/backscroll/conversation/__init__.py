"""Put conversations together. Pure: records in; messages, turns, branches, agents and chats out.

`kinds` tells prompts from texts that the client writes in the user's name. A `Transcript` takes the records of one file
and makes light `Row`s. `Tree` folds copies of a row into one node and gathers nodes into turns: a turn begins with
something typed, so only a second prompt forks it, and whatever hangs beside a path stays in its turn. `turns` has nodes
and turns, `parts` says where a part begins and why, `roots` which rows without a parent replace others, `preserved`
where rows stand that a compaction kept, and `cutting` cuts a turn where a prompt goes back into its middle. `branches`
finds the turns that were taken back, `origins` the sessions that others were made from. `ChatBuilder` groups
transcripts into chats; `Chat` answers questions about one; `agents` attaches sub-agents to their calls; `messages`
builds the messages that a reader sees.

`passages` has the searchable texts of a record; `saved` is a transcript as plain data, to be continued later;
`overview` is the summary of a chat for lists.
"""
