"""The command line: each command reads its input, calls one function and prints the result."""

__all__ = ["main"]


def main() -> None:
    """Run the command; an error of Levelled becomes one line and exit code 1."""
    import signal
    import sys

    try:
        from levelled.cli.app import run

        run()
    except KeyboardInterrupt:  # while modules are imported
        sys.stderr.write("levelled: interrupted\n")
        sys.exit(130)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # what is left is to end
