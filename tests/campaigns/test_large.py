"""Campaigns on pools that are read a run of rows at a time draw what they draw in memory."""

import gc
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from campaigns.simulated import label, numbers, spam
from levelled.campaigns import Campaign, create_campaign, load_campaign
from levelled.errors import CampaignError
from levelled.sources import files, rows

N, N_LABELS = 300, 35
SPAM, LABELS = spam(N, seed=3)
TRUTH: dict[Any, Any] = {**LABELS}
RNG = np.random.default_rng(3)
FEATURES = {f"f_{at}": RNG.normal(size=N) for at in range(24)}
FEATURES["f_0"][::7] = np.nan
SURE = pa.table({**SPAM.to_pydict(), "loss_hat": RNG.random(N), "score": RNG.random(N)})
WITH_FEATURES = pa.table({**SPAM.to_pydict(), **FEATURES})
TWO_MODELS = SPAM.append_column("pred@b", pa.array(["ham", "spam"] * (N // 2)))
NUMBERS, OF_NUMBERS = numbers(N, seed=3, f_1=RNG.normal(size=N).tolist())


def write(folder: Path, table: pa.Table) -> str:
    """Three files with row groups of several sizes."""
    folder.mkdir(exist_ok=True)
    for number, (start, end) in enumerate(((0, 100), (100, 110), (110, N))):
        part = table.slice(start, end - start)
        pq.write_table(part, folder / f"part-{number}.parquet", row_group_size=45)
    return str(folder / "*.parquet")


def read_in_runs(monkeypatch: pytest.MonkeyPatch, batch: int = 32) -> None:
    """Read pools of this size as those of many bytes are read."""
    monkeypatch.setenv("LEVELLED_STREAM_ABOVE", "0")
    monkeypatch.setattr(rows, "BATCH", batch)


def run(
    folder: Path,
    table: pa.Table,
    name: str,
    metric: str | list[str],
    truth: Mapping[Any, Any] = TRUTH,
    **more: Any,  # noqa: ANN401
) -> Campaign:
    source = write(folder / "pool", table)
    given: dict[str, Any] = {"storage": folder / "c.db", "seed": 5, "budget": 60, **more}
    campaign = create_campaign(name, source, metric, **given)
    label(campaign, N_LABELS, truth)
    return campaign


def assert_same(one: Campaign, other: Campaign) -> None:
    """The same rows in the same order, and numbers that differ by rounding alone."""
    ours, theirs = one.state.draws, other.state.draws
    for part in ("row", "id", "pred", "proba", "slices", "data"):
        assert [getattr(item, part) for item in ours] == [getattr(item, part) for item in theirs]
    for item, same in zip(ours, theirs, strict=True):
        assert item.probability == pytest.approx(same.probability, rel=1e-8)
        assert item.design == pytest.approx(dict(same.design), rel=1e-6, abs=1e-12)
    for figure, same_figure in zip(one.estimate(), other.estimate(), strict=True):
        assert figure.estimate.value == pytest.approx(same_figure.estimate.value, rel=1e-8)
    settings = [each.state.settings.to_json() for each in (one, other)]
    assert [{**each, "name": ""} for each in settings[:1]] == [{**settings[1], "name": ""}]


CAMPAIGNS: dict[str, tuple[pa.Table, str | list[str], dict[str, Any]]] = {
    "uniform": (SPAM, "error", {"kind": "uniform"}),
    "static": (
        SPAM,
        ["brier", "log_loss:10", "f1:spam"],
        {"kind": "static", "slices": ["country"]},
    ),
    "entropy": (SPAM, "error", {"score": "entropy", "proposal": "boltzmann:2"}),
    "adaptive": (SPAM, ["error", "recall:spam"], {"slices": ["country"]}),
    "accuracy": (SURE, "accuracy", {}),
    "brier": (WITH_FEATURES, ["brier", "error"], {}),
    "log loss": (SPAM, "log_loss:10", {}),
    "share": (SPAM, "share:spam", {}),
    "two models": (TWO_MODELS, "error", {}),
    "balanced": (SPAM, ["error", "f1:spam"], {"drive": "balanced"}),
    "named": (SPAM, ["error", "f1:spam", "brier"], {"drive": "f1:spam,brier"}),
    "verdicts": (SPAM.drop(["proba_ham", "proba_spam"]), "share:de", {"pred_column": "country"}),
    "mse": (NUMBERS, "mse", {}),
    "mean": (NUMBERS, "mean:0:20", {"kind": "static"}),
}


@pytest.mark.parametrize("case", CAMPAIGNS)
def test_draws_and_estimates_are_those_of_a_pool_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    table, metric, more = CAMPAIGNS[case]
    truth: Mapping[Any, Any] = OF_NUMBERS if table is NUMBERS else TRUTH
    if case == "verdicts":
        truth = dict(zip(SPAM["id"].to_pylist(), SPAM["country"].to_pylist(), strict=True))
    held = run(tmp_path, table, "held", metric, truth, **more)
    assert not held.pool().in_runs
    read_in_runs(monkeypatch)
    large = run(tmp_path, table, "large", metric, truth, **more)
    assert large.pool().in_runs
    assert_same(large, held)
    for name in ("held", "large"):  # each log with the other way of reading, too
        assert load_campaign(name, storage=tmp_path / "c.db").audit() == []
    monkeypatch.undo()
    if table is not WITH_FEATURES:  # their products are rounded otherwise in runs
        assert load_campaign("large", storage=tmp_path / "c.db").audit() == []


@pytest.mark.parametrize("batch", [1, 7, 100, 10_000])
def test_the_size_of_a_batch_changes_no_draw(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    read_in_runs(monkeypatch, 32)
    before = run(tmp_path, WITH_FEATURES, "before", "error")
    read_in_runs(monkeypatch, batch)
    assert_same(run(tmp_path, WITH_FEATURES, "after", "error"), before)


def test_a_sample_with_labels_begins_a_campaign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = SPAM["id"].to_pylist()[10:290:14]
    lines = "\n".join(f"{name},{TRUTH[name]}" for name in names)
    (tmp_path / "sample.csv").write_text(f"id,label\n{lines}\n")
    more: dict[str, Any] = {"labelled": tmp_path / "sample.csv", "slices": ["country"]}
    for kind in ("static", "adaptive"):
        held = run(tmp_path, SPAM, f"held {kind}", "error", kind=kind, **more)
        with monkeypatch.context() as patched:
            read_in_runs(patched)
            large = run(tmp_path, SPAM, f"large {kind}", "error", kind=kind, **more)
            assert_same(large, held)
            assert large.audit() == []


def test_a_driver_does_not_keep_its_pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read_in_runs(monkeypatch)
    campaign = run(tmp_path, SPAM, "spam", "error")
    pool = weakref.ref(campaign.pool())
    del campaign
    gc.collect()
    assert pool() is None


def test_what_was_learnt_is_told_from_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = run(tmp_path, WITH_FEATURES, "held", "error").predictor
    read_in_runs(monkeypatch)
    large = run(tmp_path, WITH_FEATURES, "large", "error").predictor
    assert held is not None
    assert large is not None
    assert dict(large.effects()) == pytest.approx(dict(held.effects()), rel=1e-6)
    for most in (5, None):
        ours, theirs = large.expected_losses(most), held.expected_losses(most)
        assert ours["id"].to_pylist() == theirs["id"].to_pylist()
        np.testing.assert_allclose(ours["expected_loss"], theirs["expected_loss"], rtol=1e-8)


def test_the_kind_of_a_large_campaign_can_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_in_runs(monkeypatch)
    campaign = run(tmp_path, SPAM, "spam", "error")
    campaign.change(kind="static")
    label(campaign, 50, TRUTH)
    assert campaign.audit() == []


def test_a_predicted_loss_that_cannot_be_is_refused_in_a_later_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_in_runs(monkeypatch)
    hat = np.full(N, 0.5)
    hat[200:] = 1.5
    refusal = r"'r200'.*row 200\b.* 1\.5,.* 99 "
    with pytest.raises(CampaignError, match=refusal):
        run(tmp_path, SPAM.append_column("loss_hat", pa.array(hat)), "spam", "error")


def test_a_sampled_fingerprint_is_on_record_and_the_audit_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_in_runs(monkeypatch)
    whole = run(tmp_path, SPAM, "whole", "error")
    monkeypatch.setattr(files, "_LARGE", 100)
    sampled = run(tmp_path, SPAM, "sampled", "error")
    assert sampled.state.settings.fingerprint.startswith("parquet-sample:")
    assert ":" not in whole.state.settings.fingerprint
    audits = {
        name: load_campaign(name, storage=tmp_path / "c.db").audit()
        for name in ("whole", "sampled")
    }
    assert audits == {"whole": [], "sampled": []}
    assert [audits["whole"].notes, len(audits["sampled"].notes)] == [[], 1]
    write(tmp_path / "pool", SPAM.set_column(4, "text", pa.array(["other"] * N)))
    with pytest.raises(CampaignError, match="its content differs"):
        load_campaign("sampled", storage=tmp_path / "c.db").pool()


def test_a_pool_that_is_gone_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read_in_runs(monkeypatch)
    run(tmp_path, SPAM, "spam", "error")
    (tmp_path / "pool" / "part-1.parquet").unlink()
    with pytest.raises(CampaignError, match="its content differs"):
        load_campaign("spam", storage=tmp_path / "c.db").ask(30)
