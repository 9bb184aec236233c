import socket

import pytest

from levelled.backends import check_place, check_server, split_batches
from levelled.errors import InputError


def test_batches_hold_all_items_in_order() -> None:
    for n in (0, 1, 31, 32, 33, 1000):
        batches = split_batches(range(n), workers=2)
        assert [item for batch in batches for item in batch] == list(range(n))
        assert len(batches) <= 32


def test_workers_do_not_go_with_an_address() -> None:
    with pytest.raises(InputError, match="own workers"):
        check_place("127.0.0.1:8786", 2)


@pytest.mark.parametrize("address", ["here", "here:port", "tcp://:8786", "tcp://here", "a:99999"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(InputError, match=r"Dask.*HOST:PORT"):
        check_server(address, "Dask", "'dask scheduler'")


def test_an_address_where_nobody_listens_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(InputError, match=r"Ray.*'ray start"):
        check_server(f"127.0.0.1:{port}", "Ray", "'ray start --head'")


def test_a_server_that_is_something_else_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(InputError, match=r"Dask.*dashboard"):
            check_server(address, "Dask", "'dask scheduler'")
