"""The tests of `backscroll.files`: real files in real folders, whatever happens to them."""
