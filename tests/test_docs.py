"""Tests that the pages agree with the code: examples run, links lead somewhere, names exist."""

import contextlib
import importlib.util
import io
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

import levelled
from levelled_studies.manual import pages
from postgres_server import PostgresServer

ROOT = Path(__file__).parent.parent
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
HAND_WRITTEN = [page for page in PAGES if page.name not in pages() and page.parent.name != "paper"]
PUBLIC = [
    "levelled",
    "levelled.advice",
    "levelled.backends",
    "levelled_studies.bayes",
    "levelled.campaigns",
    "levelled.errors",
    "levelled.estimators",
    "levelled.learning",
    "levelled.losses",
    "levelled.metrics",
    "levelled.proposals",
    "levelled.samplers",
    "levelled.scores",
    "levelled.simulation",
    "levelled.sources",
    "levelled.web",
]

FILES_OF = {"readers.md": "tests/sources/readers/files"}
"""The folder whose files the examples of a page use."""

USES_DATABASE = {"engines.md"}
"""Pages whose examples use an empty PostgreSQL database at DATABASE_URL."""

NEEDS = {
    "clusters.md": ["distributed", "ray"],
    "engines.md": ["duckdb", "psql"],
    "spark.md": ["pyspark", "java"],
}
"""Packages and programs without which the examples of a page are not run."""

LANGUAGES = {"python", "sh", "text", "console", "yaml"}
"""Blocks in Python and sh are run; text is what the block before it prints; console is not run.
YAML is configuration for other programs; the tests of the command read it."""

NOT_RUN = (
    "make ",  # makes an environment, and may take minutes
    "pip ",  # changes the environment
    "npm pack ",  # fetches packages, as do the next two
    "apt-get download ",
    "levelled reproduce --fetch ",
    "levelled reproduce ",  # minutes to hours
    "levelled --install-completion",  # changes the files of the user's shell
    "levelled estimate spam --watch",  # runs until it is interrupted
    "levelled label chats",  # reads the keys of a terminal
    "python -m levelled_studies.",  # rewrites pages and plots of this repository
    "python -m pytest",  # runs the tests, and this one among them
    "python benchmarks/",  # minutes
    "levelled serve",  # runs until it is interrupted
    "curl ",  # asks a server
    "openssl ",  # makes keys
    "levelled audit spam --sign ",  # needs the extra signing, as does the next
    "levelled audit spam --verify ",
    "git clone ",
    "cd ",
    ".venv/bin/pre-commit ",  # changes the repository's hooks
    "createuser ",  # needs a PostgreSQL server, as do the next ones
    "createdb ",
    "export LEVELLED_STORAGE=postgresql:",
    "levelled storage copy sqlite:///levelled.db postgresql:",
)
"""How each command in a console block may begin, and why it is not run here."""


def path_in_project(page: Path) -> str:
    return str(page.relative_to(ROOT))


class Block(NamedTuple):
    """A fenced block of a page, and the line on which its text begins."""

    language: str
    text: str
    line: int


def read_blocks(page: Path) -> Iterator[Block]:
    content = page.read_text()
    for fence in re.finditer(r"^```(\S*)\n(.*?)^```$", content, re.MULTILINE | re.DOTALL):
        yield Block(fence[1], fence[2], content.count("\n", 0, fence.start(2)) + 1)


def run_python(page: Path, block: Block, names: dict[str, object]) -> str:
    """The output of a Python block, which goes on with the names of the blocks before it."""
    output = io.StringIO()
    code = "\n" * (block.line - 1) + block.text  # so that a traceback has the page's line numbers
    with contextlib.redirect_stdout(output):
        exec(compile(code, str(page), "exec"), names)
    return output.getvalue()


def run_shell(page: Path, block: Block) -> str:
    """The output of a shell block, run with the commands of this environment."""
    here = {key: value for key, value in os.environ.items() if not key.startswith("LEVELLED_")}
    here["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), here["PATH"]])
    here["OMP_NUM_THREADS"] = "1"  # other pages run at the same time
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block.text],
        env=here,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    if done.returncode:
        raise AssertionError(
            f"{page.name}, line {block.line}: exit code {done.returncode} of\n{block.text}\n"
            f"It printed:\n{done.stdout}"
        )
    return done.stdout


