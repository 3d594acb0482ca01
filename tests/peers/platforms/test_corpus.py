"""One corpus, every way in, equal answers: each sample by each carrier, against a plain call in one process."""

import pytest

from carriers import CARRIERS
from check import Row, check


def test_every_sample_has_an_answer_of_a_plain_call(deliveries, answers):
    assert sorted(answers) == [delivery.file for delivery in deliveries]


def test_samples_called_bad_are_refused_and_the_others_are_not(answers):
    check(
        [Row(file, "plain call", ".bad-" in file, answer["outcome"] == "refused") for file, answer in answers.items()]
    )


@pytest.mark.parametrize("carrier", CARRIERS, ids=lambda carrier: carrier.name)
def test_every_sample_gets_the_answer_of_a_plain_call(carrier, plain, deliveries, answers):
    check(carrier.rows(plain, deliveries, answers))
