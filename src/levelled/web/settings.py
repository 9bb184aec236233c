"""The settings of the web server."""

import secrets
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from levelled._files import cache_folder
from levelled.campaigns.stores import Store, find_token, hash_token
from levelled.errors import InputError

LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""The names of this machine that others cannot reach."""

UPLOAD_LIMIT = 100 * 2**20
"""The most bytes of an uploaded file: a million items; larger ones are copied to the folder."""

UPLOADS_LIMIT = 10 * 2**30
"""The most bytes of all files in the folder for uploads; beyond it uploads are refused."""

UPLOADS_AT_ONCE = 2
"""The most uploads of one visitor at the same time; the page sends one after the other."""

STREAMS_LIMIT = 20
"""The most streams of one visitor: a browser opens six to a server, and people have three or so."""

REQUESTS_LIMIT = 12_000
"""The most requests of one visitor in a minute.

A page of figures sends up to 30 a second while a team labels, a labeller at most 10: this is room
for six such pages, and a fraction of what a server answers.
"""


@dataclass(frozen=True, slots=True)
class WebSettings:
    """The storage that is served, to whom, and which files may be read."""

    storage: str
    owner: str = ""
    """The name of the person who gets the printed link, an analyst."""
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
    uploads_at_once: int = UPLOADS_AT_ONCE
    streams_limit: int = STREAMS_LIMIT
    requests_limit: int = REQUESTS_LIMIT

    def __post_init__(self) -> None:
        path = self.root_path
        if path and not (path.startswith("/") and not path.endswith("/") and path.isprintable()):
            raise InputError(f"--root-path must be like /levelled; it is {path!r:.80}.")
        for name, folder in (("--uploads", self.uploads), ("--images", self.images)):
            if folder is not None and not folder.is_dir():
                raise InputError(f"{name} names no folder: {str(folder)!r}. Make it first.")
        if self.file is not None and not self.file.is_file():
            raise InputError(f"There is no file {str(self.file)!r}.")


def link_token(store: Store, owner: str) -> str:
    """The token of the link that `levelled serve` prints for the person who starts it.

    The storage knows it as any other, so that it is listed and can be revoked. It also lies in a
    file of this user, so that the link, and a page that is open, stay valid when the server starts
    again; once it was revoked, the next start makes another.
    """
    place = f"{store.address}\n{owner}".encode("utf-8", "surrogatepass")
    try:
        path = cache_folder() / "links" / blake2b(place, digest_size=16).hexdigest()
        kept = path.read_text(encoding="ascii") if path.exists() else ""
        found = find_token(store.tokens.all(), hash_token(kept))
        if found is not None and (found.name, found.role) == (owner, "analyst"):
            return kept
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
        part.touch(mode=0o600)  # before the token is made, which is of no use without the file
    except (OSError, RuntimeError, ValueError) as wrong:
        raise InputError(
            "The folder for links cannot be used, so no link can be made: name another one by the "
            "variable LEVELLED_CACHE."
        ) from wrong
    try:
        token = store.tokens.add(owner, "analyst")
        part.write_text(token, encoding="ascii")
        part.replace(path)  # as a whole: another process reads the token before or after
    finally:
        part.unlink(missing_ok=True)
    return token
