"""The check itself: it fails when answers differ and when nothing was sent, and says where."""

import pytest

from check import Row, check
from corpus import LeftOut


def test_equal_answers_pass():
    check([Row("a.json", "queue", {"outcome": "nothing"}, {"outcome": "nothing"})])


def test_a_difference_is_shown_with_file_and_way():
    with pytest.raises(pytest.fail.Exception) as failure:
        check([Row("a.json", "queue", "done", "done"), Row("b.json", "invoke", "done", "failed")])
    shown = str(failure.value)
    assert "1 of 2 answers differ" in shown
    assert 'b.json  invoke  "done"' in shown and '"failed"' in shown
    assert "a.json" not in shown


def test_a_carrier_that_sends_nothing_proves_nothing():
    with pytest.raises(AssertionError):
        check([Row("a.json", "queue", "done", LeftOut("for the test of the check"))])
