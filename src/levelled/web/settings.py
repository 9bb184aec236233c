"""The settings of the web server."""

import hmac
import os
import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from levelled.campaigns import place_of
from levelled.campaigns.log.log import cache_folder
from levelled.errors import InputError

LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""The names of this machine that others cannot reach."""

UPLOAD_LIMIT = 100 * 2**20
"""The most bytes of an uploaded file: a million items; larger ones are copied to the folder."""

UPLOADS_LIMIT = 10 * 2**30
"""The most bytes of all files in the folder for uploads; beyond it uploads are refused."""


@dataclass(frozen=True, slots=True)
class WebSettings:
    """The storage that is served, to whom, and which files may be read."""

    storage: str
    owner: str = ""
    """The name of the person who has the link with `token`, an analyst."""
    token: str | None = None
    """The token of the printed link; None where only tokens in the storage count."""
    port: int = 8765
    root_path: str = ""
    """The part of the path that a proxy puts in front, such as /levelled."""
    hosts: tuple[str, ...] = LOOPBACK
    """The names by which the server may be addressed; empty for any."""
    file: Path | None = None
    """A file from which a campaign may be created."""
    uploads: Path | None = None
    """The folder of files that campaigns may be created from, also for uploads."""
    images: Path | None = None
    """The folder of the images that items name."""
    upload_limit: int = UPLOAD_LIMIT
    uploads_limit: int = UPLOADS_LIMIT

    def __post_init__(self) -> None:
        path = self.root_path
        if path and not (path.startswith("/") and not path.endswith("/") and path.isprintable()):
            raise InputError(f"--root-path must be like /levelled; it is {path!r:.80}.")
        for name, folder in (("--uploads", self.uploads), ("--images", self.images)):
            if folder is not None and not folder.is_dir():
                raise InputError(f"{name} names no folder: {str(folder)!r}. Make it first.")
        if self.file is not None and not self.file.is_file():
            raise InputError(f"There is no file {str(self.file)!r}.")


def link_token(storage: str) -> str:
    """The token of the link that `levelled serve` prints on this machine for this storage.

    It follows from the key of this user, so that the link, and a page that is open, stay valid
    when the server starts again.
    """
    try:
        key = _key_of_user()
    except (OSError, RuntimeError) as wrong:
        raise InputError(
            "The folder for keys cannot be written, so no link can be made: name another one by "
            "the variable LEVELLED_CACHE, or set up tokens with: levelled serve --invite NAME"
        ) from wrong
    return hmac.new(key, f"levelled serve {place_of(storage)}".encode(), "sha256").hexdigest()


def _key_of_user() -> bytes:
    """The secret key of this user, made at its first use."""
    path = cache_folder() / "snapshot.key"  # another name would end the links in use
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        made = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
        # Written whole under another name, then linked: nobody reads half a key, and of two
        # processes that make one at once, both use the first.
        made.touch(mode=0o600)
        made.write_bytes(secrets.token_bytes(32))
        with suppress(FileExistsError):  # another process was faster
            os.link(made, path)
        made.unlink()
    key = path.read_bytes()
    if len(key) != 32:
        raise OSError(f"{path} is no key.")
    return key
