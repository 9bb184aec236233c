"""Code that a database names is run only after the user at work has approved it."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from py_compile import PycInvalidationMode
from py_compile import compile as compile_file

import pytest

import levelled as lv
from cli.terminal import Levelled, Result
from levelled.campaigns.trust import approvals_path

MODULE = """
from pathlib import Path
Path("ran").write_text("")

def loss(labels, predictions):
    return (labels != predictions) * 1.0
"""
BOUNDS = "\nloss.bounds = (0, 1)\n"


@pytest.fixture
def become(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Let further commands be those of another user, in a process that imported nothing."""

    folders = [*sys.path]

    def user(name: str) -> None:
        monkeypatch.setattr(sys, "path", [*folders])
        monkeypatch.setenv("LEVELLED_CACHE", str(tmp_path / f"cache of {name}"))
        forget()

    yield user
    forget()


def forget() -> None:
    """Let modules of before be imported again."""
    for name in ("stranger", "strangers", "strangers.losses"):
        sys.modules.pop(name, None)


def ran() -> bool:
    """True if the module was imported since this was last asked."""
    forget()
    marker = Path("ran")
    there = marker.exists()
    marker.unlink(missing_ok=True)
    return there


@pytest.fixture(params=["adaptive", "static"])
def made(
    request: pytest.FixtureRequest, levelled: Levelled, become: Callable[[str], None], pool: Path
) -> str:
    """The database of a stranger: some labels, and a metric of their own; then this user's turn."""
    become("stranger")
    adaptive = request.param == "adaptive"
    Path("stranger.py").write_text(MODULE + (BOUNDS if adaptive else ""))
    words = ("--metric", "stranger:loss", "--metric", "error", "--kind", request.param, "--seed", 7)
    assert levelled("create", "own", "--pool", pool, *words, "--model", "first").code == 0
    asked = levelled("ask", "own", "-n", 30, "--owner", "ann").out.splitlines()
    told = [{"draw": json.loads(line)["draw"], "label": "ham"} for line in asked]
    given = "\n".join(map(json.dumps, told))
    assert levelled("tell", "own", "-", "--owner", "ann", given=given).code == 0
    second = ("attach", "own", "--predictions", pool, "--model", "second")
    assert levelled(*second).code == 0
    assert levelled("estimate", "own").code == 0
    assert levelled("audit", "own").code == 0
    assert ran()
    become("user")
    return str(request.param)


def read_all(levelled: Levelled) -> dict[str, Result]:
    """The results of every command that reads figures of that metric."""
    words = {
        "estimate": ("own",),
        "compare": ("own", "second"),
        "gate": ("own", "--metric", "stranger:loss", "--at-most", "0.9"),
        "report": ("own", "--out", "r.html"),
        "plan": ("--from", "own", "--width", "0.1", "--metric", "stranger:loss"),
    }
    return {one: levelled(one, *more) for one, more in words.items()}


def test_no_command_runs_code_that_only_a_database_names(levelled: Levelled, made: str) -> None:
    for words in (("list",), ("status", "own"), ("audit", "own")):
        result = levelled(*words)
        assert result.code == 0, result.err
        assert "not checked: " in result.err
        assert "levelled trust stranger" in result.err
        assert not ran()
    ask = levelled("ask", "own", "--owner", "bob")
    if made == "adaptive":  # which predicts the loss
        assert "levelled trust stranger" in ask.err
    else:
        item = json.loads(ask.out)
        told = json.dumps({"draw": item["draw"], "label": "spam"})
        assert levelled("tell", "own", "-", "--owner", "bob", given=told).code == 0
    for text in ("open own", "export own --out e.csv", "judge own --positive spam"):
        result = levelled(*text.split())
        assert result.code == 0, result.err
    assert levelled("gate", "own", "--metric", "error", "--at-most", 1).code == 0
    assert not ran()
    for command, refused in read_all(levelled).items():
        assert not ran(), command
        assert refused.code == 1, command
        assert refused.err.count("\n") == 1
        assert str(Path("stranger.py").resolve()) in refused.err
        assert "levelled trust stranger" in refused.err


