"""The command line: each command reads its input, calls one function and prints the result."""

__all__ = ["main"]


def main() -> None:
    """Run the command; an error of Levelled becomes one line and exit code 1, Ctrl-C 130."""
    import signal
    import sys

    interrupted = False

    def interrupt(*_: object) -> None:
        nonlocal interrupted
        interrupted = True
        raise KeyboardInterrupt

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)
    try:
        from levelled.cli.app import run

        run()
    except (KeyboardInterrupt, Exception) as ended:
        if not (interrupted or isinstance(ended, KeyboardInterrupt)):
            raise
        # while modules are imported, or in compiled code that made another error of it
        sys.stderr.write("levelled: interrupted\n")
        sys.exit(130)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # what is left is to end
