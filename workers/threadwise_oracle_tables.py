"""The eight tables of TPC-H on Oracle: columns, keys, and the indexes of foreign keys; and queries' names of them.

Source: TPC-H specification, clauses 1.4 (columns, keys) and 4.2.5 (rows), as `crates/engine/src/workloads/tpch/
tables.rs` has them. The tables have a prefix, and queries do not: `with_tables` adds it where a FROM or a JOIN names a
table, with the plain name as its alias, so that columns are named as before.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

#: A kind of column: an identifier, a whole number, two decimals, a date, or text of a length.
TYPES = {"id": "NUMBER(19)", "int": "NUMBER(10)", "dec": "NUMBER(15,2)", "date": "DATE"}


@dataclass(frozen=True)
class Table:
    """One table. `columns` are names and kinds in the generator's order; a text's kind is `char N` or `varchar N`."""

    name: str
    columns: tuple[tuple[str, str], ...]
    key: tuple[str, ...]
    #: Columns of each further index.
    indexes: tuple[tuple[str, ...], ...]
    base_rows: int
    grows: bool = True

    def may_have(self, rows: int, scale: float) -> bool:
        """Whether it may have so many rows at a scale factor: its own number, or 1 to 7 for each order."""
        if self.name == "lineitem":
            orders = int(1_500_000 * scale)
            return orders <= rows <= 7 * orders
        if self.name == "partsupp":  # four suppliers for each part, whose number is cut to a whole one before
            return rows == int(self.base_rows / 4 * scale) * 4
        return rows == (int(self.base_rows * scale) if self.grows else self.base_rows)

    def columns_sql(self) -> str:
        """Its columns in CREATE TABLE."""
        return ", ".join(f"{name} {type_of(kind)} NOT NULL" for name, kind in self.columns)


def type_of(kind: str) -> str:
    """Oracle's type of a kind of column. Lengths are in characters."""
    word, _, length = kind.partition(" ")
    if length:
        return f"{'CHAR' if word == 'char' else 'VARCHAR2'}({length} CHAR)"
    return TYPES[word]


def _columns(text: str) -> tuple[tuple[str, str], ...]:
    """`name kind, name kind, …`."""
    pairs = (part.strip().split(" ", 1) for part in text.split(","))
    return tuple((name, kind) for name, kind in pairs)


TABLES = (
    Table("region", _columns("r_regionkey id, r_name char 25, r_comment varchar 152"), ("r_regionkey",), (), 5, False),
    Table("nation", _columns("n_nationkey id, n_name char 25, n_regionkey id, n_comment varchar 152"),
          ("n_nationkey",), (("n_regionkey",),), 25, False),
    Table("supplier", _columns("s_suppkey id, s_name char 25, s_address varchar 40, s_nationkey id, s_phone char 15, "
                               "s_acctbal dec, s_comment varchar 101"),
          ("s_suppkey",), (("s_nationkey",),), 10_000),
    Table("customer", _columns("c_custkey id, c_name varchar 25, c_address varchar 40, c_nationkey id, "
                               "c_phone char 15, c_acctbal dec, c_mktsegment char 10, c_comment varchar 117"),
          ("c_custkey",), (("c_nationkey",),), 150_000),
    Table("part", _columns("p_partkey id, p_name varchar 55, p_mfgr char 25, p_brand char 10, p_type varchar 25, "
                           "p_size int, p_container char 10, p_retailprice dec, p_comment varchar 23"),
          ("p_partkey",), (), 200_000),
    Table("partsupp", _columns("ps_partkey id, ps_suppkey id, ps_availqty int, ps_supplycost dec, "
                               "ps_comment varchar 199"),
          ("ps_partkey", "ps_suppkey"), (("ps_suppkey",),), 800_000),
    Table("orders", _columns("o_orderkey id, o_custkey id, o_orderstatus char 1, o_totalprice dec, o_orderdate date, "
                             "o_orderpriority char 15, o_clerk char 15, o_shippriority int, o_comment varchar 79"),
          ("o_orderkey",), (("o_custkey",),), 1_500_000),
    Table("lineitem", _columns("l_orderkey id, l_partkey id, l_suppkey id, l_linenumber int, l_quantity dec, "
                               "l_extendedprice dec, l_discount dec, l_tax dec, l_returnflag char 1, "
                               "l_linestatus char 1, l_shipdate date, l_commitdate date, l_receiptdate date, "
                               "l_shipinstruct char 25, l_shipmode char 10, l_comment varchar 44"),
          ("l_orderkey", "l_linenumber"), (("l_partkey", "l_suppkey"), ("l_suppkey",)), 6_000_000),
)

NAMES = frozenset(table.name for table in TABLES)

#: Words that end the list of tables of a FROM.
ENDS = {"where", "group", "having", "order", "union", "intersect", "minus", "except", "select", "connect", "start",
        "fetch", "offset"}

#: Words after a table that are not its alias.
NO_ALIAS = ENDS | {"on", "using", "join", "inner", "left", "right", "full", "cross", "natural", "outer", "for",
                   "partition", "sample"}

_TOKEN = re.compile(r"""'(?:[^']|'')*' | "[^"]*" | --[^\n]* | /\*.*?\*/ | [A-Za-z_][\w$#]* | \s+ | .""",
                    re.VERBOSE | re.DOTALL)


def with_tables(sql: str, prefix: str) -> str:
    """The query with the prefixed names of its tables."""
    tokens = _TOKEN.findall(sql)
    words = [at for at, token in enumerate(tokens) if not token.isspace() and not token.startswith(("--", "/*"))]
    in_list = [False]  # for each level of brackets: whether a list of tables is being read
    expects = False
    for place, at in enumerate(words):
        token = tokens[at].lower()
        if token == "(":
            in_list.append(False)
            expects = False
        elif token == ")":
            if len(in_list) > 1:
                in_list.pop()
            expects = False
        elif token in ("from", "join"):
            in_list[-1] = expects = True
        elif token == ",":
            expects = in_list[-1]
        elif token in ENDS:
            in_list[-1] = expects = False
        else:
            if expects and token in NAMES:
                after = tokens[words[place + 1]].lower() if place + 1 < len(words) else ""
                has_alias = re.fullmatch(r"[a-z_][\w$#]*", after) and after not in NO_ALIAS
                tokens[at] = f"{prefix}{token.upper()}" + ("" if has_alias else f" {token}")
            expects = False
    return "".join(tokens)


def with_hint(sql: str, hint: str) -> str:
    """The query with a hint after the first SELECT outside brackets, which is the main query's: the others of a WITH
    are in brackets."""
    depth = 0
    for found in _TOKEN.finditer(sql):
        token = found[0].lower()
        depth += (token == "(") - (token == ")")
        if token == "select" and depth == 0:
            return f"{sql[:found.end()]} /*+ {hint} */{sql[found.end():]}"
    raise ValueError("it has no SELECT")
