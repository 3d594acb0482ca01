"""The status tells what is wrong with a delivery, and the first check that fails wins: size, signature, type, event."""

import pytest

from carriers.carrier import PLACES, STRUCTURED
from carriers.lambda_emulator import invoke
from check import Row, check
from doors import DOORS, status_and_outcome
from http_client import send
from signing import SECRETS, sign

FUNCTION = "on-delete"
LIMIT = 1_048_576
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def event(deliveries):
    return next(each for each in deliveries if each.function == FUNCTION and ".bad-" not in each.file).body


def padded(event: bytes, size: int) -> bytes:
    """The same event in exactly so many bytes."""
    return event + b" " * (size - len(event))


@pytest.mark.parametrize("door", DOORS)
def test_a_wrong_delivery_is_refused_with_the_status_of_what_is_wrong(plain, event, door):
    attempts = [
        ("exactly the limit", STRUCTURED, padded(event, LIMIT), (202, None)),
        ("one byte more", STRUCTURED, padded(event, LIMIT + 1), (413, "refused")),
        ("too large and of a wrong type", JSON, padded(event, LIMIT + 1), (413, "refused")),
        ("JSON that says it is no event", JSON, event, (415, "refused")),
        ("another format", {"Content-Type": "application/cloudevents+xml"}, event, (415, "refused")),
        ("text, and broken", {"Content-Type": "text/plain"}, b"{", (415, "refused")),
        ("no content type", {}, event, (415, "refused")),
        ("broken", STRUCTURED, event[:-3], (400, "refused")),
        ("nothing at all", STRUCTURED, b"", (400, "refused")),
        ("a key twice", STRUCTURED, event.replace(b"{", b'{"id":"1",', 1), (400, "refused")),
    ]
    rows = []
    for name, headers, body, expected in attempts:
        rows.append(Row(name, door, expected, status_and_outcome(DOORS[door](plain, FUNCTION, headers, body))))
    check(rows)


@pytest.mark.parametrize("door", DOORS)
def test_the_signature_is_looked_at_after_the_size_and_before_the_rest(signed, event, door):
    large = padded(event, LIMIT + 1)
    attempts = [
        ("too large, not signed", STRUCTURED, large, (413, "refused")),
        ("wrong type, not signed", JSON, event, (401, "refused")),
        ("broken, not signed", STRUCTURED, b"{", (401, "refused")),
        ("wrong type, signed", JSON | sign(event, SECRETS[0]), event, (415, "refused")),
        ("broken, signed", STRUCTURED | sign(b"{", SECRETS[0]), b"{", (400, "refused")),
    ]
    rows = []
    for name, headers, body, expected in attempts:
        rows.append(Row(name, door, expected, status_and_outcome(DOORS[door](signed, FUNCTION, headers, body))))
    check(rows)


@pytest.mark.parametrize("place", PLACES)
def test_a_body_that_does_not_say_its_length_has_the_same_limit(plain, event, place):
    url = PLACES[place](plain, FUNCTION)
    check([
        Row("exactly the limit", place, 202, send(url, STRUCTURED, padded(event, LIMIT), chunked=True).status),
        Row("one byte more", place, 413, send(url, STRUCTURED, padded(event, LIMIT + 1), chunked=True).status),
    ])  # fmt: skip


def test_the_limit_is_the_same_without_headers(plain, event):
    large = padded(event, LIMIT + 1)
    queued = plain.azure().queue(FUNCTION, large.decode()).return_value
    check([
        Row("exactly the limit", "invoke", "nothing", invoke(plain, FUNCTION, padded(event, LIMIT))["outcome"]),
        Row("one byte more", "invoke", "refused", invoke(plain, FUNCTION, large)["outcome"]),
        Row("one byte more", "azure queue", "refused", queued["outcome"]),
    ])  # fmt: skip


def test_paths_and_methods_that_are_not_for_events(plain, event):
    addresses = {"single": plain.http(FUNCTION), "serve": plain.serve()}
    requests = [
        ("GET", "single", "/", 405),
        ("POST", "single", f"/{FUNCTION}", 202),
        ("POST", "single", "/on-workspace", 404),
        ("POST", "single", "/other", 404),
        ("GET", "serve", "/", 405),
        ("POST", "serve", "/", 404),
        ("POST", "serve", "/other", 404),
        ("GET", "single", "/health/liveness", 200),
        ("GET", "serve", "/health/readiness", 200),
    ]
    rows = []
    for method, place, path, expected in requests:
        response = send(addresses[place] + path, STRUCTURED, event if method == "POST" else b"", method)
        rows.append(Row(f"{method} {path}", place, expected, response.status))
    check(rows)


def test_the_webhook_handshake_is_answered(plain):
    for url in (plain.http(FUNCTION) + "/", f"{plain.serve()}/{FUNCTION}"):
        response = send(url, {"WebHook-Request-Origin": "eventgrid.azure.net"}, b"", "OPTIONS")
        assert response.status == 200, response
        assert response.headers["webhook-allowed-origin"] in ("eventgrid.azure.net", "*")
        assert "POST" in response.headers["allow"]
