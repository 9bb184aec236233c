"""The command line: each command reads its input, calls one function and prints the result."""

__all__ = ["main"]


def main() -> None:
    """Run the command; an error of Levelled becomes one line and exit code 1."""
    from levelled.cli.app import run

    run()
