"""What labellers see of an item: pairs in random order, kinds of content, the first question."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from bounds import hoeffding
from campaigns.simulated import begun, numbers, spam
from levelled.campaigns import Campaign, create_campaign
from levelled.campaigns.people.shown import fields_of, label_question, shown_label, shown_pair
from levelled.errors import LevelledError

PAIRS = pa.table(
    {
        "id": [f"r{i}" for i in range(50)],
        "prompt": [f"question {i}" for i in range(50)],
        "answer_a": [f"a{i}" for i in range(50)],
        "answer_b": [f"b{i}" for i in range(50)],
    }
)


def pairs(path: Path, **more: Any) -> Campaign:  # noqa: ANN401
    given = {"metric": "share:answer_a", "seed": 7, "pair": ["answer_a", "answer_b"], **more}
    return create_campaign("pairs", PAIRS, storage=path, **given)


def test_a_pair_is_shown_without_the_names_of_its_columns(tmp_path: Path) -> None:
    campaign = pairs(tmp_path / "c.db")
    for one in campaign.ask(20, owner="ann"):
        assert [*one.data] == ["prompt", "left", "right"]
        columns = {"a": "answer_a", "b": "answer_b"}
        sides = (one.data["left"], one.data["right"])
        assert tuple(columns[text[0]] for text in sides) == shown_pair(campaign.settings, one.draw)
    assert campaign.mine("ann")[0].data == campaign.ask(1, owner="ann")[0].data


def test_a_side_is_stored_as_its_column(tmp_path: Path) -> None:
    campaign = pairs(tmp_path / "c.db")
    first, second, third, fourth = campaign.ask(4, owner="ann")
    campaign.tell(first.draw, "left", owner="ann")
    campaign.tell(id=second.id, label="right", owner="ann")
    campaign.tell(third.draw, "tie", owner="ann")
    campaign.tell(fourth.draw, "answer_b", owner="ann")
    told = {draw: answer.label for draw, answer in campaign.state.answers.items()}
    left, right = shown_pair(campaign.settings, 1)[0], shown_pair(campaign.settings, 2)[1]
    assert told == {1: left, 2: right, 3: "tie", 4: "answer_b"}
    assert shown_label(campaign.settings, 1, left) == "left"
    assert shown_label(campaign.settings, 3, "tie") == "tie"
    assert campaign.audit() == []
    table = campaign.to_table().to_pylist()
    assert table[0]["shown_left"] == table[0]["label"]
    with pytest.raises(LevelledError, match="both"):
        campaign.tell(1, "both", owner="bob")


def test_each_column_is_shown_left_half_of_the_time(tmp_path: Path) -> None:
    settings, n = pairs(tmp_path / "c.db").settings, 20_000
    left = [shown_pair(settings, draw)[0] == "answer_a" for draw in range(1, n + 1)]
    bound = hoeffding(
        n, comparisons=1, alarm=1e-9
    )  # the order is fixed by the seed, so this cannot flake
    assert sum(left) / n == pytest.approx(0.5, abs=bound)


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        ({"pair": ["answer_a"]}, "two columns"),
        ({"pair": ["answer_a", "answer_a"]}, "two columns"),
        ({"pair": ["answer_a", "answer_c"]}, r"'answer_c'.*pair"),
        ({"classes": ["good", "bad"]}, r"classes.*'good'.*'bad'"),
        ({"metric": "mean:1:5"}, r"metric.*classes"),
        ({"questions": ["left=a,b"]}, "question 'left'"),
        ({"content": {"answer_c": "text"}}, r"'answer_c'.*show"),
        ({"content": {"answer_a": "movie"}}, r"'movie'.*content"),
        ({"images": "nowhere"}, "no folder 'nowhere'"),
    ],
)
def test_what_cannot_be_shown_is_refused(
    tmp_path: Path, more: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(LevelledError, match=complaint):
        pairs(tmp_path / "c.db", **more)


def test_the_sides_of_a_pair_are_shown_alike(tmp_path: Path) -> None:
    campaign = pairs(tmp_path / "c.db", content={"answer_a": "markdown", "prompt": "text"})
    (one,) = campaign.ask(1)
    kinds = {field.name: field.kind for field in fields_of(campaign.settings, one.data)}
    assert kinds == {"prompt": "text", "left": "markdown", "right": "markdown"}


@pytest.mark.parametrize(
    ("pool", "metric", "kind", "limits"),
    [
        (spam(20)[0], "error", "classes", ("ham", "spam")),
        (pa.table({"id": [1, 2], "pred": ["x", "y"]}), "error", "classes", ("x", "y")),
        (pa.table({"id": [1, 2]}), "share:good", "classes", ("good",)),  # with open classes
        (
            pa.table({"id": [*range(30)], "pred": [*"abcdefghijklmnopqrstuvwxyz1234"]}),
            "error",
            "text",
            (),
        ),
        (
            pa.table({"id": [1, 2], "pred@grader": ["fail", "pass"], "pred@tone": [2, 4]}),
            "share:pass",
            "classes",
            ("fail", "pass"),
        ),
        (pa.table({"id": [1, 2], "pred": ["1", "2"]}), "error", "classes", ("1", "2")),
        (numbers(20)[0], "mae", "number", (None, None)),
        (pa.table({"id": [1, 2]}), "mean:1:5", "rating", (1, 5)),
        (pa.table({"id": [1, 2]}), "mean:0:1", "number", (0, 1)),
        (PAIRS, "share:answer_a", "classes", ("left", "right", "tie")),
    ],
)
def test_the_first_question_follows_from_pool_and_metric(
    tmp_path: Path, pool: pa.Table, metric: str, kind: str, limits: tuple[object, ...]
) -> None:
    pair = ["answer_a", "answer_b"] if pool is PAIRS else []
    more = {"pair": pair, "kind": "auto", "open_classes": limits == ("good",)}
    campaign = begun(tmp_path / "c.db", pool, metric, **more)
    question = label_question(campaign.settings)
    assert (question.name, question.kind) == ("label", kind)
    is_number = kind in ("number", "rating")
    assert ((question.low, question.high) if is_number else question.classes) == limits


def test_a_lease_is_renewed_only_when_half_of_it_is_over(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", spam(60)[0])
    asks = campaign.ask(3, owner="ann", lease_seconds=100)
    campaign.ask(1, owner="bob")
    draws = [one.draw for one in asks]
    assert asks[0].lease_until < campaign.open_items()[3].until  # type: ignore[operator]
    n_events = campaign.state.n_events
    campaign.renew(draws, owner="ann", lease_seconds=100)
    assert campaign.state.n_events == n_events
    campaign.renew([*draws, 4, 999], owner="ann")
    until = [one.until for one in campaign.open_items()]
    assert until[0] == until[1] == until[2] > asks[0].lease_until  # type: ignore[operator]
    assert campaign.state.leases[4].owner == "bob"
    assert campaign.audit() == []
    with pytest.raises(LevelledError, match="lease_seconds"):
        campaign.renew(draws, owner="ann", lease_seconds=0)
