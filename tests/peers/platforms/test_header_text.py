"""Attributes that no header can carry as they are: however a sender writes them, the event is the same."""

import json
from urllib.parse import quote

import pytest

import view
from carriers import javascript_sdk
from carriers.carrier import PLACES, REPLY
from carriers.python_sdk import message
from check import Row, check
from corpus import Delivery, answers_of_plain_calls, samples
from http_client import send

SUBJECT = "ns/pöd näme"
FUNCTION = "on-pending-pod"


@pytest.fixture(scope="module")
def delivery():
    """The first good sample, made another event by its subject."""
    sample = next(each for each in samples() if each.function == FUNCTION and ".bad-" not in each.file)
    return Delivery("subject.json", FUNCTION, json.dumps(sample.value | {"subject": SUBJECT}).encode())


@pytest.fixture(scope="module")
def expected(delivery, tmp_path_factory):
    directory = tmp_path_factory.mktemp("subject")
    (directory / f"{FUNCTION}.subject.json").write_bytes(delivery.body)
    [answer] = answers_of_plain_calls(directory).values()
    assert SUBJECT in answer["reason"], "the answer must show the subject, or this file proves nothing"
    return {"status": 200, "type": "dev.pilotlight.answer.v1", "answer": answer}


def spelled(delivery, subject: str | bytes):
    """The binary message of the SDK's v1 API, with the subject spelled in this way."""
    headers, body = message("v1", delivery, "binary")
    return headers | {"ce-subject": subject}, body


@pytest.mark.parametrize("place", PLACES)
def test_a_subject_outside_ascii_is_the_same_subject_in_every_spelling(plain, delivery, expected, place):
    url = PLACES[place](plain, FUNCTION)
    spellings = {
        "python core: percent-encoded": message("core", delivery, "binary"),
        "python v1: Latin-1, as http.client writes text": message("v1", delivery, "binary"),
        "raw UTF-8": spelled(delivery, SUBJECT.encode()),
        "quoted raw UTF-8": spelled(delivery, f'"{SUBJECT}"'.encode()),
        "percent-encoded in lower case": spelled(delivery, quote(SUBJECT).lower()),
    }
    rows = [
        Row("subject", f"{way}, {place}", expected, view.of_http(send(url, headers | REPLY, body)))
        for way, (headers, body) in spellings.items()
    ]
    [sent] = javascript_sdk.send_all([(url, delivery.body)], "binary", reply=True)
    rows.append(
        Row("subject", f"javascript: Latin-1, as Node writes text, {place}", expected, javascript_sdk.shown(sent))
    )
    check(rows)


def test_a_header_that_decodes_to_no_text_is_refused(plain, delivery):
    headers, body = spelled(delivery, "ns/%FF")
    assert send(PLACES["single"](plain, FUNCTION), headers, body).status == 400
