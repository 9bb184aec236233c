"""The command line: read input, call one function, show the result."""

__all__ = ["main"]


def main() -> None:
    """Run the command; what Levelled refuses becomes one line and exit code 1."""
    from levelled.cli.app import run

    run()
