"""The format of the archive is what its document says: a reader that knows nothing else reads it all."""
