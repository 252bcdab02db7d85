"""Faults of the page, each staged, and the line that doctor says."""

import socket

import pytest

from firmware_app.doctor import Status
from firmware_app.doctor.checks.certificate import DAYS_BEFORE
from firmware_app.errors import SettingsError
from firmware_app.web import tls
from tests.doctor.conftest import Box


def certified(box: Box) -> tls.Certificate:
    """A box with a certificate of its own."""
    made = box.made()
    return tls.create(made.settings, made.state)


def test_a_page_without_a_port_says_why(box: Box) -> None:
    box.service(page="Another program listens on 8080.")
    found = box.finds("page")
    assert (found.status, "Another program listens" in found.line) == (Status.FAIL, True)


def test_a_page_that_does_not_answer_is_found(box: Box) -> None:
    box.service(page="http://192.168.1.20:8080")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        box.values["web.port"] = listening.getsockname()[1]
        assert box.finds("page").status is Status.PASS
    found = box.finds("page")
    assert found.status is Status.FAIL
    assert str(box.values["web.port"]) in found.line


def test_no_page_is_no_fault_where_it_is_off(box: Box) -> None:
    box.values["web.enabled"] = False
    assert box.finds("page").line == box.finds("certificate").line == "The page is turned off."


def test_without_a_certificate_others_could_listen_in(box: Box) -> None:
    found = box.finds("certificate")
    assert (found.status, "could listen in" in found.line) == (Status.PASS, True)


def test_a_certificate_is_warned_of_before_it_ends(box: Box) -> None:
    ends = certified(box).ends.timestamp()
    day = 24 * 3600
    for at, status in (
        (ends - (DAYS_BEFORE + 1) * day, Status.PASS),
        (ends - (DAYS_BEFORE - 1) * day, Status.WARN),
    ):
        box.context["now"] = lambda at=at: at
        assert box.finds("certificate").status is status
    box.context["now"] = lambda: ends + day
    with pytest.raises(SettingsError, match="hey-echo tls create"):  # which doctor shows
        box.finds("certificate")
