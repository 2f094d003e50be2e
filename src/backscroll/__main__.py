"""Run the command line with `python -m backscroll`."""

from backscroll.cli.start import main

if __name__ == "__main__":
    main()
