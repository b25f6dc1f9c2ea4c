"""Requests per minute."""

import pytest

from regard.server.errors import RateExceeded
from regard.server.limits import RateLimiter
from regard.server.proxies import rate_subject


def test_a_minute_of_requests_may_come_at_once_and_then_as_fast_as_they_are_allowed():
    now = [0.0]
    limiter = RateLimiter(lambda: now[0])
    for _ in range(60):
        limiter.check("one", 60)
    with pytest.raises(RateExceeded) as refused:
        limiter.check("one", 60)
    assert refused.value.retry_after == 1
    limiter.check("other", 60)
    now[0] = 2.0
    for _ in range(2):
        limiter.check("one", 60)
    with pytest.raises(RateExceeded):
        limiter.check("one", 60)


def test_the_time_to_wait_is_given():
    limiter = RateLimiter(lambda: 0.0)
    limiter.check("one", 1)
    with pytest.raises(RateExceeded) as refused:
        limiter.check("one", 1)
    assert refused.value.retry_after == 60


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("regard.server.limits._MAX_SUBJECTS", 3)
    limiter = RateLimiter(lambda: 0.0)
    for number in range(10):
        limiter.check(f"address {number}", 5)
    assert len(limiter._used) == 3


def test_addresses_of_one_network_count_together():
    assert rate_subject("2001:db8::1") == rate_subject("2001:db8::2") == "2001:db8::/64"
    assert rate_subject("2001:db8:0:1::1") != rate_subject("2001:db8::1")
    assert rate_subject("192.0.2.1") != rate_subject("192.0.2.2")
    assert rate_subject("::ffff:192.0.2.1") == rate_subject("192.0.2.1")
    assert rate_subject("") == ""
