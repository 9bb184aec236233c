"""Writers in processes of their own: writer.py STORAGE WRITERS EVENTS.

Each says the place of every event once the store has taken it. 0 EVENTS go on for ever.
"""

import multiprocessing
import os
import sys
from itertools import count

from levelled.campaigns.stores import open_store
from levelled.errors import ConflictError


def write(storage: str, writer: int, n_events: int) -> None:
    with open_store(storage) as store:  # every process opens, and one of them makes, the database
        for step in range(n_events) if n_events else count():
            while True:
                try:
                    event = {"by": writer, "step": step, "text": "x" * 300}
                    place = store.append("shared", [event], expected=store.count("shared"))
                    break
                except ConflictError:
                    pass
            os.write(1, f"{place}\n".encode())


def main(storage: str, n_writers: int, n_events: int) -> int:
    if n_writers == 1:
        write(storage, 0, n_events)
        return 0
    fork = multiprocessing.get_context("fork")  # what is imported is imported once
    writers = [fork.Process(target=write, args=(storage, i, n_events)) for i in range(n_writers)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    return sum(writer.exitcode != 0 for writer in writers)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
