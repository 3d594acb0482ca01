"""CloudEvents over HTTP without an SDK: the bytes of the file as they are, so the broken ones travel too."""

import table
import view
from carriers.carrier import BATCHED, PLACES, REPLY, STRUCTURED, Carrier, one_by_one
from corpus import LeftOut
from http_client import send

# A media type is compared without its case and parameters.
SHOUTED = {"Content-Type": "Application/CloudEvents+JSON; charset=UTF-8"}


def _carrier(name: str, address, headers: dict[str, str], expect) -> Carrier:
    def send_one(platforms, delivery):
        return view.of_http(send(address(platforms, delivery.function), headers, delivery.body))

    return Carrier(name, one_by_one(send_one), expect)


def _batch_carrier(name: str, address, headers: dict[str, str], expect) -> Carrier:
    def send_one(platforms, delivery):
        if delivery.value is None:
            return LeftOut("in a batch it spoils the batch itself: not one JSON object with every key once")
        return view.of_http(send(address(platforms, delivery.function), headers, b"[" + delivery.body + b"]"))

    return Carrier(name, one_by_one(send_one), expect)


CARRIERS = [
    carrier
    for place, address in PLACES.items()
    for carrier in (
        _carrier(f"http {place}: structured", address, STRUCTURED, table.http),
        _carrier(f"http {place}: structured, reply", address, SHOUTED | REPLY, table.http_reply),
        _batch_carrier(f"http {place}: batched", address, BATCHED, table.http_batch),
        _batch_carrier(f"http {place}: batched, reply", address, BATCHED | REPLY, table.http_batch_reply),
    )
]
