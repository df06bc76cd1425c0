"""Objects of threadwise in the user's schema: a table that marks them, a list of all of them, and their removal.

The objects are in the account's own schema, since creating another one needs an administrator; their names begin with
a prefix. Objects of such names without the mark are refused, and only objects on the list are dropped. The
keeper's connection holds a lock: DBMS_LOCK where it is granted (Oracle Database PL/SQL Packages and Types Reference
19c, "DBMS_LOCK": a lock that is not released on commit goes with its session), else the mark's row (SELECT … FOR
UPDATE), for which that connection does nothing else, since DDL commits (SQL Language Reference 19c, "COMMIT").
"""

from __future__ import annotations

import contextlib
import hashlib
from dataclasses import dataclass, field

from threadwise_failure import Failed
from threadwise_oracle_address import Target
from threadwise_oracle_failure import failed, is_missing, is_not_there, number_of, statement_failed
from threadwise_oracle_server import Connection, fill, text_of

#: Text of the mark.
MARK = "made by threadwise, dropped at the end of its study"

#: Administrative tables, which are not on the list.
OWN = ("MARK", "MADE", "LOADS")

#: Time limit for dropping a table: sessions of a killed worker end with their call.
DDL_WAIT_S = 20

#: Longest notes of a load, characters.
MAX_NOTES = 2000


@dataclass(frozen=True)
class Objects:
    """A treatment's objects in the server, with the prefix."""

    tables: list[str] = field(default_factory=list)
    procedures: list[str] = field(default_factory=list)
    #: Of the tables, with which they are dropped.
    indexes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Loaded:
    """The record of a load."""

    #: What distinguishes this data from other data of the same name.
    facts: str
    bytes_per_session: int
    rows_per_session: int
    notes: list[str]


