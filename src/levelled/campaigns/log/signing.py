"""Signatures of a log: name, number of events and last hash of a campaign, signed with Ed25519."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from levelled._optional import optional
from levelled.campaigns.log.hashing import canonical
from levelled.errors import InputError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

_MAKE = "openssl genpkey -algorithm ed25519 -out key.pem; openssl pkey -in key.pem -pubout"


class LogEnd(NamedTuple):
    """The end of a campaign's log: a hash that stands for all events up to it."""

    campaign: str
    n_events: int
    last_hash: str

    @property
    def message(self) -> bytes:
        """The bytes that are signed."""
        return canonical(self._asdict()).encode()


def write_signature(end: LogEnd, key: Path, out: Path) -> None:
    """Sign the end of a log with the private key in a PEM file, and write both as JSON."""
    signature = _private_key(key).sign(end.message).hex()
    plain = {**end._asdict(), "algorithm": "Ed25519", "signature": signature}
    out.write_text(json.dumps(plain, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_signature(path: Path, key: Path) -> LogEnd:
    """The end of a log that was signed; refuses a signature that does not fit the public key."""
    public = _public_key(key)
    from cryptography.exceptions import InvalidSignature

    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        end = LogEnd(str(plain["campaign"]), int(plain["n_events"]), str(plain["last_hash"]))
        signature = bytes.fromhex(plain["signature"])
    except (ValueError, LookupError, TypeError) as wrong:
        raise InputError(f"{path} is no signature file of levelled audit --sign.") from wrong
    try:
        public.verify(signature, end.message)
    except InvalidSignature as wrong:
        raise InputError(
            f"The signature in {path} was not made with the key that belongs to {key}, or the "
            f"file was changed since."
        ) from wrong
    return end


def _private_key(path: Path) -> "Ed25519PrivateKey":
    loading = optional("cryptography.hazmat.primitives.serialization", extra="signing")
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = _load(path, lambda data: loading.load_pem_private_key(data, password=None))
    if not isinstance(key, Ed25519PrivateKey):
        raise _refused(path, "private")
    return key


def _public_key(path: Path) -> "Ed25519PublicKey":
    loading = optional("cryptography.hazmat.primitives.serialization", extra="signing")
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    key = _load(path, loading.load_pem_public_key)
    if not isinstance(key, Ed25519PublicKey):
        raise _refused(path, "public")
    return key


def _load(path: Path, load: Any) -> object:  # noqa: ANN401
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        return load(path.read_bytes())
    except (ValueError, TypeError, UnsupportedAlgorithm):  # no key, or one with a password
        return None


def _refused(path: Path, kind: str) -> InputError:
    return InputError(
        f"{path} is no {kind} Ed25519 key in PEM without a password. To make a pair: {_MAKE}"
    )
