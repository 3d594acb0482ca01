"""The table of answers, carrier by carrier: a rehearsal makes every function give every one of the five answers."""

import pytest

import rehearsals
from carriers import CARRIERS
from check import Row, check


@pytest.mark.parametrize("carrier", CARRIERS, ids=lambda carrier: carrier.name)
def test_each_answer_arrives_as_the_table_of_the_design_says(carrier, rehearsing):
    sent, expected = rehearsals.deliveries()
    check(carrier.rows(rehearsing, sent, expected))


def test_without_the_setting_a_rehearsal_is_an_unknown_type(plain):
    [carrier] = [carrier for carrier in CARRIERS if carrier.name == "lambda emulator: invoke"]
    sent, _ = rehearsals.deliveries(["on-delete"])
    outcomes = [got["returned"]["outcome"] for got in carrier.send(plain, sent)]
    check([Row(delivery.file, "invoke", "nothing", outcome) for delivery, outcome in zip(sent, outcomes, strict=True)])