def test_approved_code_is_run_until_it_changes(levelled: Levelled, made: str) -> None:
    approved = levelled("trust", "stranger")
    assert approved.code == 0
    assert not ran()
    assert str(Path("stranger.py").resolve()) in approved.out
    assert levelled("estimate", "own").code == 0
    assert ran()
    for words in (("list",), ("status", "own")):
        assert levelled(*words).err == ""
        assert not ran()
    audit = levelled("audit", "own")
    assert (audit.code, audit.err) == (0, "")
    assert ran()
    for command, result in read_all(levelled).items():
        assert "approve" not in result.err, command
    assert ran()
    Path("stranger.py").write_text(MODULE + BOUNDS + "\n# one line more\n")
    refused = levelled("estimate", "own")
    assert refused.code == 1
    assert "changed" in refused.err
    assert "levelled trust stranger" in refused.err
    audit = levelled("audit", "own")
    assert audit.code == 1
    assert "stranger" in audit.out  # whose sha256 is on record
    assert not ran()


def test_a_figure_by_code_that_has_changed_since_the_creation_says_so(
    levelled: Levelled, made: str
) -> None:
    Path("stranger.py").write_text(Path("stranger.py").read_text() + "\n# one line more\n")
    levelled("trust", "stranger:loss")
    figures = json.loads(levelled("estimate", "own").out)
    told = {one["metric"] for one in figures if any("code of" in note for note in one["warnings"])}
    assert told == {"stranger:loss"}


def test_compiled_code_beside_an_approved_source_is_not_run(levelled: Levelled, made: str) -> None:
    Path("evil.py").write_text("open('evil', 'w').close()\n" + MODULE + BOUNDS)
    cached = Path(
        compile_file("evil.py", invalidation_mode=PycInvalidationMode.UNCHECKED_HASH) or ""
    )
    cached.rename(cached.with_name(cached.name.replace("evil", "stranger")))
    levelled("trust", "stranger")
    assert levelled("estimate", "own").code == 0
    assert ran()
    assert not Path("evil").exists()


def test_packages_on_the_way_need_an_approval_too(
    levelled: Levelled, become: Callable[[str], None], pool: Path
) -> None:
    Path("strangers").mkdir()
    Path("strangers/__init__.py").write_text("")
    Path("strangers/losses.py").write_text(MODULE)
    become("stranger")
    words = ("create", "own", "--pool", pool, "--seed", 7, "--metric", "strangers.losses:loss")
    assert levelled(*words).code == 0
    settings = lv.load_campaign("own").settings
    assert [*settings.modules] == ["strangers", "strangers.losses"]
    assert ran()
    Path("strangers/__init__.py").write_text("open('ran', 'w').close()\n")
    refused = levelled("estimate", "own")
    assert refused.code == 1
    assert "strangers/__init__.py" in refused.err
    assert not ran()
    assert levelled("trust", "strangers.losses").out.count("approved: ") == 2
    assert levelled("estimate", "own").code == 0


def test_approvals_that_others_could_have_written_do_not_count(
    levelled: Levelled, made: str
) -> None:
    levelled("trust", "stranger")
    path = approvals_path()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    for place, mode in ((path, 0o620), (path.parent, 0o777)):
        before = place.stat().st_mode
        place.chmod(mode)
        assert levelled("estimate", "own").code == 1
        assert "chmod" in levelled("trust", "stranger").err
        assert not ran()
        place.chmod(before)
    assert levelled("estimate", "own").code == 0


@pytest.mark.parametrize("module", ["nowhere", "sys", "no.where", "__main__", "a b", "", "os;x"])
def test_only_a_module_with_a_source_can_be_approved(levelled: Levelled, module: str) -> None:
    path = approvals_path()
    before = path.read_text() if path.exists() else None
    refused = levelled("trust", module)
    assert refused.code == 1
    assert refused.err.count("\n") == 1
    assert (path.read_text() if path.exists() else None) == before


def test_a_function_of_a_notebook_is_approved_until_the_process_ends(
    levelled: Levelled, become: Callable[[str], None], pool: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    become("user")
    monkeypatch.setattr(sys.modules["__main__"], "own", lambda y, p: (y != p) * 1.0, raising=False)
    campaign = lv.create_campaign(
        "own", str(pool), "__main__:own", seed=1, storage="sqlite:///n.db"
    )
    assert campaign.settings.modules == {}
    assert campaign.estimate()[0].metric == "__main__:own"
