"""The store on this machine's own disk: its files, and what others may read in them."""