class Kept:
    """State of a whole study: the lock, and the objects created under it."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.lock = Connection(target, "keeper")
        try:
            self.by_package = self._lock_by_package()
            with Connection(target, "load") as control:
                control.set("ddl_lock_timeout", DDL_WAIT_S)
                self._make(control)
        except BaseException:
            self.lock.close()
            raise

    def _lock_by_package(self) -> bool:
        """Takes the lock by DBMS_LOCK; False if that is not granted."""
        name = hashlib.sha256(f"threadwise {self.target.user.upper()} {self.target.prefix}".encode())
        # Locks of users have numbers up to 2^30 - 1.
        number = int.from_bytes(name.digest()[:4], "big") >> 2
        try:
            with self.lock.inner.cursor() as cursor:
                result = cursor.var(int)
                cursor.execute(text_of("lock_request"), {"result": result, "id": number})
                got = result.getvalue()
        except self.lock.errors as cause:
            if is_missing(cause):
                return False
            raise statement_failed("take the lock of its objects", cause) from cause
        if got in (0, 4):  # taken, or ours already
            return True
        raise self._in_use() if got == 1 else failed("take the lock of its objects", f"DBMS_LOCK says {got}")

    def _in_use(self) -> Failed:
        return failed("take the lock of its objects",
                      f"another study uses the prefix {self.target.prefix} of '{self.target.user}' now: wait for its "
                      "end, or give another one with --engine-option prefix=NAME_")

    def _lock_row(self) -> None:
        try:
            rows = self.lock.rows(fill("mark_lock", prefix=self.target.prefix))
        except self.lock.errors as cause:
            if number_of(cause) in ("ORA-00054", "ORA-30006"):
                raise self._in_use() from cause
            raise statement_failed("take the lock of its objects", cause) from cause
        if len(rows) != 1:
            raise failed("take the lock of its objects", f"table {self.target.prefix}MARK has {len(rows)} rows")

    def _make(self, control: Connection) -> None:
        """Creates the mark and the list. Leftovers of an earlier study are dropped first."""
        prefix = self.target.prefix
        there = objects(control, prefix)
        if there and not is_ours(control, prefix):
            names = ", ".join(name for _, name in there[:5])
            raise failed("make its objects",
                         f"the schema of '{self.target.user}' has objects whose names begin with {prefix} and which "
                         f"threadwise did not make ({names}): give another prefix with --engine-option prefix=NAME_")
        if there and not self.by_package:
            self._lock_row()
        if there:
            drop_listed(control, prefix)
            for name in reversed(OWN[1:]):
                drop(control, "TABLE", prefix + name)
        else:
            action = f"make its objects as '{self.target.user}'"
            control.run(action, fill("mark_create", prefix=prefix, says=MARK))
            if not self.by_package:
                self._lock_row()
        for name in ("list_create", "loads_create"):
            control.run("make its list of objects", fill(name, prefix=prefix))

    def end(self) -> None:
        """Drops what is on the list, then the lists and the mark, and gives up the lock."""
        prefix = self.target.prefix
        try:
            with Connection(self.target, "end") as control:
                control.set("ddl_lock_timeout", DDL_WAIT_S)
                if is_ours(control, prefix):
                    drop_listed(control, prefix)
                    for name in reversed(OWN[1:]):
                        drop(control, "TABLE", prefix + name)
                    # The lock of the row would keep its table from being dropped.
                    self.lock.rollback()
                    drop(control, "TABLE", prefix + OWN[0])
        finally:
            self.lock.close()

    def abandon(self) -> None:
        """Drops what it can after another failure; the next study does the rest."""
        with contextlib.suppress(Failed):
            self.end()


def objects(control: Connection, prefix: str) -> list[tuple[str, str]]:
    """Kind and name of everything in the schema whose name begins with the prefix."""
    rows = control.ask("look for its objects", text_of("objects"), {"prefix": prefix})
    return [(str(kind), str(name)) for kind, name in rows]


def is_ours(control: Connection, prefix: str) -> bool:
    """Whether the mark exists with the expected text."""
    try:
        return control.rows(fill("mark_read", prefix=prefix)) == [(MARK,)]
    except control.errors as cause:
        if is_not_there(cause) or number_of(cause) == "ORA-00904":
            return False
        raise statement_failed("look for the mark of its objects", cause) from cause


def _listed(control: Connection, prefix: str) -> list[tuple[str, str]]:
    try:
        return [(str(kind), str(name)) for kind, name in control.rows(fill("list_read", prefix=prefix))]
    except control.errors as cause:
        if is_not_there(cause):  # killed while it was being made
            return []
        raise statement_failed("read its list of objects", cause) from cause


def drop_listed(control: Connection, prefix: str) -> None:
    """Drops what is on the list; refuses before anything is dropped if there are other objects of such names."""
    listed = _listed(control, prefix)
    own = {prefix + name for name in OWN}
    others = [name for kind, name in objects(control, prefix) if (kind, name) not in listed and name not in own]
    if others:
        raise failed("drop its objects",
                     f"some whose names begin with {prefix} were not created by threadwise, so none is "
                     f"dropped: {', '.join(others[:5])}; move them elsewhere, or give another prefix with "
                     "--engine-option prefix=NAME_")
    for kind, name in listed:
        if kind in ("TABLE", "PROCEDURE"):
            drop(control, kind, name)


def drop(control: Connection, kind: str, name: str) -> None:
    """Drops one object, if it exists."""
    try:
        with control.inner.cursor() as cursor:
            cursor.execute(fill(f"drop_{kind.lower()}", name=name))
    except control.errors as cause:
        if not is_not_there(cause):
            raise statement_failed(f"drop {kind.lower()} {name}", cause) from cause


def announce(control: Connection, prefix: str, made: Objects) -> None:
    """Records what will be created, and drops what an interrupted load left of it."""
    for kind, names in (("PROCEDURE", made.procedures), ("TABLE", made.tables), ("INDEX", made.indexes)):
        for name in names:
            control.run("record what will be created", fill("list_add", prefix=prefix), {"kind": kind, "name": name})
    control.commit()
    for kind, names in (("PROCEDURE", made.procedures), ("TABLE", made.tables)):
        for name in names:
            drop(control, kind, name)


def loaded(control: Connection, prefix: str, suffix: str) -> Loaded | None:
    """The record of an earlier load of that name, if it was finished."""
    rows = control.ask("look for its data", fill("loads_read", prefix=prefix), {"suffix": suffix})
    if not rows:
        return None
    facts, own_bytes, counted, notes = rows[0]
    return Loaded(str(facts), int(own_bytes), int(counted), str(notes or "").splitlines())


def finished(control: Connection, prefix: str, suffix: str, said: Loaded) -> None:
    """Records that data is complete."""
    control.run("record that its data is complete", fill("loads_add", prefix=prefix),
                {"suffix": suffix, "facts": said.facts, "bytes": said.bytes_per_session,
                 "counted": said.rows_per_session, "notes": "\n".join(said.notes)[:MAX_NOTES]})
    control.commit()
