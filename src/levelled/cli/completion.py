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


def show_script(commands: click.Command, shell: str) -> None:
    """Print the script by which a shell completes; without a name, the shell of the user."""
    click.echo(_script(commands, shell or _current_shell()))


def install_script(commands: click.Command, shell: str) -> None:
    """Write the script to the user's folder, and a line that loads it."""
    name = shell or _current_shell()
    script = _script(commands, name)
    if name not in _PLACES:
        raise InputError(f"Install it yourself: levelled --show-completion {name} prints it.")
    place, startup, line = _PLACES[name]
    file = Path.home() / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(script)
    if startup:
        loads, profile = line.format(file=file), Path.home() / startup
        before = profile.read_text() if profile.exists() else ""
        if loads not in before:
            profile.write_text(f"{before}\n{loads}\n".lstrip())
    show.tell(f"written: {file}; it works in the next shell")


def _current_shell() -> str:
    return Path(os.environ.get("SHELL", "")).name


def _script(commands: click.Command, shell: str) -> str:
    completion = get_completion_class(shell)
    if completion is None:
        raise InputError(f"{shell!r} is no shell that can complete: name bash, zsh or fish.")
    return completion(commands, {}, "levelled", "_LEVELLED_COMPLETE").source()
