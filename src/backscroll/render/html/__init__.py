"""How it reads in a browser: the same pieces for the viewer, for exported files and for notebooks."""
