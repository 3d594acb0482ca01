"""Ticks that a platform makes: an EventBridge rule, EventBridge Scheduler and Azure's timer are one event to us."""

import json

import aws_events
import settings
from carriers.azure import of_message
from carriers.lambda_emulator import invoke, of_invoke
from check import Row, check
from corpus import answers_of_plain_calls

TICK = "2026-11-16T09:00:00Z"


def plain_answer(directory, function):
    """What a plain call answers to the CloudEvent that such a tick stands for."""
    event = {
        "specversion": "1.0",
        "id": f"{settings.CLUSTER_ID}/{TICK}",
        "source": settings.CLUSTER_ID,
        "type": "dev.pilotlight.timer.idle.v1",
        "subject": "idle",
        "time": TICK,
        "datacontenttype": "application/json",
        "data": {"tick": TICK},
    }
    file = directory / f"{function}.tick.json"
    file.write_text(json.dumps(event))
    return answers_of_plain_calls(directory)[file.name]


def ticks(platforms, function):
    azure = platforms.azure()
    return {
        "EventBridge rule": of_invoke(invoke(platforms, function, aws_events.rule_tick(TICK))).get("returned"),
        "EventBridge Scheduler": of_invoke(invoke(platforms, function, aws_events.scheduler_tick(TICK))).get(
            "returned"
        ),
        "Azure timer": of_message(lambda: azure.timer(function)).get("returnValue"),
        "Azure timer without a status": of_message(lambda: azure.timer(function, schedule_status=False)).get(
            "returnValue"
        ),
    }


def test_a_tick_of_any_platform_gets_the_answer_of_a_timer_event(plain, tmp_path):
    expected = plain_answer(tmp_path, "on-idle-timer")
    assert expected["outcome"] != "refused", expected
    check([Row("tick", way, expected, got) for way, got in ticks(plain, "on-idle-timer").items()])


def test_a_tick_is_nothing_to_a_function_that_is_no_timer(plain, tmp_path):
    expected = plain_answer(tmp_path, "on-delete")
    assert expected["outcome"] == "nothing", expected
    check([Row("tick", way, expected, got) for way, got in ticks(plain, "on-delete").items()])
