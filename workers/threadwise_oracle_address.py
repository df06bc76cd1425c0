"""Server and account: the engine's options `url`, `password_file` and `prefix`, and ORACLE_PASSWORD.

The address is `oracle://USER@HOST:1521/SERVICE`; `oracles://` means TLS (protocol TCPS), whose certificate is checked
against the machine's authorities (the variable SSL_CERT_FILE names others). An address with a password is refused, and
no message shows any part of it.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

from threadwise_failure import Failed
from threadwise_oracle_failure import keep_secret, refused

#: Environment variable with the password, unless a file is given.
VARIABLE = "ORACLE_PASSWORD"

#: Default prefix of the names of threadwise's objects.
PREFIX = "TW_"

#: Longest prefix: names have at most 30 bytes before Oracle 12.2, and 23 are needed after it.
LONGEST_PREFIX = 7

#: Usual port of a listener, and that for TLS.
PORT, TLS_PORT = 1521, 2484

FORM = "give an address such as oracle://USER@HOST:1521/SERVICE"

#: Options of the engine.
KNOWN = ("url", "password_file", "prefix", "waits", "python")


@dataclass(frozen=True)
class Target:
    """A server and an account."""

    user: str
    host: str
    port: int
    service: str
    tls: bool
    #: Prefix of the names of threadwise's objects, in capitals.
    prefix: str
    #: Whether waits are sampled.
    waits: bool
    password: str = field(default="", repr=False)

    def place(self) -> str:
        """Server and service, as messages name them."""
        return f"{self.host}:{self.port}/{self.service}"


def read_target(options: dict[str, Any]) -> Target:
    """Checks the engine's options, not yet the password."""
    for name in options:
        if name not in KNOWN:
            raise refused(name, f"unknown to the engine oracle; allowed: {', '.join(KNOWN)}")
    if "url" not in options:
        raise Failed("option", f"option 'url': the engine oracle needs your server: {FORM}")
    user, host, port, service, tls = _read_url(options["url"])
    waits = options.get("waits", "states")
    if waits not in ("states", "none"):
        raise refused("waits", f"'{waits}' is not one of: states, none")
    return Target(user, host, port, service, tls, _read_prefix(options.get("prefix", PREFIX)), waits == "states")


def _read_url(url: Any) -> tuple[str, str, int, str, bool]:
    def bad(why: str) -> Failed:
        return refused("url", f"{why}; {FORM}")

    if not isinstance(url, str):
        raise bad("it is not a text")
    scheme, _, rest = url.partition("://")
    if scheme not in ("oracle", "oracles"):
        raise bad("it begins with neither oracle:// nor oracles://")
    user_part, at, _ = rest.rpartition("@")
    if ":" in user_part or "/" in user_part or "@" in user_part:
        raise Failed("option", f"option 'url': the address contains a password: remove it, and give it by {VARIABLE} "
                               "or by --engine-option password_file=FILE")
    try:
        parts = urlsplit(f"//{rest}")
        host, port = parts.hostname, parts.port
    except ValueError:
        raise bad("host or port is invalid") from None
    user, service = unquote(user_part), parts.path.removeprefix("/")
    if not at or not re.fullmatch(r"[A-Za-z][\w$#]{0,127}", user, re.ASCII):
        raise bad("it names no user")
    if not host or not re.fullmatch(r"[\w.:%-]+", host, re.ASCII):
        raise bad("it names no host")
    if not re.fullmatch(r"[\w.$#-]+", service, re.ASCII) or parts.query or parts.fragment:
        raise bad("it names no service, or has something after it")
    tls = scheme == "oracles"
    return user, host, port or (TLS_PORT if tls else PORT), service, tls


def _read_prefix(prefix: Any) -> str:
    if not isinstance(prefix, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", prefix, re.ASCII) \
            or len(prefix) > LONGEST_PREFIX:
        raise refused("prefix", f"'{prefix}' is not a letter and up to {LONGEST_PREFIX - 1} letters, digits and _")
    return prefix.upper()


def with_password(target: Target, options: dict[str, Any]) -> Target:
    """The target with its password, from the file if one is given."""
    path = options.get("password_file")
    password = _read_file(path) if path is not None else os.environ.get(VARIABLE, "")
    if not password:
        raise Failed("option", f"there is no password for user '{target.user}': set {VARIABLE}, or give a file of "
                               "mode 0600 that begins with it by --engine-option password_file=FILE")
    keep_secret(password)
    return Target(**{**target.__dict__, "password": password})


def _read_file(path: Any) -> str:
    def bad(why: str) -> Failed:
        return refused("password_file", f"{why}; give the absolute path of your own file of mode 0600, with the "
                                        "password as its first line")

    if not isinstance(path, str) or not os.path.isabs(path):
        raise bad("it is not an absolute path")
    try:
        with open(path, encoding="utf-8") as file:
            entry = os.fstat(file.fileno())
            if not stat.S_ISREG(entry.st_mode):
                raise bad(f"{path} is not a regular file")
            if entry.st_mode & 0o077:
                raise bad(f"{path} has mode {stat.S_IMODE(entry.st_mode):04o}, so others may read it: chmod 600 {path}")
            if entry.st_uid not in (os.geteuid(), 0):
                raise bad(f"{path} belongs to another user")
            return file.readline().rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as cause:
        raise bad(f"{path} cannot be read ({type(cause).__name__})") from None
