"""`python -m backscroll`."""

from backscroll.cli.main import main

if __name__ == "__main__":
    main()
