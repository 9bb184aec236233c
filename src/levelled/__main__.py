"""`python -m levelled` is the command `levelled`."""

from levelled.cli import main

if __name__ == "__main__":
    main()
