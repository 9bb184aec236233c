import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from campaigns.simulated import begun, label, spam
from levelled.campaigns import Campaign, load_campaign, open_store
from levelled.errors import CampaignError, LevelledError

POOL, TRUTH = spam(60)


def test_a_campaign_from_beginning_to_end(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL, budget=60, slices=["country"])
    while asks := campaign.ask(7, owner="ann"):
        for one in reversed(asks):
            campaign.tell(one.draw, TRUTH[str(one.id)], owner="ann")
    assert "budget of 60 labels" in str(campaign.note)
    pred = {str(item.id): item.pred[""] for item in campaign.state.draws}
    figure = campaign.estimate()[0].estimate
    assert figure.value == pytest.approx(sum(pred[i] != TRUTH[i] for i in TRUTH) / 60)
    campaign.close(reason="done")
    with pytest.raises(CampaignError, match="closed"):
        campaign.ask(1)
    with pytest.raises(CampaignError, match="closed"):
        campaign.tell(1, "ham")
    assert campaign.estimate()[0].estimate == figure


def test_labels_may_be_told_by_id(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL)
    (one,) = campaign.ask(1)
    campaign.tell(id=one.id, label="ham")
    assert campaign.state.answers[one.draw].label == "ham"
    with pytest.raises(CampaignError, match="'r999' was never asked"):
        campaign.tell(id="r999", label="ham")
    with pytest.raises(CampaignError, match=r"number.*draw"):
        campaign.tell(label="ham")


def test_ids_that_are_numbers_can_be_told_as_text(tmp_path: Path) -> None:
    pool = POOL.set_column(0, "id", [list(range(60))])
    campaign = begun(tmp_path / "c.db", pool)
    (one,) = campaign.ask(1)
    assert isinstance(one.id, int)
    campaign.tell(id=str(one.id), label="ham")
    assert campaign.state.n_settled == 1


def test_a_file_of_labels_is_told_whole_or_not_at_all(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL)
    campaign.ask(3)
    with pytest.raises(LevelledError, match="eggs"):
        campaign.tell_all([{"draw": 1, "label": "ham"}, {"draw": 2, "label": "eggs"}])
    assert not campaign.state.answers
    answers = [{"draw": 1, "label": "ham"}, {"draw": 2, "label": "ham"}]
    assert campaign.tell_all([*answers, answers[0]]) == 2
    assert campaign.tell_all(answers) == 0


@pytest.mark.parametrize("n", [0, -1])
def test_at_least_one_item_must_be_asked_for(tmp_path: Path, n: int) -> None:
    with pytest.raises(LevelledError, match="at least 1"):
        begun(tmp_path / "c.db", POOL).ask(n)


def test_two_processes_in_turn_never_get_the_same_draw(tmp_path: Path) -> None:
    first = begun(tmp_path / "c.db", POOL)
    second = load_campaign("spam", storage=tmp_path / "c.db", pool=POOL)
    given = []
    for step in range(10):
        for campaign, owner in ((first, "ann"), (second, "bob")):
            name = f"{owner} on day {step}"
            asks = campaign.ask(1 + step % 3, owner=name)
            given += [one.draw for one in asks]
            for one in asks[::2]:
                campaign.tell(one.draw, TRUTH[str(one.id)], owner=name)
    assert sorted(given) == list(range(1, len(given) + 1))
    assert first.state.n_events == second.state.n_events
    ours, theirs = ([one.as_dict() for one in of.estimate()] for of in (first, second))
    assert ours == theirs


