"""The request `server`: limits of the user's server, and permissions of the account. It changes nothing.

Sources: Oracle Database Reference 19c, "V$RESOURCE_LIMIT" (processes, sessions), "USER_RESOURCE_LIMITS" (profile),
"SESSION_PRIVS", "USER_TS_QUOTAS", "V$BUFFER_POOL" (sizes in MB), "V$OPTION".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from threadwise_failure import Failed
from threadwise_oracle_address import Target
from threadwise_oracle_failure import advice, is_missing, statement_failed
from threadwise_oracle_server import Connection, Session, fill, text_of

#: Views: what is missing without them.
VIEWS = (
    ("session statistics (V$STATNAME, V$MYSTAT)", ("V$STATNAME", "V$MYSTAT"), "logical and physical reads"),
    ("statistics of all sessions (V$SESSTAT)", ("V$SESSTAT",), "nothing that is needed"),
    ("CPU time of sessions (V$SESS_TIME_MODEL)", ("V$SESS_TIME_MODEL",), "the server's CPU time and database time"),
    ("processes of sessions (V$PROCESS)", ("V$PROCESS",), "placement of the server's processes"),
    ("sessions (V$SESSION)", ("V$SESSION",), "what sessions wait for, and placement"),
    ("waits of the server (V$SYSTEM_EVENT)", ("V$SYSTEM_EVENT",), "counts and times of the server's waits"),
    ("cursors and plans (V$SQL, V$SQL_PLAN)", ("V$SQL", "V$SQL_PLAN"),
     "plans of queries, and the CPU time of parallel ones"),
    ("parallel queries (V$PQ_SESSTAT)", ("V$PQ_SESSTAT",), "the observed degree of parallelism"),
    ("limits of the instance (V$RESOURCE_LIMIT)", ("V$RESOURCE_LIMIT",), "the check that a study fits"),
)


@dataclass(frozen=True)
class Point:
    """One thing that works or not."""

    name: str
    works: bool
    says: str


def describe(target: Target, with_points: bool) -> dict[str, Any]:
    """The reply."""
    with Connection(target, "server") as control:
        return {
            "type": "server",
            "version": control.inner.version,
            "limits": limits(control),
            "points": [point.__dict__ for point in points(control, target)] if with_points else [],
        }


def _maybe(control: Connection, sql: str, binds: dict[str, Any] | None = None) -> list[tuple] | None:
    """Rows of a view; None if the account may not read it."""
    try:
        return control.rows(sql, binds or {})
    except control.errors as cause:
        if is_missing(cause):
            return None
        raise statement_failed("ask the server about itself", cause) from cause


def limits(control: Connection) -> list[dict[str, Any]]:
    """Numbers of sessions that the server does not exceed; those that are not set, or may not be read, are left out.
    The session that asks does not count."""
    found = []
    for name, in_use, most in _maybe(control, text_of("limits_instance")) or []:
        if str(most).isdigit():
            found.append(_limit(f"{name} of the instance", int(most), int(in_use)))
    ours = _maybe(control, text_of("limits_user"))
    most = str(ours[0][0]) if ours else ""
    if most.isdigit():
        used = _maybe(control, text_of("limits_user_sessions"))
        unknown = "" if used else " (how many are in use is not known)"
        found.append(_limit(f"SESSIONS_PER_USER of the account's profile{unknown}", int(most),
                            int(used[0][0]) if used else 0))
    return found


def _limit(name: str, most: int, in_use: int) -> dict[str, Any]:
    return {"name": name, "most": min(most, 2**32 - 1), "set_aside": 0, "in_use": max(in_use - 1, 0)}


def points(control: Connection, target: Target) -> list[Point]:
    """All points; one that cannot be read says why, and the rest continues."""
    found = [Point("login and version", True, f"'{target.user}' at {target.place()}, version {control.inner.version}")]
    looks: list[tuple[str, Callable[[], Point]]] = [
        ("encryption (TLS)", lambda: _tls(control)),
        ("make tables", lambda: _privilege(control, "make tables", "CREATE TABLE")),
        ("make procedures", lambda: _privilege(control, "make procedures", "CREATE PROCEDURE")),
        ("quota", lambda: _quota(control)),
        *((name, lambda name=name, views=views, lost=lost: _views(control, name, views, lost))
          for name, views, lost in VIEWS),
        ("parallel query", lambda: _parallel(control)),
        ("lock of a study (DBMS_LOCK)", lambda: _lock(control)),
        ("pauses (DBMS_SESSION.SLEEP)", lambda: _sleep(control)),
        ("memory for data (V$BUFFER_POOL)", lambda: _memory(control)),
    ]
    for name, look in looks:
        try:
            found.append(look())
        except Failed as why:
            found.append(Point(name, False, str(why)))
    return found


def _tls(control: Connection) -> Point:
    session = Session(control)
    if session.protocol == "tcps":
        return Point("encryption (TLS)", True, "in force")
    return Point("encryption (TLS)", False, "not in force: statements and rows go over the network unencrypted (the "
                                            "password does not); an address with oracles:// asks for it")


def _privilege(control: Connection, name: str, privilege: str) -> Point:
    rows = control.ask("ask for the account's privileges", text_of("point_privileges"))
    held = {str(row[0]) for row in rows}
    if privilege in held or privilege.replace("CREATE ", "CREATE ANY ") in held:
        return Point(name, True, privilege)
    return Point(name, False, f"GRANT {privilege} TO the account; without it no workload can be measured")


def _quota(control: Connection) -> Point:
    privileges = {str(row[0]) for row in control.ask("ask for privileges", text_of("point_privileges"))}
    ((space, used, most),) = control.ask("ask for the quota", text_of("point_quota"))
    if "UNLIMITED TABLESPACE" in privileges or most is not None and most < 0:
        return Point("quota", True, f"no limit on {space}")
    if not most:
        return Point("quota", False, f"ALTER USER … QUOTA … ON {space}; without it there is no space for data")
    return Point("quota", True, f"{int(most - (used or 0)) >> 20} MiB are left on {space}")


def _views(control: Connection, name: str, views: tuple[str, ...], lost: str) -> Point:
    missing = [view for view in views if _maybe(control, fill("point_view", view=view.lower())) is None]
    if not missing:
        return Point(name, True, "may be read")
    grants = " and ".join(f"SYS.{view.replace('V$', 'V_$')}" for view in missing)
    return Point(name, False, f"GRANT SELECT ON {grants} TO the account; without it the following is missing: {lost}")


def _parallel(control: Connection) -> Point:
    option = _maybe(control, text_of("point_option"))
    if option and option[0][0] == "FALSE":
        return Point("parallel query", False, "not in this edition (V$OPTION): queries run with dop=1 alone")
    cause = control.attempt(text_of("session_parallel"))
    if cause is not None:
        return Point("parallel query", False, f"{advice(cause)}; without it queries run with dop=1 alone")
    return Point("parallel query", True, "ALTER SESSION ENABLE PARALLEL QUERY")


def _has_package(control: Connection, package: str) -> bool:
    ((count,),) = control.ask("look for a package", text_of("point_package"), {"name": package})
    return count > 0


def _lock(control: Connection) -> Point:
    name = "lock of a study (DBMS_LOCK)"
    if _has_package(control, "DBMS_LOCK"):
        return Point(name, True, "may be used")
    return Point(name, False, "GRANT EXECUTE ON SYS.DBMS_LOCK TO the account; without it a row of threadwise's own "
                              "table is the lock, which works too")


def _sleep(control: Connection) -> Point:
    name = "pauses (DBMS_SESSION.SLEEP)"
    if int(control.inner.version.split(".")[0]) >= 18:
        return Point(name, True, "DBMS_SESSION.SLEEP, which every account has from 18c on")
    if _has_package(control, "DBMS_LOCK"):
        return Point(name, True, "DBMS_LOCK.SLEEP")
    return Point(name, False, "GRANT EXECUTE ON SYS.DBMS_LOCK TO the account; without it the following is missing: "
                              "think_time_us with loop=server")


def _memory(control: Connection) -> Point:
    name = "memory for data (V$BUFFER_POOL)"
    rows = _maybe(control, text_of("point_memory"))
    if rows is None:
        return Point(name, False, "GRANT SELECT ON SYS.V_$BUFFER_POOL TO the account; without it it is unknown "
                                  "whether data fits into the buffer cache")
    pools = [f"{pool} {size} MiB of {block} bytes a block" for pool, block, size, _ in rows]
    return Point(name, True, f"buffer cache: {', '.join(pools) or 'unknown'}; data is read through DEFAULT")
