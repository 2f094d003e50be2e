"""Operation of a server: its database and worker, backup, restore, import, export, demo, metrics, logs."""
