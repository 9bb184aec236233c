"""A PostgreSQL server for tests and benchmarks alone: made, started, stopped and deleted here."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

__all__ = ["PASSWORD", "PostgresServer", "find_binaries", "free_port", "run_server"]

PASSWORD = "s3cr:t/@ü"
"""The password of the user "team", with characters that an address must escape."""

_ESCAPED = "s3cr%3At%2F%40%C3%BC"


def find_binaries() -> Path | None:
    """The folder of the newest PostgreSQL programs on this machine, if there are any."""
    folders = sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: float(folder.parent.name)
    )
    on_path = shutil.which("initdb")
    if on_path is not None:
        folders.insert(0, Path(on_path).resolve().parent)
    return next((one for one in reversed(folders) if (one / "initdb").exists()), None)


class PostgresServer:
    """A server on a free port of 127.0.0.1, with the user "team" who may create databases."""

    def __init__(self, folder: Path, *, fsync: bool) -> None:
        binaries = find_binaries()
        assert binaries is not None, "PostgreSQL is not installed"
        self._binaries, self._data = binaries, folder / "data"
        self._log = folder / "server.log"
        self.port = free_port()
        self._fsync = fsync
        if os.geteuid() == 0:  # the server refuses to run as root
            user = _unprivileged()
            self._as_user = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}"]
            self._as_user += ["--clear-groups"]
            os.chown(folder, user.pw_uid, user.pw_gid)
        else:
            self._as_user = []
        (folder / "password").write_text(PASSWORD)
        (folder / "password").chmod(0o644)
        self._run(
            "initdb", "-D", self._data, "-U", "team", "--auth=scram-sha-256", "--encoding=UTF8",
            f"--pwfile={folder / 'password'}", "--locale=C", "--no-sync", "--no-instructions",
        )  # fmt: skip
        self._server: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the server and wait until it takes connections."""
        command = [*self._as_user, str(self._binaries / "postgres"), "-D", str(self._data)]
        options = {
            "port": self.port,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "fsync": "on" if self._fsync else "off",
            "max_connections": 100,
            "shared_buffers": "16MB",
        }
        command += [f"--{name}={value}" for name, value in options.items()]
        deadline = time.monotonic() + 60
        with self._log.open("ab") as log:
            self._server = subprocess.Popen(command, stdout=log, stderr=log, cwd="/")
            while self._run("pg_isready", "-q", "-h", "127.0.0.1", "-p", self.port, check=False):
                if time.monotonic() > deadline:
                    last = self._log.read_text()[-2000:]
                    raise RuntimeError(f"PostgreSQL does not start: {last}")
                time.sleep(0.05)
                if self._server.poll() is not None:  # parts of one that was killed are still there
                    self._server = subprocess.Popen(command, stdout=log, stderr=log, cwd="/")

    def stop(self) -> None:
        """Stop the server; connections that are open end."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """Kill the server's main process; the others end when they notice it."""
        self._end(signal.SIGKILL)

    def kill_all(self) -> None:
        """Kill all processes of the server, as a loss of power does."""
        assert self._server is not None
        others = [pid for pid, parent in _parents().items() if parent == self._server.pid]
        self._end(signal.SIGKILL)
        for pid in others:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        while any(Path(f"/proc/{pid}").exists() for pid in others):
            time.sleep(0.01)

    def ensure(self) -> None:
        """Start the server if it is not running, and wait until it takes connections."""
        if self._server is None or self._server.poll() is not None:
            self.start()
        while self._run("pg_isready", "-q", "-h", "127.0.0.1", "-p", self.port, check=False):
            time.sleep(0.05)
            if self._server is None or self._server.poll() is not None:
                self.start()

    def drop(self) -> None:
        """Stop the server without care for its files, which are to be deleted."""
        self._end(signal.SIGQUIT)

    def url(self, database: str, *, user: str = "team", password: str = _ESCAPED) -> str:
        """The address of a database, with the password."""
        return f"postgresql://{user}:{password}@127.0.0.1:{self.port}/{database}"

    def new_database(self) -> str:
        """The address of a new, empty database."""
        name = f"test_{uuid4().hex}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE template0 STRATEGY wal_log")
        return self.url(name)

    def new_schema(self) -> str:
        """The address of a new, empty schema in a database that is shared; faster to make."""
        name = f"test_{uuid4().hex}"
        self.execute(f"CREATE SCHEMA {name}")
        return f"{self.url('postgres')}?options=-csearch_path%3D{name}"

    def execute(self, statement: str, database: str = "postgres") -> list[tuple[object, ...]]:
        """The rows of an SQL statement, run outside a transaction."""
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def _end(self, how: signal.Signals) -> None:
        if self._server is not None:
            with suppress(ProcessLookupError):
                self._server.send_signal(how)
            self._server.wait(60)
            self._server = None

    def _run(self, program: str, *words: object, check: bool = True) -> int:
        command = [*self._as_user, str(self._binaries / program), *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")
        if check and done.returncode:
            raise RuntimeError(f"{program} failed: {done.stderr.strip()}")
        return done.returncode


@contextmanager
def run_server(*, fsync: bool = False) -> Iterator[PostgresServer]:
    """A server that is running; it and its files are gone at the end."""
    with tempfile.TemporaryDirectory(prefix="levelled-pg-", ignore_cleanup_errors=True) as made:
        Path(made).chmod(0o755)
        server = PostgresServer(Path(made), fsync=fsync)
        server.start()
        try:
            yield server
        finally:
            server.drop()


def _parents() -> dict[int, int]:
    """The parent of every process of this machine."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            parents[int(path.parent.name)] = int(fields[1])
    return parents


def _unprivileged() -> pwd.struct_passwd:
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            return pwd.getpwnam(name)
    raise RuntimeError("PostgreSQL does not run as root, and there is no user to run it as")


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port
