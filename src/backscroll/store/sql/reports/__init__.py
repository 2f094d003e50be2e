"""The statements of reports, by subject."""
