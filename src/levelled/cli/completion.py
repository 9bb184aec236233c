"""The completion of commands and campaigns by the shell."""

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from levelled.cli import show
from levelled.errors import InputError

_PLACES = {
    "bash": (".bash_completions/levelled.sh", ".bashrc", "source '{file}'"),
    "zsh": (
        ".zfunc/_levelled",
        ".zshrc",
        "fpath+=~/.zfunc; autoload -Uz compinit; compinit",
    ),
    "fish": (".config/fish/completions/levelled.fish", "", ""),
}
"""The file of the script in the user's folder, and the file that has a line to load it."""


def write_script(commands: click.Command, shell: str, *, install: bool) -> None:
    """Print the script by which a shell completes, or install it for the user.

    Without a name the shell is that of the user.
    """
    name = shell or Path(os.environ.get("SHELL", "")).name
    completion = get_completion_class(name)
    if completion is None or (install and name not in _PLACES):
        raise InputError(f"{name!r} is no shell that can complete: name bash, zsh or fish.")
    script = completion(commands, {}, "levelled", "_LEVELLED_COMPLETE").source()
    if not install:
        click.echo(script)
        return
    place, startup, line = _PLACES[name]
    file = Path.home() / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(script, encoding="utf-8")
    if startup:
        loads, profile = line.format(file=file), Path.home() / startup
        before = profile.read_bytes() if profile.exists() else b""  # of any encoding
        if loads.encode() not in before:
            with profile.open("a", encoding="utf-8") as end:
                end.write(f"\n{loads}\n" if before else f"{loads}\n")
    show.tell(f"written: {file}; it works in the next shell")
