"""Signed deliveries wherever HTTP headers arrive: a process of its own, a function URL, Azure's HTTP trigger."""

import base64
import contextlib
import subprocess
from datetime import timedelta

import pytest

import aws_events
import settings
import table
from carriers.carrier import REPLY, STRUCTURED
from carriers.lambda_emulator import invoke, of_invoke
from carriers.python_sdk import message
from check import Row, check
from doors import DOORS, status_and_outcome
from http_client import send
from platforms import Platforms
from signing import SECRETS, sign

FUNCTION = "on-nodeclaim"
NEW, OLD = SECRETS
FOREIGN = "whsec_" + base64.b64encode(b"x" * 32).decode()
TEN_MINUTES = timedelta(minutes=10)


@pytest.fixture(params=DOORS, ids=lambda door: door)
def door(request, signed):
    """Sends headers and a body through one of the doors that look at signatures."""
    return lambda headers, body: DOORS[request.param](signed, FUNCTION, headers, body)


@pytest.fixture(scope="module")
def sample(deliveries):
    return next(each for each in deliveries if each.function == FUNCTION and ".bad-" not in each.file)


@pytest.fixture
def accepted(sample, answers):
    return table.http_reply(answers[sample.file])


def test_a_delivery_signed_with_either_key_of_a_rotation_is_answered(door, sample, accepted):
    rows = []
    for name, secret in (("new key", NEW), ("old key", OLD)):
        headers = STRUCTURED | REPLY | sign(sample.body, secret)
        rows.append(Row(sample.file, name, accepted, door(headers, sample.body)))
    both = sign(sample.body, OLD)
    both["webhook-signature"] = f"v1,{base64.b64encode(b'0' * 32).decode()} v1a,other {both['webhook-signature']}"
    rows.append(
        Row(sample.file, "the second of several signatures", accepted, door(STRUCTURED | REPLY | both, sample.body))
    )
    check(rows)


def test_an_exact_replay_inside_the_tolerance_is_answered_again(door, sample, accepted):
    headers = STRUCTURED | REPLY | sign(sample.body, NEW, timedelta(minutes=-4))
    check([Row(sample.file, f"delivery {count}", accepted, door(headers, sample.body)) for count in (1, 2, 3)])


def test_a_delivery_without_a_valid_signature_is_refused_with_401(door, sample):
    signature = sign(sample.body, NEW)
    attempts = {
        "no signature": {},
        "foreign key": sign(sample.body, FOREIGN),
        "other body": sign(sample.body + b" ", NEW),
        "other id": signature | {"webhook-id": "msg_other"},
        "other time": signature | {"webhook-timestamp": str(int(signature["webhook-timestamp"]) - 1)},
        "no time": {name: value for name, value in signature.items() if name != "webhook-timestamp"},
        "time is no number": signature | {"webhook-timestamp": "now"},
        "signature is no base64": signature | {"webhook-signature": "v1,???"},
        "clock ten minutes slow": sign(sample.body, NEW, -TEN_MINUTES),
        "clock ten minutes fast": sign(sample.body, NEW, TEN_MINUTES),
    }
    rows = []
    for name, headers in attempts.items():
        got = door(STRUCTURED | headers, sample.body)
        rows.append(Row(name, "signed", (401, "refused"), status_and_outcome(got)))
    check(rows)


def test_binary_mode_is_refused_because_a_signature_does_not_cover_headers(door, sample):
    headers, body = message("core", sample, "binary")
    got = door(headers | sign(body, NEW), body)
    assert status_and_outcome(got) == (401, "refused"), got


def test_with_secrets_the_leave_to_go_without_does_not_count(sample):
    with contextlib.ExitStack() as stack:
        both = Platforms("both", stack, PILOTLIGHT_SIGNING_SECRETS=NEW, PILOTLIGHT_ALLOW_UNSIGNED="true")
        assert send(both.http(FUNCTION), STRUCTURED, sample.body).status == 401


@pytest.mark.parametrize(
    "platform",
    [{"PORT": "0"}, {"FUNCTIONS_CUSTOMHANDLER_PORT": "0"}, {"AWS_LAMBDA_RUNTIME_API": "127.0.0.1:1"}],
    ids=lambda variables: next(iter(variables)),
)
def test_without_secrets_and_without_leave_to_go_without_nothing_starts(platform):
    env = settings.environment(**platform)
    del env["PILOTLIGHT_ALLOW_UNSIGNED"]
    run = subprocess.run([settings.binary(FUNCTION)], env=env, capture_output=True, text=True, timeout=10)
    assert run.returncode != 0
    for variable in ("PILOTLIGHT_SIGNING_SECRETS", "PILOTLIGHT_ALLOW_UNSIGNED"):
        assert variable in run.stderr, run.stderr


def test_an_invoke_and_a_queue_have_no_headers_and_need_no_signature(signed, sample, answers):
    returned = invoke(signed, FUNCTION, sample.body)
    queued = signed.azure().queue(FUNCTION, sample.text)
    check([
        Row(sample.file, "invoke", {"returned": answers[sample.file]}, of_invoke(returned)),
        Row(sample.file, "SQS", {"batchItemFailures": []}, invoke(signed, FUNCTION, aws_events.sqs([sample.text]))),
        Row(sample.file, "azure queue", answers[sample.file], queued.return_value),
    ])  # fmt: skip
