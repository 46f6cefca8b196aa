from __future__ import annotations

import pytest

from core.errors import OverloadError
from core.records import Query
from sim.actors import Seat
from source_node.servicer import serve


def test_an_empty_seat_is_served_and_says_so() -> None:
    seat = Seat("source-00")
    server = serve(seat, "127.0.0.1:0", insecure=True)
    server.start()
    try:
        assert server.address.startswith("127.0.0.1:")
        with pytest.raises(OverloadError, match="'source-00' has not been loaded yet"):
            seat.retrieve(Query("who"), 3)
    finally:
        server.stop(0)
