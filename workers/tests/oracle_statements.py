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


@statement("session_settings", "no_result_cache", "ddl_wait", "adaptive", "adaptive_12_1", "session_set",
           "session_parallel", "session_serial", "blocks_settle", "read_only", "read_write")
def _nothing(model: Model, session: Session, places: Places, binds: Binds) -> None:
    session.settings.update({places["name"]: places["value"]} if "name" in places and "value" in places else {})


@statement("burn")
def _burn(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    """A unit takes its answer from the model, since a test may want a wrong one."""
    return [(model.unit_answer,)]


@statement("session_work")
def _session_work(model: Model, session: Session, places: Places, binds: Binds) -> None:
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
    return [(str(session.sid), "1", model.host, session.settings["protocol"])]


LOCK = "THREADWISE_LOCK"


@statement("lock")
def _lock(model: Model, session: Session, places: Places, binds: Binds) -> dict[str, int]:
    name = places["schema"] + LOCK
    if name in model.objects and model.bound:
        return {"p1": 0}
    model.objects.pop(name, None)
    _make(model, session, "TABLE", name, "temporary")
    model.bound.add(session.sid)
    return {"p1": 1}


@statement("schema_0")
def _lock_again(model: Model, session: Session, places: Places, binds: Binds) -> None:
    model.objects.setdefault(places["schema"] + LOCK, ("TABLE", "temporary"))
    model.bound.add(session.sid)


@statement("schema_1")
def _mark(model: Model, session: Session, places: Places, binds: Binds) -> None:
    _make(model, session, "TABLE", f"{places['schema']}THREADWISE_MARK", [(places["says"],)])


@statement("schema_2")
def _list(model: Model, session: Session, places: Places, binds: Binds) -> None:
    _make(model, session, "TABLE", f"{places['schema']}THREADWISE_OBJECTS", [])


@statement("schema_3")
def _loads(model: Model, session: Session, places: Places, binds: Binds) -> None:
    _make(model, session, "TABLE", f"{places['schema']}THREADWISE_LOADS", [])


@statement("mark_read")
def _mark_read(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    return list(_table(model, f"{places['schema']}THREADWISE_MARK"))


@statement("list_read")
def _list_read(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    return list(_table(model, f"{places['schema']}THREADWISE_OBJECTS"))


@statement("announce")
def _announce(model: Model, session: Session, places: Places, binds: Binds) -> int:
    rows = _table(model, f"{places['schema']}THREADWISE_OBJECTS")
    row = (places["kind"], places["name"].upper())
    if row not in rows:
        rows.append(row)
    return 1


@statement("loads_other")
def _loads_other(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    rows = _table(model, f"{places['schema']}THREADWISE_LOADS")
    return [row[:1] for row in rows if row[0].startswith("tpch ")]


@statement("loads_read")
def _loads_read(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    rows = _table(model, f"{places['schema']}THREADWISE_LOADS")
    return [row[1:] for row in rows if row[0] == binds["p1"]]


@statement("loads_add")
def _loads_add(model: Model, session: Session, places: Places, binds: Binds) -> int:
    _table(model, f"{places['schema']}THREADWISE_LOADS").append(
        tuple(value if value != "" else None for value in binds.values()))
    return 1


@statement("is_there")
def _is_there(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    prefix = places["schema"]
    return [(sum(name.startswith(prefix) and name != prefix + LOCK for name in model.objects),)]


@statement("has_table")
def _has_table(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    return [(int((places["schema"] + places["name"].upper()) in model.objects),)]


@statement("objects")
def _objects(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    prefix = places["schema"]
    own = {prefix + f"THREADWISE_{name}" for name in ("LOCK", "MARK", "OBJECTS", "LOADS")}
    return [(kind.lower(), name.removeprefix(prefix)) for name, (kind, _) in sorted(model.objects.items())
            if name.startswith(prefix) and name not in own and kind != "INDEX"]


def _drop_now(model: Model, session: Session, name: str) -> None:
    _table(model, name)
    model._commit(session)
    if name.endswith(LOCK) and model.bound:
        raise OracleError("ORA-14452")
    del model.objects[name]
    for index in [index for index, (kind, of) in model.objects.items() if kind == "INDEX" and of == name]:
        del model.objects[index]


@statement("drop")
def _drop(model: Model, session: Session, places: Places, binds: Binds) -> None:
    name = (places["schema"] + places["name"]).upper()
    if places["kind"] == "table":
        if name in model.objects:
            _drop_now(model, session, name)
    else:
        model.objects.pop(name, None)


@statement("drop_schema_0")
def _drop_loads(model: Model, session: Session, places: Places, binds: Binds) -> None:
    _drop_now(model, session, f"{places['schema']}THREADWISE_LOADS")


@statement("drop_schema_1")
def _drop_list(model: Model, session: Session, places: Places, binds: Binds) -> None:
    _drop_now(model, session, f"{places['schema']}THREADWISE_OBJECTS")


@statement("drop_schema_2")
def _unbind(model: Model, session: Session, places: Places, binds: Binds) -> None:
    model.bound.discard(session.sid)


@statement("drop_schema_3")
def _drop_lock(model: Model, session: Session, places: Places, binds: Binds) -> None:
    _drop_now(model, session, places["schema"] + LOCK)


@statement("drop_schema_4")
def _drop_mark(model: Model, session: Session, places: Places, binds: Binds) -> None:
    _drop_now(model, session, f"{places['schema']}THREADWISE_MARK")


@statement("compile_errors")
def _compile_errors(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    return model.compile_errors


@statement("tpch_bytes")
def _segment_bytes(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    return [(Decimal(1 << 20),)]


@statement("now")
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
    return [("DB CPU", session.cpu_us), ("DB time", 2 * session.cpu_us)]


@statement("waits")
def _session_waits(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    states = [("WAITED SHORT TIME", "latch free", "Other"), ("WAITING", "log file sync", "Commit"),
              ("WAITING", "SQL*Net message from client", "Idle")]
    return [(int(sid), *states[place % 3]) for place, sid in enumerate(places["sids"].split(", "))]


@statement("events")
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


@statement("blocks")
def _blocks_create(model: Model, session: Session, places: Places, binds: Binds) -> None:
    _make(model, session, "TABLE", places["table"].upper(), Blocks())


@statement("blocks_insert")
def _blocks_insert(model: Model, session: Session, places: Places, binds: Binds) -> None:
    _table(model, places["table"].upper()).rows[binds["p1"]] = [binds["p2"], binds["p3"]]


@statement("blocks_copy")
def _blocks_copy(model: Model, session: Session, places: Places, binds: Binds) -> None:
    source = _table(model, places["from"].upper())
    _table(model, places["table"].upper()).rows = {key: list(row) for key, row in source.rows.items()}


@statement("blocks_index")
def _index(model: Model, session: Session, places: Places, binds: Binds) -> None:
    table = places["table"].upper()
    _make(model, session, "INDEX", f"{table}_K", table)


@statement("blocks_proof")
def _blocks_proof(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    count = len(_table(model, places["table"].upper()).rows)
    return [(count, count // model.blocks_a_row)]


@statement("blocks_size")
def _blocks_size(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    return [(8192,)]


@statement("blocks_warm")
def _blocks_warm(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    rows = _table(model, places["table"].upper()).rows
    model.reads_files += model.usage.get("uncached", 0)
    return [(len(rows), sum(map(sum, rows.values())))]


@statement("blocks_read")
def _blocks_read(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    rows = _table(model, places["table"].upper()).rows
    found = [rows[key] for key in range(binds["p1"], binds["p2"] + 1) if key in rows]
    session.reads += 2 * len(found)
    return [(len(found), sum(map(sum, found)))]


@statement("blocks_update")
def _blocks_update(model: Model, session: Session, places: Places, binds: Binds) -> int:
    rows = _table(model, places["table"].upper()).rows
    found = [rows[key] for key in range(binds["p1"], binds["p2"] + 1) if key in rows]
    for row in found:
        row[0], row[1] = row[0] + 1, row[1] - 1
    return len(found)


@statement("blocks_explain")
def _explain(model: Model, session: Session, places: Places, binds: Binds) -> None:
    table = places["table"].upper()
    session.plan = [("SELECT STATEMENT", None, None), ("SORT", "AGGREGATE", None),
                    ("TABLE ACCESS", "BY INDEX ROWID BATCHED", table), ("INDEX", "RANGE SCAN", f"{table}_K")]
    if "full scan" in model.usage:
        session.plan[2:] = [("TABLE ACCESS", "FULL", table)]


@statement("blocks_plan")
def _blocks_plan(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    return session.plan


@statement("blocks_loop", "rows_loop")
def _loop(model: Model, session: Session, places: Places, binds: Binds) -> None:
    _make(model, session, "PROCEDURE", places["procedure"].upper(), places)


@statement("rows")
def _rows_create(model: Model, session: Session, places: Places, binds: Binds) -> None:
    _make(model, session, "TABLE", places["table"].upper(), Rows())


@statement("rows_seed")
def _rows_seed(model: Model, session: Session, places: Places, binds: Binds) -> int:
    _insert(model, session, _table(model, places["table"].upper()).rows, binds["p1"], 0)
    return 1


@statement("rows_step")
def _rows_step(model: Model, session: Session, places: Places, binds: Binds) -> dict:
    owner, *keys = binds.values()
    assert len(keys) == int(places["per_tx"])
    for key in keys:
        _insert(model, session, _table(model, places["table"].upper()).rows, key, owner)
    model._commit(session)
    return {}


def _insert(model: Model, session: Session, rows: dict[int, int], key: int, owner: int) -> None:
    if key in rows:
        raise OracleError("ORA-00001", "unique constraint violated")
    rows[key] = owner
    session.undo.append(lambda: rows.pop(key, None))


@statement("rows_held")
def _rows_held(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    rows = _table(model, places["table"].upper()).rows
    return [(len(rows), sum(key % 1_000_000_007 for key in rows))]


@statement("rows_put_back")
def _rows_put_back(model: Model, session: Session, places: Places, binds: Binds) -> int:
    table = _table(model, places["table"].upper())
    table.rows = {key: owner for key, owner in table.rows.items() if owner == 0}
    return 1


@statement("tpch_create")
def _tpch_create(model: Model, session: Session, places: Places, binds: Binds) -> None:
    name, columns = re.fullmatch(r"CREATE TABLE (\w+) \((.*)\)", places["create"]).groups()
    _make(model, session, "TABLE", name.upper(), "tpch")
    names = ", ".join(part.split()[0] for part in re.split(r", (?=[a-z])", columns))
    model.tpch.execute(f"DROP TABLE IF EXISTS {name}")
    model.tpch.execute(f"CREATE TABLE {name} ({names})")


@statement("tpch_fill")
def _tpch_fill(model: Model, session: Session, places: Places, binds: Binds) -> int:
    _table(model, places["table"].upper())
    values = [float(value) if re.fullmatch(r"-?\d+(\.\d+)?", value) else value for value in binds.values()]
    model.tpch.execute(f"INSERT INTO {places['table']} VALUES ({', '.join('?' * len(values))})", values)
    return 1


@statement("tpch_order_0", "tpch_order_1")
def _tpch_list(model: Model, session: Session, places: Places, binds: Binds) -> int:
    if "schema" in places:
        _table(model, f"{places['schema']}THREADWISE_OBJECTS").append(("table", f"{places['name']}_o".upper()))
    return 1


@statement("tpch_order_2")
def _tpch_order(model: Model, session: Session, places: Places, binds: Binds) -> None:
    table = places["table"]
    _make(model, session, "TABLE", f"{table}_O".upper(), "tpch")
    model.tpch.execute(f"CREATE TABLE {table}_o AS SELECT * FROM {table} ORDER BY {places['columns']}")


@statement("tpch_order_3")
def _tpch_drop(model: Model, session: Session, places: Places, binds: Binds) -> None:
    _drop_now(model, session, places["table"].upper())
    model.tpch.execute(f"DROP TABLE {places['table']}")


@statement("tpch_order_4")
def _tpch_rename(model: Model, session: Session, places: Places, binds: Binds) -> None:
    table = places["table"]
    model.objects[table.upper()] = model.objects.pop(f"{table}_O".upper())
    model.tpch.execute(f"ALTER TABLE {table}_o RENAME TO {table}")


@statement("tpch_key", "tpch_index")
def _tpch_index(model: Model, session: Session, places: Places, binds: Binds) -> None:
    table = places["table"].upper()
    _make(model, session, "INDEX", f"{table}_I{places['number']}" if "number" in places else f"{table}_K", table)


@statement("tpch_read")
def _tpch_read(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    return model.tpch.execute(f"SELECT count(*) FROM {places['table']}").fetchall()


@statement("tpch_short")
def _tpch_short(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    sql = f"SELECT o_orderkey, o_totalprice FROM {places['table']} WHERE o_orderkey = ?"
    return [(int(key), Decimal(str(price))) for key, price in model.tpch.execute(sql, [binds["p1"]])]


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
    from oracle_proxy import sql_id

    found = [count for sql, count in model.usage.items()
             if "threadwise stream" in sql and sql_id(sql) == binds["p1"]]
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


@statement("limits")
def _limits(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    return [("processes of the instance", 300, 0, 59), ("sessions of the instance", 472, 0, 69)]


@statement("limits_user")
def _limits_user(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    unknown = "" if "v$session" in places["sql"] else " (how many are in use is not known)"
    most = int(model.profile_limit) if model.profile_limit.isdigit() else None
    return [(f"SESSIONS_PER_USER of the account's profile{unknown}", most, 0, len(model.sessions) - 1)]


@statement("theirs")
def _theirs(model: Model, session: Session, places: Places, binds: Binds) -> list[tuple]:
    return model.theirs[places["sql"]]


@statement("commit", "rollback")
def _end(model: Model, session: Session, places: Places, binds: Binds) -> None:
    model._commit(session) if places["sql"] == "COMMIT" else model._roll_back(session)


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
