"""The list of commands, their old names, and what a misspelt name is answered with."""

import json
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from cli.terminal import Levelled
from levelled.campaigns.options import GROUPS as OPTION_GROUPS
from levelled.cli.app import app
from levelled.metrics.named import NAMES

GROUPS = {
    "Start": "demo look plan create serve",
    "Label": "label ask tell open",
    "Read": "list status estimate compare judge gate report export audit",
    "Manage": "change attach storage doctor trust",
    "Research": "simulate draw learn reproduce",
}


@pytest.fixture
def spam(levelled: Levelled, pool: Path) -> str:
    """A campaign of which ann has two items."""
    levelled("create", "spam", "--pool", pool, "--seed", 7, "--budget", 50)
    levelled("ask", "spam", "-n", 2, "--owner", "ann")
    return "spam"


def test_help_lists_the_commands_in_groups_each_with_a_sentence(
    levelled: Levelled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = levelled("--help").out.splitlines()
    listed: dict[str, list[str]] = {}
    group = ""
    for line in lines[lines.index("Start:") :]:
        if row := re.fullmatch(r"  (\w+) {2,}(\S.*)", line):
            listed[group].append(row[1])
            assert row[2].endswith(".")
        elif line.endswith(":"):
            group = line[:-1]
            listed[group] = []
    assert {one: " ".join(names) for one, names in listed.items()} == GROUPS
    assert sum(map(len, listed.values())) == 27


def test_every_command_says_what_its_parameters_are(levelled: Levelled) -> None:
    for name in " ".join(GROUPS.values()).split():
        shown = levelled(name, "--help")
        assert shown.code == 0
        assert f"Usage: levelled {name}" in shown.out


def test_the_help_of_create_lists_metrics_and_groups_options(levelled: Levelled) -> None:
    shown = levelled("create", "--help").out
    assert all(name in shown for name in NAMES)
    assert all(f"{group}:" in shown for group in OPTION_GROUPS)


def test_a_command_imports_no_module_of_another() -> None:
    code = (
        "import sys; from levelled.cli import app; app._find_command('ask'); "
        "print(*(name for name in sys.modules if name.startswith('levelled.cli.')));"
        "print(*({'rich', 'pydantic', 'typer', 'importlib.metadata', 'numpy'} & {*sys.modules}))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    ours, heavy = ran.stdout.split("\n")[:2]
    assert {*ours.split()} == {
        f"levelled.cli.{name}" for name in ("app", "labelling", "options", "show")
    }
    assert heavy == ""


OLD = {
    "mine spam --owner ann": "open --mine",
    "return spam --owner ann --draw 2": "open --return",
    "skip spam 1 --owner ann --reason hard": "tell --skip",
    "unlabelable --reason torn spam 1": "tell --unlabelable",
    "close spam --reason enough": "change --close",
    "rename --owner ann spam ham": "change --rename",
    "delete spam --yes": "change --delete",
    "token add --role analyst eve": "serve --invite",
    "token list": "serve --people",
    "rescore spam --pool=losses.csv": "attach --predictor",
    "data list": "reproduce --datasets",
    "data fetch digits wine": "reproduce --fetch",
    "advise --labels drawn.csv --pool-size 40": "learn --advise",
}


@pytest.mark.parametrize("words", OLD)
def test_an_old_name_does_its_work_and_says_the_new_one(
    levelled: Levelled, spam: str, words: str, tmp_path: Path
) -> None:
    losses = "".join(f"r{n},0.{n % 9 + 1}\n" for n in range(400))
    (tmp_path / "losses.csv").write_text(f"id,loss_hat\n{losses}")
    drawn = "".join(f"{n % 2},0.025,{n},{n % 7}\n" for n in range(20))
    (tmp_path / "drawn.csv").write_text(f"label,probability,f_a,f_b\n{drawn}")
    result = levelled(*words.split())
    assert result.code == 0, result.err
    assert f"now levelled {OLD[words]};" in result.err.splitlines()[0]


def test_corrections_by_old_names(levelled: Levelled, spam: str) -> None:
    levelled("tell", spam, 1, "ham", "--owner", "ann")
    assert "1 label replaced" in levelled("amend", spam, 1, "spam", "--owner", "ann").err
    assert "is ham" in levelled("undo", spam, "--owner", "ann").err
    levelled("change", spam, "--close")
    assert levelled("reopen", spam).code == 0


def test_old_names_are_not_listed(levelled: Levelled) -> None:
    assert {"mine", "token", "data"}.isdisjoint(re.findall(r"^  (\w+) ", levelled("--help").out))


@pytest.mark.parametrize("words", ["token", "token remvoe ann", "token ann", "data", "data lst"])
def test_an_old_group_without_its_command_is_answered_with_the_new_flags(
    levelled: Levelled, words: str
) -> None:
    result = levelled(*words.split())
    assert result.code == 2
    flags = ("--datasets", "--fetch") if "data" in words else ("--invite", "--people", "--revoke")
    assert all(one in result.err.splitlines()[-1] for one in flags)


def test_every_option_has_the_variable_that_its_name_gives() -> None:
    with app.make_context("levelled", ["list"]) as parent:
        for name in app.list_commands(parent):
            command = app.get_command(parent, name)
            assert command is not None
            for one in command.params:
                if isinstance(one, click.Option):
                    assert f"--{(one.name or '').replace('_', '-')}" in one.opts, name


def test_an_option_is_read_from_its_variable(
    levelled: Levelled, spam: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEVELLED_OPEN_RETURN", "1")
    monkeypatch.setenv("LEVELLED_OPEN_ALL", "1")
    assert levelled("open", spam).err == "2 items returned\n"


def test_the_commands_of_a_storage_have_whole_sentences_and_a_nearest_name(
    levelled: Levelled,
) -> None:
    shown = levelled("storage", "--help").out
    assert "..." not in shown.partition("Commands:")[2]
    result = levelled("storage", "bakup")
    assert (result.code, "did you mean 'backup'?" in result.err) == (2, True)


def test_a_misspelt_name_is_answered_with_the_nearest(levelled: Levelled, spam: str) -> None:
    result = levelled("stats", spam)
    assert result.code == 2
    assert "'status'" in result.err
    assert "did you mean" not in levelled("xyzzy").err
    result = levelled("status", "span")
    assert result.code == 1
    assert "'span'" in result.err
    assert "'spam'" in result.err


def test_one_label_is_told_by_its_draw(levelled: Levelled, spam: str) -> None:
    assert levelled("tell", spam, 1, "ham", "--owner", "ann").err == "1 new answer\n"
    assert levelled("tell", spam, 1, "spam", "--owner", "ann").code == 1
    assert (
        levelled("tell", spam, 1, "spam", "--amend", "--owner", "ann").err == "1 label replaced\n"
    )
    assert levelled("tell", spam, 2, "--skip", "--owner", "ann").code == 0
    status = json.loads(levelled("status", spam).out)[0]
    assert (status["n_labels"], status["n_amended"]) == (1, 1)


@pytest.mark.parametrize("label", ["-3.5", "-.5", "-1e-3"])
def test_a_label_may_be_a_negative_number(levelled: Levelled, tmp_path: Path, label: str) -> None:
    rows = "".join(f"{n},{n / 10}\n" for n in range(50))
    (tmp_path / "numbers.csv").write_text(f"id,pred\n{rows}")
    levelled("create", "house", "--pool", "numbers.csv", "--metric", "mse", "--seed", 1)
    levelled("ask", "house")
    assert levelled("tell", "house", 1, label).err == "1 new answer\n"
    assert levelled("tell", "house", 1, "-7", "--amend").err == "1 label replaced\n"
    assert levelled("tell", "house", "--amned", 1, "4").code == 2


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("tell spam 1 ham --skip", "--skip"),
        ("tell spam 1 --skip --undo", "--skip and --undo"),
        ("tell spam 1 ham --reason hard", "--reason"),
        ("tell spam 1 --undo", "--undo"),
        ("tell spam 1 --unlabelable", "--reason"),
        ("tell spam 1", "LABEL"),
        ("tell spam", "file"),
        ("open spam --mine --return", "--mine and --return"),
        ("open spam --all", "--all"),
        ("change spam --close --reopen", "--close and --reopen"),
        ("change spam --close --budget 9", "--budget"),
        ("change spam --budget 9 --reason enough", "--reason"),
        ("attach spam --predictor a.csv --model v2", "--model"),
        ("attach spam --model v2", "--predictions"),
        ("serve --people --port 80", "--port"),
        ("serve --role analyst", "--role"),
        ("serve --campaign spam", "--campaign needs --invite."),
        ("serve --people --expires 30d", "--expires needs --invite."),
        ("serve --invite ann --expires soon", "30d"),
        ("serve --invite ann --expires 0d", "'0d'"),
        ("serve --invite ann --revoke bob", "--invite and --revoke"),
        ("learn --labels a.csv --advise --budget 9", "--budget"),
        ("learn --labels a.csv --pool b.csv", "--budget"),
        ("reproduce linear --datasets", "NAME"),
        ("reproduce --list --workers 3", "--workers"),
        ("reproduce --fetch wine --preset cpu", "--preset"),
        ("reproduce --preset foo linear", "'smoke'"),
        ("reproduce linear --format csv", "--format"),
        ("simulate --pool a.csv --backend foo", "'dask'"),
        ("gate spam", "--claim"),
        ("gate spam --metric error --claim error<=0.1", "--metric is for --at-least"),
        ("gate spam --at-most 0.1 --margin 0.1", "--margin needs --better-than"),
        ("change spam --reason x", "--reason goes only with --close."),
        ("change spam --yes", "--yes goes only with --delete."),
        ("change spam --kind auto", "'adaptive', 'static', 'uniform'"),
        ("create new --pool a.csv --kind nonsense", "'auto'"),
        ("create new --pool a.csv --looks ²", "number"),
        ("plan --width 0.1", "--from"),
        ("plan --width 0.1 --from spam --level 0.9", "--level"),
        ("audit spam --verify a.json", "--key"),
        ("audit spam --out a.json", "--out needs --sign."),
        ("audit spam --expect abc --verify a.json --key k", "--expect and --verify"),
        ("serve --invite ann --format json", "--format needs --people."),
        ("ask spam -n x", "integer."),
    ],
)
def test_flags_that_do_not_go_together_are_refused_in_a_line(
    levelled: Levelled, spam: str, words: str, told: str
) -> None:
    result = levelled(*words.split())
    assert result.code == 2
    assert told in result.err.splitlines()[-1]
    assert "Invalid value:" not in result.err
    assert json.loads(levelled("open", spam).out)[0]["owner"] == "ann"


def test_studies_are_listed_as_data(levelled: Levelled) -> None:
    listed = json.loads(levelled("reproduce", "--list").out)
    assert "linear-bias" in [one["name"] for one in listed]
    assert levelled("reproduce", "--list", "--format", "csv").out.startswith("name,title\n")
    result = levelled("reproduce", "linaer-bias")
    assert result.code == 1
    assert "'linear-bias'" in result.err
    assert "--list" in result.err


def test_help_names_the_format_of_items(levelled: Levelled) -> None:
    said = {one: " ".join(levelled(one, "--help").out.split()) for one in ("ask", "open", "list")}
    assert "terminal, jsonl elsewhere" in said["ask"]
    assert "json or, with --mine, jsonl elsewhere" in said["open"]
    assert "terminal, json elsewhere" in said["list"]


def test_a_pool_alone_changes_nothing(levelled: Levelled, spam: str, pool: Path) -> None:
    result = levelled("change", spam, "--pool", pool)
    assert (result.code, "--pool goes only with" in result.err) == (2, True)


def test_nothing_to_return_is_said_of_everyone(levelled: Levelled, spam: str) -> None:
    levelled("open", spam, "--return", "--all")
    assert levelled("open", spam, "--return", "--all").err == "no open items\n"


def test_a_file_that_is_not_there_is_called_a_file(levelled: Levelled, spam: str) -> None:
    result = levelled("compare", "nofile.parquet", "other.parquet", "--labels", "a.csv")
    assert result.code == 1
    assert "no file 'nofile.parquet'" in result.err
    assert "file" not in levelled("compare", "span", "v2").err


def test_two_files_are_compared_on_labels_of_a_third(
    levelled: Levelled, spam: str, pool: Path, truth: dict[str, str], tmp_path: Path
) -> None:
    asked = [
        json.loads(line)
        for line in levelled("ask", spam, "-n", 30, "--owner", "ann").out.splitlines()
    ]
    rows = "".join(f"{one['draw']},{truth[one['id']]}\n" for one in asked)
    levelled("tell", spam, "-", "--owner", "ann", given=f"draw,label\n{rows}")
    other = "".join(f"{name},{'ham' if n % 9 else 'spam'}\n" for n, name in enumerate(truth))
    (tmp_path / "v2.csv").write_text(f"id,pred\n{other}")
    levelled("attach", spam, "--predictions", "v2.csv", "--model", "v2")
    levelled("export", spam, "--out", "labels.csv")
    (of_campaign,) = json.loads(levelled("compare", spam, "v2").out)
    (of_files,) = json.loads(levelled("compare", "v2.csv", pool, "--labels", "labels.csv").out)
    assert (of_files["model"], of_files["against"]) == ("v2", "preds")
    for one in (of_campaign, of_files):
        assert one["low"] <= one["value"] <= one["high"]
    # The campaign has a control that the files do not have: both are of the same difference.
    assert max(one["low"] for one in (of_campaign, of_files)) <= of_files["value"]


def test_files_with_all_labels_give_the_exact_difference(
    levelled: Levelled, tmp_path: Path
) -> None:
    labels = ["spam" if n % 3 == 0 else "ham" for n in range(60)]
    for name, every in {"a": 2, "b": 3}.items():
        rows = "".join(
            f"{n},{'spam' if n % every == 0 else 'ham'},{one}\n" for n, one in enumerate(labels)
        )
        (tmp_path / f"{name}.csv").write_text(f"id,pred,label\n{rows}")
    wrong = sum((n % 2 == 0) != (n % 3 == 0) for n in range(60)) / 60
    for metric, value in {"error": wrong, "accuracy": -wrong, "recall:spam": 0.5 - 1}.items():
        (one,) = json.loads(levelled("compare", "a.csv", "b.csv", "--metric", metric).out)
        assert one["value"] == pytest.approx(value)
        assert one["low"] == pytest.approx(one["high"])
    (tmp_path / "few.csv").write_text("id,pred\n1,ham\n")
    for words in (("few.csv",), ("b.csv", "--against", "c"), ("b.csv", "--metric", "share:spam")):
        assert levelled("compare", "a.csv", *words).code in (1, 2)


def test_the_doctor_says_which_packages_are_too_old(
    levelled: Levelled, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs = [
        "numpy>=1.26",
        "rich >=999.1",
        "nowhere>=3; extra == 'far'",
        'levelled[far]; extra == "all"',
        "pytest>=8; extra == 'dev'",
    ]
    monkeypatch.setattr("importlib.metadata.requires", lambda _: needs)
    (parts,) = json.loads(levelled("doctor").out)
    assert [*parts] == ["python", "levelled", "numpy", "rich", "nowhere", "storage"]
    assert re.fullmatch(r"[\d.]+", parts["numpy"])
    assert "999.1" in parts["rich"]
    assert "levelled[far]" in parts["nowhere"]
