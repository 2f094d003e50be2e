"""The command line. Parses the request, calls the library, prints. Nothing heavy is imported before it is needed."""
