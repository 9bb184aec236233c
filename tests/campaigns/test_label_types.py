"""Labels of every type meet predictions of every type: the figure is right, or one line says why.

Each campaign labels its whole pool, of which a known share is predicted wrongly.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import levelled as lv
from levelled.campaigns import Campaign, create_campaign
from levelled.campaigns.file_comparison import compare_files
from levelled.campaigns.log.state import check_labels
from levelled.campaigns.settings import CampaignSettings
from levelled.errors import CampaignError, InputError, LevelledError
from levelled.simulation.known import known_losses
from levelled.sources import read_answers

N = 24
TRUTH = [at % 3 == 0 for at in range(N)]
PREDICTED = [one if at % 4 else not one for at, one in enumerate(TRUTH)]
WRONG = sum(one != other for one, other in zip(TRUTH, PREDICTED, strict=True)) / N

POOLS: dict[str, tuple[dict[str, list[Any]], bool]] = {
    "int": ({"pred": [int(one) for one in PREDICTED]}, True),
    "bool": ({"pred": PREDICTED}, True),
    "yes": ({"pred": ["Yes" if one else "No" for one in PREDICTED]}, True),
    "pass": ({"pred": ["pass" if one else "fail" for one in PREDICTED]}, True),
    "spam": ({"pred": ["spam" if one else "ham" for one in PREDICTED]}, False),
    "late": ({"pred": ["Late" if one else "on time" for one in PREDICTED]}, False),
    "probabilities": (
        {"proba_0": [0.2 if one else 0.9 for one in PREDICTED]}
        | {"proba_1": [0.8 if one else 0.1 for one in PREDICTED]},
        True,
    ),
}
"""The columns of each pool, and whether its classes are words for true and false."""
WORDS: dict[str, tuple[object, object]] = {
    "bool": (False, True),
    "int": (0, 1),
    "float": (0.0, 1.0),
    "digits": ("0", "1"),
    "decimals": ("0.0", "1.0"),
    "padded": (" 0", "1 "),
    "true": ("false", "true"),
    "TRUE": ("FALSE", "TRUE"),
    "y": ("n", "y"),
    "Yes": ("No", "Yes"),
    "pass": ("fail", "pass"),
    "T": ("F", "T"),
}
"""Labels for false and true."""
NAMES: dict[str, tuple[str, str, tuple[str, str]]] = {
    "spam": ("ham", "spam", ("Ham", " spam")),
    "late": ("on time", "Late", ("On time", "late")),
}


def begin(folder: Path, pool: str, **more: Any) -> Campaign:  # noqa: ANN401
    table = pa.table({"id": [f"r{at}" for at in range(N)], **POOLS[pool][0]})
    return create_campaign("types", table, storage=folder / "c.db", seed=3, **more)


def told(labels: dict[str, object], way: str, folder: Path) -> list[dict[str, Any]]:
    """The answers as Python, a CSV or a JSONL gives them."""
    rows = [{"id": name, "label": label} for name, label in labels.items()]
    if way == "tell":
        return rows
    path = folder / f"labels.{way}"
    if way == "csv":
        lines = ["id,label", *(f"{one['id']},{one['label']}" for one in rows)]
    else:
        lines = [json.dumps(one) for one in rows]
    path.write_text("\n".join(lines) + "\n")
    return [{"id": one.id, "label": one.label} for one in read_answers(path)]


def error_of(campaign: Campaign, answers: list[dict[str, Any]]) -> float | None:
    """The error after all these labels; the log must pass its audit."""
    campaign.ask(N)
    campaign.tell_all(answers)
    (figure,) = campaign.estimate()
    assert [*campaign.audit()] == []
    return figure.estimate.value


@pytest.mark.parametrize("way", ["tell", "csv", "jsonl"])
@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("pool", [name for name, (_, of_truth) in POOLS.items() if of_truth])
def test_every_word_for_true_meets_every_pool_of_truth_values(
    tmp_path: Path, pool: str, words: str, way: str
) -> None:
    labels = {f"r{at}": WORDS[words][one] for at, one in enumerate(TRUTH)}
    campaign = begin(tmp_path, pool)
    assert error_of(campaign, told(labels, way, tmp_path)) == pytest.approx(WRONG)
    classes = {*campaign.settings.label_classes}
    assert {one.label for one in campaign.state.answers.values()} == classes


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("pool", ["int", "bool", "yes", "pass"])
def test_an_open_set_of_classes_still_knows_words_for_true_and_numbers(
    tmp_path: Path, pool: str, words: str
) -> None:
    labels = {f"r{at}": WORDS[words][one] for at, one in enumerate(TRUTH)}
    campaign = begin(tmp_path, pool, open_classes=True)
    answers = told(labels, "csv", tmp_path)
    assert error_of(campaign, answers) == pytest.approx(WRONG)
    campaign.amend(1, "neither")


def test_a_single_predicted_word_for_true_means_all_of_them(tmp_path: Path) -> None:
    table = pa.table({"id": ["a", "b"], "pred": [1, 1]})
    campaign = create_campaign("ones", table, storage=tmp_path / "c.db", seed=3, open_classes=True)
    campaign.ask(2)
    campaign.tell_all([{"id": "a", "label": True}, {"id": "b", "label": "no"}])
    assert campaign.estimate()[0].estimate.value == 0.5


def test_classes_that_differ_only_in_capitals_are_refused_where_capitals_do_not_count(
    tmp_path: Path,
) -> None:
    table = pa.table({"id": ["a", "b", "c"], "pred": ["late", "Late", "on time"]})
    with pytest.raises(CampaignError, match=r"'Late'.*'late'.*normalise"):
        create_campaign("late", table, storage=tmp_path / "c.db", seed=3, normalise=True)


@pytest.mark.parametrize("way", ["tell", "csv", "jsonl"])
@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("pool", NAMES)
def test_a_word_for_true_is_no_label_of_other_classes(
    tmp_path: Path, pool: str, words: str, way: str
) -> None:
    labels = {f"r{at}": WORDS[words][one] for at, one in enumerate(TRUTH)}
    with pytest.raises(LevelledError, match=rf"{NAMES[pool][1]}.*--classes") as refused:
        error_of(begin(tmp_path, pool), told(labels, way, tmp_path))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("pool", NAMES)
def test_capitals_and_blanks_are_suggested_and_ignored_only_if_asked(
    tmp_path: Path, pool: str
) -> None:
    *names, other = NAMES[pool]
    right = [{"id": f"r{at}", "label": names[one]} for at, one in enumerate(TRUTH)]
    assert error_of(begin(tmp_path, pool), right) == pytest.approx(WRONG)
    for at, row in enumerate(right):
        row["label"] = other[TRUTH[at]]
    (tmp_path / "more").mkdir()
    with pytest.raises(LevelledError, match="--normalise"):
        error_of(begin(tmp_path / "more", pool), right)
    (tmp_path / "loose").mkdir()
    assert error_of(begin(tmp_path / "loose", pool, normalise=True), right) == pytest.approx(WRONG)


def test_numbers_are_compared_as_numbers(tmp_path: Path) -> None:
    table = pa.table({"id": ["a", "b", "c", "d"], "pred": [1, 2, 3, 10]})
    campaign = create_campaign("ratings", table, storage=tmp_path / "c.db", seed=1)
    assert campaign.settings.allowed_labels == ("1", "2", "3", "10")
    labels = {"a": "1.0", "b": 2.0, "c": " 3", "d": "2"}
    campaign.ask(4)
    campaign.tell_all([{"id": name, "label": label} for name, label in labels.items()])
    assert campaign.estimate()[0].estimate.value == 0.25
    with pytest.raises(InputError, match=r"'4'.*--classes"):
        campaign.amend(1, 4)


@pytest.mark.parametrize(
    ("columns", "metric", "words"),
    [
        ({"pred": ["good"] * 4}, "error", r"'good'.*--classes.*--open-classes"),
        ({}, "share:good", r"'good'.*--classes.*--open-classes"),
        ({"pred": [f"answer {at}" for at in range(60)]}, "error", r"60 .*--open-classes"),
        ({"pred": [f"{at % 1200}" for at in range(4000)]}, "error", r"1,200.*--open-classes"),
        ({"pred@a": ["0", "1"], "pred@b": ["false", "true"]}, "error", "several words"),
        ({"pred": ["ham", "spam"]}, "recall:Spam", r"'Spam'.*'spam'.*--classes"),
    ],
)
def test_labels_that_cannot_be_fixed_are_refused_at_creation(
    tmp_path: Path, columns: dict[str, list[Any]], metric: str, words: str
) -> None:
    n = max([len(one) for one in columns.values()], default=2)
    given = {"pool": pa.table({"id": range(n), **columns}), "metric": metric, "seed": 1}
    with pytest.raises(LevelledError, match=words):
        create_campaign("none", storage=tmp_path / "c.db", **given)
    campaign = create_campaign("open", storage=tmp_path / "c.db", open_classes=True, **given)
    assert campaign.settings.allowed_labels == ()
    campaign.tell(campaign.ask(1)[0].draw, "something else")
    assert [*campaign.audit()] == []


def test_classes_that_are_named_are_not_open(tmp_path: Path) -> None:
    with pytest.raises(CampaignError, match=r"'0', '1'.*--open-classes"):
        begin(tmp_path, "probabilities", open_classes=True)


def test_metrics_of_numbers_take_any_number(tmp_path: Path) -> None:
    campaign = begin(tmp_path, "int", metric="mse")
    assert campaign.settings.allowed_labels is None
    campaign.tell(campaign.ask(1)[0].draw, 7.5)


def test_an_attached_model_predicts_the_same_classes(tmp_path: Path) -> None:
    campaign = begin(tmp_path, "spam")
    ids = [f"r{at}" for at in range(N)]
    with pytest.raises(CampaignError, match=r"'v2'.*'Spam'.*'ham'"):
        campaign.attach(pa.table({"id": ids, "pred": ["ham", "Spam"] * (N // 2)}), "v2")
    campaign.attach(pa.table({"id": ids, "pred": ["ham", "spam"] * (N // 2)}), "v2")


def test_a_log_of_before_takes_any_label(tmp_path: Path) -> None:
    """Such a log says nothing of the labels that are allowed."""
    settings = begin(tmp_path, "int").settings
    plain = {name: one for name, one in settings.to_json().items() if name != "allowed_labels"}
    old = CampaignSettings.from_json(plain)
    assert old.allowed_labels is None
    assert old.to_json() == plain
    assert check_labels(old, ["true", "spam", 1.0]) == ["true", "spam", "1"]
    assert check_labels(settings, ["true", 1.0]) == ["1", "1"]


@pytest.mark.parametrize("labels", ["true", "maybe", "Spam"])
def test_files_are_compared_on_labels_in_their_own_words(tmp_path: Path, labels: str) -> None:
    names = ("ham", "spam") if labels == "Spam" else (0, 1)
    for name, shift in (("a", 0), ("b", 2)):
        rows = [f"{at},{names[(at + (at < shift)) % 2]}" for at in range(12)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["id,pred", *rows]) + "\n")
    said = {"true": ("false", "true"), "maybe": ("no", "maybe"), "Spam": ("Ham", "Spam")}[labels]
    rows = [f"{at},{said[at % 2]}" for at in range(12)]
    (tmp_path / "labels.csv").write_text("\n".join(["id,label", *rows]) + "\n")
    files: list[Any] = [str(tmp_path / f"{name}.csv") for name in ("a", "b", "labels")]
    if labels == "true":
        assert compare_files(*files).difference.value == pytest.approx(-2 / 12)
        return
    with pytest.raises(InputError, match={"Spam": "mean 'ham'", "maybe": "'0', '1'"}[labels]):
        compare_files(*files)


def test_a_simulation_reads_words_for_true_as_a_campaign_does() -> None:
    columns = {"id": range(N), "pred": [int(one) for one in PREDICTED]}
    table = pa.table({**columns, "y": ["yes" if one else "no" for one in TRUTH]})
    assert known_losses(table, "y").losses.mean() == pytest.approx(WRONG)


@pytest.mark.parametrize("pred", [PREDICTED, [int(one) for one in PREDICTED]])
def test_functions_on_arrays_take_truth_values_as_numbers_and_refuse_words(pred: list[int]) -> None:
    draws = lv.Draws(np.arange(N), 1 / np.arange(N, 0, -1), N)
    assert lv.metrics.error(TRUTH, pred, draws).value == pytest.approx(WRONG)
    with pytest.raises(InputError, match="never equals"):
        lv.metrics.error([str(one) for one in TRUTH], pred, draws)
