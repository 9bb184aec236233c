import json

import numpy as np
import pytest

from levelled.errors import PoolError
from levelled_studies.datasets.tables import adult_files, fraud_table, judgements

PERSON = "39, {}, 77516, Bachelors, 13, Never-married, ?, Husband, White, Male, 2174, 0, 40, {}, {}"


def adult(train: list[str], test: list[str]) -> dict[str, bytes]:
    return {
        "a/adult.data": "\n".join([*train, "", ""]).encode(),
        "a/adult.test": "\n".join(["|1x3 Cross validator", *test, ""]).encode(),
    }


def test_numbers_stay_and_every_category_of_both_files_becomes_a_column() -> None:
    parts = adult_files(
        adult(
            [PERSON.format("Private", "?", "<=50K"), PERSON.format("?", "Peru", ">50K")],
            [PERSON.format("State-gov", "Peru", ">50K.")],
        )
    )
    features = parts["features"]
    assert features[:6] == (
        "age",
        "workclass=?",
        "workclass=Private",
        "workclass=State-gov",
        "fnlwgt",
        "education=Bachelors",
    )
    assert features[-2:] == ("native-country=?", "native-country=Peru")
    assert parts["X"].dtype == np.float64
    assert parts["X"][:, :5].tolist() == [[39, 0, 1, 0, 77516], [39, 1, 0, 0, 77516]]
    assert parts["X_test"][:, :5].tolist() == [[39, 0, 0, 1, 77516]]
    assert parts["y"].tolist() == [0, 1]
    assert parts["y_test"].tolist() == [1]


@pytest.mark.parametrize(
    ("line", "told"),
    [("1, 2, 3", "15 fields"), (PERSON.format("a", "b", "rich"), "'rich'"), ("", "15 fields")],
)
def test_lines_that_are_no_people_are_refused(line: str, told: str) -> None:
    with pytest.raises(PoolError, match=told):
        adult_files(adult([line], [PERSON.format("Private", "Peru", "<=50K.")]))


def test_the_last_column_of_payments_is_the_class() -> None:
    parts = fraud_table({"c.csv": b'"Time","V1","Amount","Class"\n0,-1.5,3,"0"\n7,2e-3,1.25,"1"\n'})
    assert parts["features"] == ("Time", "V1", "Amount")
    assert parts["X"].tolist() == [[0, -1.5, 3], [7, 0.002, 1.25]]
    assert parts["y"].tolist() == [0, 1]


def test_judgements_are_joined_by_the_pair_that_was_judged() -> None:
    def row(output: str, preference: int) -> dict[str, object]:
        pair = {"instruction": "Say it", "input": "", "output_1": "Yes", "output_2": output}
        return pair | {"preference": preference}

    first = [row("No", 2), row("Perhaps", 1), row("Never", 0), row("Well", 1)]
    second = [row("Perhaps", 2), row("No", 2), row("Never", 1), row("Well", 0), row("Hm", 1)]
    parts = judgements(
        {"a/claude": json.dumps(first).encode(), "a/gpt4": json.dumps(second).encode()}
    )
    assert parts["features"][0] == "prefers_second"
    assert parts["X"].tolist() == [[0, 6, 3, 7], [1, 6, 3, 2]]
    assert parts["y"].tolist() == [1, 1]
