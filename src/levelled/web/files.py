"""Files that may be read or uploaded: below declared folders; uploads are opened with limits."""

import re
import secrets
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress
from hashlib import file_digest
from pathlib import Path

from starlette.exceptions import HTTPException

from levelled.errors import InputError
from levelled.sources.content import check_image
from levelled.sources.files import ENDINGS, PACKED
from levelled.sources.untrusted import distrust
from levelled.web.settings import WebSettings

IMAGES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}
"""The images that are sent; SVG is not one of them, because it can hold scripts."""

_POOLS = (*ENDINGS, *PACKED, ".eval", ".json")
"""The endings of files that campaigns may be created from: pools, and outputs of other tools."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,120}\Z")


class ServedFiles:
    """The files of the folders in the settings, by names without a path."""

    def __init__(self, settings: WebSettings) -> None:
        self._settings = settings
        self._uploading = Counter[str]()
        """How many uploads of each visitor are under way."""
        if settings.uploads is not None:
            distrust(settings.uploads)

    def names(self) -> list[str]:
        """The files that a campaign may be created from."""
        folder, file = self._settings.uploads, self._settings.file
        names = [] if file is None else [file.name]
        if folder is not None:
            names += sorted(
                path.name
                for path in folder.iterdir()
                if _NAME.match(path.name) and path.suffix.lower() in _POOLS and path.is_file()
            )
        return list(dict.fromkeys(names))

    def path(self, name: str) -> Path:
        """The path of such a file; refuses any other."""
        file, folder = self._settings.file, self._settings.uploads
        if file is not None and name == file.name:
            return file
        if folder is None or not _NAME.match(name):
            raise HTTPException(404, f"There is no file {name!r:.120} to create a campaign from.")
        return _below(folder, name)

    def image(self, name: str) -> Path:
        """The path of an image below the declared folder."""
        folder = self._settings.images
        if folder is None or Path(name).suffix.lower() not in IMAGES:
            raise HTTPException(404, "There is no such image.")
        path = _below(folder, name)
        check_image(path)
        return path

    async def save(self, name: str, body: AsyncIterator[bytes], visitor: str) -> Path:
        """Write an upload to the folder; replaces nothing but a file with the same content."""
        most = self._settings.uploads_at_once
        if self._uploading[visitor] >= most:
            raise HTTPException(
                429, f"{most} uploads of yours are under way: wait until one of them is done."
            )
        self._uploading[visitor] += 1
        try:
            return await self._save(name, body)
        finally:
            self._uploading[visitor] -= 1

    async def _save(self, name: str, body: AsyncIterator[bytes]) -> Path:
        folder = self._settings.uploads
        if folder is None:
            raise HTTPException(403, "This server takes no uploads: start it with --uploads.")
        if not _NAME.match(name) or Path(name).suffix.lower() not in _POOLS:
            raise InputError(
                f"{name!r:.120} is no name for an upload: letters, digits, blanks and ._- , with "
                f"one of the endings {', '.join(_POOLS)}."
            )
        part, target = folder / f".{secrets.token_hex(8)}.part", folder / name
        held = sum(path.lstat().st_size for path in folder.iterdir())  # also what still arrives
        room = self._settings.uploads_limit - held
        try:
            with part.open("xb") as out:
                async for chunk in body:
                    room -= len(chunk)
                    if room < 0:
                        raise HTTPException(
                            413,
                            f"The folder for uploads would hold more than "
                            f"{self._settings.uploads_limit:,} bytes: whoever runs the server "
                            f"can remove files that no campaign needs.",
                        )
                    out.write(chunk)
            if target.exists() and _digest(part) != _digest(target):
                raise HTTPException(409, f"There is a file {name!r} already: choose another name.")
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
        return target


def _below(folder: Path, name: str) -> Path:
    """A file below a folder, also when links are followed."""
    with suppress(OSError, ValueError, RuntimeError):
        path = (folder / name).resolve(strict=True)
        if path.is_relative_to(folder.resolve()) and path.is_file():
            return path
    raise HTTPException(404, f"There is no file {name!r:.120}.")


def _digest(path: Path) -> bytes:
    with path.open("rb") as file:
        return file_digest(file, "sha256").digest()
