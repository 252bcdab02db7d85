"""The certificate of the page: made by `hey-echo tls create`, or the owner's own."""

import contextlib
import datetime
import ipaddress
import os
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from firmware_app.errors import EngineError, SettingsError, StorageError
from firmware_app.folders import state_dir
from firmware_app.settings import Settings
from firmware_app.web.addresses import hostname, lan_address, own_names

DAYS = 825  # the longest that phones take: support.apple.com/HT210176
_BACKDATED = datetime.timedelta(days=1)  # a box without a clock may be ahead of the phones


@dataclass(frozen=True, slots=True)
class Certificate:
    """What people compare, and until when it holds. fingerprint: SHA-256, as browsers show it."""

    fingerprint: str
    names: tuple[str, ...]
    begins: datetime.datetime
    ends: datetime.datetime


@dataclass(frozen=True, slots=True)
class Files:
    certificate: Path
    key: Path


def files(settings: Settings) -> Files | None:
    """Those of the settings, or those that `hey-echo tls create` made; None: no TLS.

    Raises SettingsError where only one of the two is named.
    """
    web = settings.web
    if bool(web.certificate) != bool(web.key):
        raise SettingsError(
            "tls-half-set",
            "web.certificate and web.key go together, and one of them is not set.",
            "Set both, or neither.",
        )
    if web.certificate:
        return Files(Path(web.certificate).expanduser(), Path(web.key).expanduser())
    made = made_files(state_dir(settings))
    try:
        there = made.certificate.exists()
    except PermissionError:
        return None
    return made if there else None


def made_files(state: Path) -> Files:
    return Files(state / "tls" / "certificate.pem", state / "tls" / "key.pem")


def context(found: Files, now: datetime.datetime | None = None) -> ssl.SSLContext:
    """Raises SettingsError for files that are missing, damaged, no pair, or out of date."""
    about = look_at(found.certificate)
    if (now or datetime.datetime.now(datetime.UTC)) > about.ends:
        raise SettingsError(
            "tls-expired",
            f"The certificate {found.certificate} ended on {about.ends:%Y-%m-%d}.",
            "Make a new one: sudo hey-echo tls create --replace",
        )
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    made.set_alpn_protocols(["http/1.1"])
    try:
        made.load_cert_chain(found.certificate, found.key)
    except OSError as fault:  # SSLError is one
        why = fault.strerror if not isinstance(fault, ssl.SSLError) else "they do not fit together"
        raise _unusable(found.key, why or "it cannot be read") from fault
    return made


def look_at(path: Path) -> Certificate:
    """Raises SettingsError where it is no certificate."""
    x509 = _cryptography().x509
    try:
        found = x509.load_pem_x509_certificate(path.read_bytes())
    except OSError as fault:
        raise _unusable(path, (fault.strerror or str(fault)).lower()) from fault
    except ValueError as fault:
        raise _unusable(path, "it is damaged, or not a certificate in PEM") from fault
    names: tuple[str, ...] = ()
    with contextlib.suppress(x509.ExtensionNotFound, ValueError):
        extension = found.extensions.get_extension_for_class(x509.SubjectAlternativeName)
        names = tuple(str(name.value) for name in extension.value)
    from cryptography.hazmat.primitives.hashes import SHA256

    return Certificate(
        found.fingerprint(SHA256()).hex(":").upper(),
        names,
        found.not_valid_before_utc,
        found.not_valid_after_utc,
    )


def create(settings: Settings, state: Path, *, replace: bool = False) -> Certificate:
    """Make a self-signed certificate for this box's names and address, and its key (0600).

    Raises StorageError where there is one already, or the folder cannot be written.
    """
    place = made_files(state)
    if place.certificate.exists() and not replace:
        raise StorageError(
            "tls-exists",
            f"There is a certificate already: {place.certificate}.",
            "Phones that trust it must be told of another; to make one all the same: --replace",
        )
    certificate, key = _pair(sorted(own_names(settings.web)), lan_address())
    try:
        place.key.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write(place.key, key)
        _write(place.certificate, certificate)
    except OSError as fault:
        raise StorageError(
            "tls-not-written",
            f"{place.certificate} cannot be written: {(fault.strerror or str(fault)).lower()}.",
            "Run it as root, or as the user of the service.",
        ) from fault
    return look_at(place.certificate)


def _pair(names: list[str], address: str | None) -> tuple[bytes, bytes]:
    """Certificate and key in PEM: EC P-256, which every phone takes."""
    x509 = _cryptography().x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, f"{hostname()}.local"[:64])])
    addresses = {"127.0.0.1", "::1", *([address] if address else [])}
    alternatives = [x509.DNSName(name) for name in names] + [
        x509.IPAddress(ipaddress.ip_address(one)) for one in sorted(addresses)
    ]
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATED)
        .not_valid_after(now - _BACKDATED + datetime.timedelta(days=DAYS))
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(
            x509.ExtendedKeyUsage([x509.ExtendedKeyUsageOID.SERVER_AUTH]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return made.public_bytes(serialization.Encoding.PEM), private


def _write(path: Path, text: bytes) -> None:
    """As whoever owns the state, where root writes it for the service."""
    new = path.with_name(path.name + ".new")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(file.fileno(), 0o600)
        if os.geteuid() == 0:
            owner = path.parent.parent.stat()
            os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
            os.chown(path.parent, owner.st_uid, owner.st_gid)
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def _unusable(path: Path, why: str) -> SettingsError:
    return SettingsError(
        "tls-unusable",
        f"The page cannot use {path}: {why}.",
        "Name the right files in web.certificate and web.key, or make one: hey-echo tls create",
    )


def _cryptography() -> Any:  # noqa: ANN401 - a module
    """It is heavy, and only boxes with TLS need it."""
    try:
        import cryptography.x509
    except ImportError as missing:
        raise EngineError(
            "not-installed",
            "The Python package cryptography is not installed.",
            "Run ./scripts/setup.",
        ) from missing
    return cryptography
