"""Sync a library with its remotes.

`sync` sends and takes, `automatic` runs it in the background, when `folder_watch` sees a folder change or the interval
is over; `remote_settings` has the remotes, `decisions` how much of a file may leave, based on `seen_projects`,
`preview` what would leave, `rules` what other rules would change, `status` the progress of each machine. Requests of
other devices to forget chats are noted by `library/forget_requests` and hidden where `indexing` plans its work;
`forgets` matches them with the archive and carries out the user's answer, `asked_about` names the subject of such a
chat. Of `sync`, `forgotten_elsewhere` takes these requests from a bundle, or removes the files at once on a server.
"""
