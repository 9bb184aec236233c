"""Files that are small on the disk and huge in memory are refused before they are opened."""

import zipfile
from pathlib import Path

from levelled.errors import PoolError

MOST_BYTES = 4 * 2**30
"""The most bytes that a file may hold once it is unpacked."""
MOST_ROWS = 20_000_000
"""The most rows of a file that is read by the web server."""
MOST_RATIO = 200
"""The most bytes that each byte of a file of 10 MB or more unpacked may stand for."""


def refuse_bomb(path: Path) -> None:
    """Refuse a file that declares more content than a pool for labelling has."""
    if path.suffix.lower() in (".parquet", ".pq"):
        _refuse_parquet(path)
    elif zipfile.is_zipfile(path):
        _refuse_zip(path)
    elif path.stat().st_size > MOST_BYTES:
        raise _too_much(path, f"{path.stat().st_size:,} bytes")


def _refuse_parquet(path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        metadata = pq.read_metadata(path)
    except (pa.ArrowException, OSError) as wrong:
        raise PoolError(
            f"{path.name} is no Parquet file: {str(wrong).partition('.')[0]}."
        ) from wrong
    if metadata.num_rows > MOST_ROWS:
        raise _too_much(path, f"{metadata.num_rows:,} rows")
    groups = (metadata.row_group(at) for at in range(metadata.num_row_groups))
    _refuse_size(path, sum(group.total_byte_size for group in groups))


def _refuse_zip(path: Path) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            _refuse_size(path, sum(member.file_size for member in archive.infolist()))
    except (zipfile.BadZipFile, OSError, ValueError) as wrong:
        raise PoolError(f"{path.name} is a damaged ZIP file: {wrong}.") from wrong


def _refuse_size(path: Path, size: int) -> None:
    if size > MOST_BYTES or size > max(MOST_RATIO * path.stat().st_size, 10 * 2**20):
        raise _too_much(path, f"{size:,} bytes")


def _too_much(path: Path, content: str) -> PoolError:
    return PoolError(
        f"{path.name} would unpack to {content}, more than the web server opens: create the "
        f"campaign with levelled create."
    )
