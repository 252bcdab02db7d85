"""The hours of the night, as somebody may write them."""

import pytest

from firmware_app.errors import SettingsError
from firmware_app.settings_checks import check_together, hours
from firmware_app.settings_layers import build


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("22:00-07:00", (1320, 420)),
        ("0:00-23:59", (0, 1439)),
        (" 9:05 - 10:10 ", (545, 610)),
        ("", None),
        ("  ", None),
    ],
)
def test_two_times_of_day_or_none(text: str, minutes: tuple[int, int] | None) -> None:
    assert hours(text) == minutes


@pytest.mark.parametrize(
    "text", ["22-7", "24:00-07:00", "22:60-07:00", "22:00", "22:00-07:00-08:00", "٢٢:00-07:00", "x"]
)
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(SettingsError) as refused:
        check_together(build({"lights.night_hours": text}))
    assert refused.value.code == "setting-invalid"
    assert "22:00-07:00" in refused.value.mend
