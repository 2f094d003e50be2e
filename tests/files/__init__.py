"""The tests of `backscroll.files`: real files in real folders, with all that can happen to them."""
