"""Rehearsals: events whose data is the answer that must come back, one for each outcome."""

import json

import settings
from corpus import Delivery

ANSWERS = [
    {"outcome": "done", "reason": "rehearsed: done"},
    {"outcome": "nothing", "reason": "rehearsed: nothing"},
    {"outcome": "later", "reason": "rehearsed: later", "retryAfterSeconds": 17},
    {"outcome": "refused", "reason": "rehearsed: refused"},
    {"outcome": "failed", "reason": "rehearsed: failed", "retryAfterSeconds": 23},
]


def event(answer: dict, function: str = "any") -> dict:
    return {
        "specversion": "1.0",
        "id": f"rehearsal/{function}/{answer['outcome']}",
        "source": settings.CLUSTER_ID,
        "type": "dev.pilotlight.rehearsal.v1",
        "subject": "rehearsal",
        "time": "2026-11-16T09:00:00Z",
        "datacontenttype": "application/json",
        "data": answer,
    }


def text(answer: dict) -> str:
    return json.dumps(event(answer))


def deliveries(functions: list[str] = settings.FUNCTIONS) -> tuple[list[Delivery], dict[str, dict]]:
    """Every answer to every function, and what to expect by name of the delivery."""
    sent, expected = [], {}
    for function in functions:
        for answer in ANSWERS:
            name = f"{function}.{answer['outcome']}"
            sent.append(Delivery(name, function, json.dumps(event(answer, function)).encode()))
            expected[name] = answer
    return sent, expected
