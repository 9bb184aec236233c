"""The command line: each command reads its input, calls one function and prints the result."""

__all__ = ["main"]


def main() -> None:
    """Run the command; an error of Levelled becomes one line and exit code 1."""
    try:
        from levelled.cli.app import run

        run()
    except KeyboardInterrupt:  # while modules are imported
        import sys

        sys.stderr.write("levelled: interrupted\n")
        sys.exit(130)
