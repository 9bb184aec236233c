import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import levelled as lv
from levelled.errors import CampaignError, InputError

POOL = pa.table(
    {
        "id": [f"r{n}" for n in range(40)],
        "proba_ham": np.linspace(0.95, 0.55, 40),
        "proba_spam": 1 - np.linspace(0.95, 0.55, 40),
    }
)


@pytest.fixture
def campaign(tmp_path: Path) -> lv.Campaign:
    begun = lv.create_campaign("mail", POOL, storage=tmp_path / "c.db", seed=3, budget=12)
    for ask in begun.ask(10, owner="ann"):
        begun.tell(ask.draw, "spam" if ask.draw % 3 == 0 else "ham", owner="ann")
    begun.ask(2, owner="bob")
    return begun


def test_an_export_carries_the_weights_to_train_with(campaign: lv.Campaign) -> None:
    table = campaign.to_table()
    draws = lv.Draws(
        table["row"].to_numpy()[:10], table["probability"].to_numpy()[:10], pool_size=40
    )
    weights = table["sample_weight"].to_pylist()
    assert weights[:10] == pytest.approx(lv.lure_weights(draws))
    assert weights[10:] == [None, None]  # they depend on how many draws are settled
    assert table["label"].to_pylist()[:3] == ["ham", "ham", "spam"]


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_an_export_is_written_as_its_ending_says(
    campaign: lv.Campaign, tmp_path: Path, ending: str
) -> None:
    path = tmp_path / f"labels.{ending}"
    campaign.export(path)
    if ending == "parquet":
        assert pq.read_table(path).equals(campaign.to_table())
    else:
        assert len(path.read_text().splitlines()) == 12 + (ending == "csv")
    if ending == "jsonl":
        assert json.loads(path.read_text().splitlines()[0])["draw"] == 1


def test_an_export_of_an_unknown_kind_is_refused(campaign: lv.Campaign, tmp_path: Path) -> None:
    with pytest.raises(CampaignError, match=r"\.parquet.*\.csv.*\.jsonl"):
        campaign.export(tmp_path / "labels.xlsx")


def test_a_frame_has_a_row_for_each_draw(campaign: lv.Campaign) -> None:
    pytest.importorskip("pandas")
    assert len(campaign.to_frame()) == 12


def test_a_campaign_shows_itself_in_a_notebook(campaign: lv.Campaign) -> None:
    shown = campaign._repr_html_()
    assert "error" in shown
    assert shown.count("<tr>") == 2  # the head and one figure


def test_a_later_model_is_judged_by_the_same_labels(campaign: lv.Campaign, tmp_path: Path) -> None:
    worse = POOL.select(["id"]).append_column("pred", pa.array(["spam"] * 40))
    campaign.attach(worse, "v2")
    by_model = {figure.model: figure.estimate for figure in campaign.estimate()}
    first, second = by_model[""], by_model["v2"]
    naive = float(np.mean(_said_ham(campaign)))
    assert second.low <= naive <= second.high
    assert first.value != second.value
    campaign.change(budget=40)
    campaign.ask(20)
    assert len(campaign.state.attached["v2"].pred) == len(campaign.state.draws)


def _weights(campaign: lv.Campaign) -> np.ndarray:
    return np.array(campaign.to_table()["sample_weight"].to_pylist()[:10])


def _said_ham(campaign: lv.Campaign) -> np.ndarray:
    return np.array([label == "ham" for label in campaign.to_table()["label"].to_pylist()[:10]])


@pytest.mark.parametrize(
    ("columns", "model", "words"),
    [
        ({"id": ["r1"], "pred": ["ham"]}, "v2", "r"),
        ({"id": POOL["id"].to_pylist(), "pred": ["ham"] * 40}, "", r"name.*model"),
        ({"id": POOL["id"].to_pylist(), "text": ["?"] * 40}, "v2", "needs predictions"),
        (
            {"id": POOL["id"].to_pylist(), "proba_a": [0.5] * 40, "proba_b": [0.5] * 40},
            "v2",
            "class",
        ),
    ],
)
def test_predictions_that_do_not_fit_are_refused(
    campaign: lv.Campaign, columns: dict[str, list[object]], model: str, words: str
) -> None:
    before = campaign.state.n_events
    with pytest.raises((CampaignError, InputError), match=words):
        campaign.attach(pa.table(columns), model)
    assert campaign.state.n_events == before
