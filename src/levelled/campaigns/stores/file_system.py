"""The kind of file system that a database is on, since write-ahead logs need a local one.

Processes that share a write-ahead log do so by memory, which machines that mount the same
network drive do not have in common: they would overwrite each other's labels.
"""

import os
from pathlib import Path

_NETWORK = {
    *("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "gpfs"),
    *("vboxsf", "drvfs", "prl_fs", "vmhgfs", "virtiofs", "fuse.sshfs", "fuse.s3fs", "fuse.rclone"),
    *("fuse.gcsfuse", "fuse.glusterfs", "fuse.vmhgfs-fuse", "fuse.davfs2", "davfs", "beegfs"),
}
_MOUNTS = Path("/proc/self/mountinfo")


def network_kind(path: Path, mounts: str | None = None) -> str | None:
    r"""The kind of network or shared drive that a file is on; None on a local one.

    `mounts` is the text of /proc/self/mountinfo, by default of this machine; where there is none,
    as on other systems than Linux, the answer is None.

    >>> table = "36 1 8:1 / / rw - ext4 /dev/sda rw\n37 36 0:4 / /mnt/team rw - nfs4 host:/x rw"
    >>> network_kind(Path("/mnt/team/a.db"), table), network_kind(Path("/home/a.db"), table)
    ('nfs4', None)
    """
    if mounts is None:
        try:
            mounts = _MOUNTS.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None
        path = Path(os.path.realpath(path))
    deepest, kind = -1, ""
    for line in mounts.splitlines():
        where, _, what = line.partition(" - ")
        fields, types = where.split(), what.split()
        if len(fields) < 5 or not types:
            continue
        mounted = Path(fields[4].replace("\\040", " "))
        if path.is_relative_to(mounted) and len(mounted.parts) >= deepest:
            deepest, kind = len(mounted.parts), types[0]
    return kind if kind in _NETWORK else None
