"""What all carriers have in common: a name, how to send, and what must come back for an answer."""

from collections.abc import Callable
from dataclasses import dataclass

from check import Row
from corpus import Delivery, LeftOut
from platforms import Platforms

STRUCTURED = {"Content-Type": "application/cloudevents+json"}
BATCHED = {"Content-Type": "application/cloudevents-batch+json"}
REPLY = {"Prefer": "reply"}


@dataclass(frozen=True)
class Carrier:
    name: str
    send: Callable[[Platforms, list[Delivery]], list[dict | LeftOut]]
    expect: Callable[[dict], dict]

    def rows(self, platforms: Platforms, deliveries: list[Delivery], answers: dict[str, dict]) -> list[Row]:
        """Sends everything, and lays what came beside what the answers ask for."""
        came = self.send(platforms, deliveries)
        return [
            Row(delivery.file, self.name, self.expect(answers[delivery.file]), got)
            for delivery, got in zip(deliveries, came, strict=True)
        ]


def one_by_one(send_one: Callable[[Platforms, Delivery], dict | LeftOut]):
    return lambda platforms, deliveries: [send_one(platforms, delivery) for delivery in deliveries]


def single(platforms: Platforms, function: str) -> str:
    """The address of a function's own process."""
    return platforms.http(function) + "/"


def together(platforms: Platforms, function: str) -> str:
    """The address of a function in the process that serves all of them."""
    return f"{platforms.serve()}/{function}"


PLACES = {"single": single, "serve": together}
