"""Batches: CloudEvents over HTTP, where one bad event refuses all, and queues, where each message counts alone."""

import json

import pytest

import aws_events
import rehearsals
import table
import view
from carriers.carrier import BATCHED, PLACES, REPLY
from carriers.lambda_emulator import invoke
from check import Row, check
from http_client import send

DONE, NOTHING, LATER, REFUSED, FAILED = rehearsals.ANSWERS
FUNCTION = "on-workspace"


def post(platforms, place, events, headers=BATCHED):
    body = json.dumps([rehearsals.event(answer) for answer in events]).encode()
    return view.of_http(send(PLACES[place](platforms, FUNCTION), headers, body))


@pytest.mark.parametrize("place", PLACES)
def test_a_batch_of_good_events_is_accepted_and_its_replies_keep_their_order(rehearsing, place):
    events = [NOTHING, DONE, LATER, DONE]
    replies = [{"type": table.ANSWER_TYPE, "answer": answer} for answer in events]
    sent, replied = post(rehearsing, place, events), post(rehearsing, place, events, BATCHED | REPLY)
    check([
        Row("good batch", place, {"status": 202, "retryAfter": "17", "body": ""}, sent),
        Row("good batch", f"{place}, reply", {"status": 200, "replies": replies}, replied),
        Row("empty batch", place, {"status": 202, "retryAfter": None, "body": ""}, post(rehearsing, place, [])),
    ])  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_one_bad_event_refuses_the_whole_batch_and_is_named_by_its_index(rehearsing, place):
    good = rehearsals.event(DONE)
    bad = {name: value for name, value in good.items() if name != "id"}
    response = send(PLACES[place](rehearsing, FUNCTION), BATCHED, json.dumps([good, good, bad, good]).encode())
    answer = json.loads(response.body)
    assert (response.status, answer["outcome"]) == (400, "refused")
    assert answer["reason"].startswith("event at index 2 of the batch: "), answer


@pytest.mark.parametrize("place", PLACES)
def test_a_batch_with_a_failed_event_is_to_be_sent_again(rehearsing, place):
    assert post(rehearsing, place, [DONE, FAILED])["status"] == 503


QUEUES = [
    # (what, answers of the messages, their groups on a FIFO queue, messages that go back)
    ("nothing failed", [DONE, NOTHING, LATER, REFUSED], None, []),
    ("two failed", [FAILED, DONE, FAILED, REFUSED], None, ["m0", "m2"]),
    ("fifo, nothing failed", [DONE, LATER], ["a", "a"], []),
    ("fifo, failed in the middle", [DONE, FAILED, DONE], ["a", "a", "a"], ["m1", "m2"]),
    ("fifo, two groups", [FAILED, DONE, DONE, DONE], ["a", "b", "a", "b"], ["m0", "m2"]),
    ("fifo, refused does not block", [REFUSED, DONE], ["a", "a"], []),
]


def test_only_failed_messages_go_back_to_the_queue_and_on_fifo_those_behind_them(rehearsing):
    rows = []
    for what, events, groups, expected in QUEUES:
        returned = invoke(rehearsing, FUNCTION, aws_events.sqs([rehearsals.text(answer) for answer in events], groups))
        got = [item["itemIdentifier"] for item in returned.get("batchItemFailures", [returned])]
        rows.append(Row(what, "lambda emulator: SQS", expected, got))
    check(rows)


def test_a_message_that_is_no_json_is_not_sent_again(rehearsing):
    assert invoke(rehearsing, FUNCTION, aws_events.sqs(["{"])) == {"batchItemFailures": []}
