from typing import Any

import pytest

from levelled.campaigns.options import OPTIONS
from levelled.campaigns.settings import CampaignSettings, check_option
from levelled.errors import CampaignError, InputError
from levelled.metrics.named import parse_metric

PLAIN = CampaignSettings("x", (parse_metric("error"),), None, "", 10, seed=1).to_json()


def test_settings_come_back_from_plain_values() -> None:
    assert CampaignSettings.from_json(PLAIN).to_json() == PLAIN


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("sorcery", 1, "newer"),
        ("kind", "auto", "newer"),
        ("drive", "sorcery", "newer"),
        ("guarantee", 3, "newer"),
        ("budget", 0, "at least 1"),
        ("floor", 2.0, "between"),
        ("level", True, "level"),
        ("seed", "7", "seed"),
        ("seed", 1.5, "seed"),
        ("score", None, "score"),
        ("target_width", -0.1, "between"),
        ("content", [], "content"),
        ("slices", "country", "slices"),
        ("pair", [1, 2], "pair"),
    ],
)
def test_a_setting_that_no_campaign_has_is_refused_by_name(
    name: str, value: object, says: str
) -> None:
    with pytest.raises(CampaignError, match=name) as refused:
        CampaignSettings.from_json({**PLAIN, name: value})
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("seed", -1),
        ("seed", None),
        ("lease_seconds", 0),
        ("lease_seconds", 10**9),
        ("looks", 101),
        ("level", 1.0),
        ("floor", float("nan")),
        ("drive", "both"),
        ("model", 3),
    ],
)
def test_a_value_out_of_its_range_is_refused_by_name(name: str, value: Any) -> None:  # noqa: ANN401
    with pytest.raises(InputError, match=name):
        check_option(OPTIONS[name], value)


def test_a_large_seed_is_kept_to_the_last_digit() -> None:
    assert check_option(OPTIONS["seed"], 2**63 + 1) == 2**63 + 1