def test_many_at_once_never_get_the_same_draw(tmp_path: Path) -> None:
    begun(tmp_path / "c.db", POOL, budget=48).change(lease_seconds=3600)
    store = open_store(tmp_path / "c.db")

    def work(owner: str) -> list[int]:
        campaign, mine = Campaign("spam", store), []
        for _ in range(6):
            for one in campaign.ask(2, owner=owner):
                campaign.tell(one.draw, TRUTH[str(one.id)], owner=owner)
                mine.append(one.draw)
        return mine

    with ThreadPoolExecutor(4) as pool:
        given = [draw for mine in pool.map(work, ["ann", "bob", "cy", "di"]) for draw in mine]
    assert sorted(given) == list(range(1, 49))
    campaign = Campaign("spam", store)
    assert campaign.state.n_settled == 48
    assert not campaign.state.opinions
    assert campaign.audit()[0].startswith("The pool of 'spam'")


WORKER = """
import json, sys
from levelled.campaigns import load_campaign
campaign = load_campaign("spam", storage=sys.argv[1])
given = []
for _ in range(8):
    for one in campaign.ask(2, owner=sys.argv[2]):
        campaign.tell(one.draw, "ham", owner=sys.argv[2])
        given.append(one.draw)
print(json.dumps(given))
"""


def test_processes_at_once_never_get_the_same_draw(tmp_path: Path) -> None:
    begun(tmp_path / "c.db", POOL)
    command = [sys.executable, "-c", WORKER, str(tmp_path / "c.db")]
    running = [
        subprocess.Popen([*command, owner], stdout=subprocess.PIPE, text=True)
        for owner in ("ann", "bob")
    ]
    given = [draw for one in running for draw in json.loads(one.communicate()[0])]
    assert sorted(given) == list(range(1, 33))


def test_what_is_drawn_further_while_others_work_is_drawn_once(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL, budget=4)
    store = open_store(tmp_path / "c.db")
    others = [Campaign("spam", store, pool=campaign.pool()) for _ in range(2)]
    campaign.change(budget=60)
    asks = [other.ask(12, owner=owner) for other, owner in zip(others, "ab", strict=True)]
    given = [one.draw for each in asks for one in each]
    assert given == list(range(1, 25))
    assert [item.draw for item in campaign.state.draws] == list(
        range(1, len(campaign.state.draws) + 1)
    )


def test_a_campaign_that_is_not_there_is_said_to_be_missing(tmp_path: Path) -> None:
    begun(tmp_path / "c.db", POOL)
    with pytest.raises(CampaignError, match="no campaign 'eggs'"):
        load_campaign("eggs", storage=tmp_path / "c.db")


def test_a_campaign_shows_where_it_stands(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL)
    label(campaign, 3, TRUTH)
    assert repr(campaign) == "Campaign('spam': 3 labels, 3 settled, pool of 60)"


def test_a_change_that_is_refused_leaves_the_campaign_as_it_was(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL)
    for wrong in ({"budget": "many"}, {"seed": 3}, {"nonsense": 1}):
        with pytest.raises(LevelledError):
            campaign.change(**wrong)
    assert load_campaign("spam", storage=tmp_path / "c.db").state.n_events == 2


def test_a_report_is_written_and_a_target_is_reached(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL, target_width=0.9)
    label(campaign, 9, TRUTH)
    campaign.report(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert "It rests on 9 labels" in text
    assert "width of 0.9" in text
    assert "Amended labels" not in text, "nothing was amended"
    figures = campaign.estimate()
    assert campaign.is_reached(figures)
    assert not campaign.is_reached(figures, 0.01)
    assert [*campaign.watch()] == [figures]
    campaign.close()
    assert [*campaign.watch(target_width=0.01, every=0.01)] == [figures]


def test_the_first_wrong_answer_is_named_by_where_it_stands(tmp_path: Path) -> None:
    campaign = begun(tmp_path / "c.db", POOL)
    campaign.ask(3)
    answers = [
        {"draw": draw, "label": label, "where": f"Row {draw} of done.csv"}
        for draw, label in [(1, "ham"), (2, "eggs"), (9, "ham")]
    ]
    with pytest.raises(CampaignError, match=r"^Row 2 .*done\.csv: .*eggs"):
        campaign.tell_all(answers)
    assert not campaign.state.answers
