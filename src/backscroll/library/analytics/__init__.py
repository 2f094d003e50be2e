"""Reports of numbers about the library, each with counts of the rows it included and left out."""
