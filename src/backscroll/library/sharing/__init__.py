"""Give a chat to others without its secrets.

`share` opens a chat for sharing and redacts every record before anything is derived from it; `selection` leaves out
branches, tools or thinking; `masked` lists the masked secrets and their places; `file_names` names the file.
"""