def check_output(page: Path, block: Block, output: str) -> None:
    """A text block must be part of what was printed, but for the white space."""
    if " ".join(block.text.split()) not in " ".join(output.split()):
        raise AssertionError(
            f"{page.name}, line {block.line}, shows\n{block.text}\nThis was printed:\n{output}"
        )


@pytest.mark.parametrize("page", PAGES, ids=path_in_project)
def test_the_examples_of_a_page_run_as_pasted(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(tmp_path)
    for needed in NEEDS.get(page.name, []):
        if importlib.util.find_spec(needed) is None and shutil.which(needed) is None:
            pytest.skip(f"{needed} is not installed")
    if page.name in USES_DATABASE:
        server: PostgresServer = request.getfixturevalue("postgres")
        monkeypatch.setenv("DATABASE_URL", server.new_database())
    if page.name in FILES_OF:
        shutil.copytree(ROOT / FILES_OF[page.name], tmp_path, dirs_exist_ok=True)
    names: dict[str, object] = {}
    output = ""
    for block in read_blocks(page):
        if block.language == "python":
            output = run_python(page, block, names)
        elif block.language in ("sh", "bash"):
            output = run_shell(page, block)
        elif block.language == "text":
            check_output(page, block, output)


@pytest.mark.parametrize("page", HAND_WRITTEN, ids=path_in_project)
def test_only_what_cannot_run_in_a_test_is_not_run(page: Path) -> None:
    for block in read_blocks(page):
        assert block.language in LANGUAGES, f"line {block.line}: a fence names {LANGUAGES}"
        if block.language == "console":
            for command in block.text.replace("\\\n", " ").splitlines():
                assert command.startswith(NOT_RUN), f"{command!r} can run: make it a sh block"


def test_a_page_that_is_wrong_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("text\n```sh\nlevelled no-such-command\n```\n```text\nspam\n```\n")
    shell, text = read_blocks(page)
    assert (shell.line, text.line) == (3, 6)
    with pytest.raises(AssertionError, match=r"(?s)page.md, line 3.*command"):
        run_shell(page, shell)
    with pytest.raises(AssertionError, match="ham"):
        check_output(page, text, "ham\n")


@pytest.mark.parametrize("page", PAGES, ids=path_in_project)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        path, _, heading = link.partition("#")
        target = page.parent / path if path else page
        assert "://" in link or target.exists(), f"{link} leads nowhere"
        if heading:
            assert heading in headings(target), f"{target.name} has no heading {heading}"


@pytest.mark.parametrize("page", HAND_WRITTEN, ids=path_in_project)
def test_the_files_that_a_page_names_exist(page: Path) -> None:
    for path in re.findall(r"`((?:src|tests|docs|benchmarks)/[^`\s]*)`", page.read_text()):
        assert (ROOT / path).exists(), f"there is no {path}"


def headings(page: Path) -> set[str]:
    """The headings of a page as links name them."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_importable_and_in_the_reference(name: str) -> None:
    module: ModuleType = importlib.import_module(name)
    reference = (ROOT / "docs/reference.md").read_text()
    for public in module.__all__:
        assert hasattr(module, public)
        assert re.search(rf"\b{public}\b", reference), f"{name}.{public} has no line there"


def test_every_part_of_the_package_is_public_or_private_on_purpose() -> None:
    parts = {name.partition(".")[2] for name in PUBLIC if name.startswith("levelled.")}
    by_name = {"web"}  # it needs an extra: import it by its name
    assert parts - by_name <= set(levelled.__all__)


@pytest.mark.parametrize("name", pages())
def test_a_page_made_from_the_code_is_up_to_date(name: str) -> None:
    assert (ROOT / "docs" / name).read_text() == pages()[name], "write it anew: make docs"
