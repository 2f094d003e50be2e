"""Read new records into the store.

`plan` compares a store with homes and archive; `ingest` reads new records into it, batch by batch; `words` indexes the
words of a batch, whose texts are in memory (`recent_texts`) or are read from their files (`texts`); `update` does all
of this, `follow` as files change, and `kept_news` for files that grew in the archive of a server, where `warm_chats`
stay in memory; `sources` opens a file, live or kept. `searching/search` answers a query; `Library` is the object that a
door holds.
"""
