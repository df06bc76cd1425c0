"""What the worker's statements do in the model of an Oracle server: a function for each file."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

from oracle_model import Blocks, Model, OracleError, Rows, Session, oracle_value

Places = dict[str, str]
Binds = Any
STATEMENTS: dict[str, Callable[[Model, Session, Places, Binds], Any]] = {}

#: Statistic numbers of the model's.
NUMBERS = {"session logical reads": 14, "physical reads": 130, "redo size": 288, "user commits": 6}


def statement(*names: str) -> Callable[[Callable], Callable]:
    """Enters a function for files of these names."""
    def enter(function: Callable) -> Callable:
        STATEMENTS.update(dict.fromkeys(names, function))
        return function
    return enter


def _table(model: Model, name: str) -> Any:
    kind, table = model.objects.get(name, ("", None))
    if kind != "TABLE":
        raise OracleError("ORA-00942")
    return table


def _make(model: Model, session: Session, kind: str, name: str, what: Any) -> None:
    needed = f"CREATE {kind}"
    if kind in ("TABLE", "PROCEDURE") and needed not in model.privileges:
        raise OracleError("ORA-01031")
    if name in model.objects:
        raise OracleError("ORA-00955")
    if len(name) > 30:
        raise OracleError("ORA-00972", "identifier is too long")
    model._commit(session)  # DDL commits
    model.objects[name] = (kind, what)


@statement("session_settings", "session_no_result_cache", "session_set", "session_parallel", "session_serial",
           "gather_statistics")
def _nothing(model: Model, session: Session, places: Places, binds: Binds) -> None:
    session.settings.update({places["name"]: places["value"]} if "name" in places and "value" in places else {})


@statement("burn")
def _burn(model: Model, session: Session, places: Places, binds: Binds) -> None:
    """The process in the server's place burns by itself; here it is given the time to."""
    def burnt() -> int:
        try:
            return int(Path(f"/proc/{model.spid}/schedstat").read_text().split()[0])
        except (OSError, IndexError):
            return 2**63

    until = burnt() + 3_000_000
    for _ in range(1000):
        if model.spid is None or burnt() >= until:
            return
        time.sleep(0.005)


