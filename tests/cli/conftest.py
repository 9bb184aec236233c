"""The command in this process: as a user types it, at the speed of a function call."""

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.terminal import Levelled, Result
from levelled.cli.app import run


@pytest.fixture
def levelled(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Levelled:
    """Run a command in an empty folder; `given` comes through standard input."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    for name in ("LEVELLED_STORAGE", "LEVELLED_OWNER", "LEVELLED_FORMAT"):
        monkeypatch.delenv(name, raising=False)

    def command(*words: object, given: str = "") -> Result:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            run([str(word) for word in words])
        said = capsys.readouterr()
        return Result(int(ended.value.code or 0), said.out, said.err)

    return command


@pytest.fixture(scope="session")
def items() -> dict[str, list[Any]]:
    """A spam filter's answers to 400 messages."""
    rng = np.random.default_rng(5)
    confident = rng.beta(6, 1, 400)
    spam = np.where(rng.random(400) < 0.3, confident, 1 - confident)
    return {
        "id": [f"r{n}" for n in range(400)],
        "proba_ham": (1 - spam).tolist(),
        "proba_spam": spam.tolist(),
        "country": rng.choice(["de", "fr"], 400).tolist(),
        "text": [f"message {n}" for n in range(400)],
    }


@pytest.fixture(scope="session")
def truth(items: dict[str, list[Any]]) -> dict[str, str]:
    """What each message really is."""
    rng = np.random.default_rng(6)
    is_spam = rng.random(400) < np.array(items["proba_spam"])
    return dict(zip(items["id"], np.where(is_spam, "spam", "ham").tolist(), strict=True))


@pytest.fixture(scope="session")
def pool(items: dict[str, list[Any]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pool") / "preds.parquet"
    pq.write_table(pa.table(items), path)
    return path