@statement("session_own")
def _own(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    return [(str(session.sid), "1", model.host, session.settings["protocol"], model.user)]


@statement("mark_create")
def _mark_create(model: Model, session: Session, places: Places, binds: Binds) -> None:
    _make(model, session, "TABLE", f"{places['prefix']}MARK", [(places["says"],)])


@statement("mark_read")
def _mark_read(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    return list(_table(model, f"{places['prefix']}MARK"))


@statement("mark_lock")
def _mark_lock(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    rows = list(_table(model, f"{places['prefix']}MARK"))
    if model.locks.setdefault("row", session.sid) != session.sid:
        raise OracleError("ORA-00054")
    return rows


@statement("lock_request")
def _lock(model: Model, session: Session, places: Places, binds: Binds) -> dict[str, int]:
    if not model.has_dbms_lock:
        raise OracleError("ORA-06550", "line 2, column 16:\nPLS-00201: identifier 'DBMS_LOCK' must be declared\n"
                                       "ORA-06550: line 2, column 5:\nPL/SQL: Statement ignored")
    return {"result": 0 if model.locks.setdefault(binds["id"], session.sid) == session.sid else 1}


@statement("list_create", "loads_create")
def _lists(model: Model, session: Session, places: Places, binds: Binds) -> None:
    name = "MADE" if f"{places['prefix']}MADE" not in model.objects else "LOADS"
    _make(model, session, "TABLE", places["prefix"] + name, [])


@statement("list_add")
def _list_add(model: Model, session: Session, places: Places, binds: Binds) -> int:
    rows = _table(model, f"{places['prefix']}MADE")
    row = (binds["kind"], binds["name"])
    if row not in rows:
        rows.append(row)
    return 1


@statement("list_read")
def _list_read(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    return list(_table(model, f"{places['prefix']}MADE"))


@statement("loads_read")
def _loads_read(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    return [row[1:] for row in _table(model, f"{places['prefix']}LOADS") if row[0] == binds["suffix"]]


@statement("loads_add")
def _loads_add(model: Model, session: Session, places: Places, binds: Binds) -> int:
    _table(model, f"{places['prefix']}LOADS").append(
        tuple(binds[name] for name in ("suffix", "facts", "bytes", "counted", "notes")))
    return 1


@statement("objects")
def _objects(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    return [(kind, name) for name, (kind, _) in sorted(model.objects.items()) if name.startswith(binds["prefix"])]


@statement("drop_table")
def _drop_table(model: Model, session: Session, places: Places, binds: Binds) -> None:
    name = places["name"]
    _table(model, name)
    model._commit(session)
    if name.endswith("MARK") and "row" in model.locks:
        raise OracleError("ORA-00054")
    del model.objects[name]
    for index in [index for index, (kind, of) in model.objects.items() if kind == "INDEX" and of == name]:
        del model.objects[index]


@statement("drop_procedure")
def _drop_procedure(model: Model, session: Session, places: Places, binds: Binds) -> None:
    if model.objects.pop(places["name"], ("",))[0] != "PROCEDURE":
        raise OracleError("ORA-04043")


@statement("compile_errors")
def _compile_errors(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    return model.compile_errors


@statement("segment_bytes")
def _segment_bytes(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    return [(Decimal(1 << 20),)]


@statement("clock")
def _clock(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    return [(Decimal(model.now_us()),)]


@statement("statistic_numbers")
def _statistic_numbers(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    return list(NUMBERS.items())


@statement("session_statistics")
def _session_statistics(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    values = {14: session.reads, 130: model.reads_files, 288: session.redo, 6: session.commits}
    return [(number, values[number]) for number in map(int, places["numbers"].split(", "))]


@statement("session_time")
def _session_time(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    return [("DB CPU", session.cpu_us), ("DB time", 2 * session.cpu_us)] if binds["sid"] == session.sid else []


@statement("session_waits")
def _session_waits(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    states = [("WAITED SHORT TIME", "latch free", "Other"), ("WAITING", "log file sync", "Commit"),
              ("WAITING", "SQL*Net message from client", "Idle")]
    return [(int(sid), *states[place % 3]) for place, sid in enumerate(places["sids"].split(", "))]


@statement("system_events")
def _system_events(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    model.usage["events"] = model.usage.get("events", 0) + 1000
    return [("log file sync", model.usage["events"], 7 * model.usage["events"])]


@statement("session_process")
def _session_process(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    spid = str(model.spid or 1)
    return [(spid, spid, "DEDICATED")]


@statement("service_processes")
def _service_processes(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    return [("LGWR", str(model.spid or 1))]


@statement("blocks_create")
def _blocks_create(model: Model, session: Session, places: Places, binds: Binds) -> None:
    _make(model, session, "TABLE", places["table"], Blocks())


@statement("blocks_insert")
def _blocks_insert(model: Model, session: Session, places: Places, binds: Binds) -> None:
    _table(model, places["table"]).rows[binds[0]] = [binds[1], binds[2]]


@statement("blocks_copy")
def _blocks_copy(model: Model, session: Session, places: Places, binds: Binds) -> None:
    source = _table(model, places["source"])
    _table(model, places["table"]).rows = {key: list(row) for key, row in source.rows.items()}


@statement("blocks_index", "tpch_index", "tpch_key")
def _index(model: Model, session: Session, places: Places, binds: Binds) -> None:
    _make(model, session, "INDEX", places["index"], places["table"])


@statement("blocks_proof")
def _blocks_proof(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    count = len(_table(model, places["table"]).rows)
    return [(count, count // model.blocks_a_row)]


@statement("blocks_size")
def _blocks_size(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    return [(8192,)]


@statement("blocks_warm")
def _blocks_warm(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    rows = _table(model, places["table"]).rows
    model.reads_files += model.usage.get("uncached", 0)
    return [(len(rows), sum(map(sum, rows.values())))]


@statement("blocks_read")
def _blocks_read(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    rows = _table(model, places["table"]).rows
    found = [rows[key] for key in range(binds["first_k"], binds["last_k"] + 1) if key in rows]
    session.reads += 2 * len(found)
    return [(len(found), sum(map(sum, found)))]


@statement("blocks_update")
def _blocks_update(model: Model, session: Session, places: Places, binds: Binds) -> int:
    rows = _table(model, places["table"]).rows
    found = [rows[key] for key in range(binds["first_k"], binds["last_k"] + 1) if key in rows]
    for row in found:
        row[0], row[1] = row[0] + 1, row[1] - 1
    return len(found)


@statement("blocks_explain")
def _explain(model: Model, session: Session, places: Places, binds: Binds) -> None:
    session.plan = [("SELECT STATEMENT", None, None), ("SORT", "AGGREGATE", None),
                    ("TABLE ACCESS", "BY INDEX ROWID BATCHED", places["table"]),
                    ("INDEX", "RANGE SCAN", places["index"])]
    if "full scan" in model.usage:
        session.plan[2:] = [("TABLE ACCESS", "FULL", places["table"])]


@statement("blocks_plan")
def _blocks_plan(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    return session.plan


@statement("blocks_loop", "rows_loop")
def _loop(model: Model, session: Session, places: Places, binds: Binds) -> None:
    _make(model, session, "PROCEDURE", places["procedure"], places)


@statement("rows_create")
def _rows_create(model: Model, session: Session, places: Places, binds: Binds) -> None:
    _make(model, session, "TABLE", places["table"], Rows())
    _make(model, session, "INDEX", places["index"], places["table"])


@statement("rows_seed", "rows_insert")
def _rows_insert(model: Model, session: Session, places: Places, binds: Binds) -> None:
    rows = _table(model, places["table"]).rows
    if binds[0] in rows:
        raise OracleError("ORA-00001", "unique constraint violated")
    rows[binds[0]] = binds[1] if len(binds) == 4 else 0
    session.undo.append(lambda: rows.pop(binds[0], None))


@statement("commit_full", "commit_relaxed")
def _commit(model: Model, session: Session, places: Places, binds: Binds) -> None:
    model._commit(session)


@statement("rows_check")
def _rows_check(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    rows = _table(model, places["table"]).rows
    kept = [key for key, owner in rows.items() if owner == 0]
    ours = [key for key, owner in rows.items() if owner != 0]
    return [(len(kept), sum(key % 1_000_000_007 for key in kept), len(ours),
             sum(key % 1_000_000_007 for key in ours))]


@statement("rows_put_back")
def _rows_put_back(model: Model, session: Session, places: Places, binds: Binds) -> int:
    table = _table(model, places["table"])
    table.rows = {key: owner for key, owner in table.rows.items() if owner == 0}
    return 1


@statement("tpch_create")
def _tpch_create(model: Model, session: Session, places: Places, binds: Binds) -> None:
    _make(model, session, "TABLE", places["table"], "tpch")
    columns = ", ".join(re.match(r"\w+", part.strip())[0] for part in re.split(r",(?![\d])", places["columns"]))
    model.tpch.execute(f"DROP TABLE IF EXISTS {places['table']}")
    model.tpch.execute(f"CREATE TABLE {places['table']} ({columns})")


@statement("tpch_insert")
def _tpch_insert(model: Model, session: Session, places: Places, binds: Binds) -> None:
    _table(model, places["table"])
    values = [float(value) if isinstance(value, Decimal) else value.date().isoformat()
              if hasattr(value, "date") else value for value in binds]
    model.tpch.execute(f"INSERT INTO {places['table']} VALUES ({', '.join('?' * len(values))})", values)


@statement("tpch_order")
def _tpch_order(model: Model, session: Session, places: Places, binds: Binds) -> None:
    model.tpch.execute(f"INSERT INTO {places['table']} SELECT * FROM {places['source']} "
                       "ORDER BY l_shipdate, l_orderkey, l_linenumber")


@statement("tpch_count")
def _tpch_count(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    return model.tpch.execute(f"SELECT count(*) FROM {places['table']}").fetchall()


@statement("tpch_short")
def _tpch_short(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    sql = f"SELECT o_orderkey, o_totalprice FROM {places['table']} WHERE o_orderkey = ?"
    return [tuple(map(Decimal, map(str, row))) for row in model.tpch.execute(sql, [binds["order_key"]])]


@statement("query")
def _query(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    cursor = model.tpch.execute(places["sql"])
    columns = [column[0].lower() for column in cursor.description]
    rows = [tuple(map(oracle_value, columns, row)) for row in cursor.fetchall()]
    session.cpu_us += 5000
    model.usage[places["sql"]] = model.usage.get(places["sql"], 0) + 1
    model.usage["last"] = places["sql"]
    return rows


@statement("query_usage")
def _query_usage(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    from threadwise_oracle_query import sql_id

    found = [count for sql, count in model.usage.items()
             if "threadwise stream" in sql and sql_id(sql) == binds["sql_id"]]
    return [(0, found[0], 9000 * found[0], 8192 * found[0], 0)] if found else []


@statement("query_plan")
def _query_plan(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    if "PARALLEL(" not in str(model.usage.get("last")).replace("NO_PARALLEL", ""):
        return [(0, "SELECT STATEMENT", None, None, None), (1, "HASH", "GROUP BY", None, 4),
                (2, "TABLE ACCESS", "FULL", "TW_NATION", 25)]
    return [(0, "SELECT STATEMENT", None, None, None), (1, "PX COORDINATOR", None, None, None),
            (2, "PX SEND", "QC (RANDOM)", ":TQ10001", 4), (3, "HASH", "GROUP BY", None, 4),
            (4, "PX RECEIVE", None, None, 4), (5, "PX SEND", "HASH", ":TQ10000", 4), (6, "HASH", "GROUP BY", None, 4),
            (7, "PX BLOCK", "ITERATOR", None, 25), (8, "TABLE ACCESS", "FULL", "TW_NATION", 25)]


@statement("query_parallel")
def _query_parallel(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    return [("Queries Parallelized", 1), ("DOP", model.dop), ("Allocation Height", 4)]


@statement("limits_instance")
def _limits_instance(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    return [("processes", 60, "300"), ("sessions", 70, "472")]


@statement("limits_user")
def _limits_user(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    return [(model.profile_limit,)]


@statement("limits_user_sessions")
def _limits_user_sessions(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    return [(len(model.sessions),)]


@statement("point_privileges")
def _point_privileges(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    return [(name,) for name in sorted(model.privileges)]


@statement("point_quota")
def _point_quota(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    return [("USERS", *model.quota)]


@statement("point_package")
def _point_package(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    return [(int(model.has_dbms_lock),)]


@statement("point_view")
def _point_view(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    return [(1,)]


@statement("point_option")
def _point_option(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    return [("TRUE",)]


@statement("point_memory")
def _point_memory(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    return [("DEFAULT", 8192, 1024, 130_000)]
