"""The conversations of threadwise-tds through clients that others wrote: python-tds, and pymssql on FreeTDS.

Source: PEP 249; the conversations are in crates/tds/src/conversations.rs. Started by hand, in crates/tds/tests:

    cargo xtask lab engines --env        (says what THREADWISE_TEST_CLIENTS is)
    cargo build -p threadwise-tds --bin tds-conversations
    export THREADWISE_TDS_CONVERSATIONS=PATH/TO/tds-conversations
    $THREADWISE_TEST_CLIENTS/python -m unittest test_second_client

`cargo test -p threadwise-tds` starts it where THREADWISE_TEST_CLIENTS names the folder of such a Python. Without pymssql the
tests of it are skipped.
"""

import datetime
import decimal
import faulthandler
import os
import pathlib
import subprocess
import time
import unittest
import uuid
import warnings

import pytds

try:
    import pymssql
except ImportError:
    pymssql = None

PROGRAM = os.environ.get("THREADWISE_TDS_CONVERSATIONS", "")
CERTIFICATE = str(pathlib.Path(__file__).resolve().parent.parent / "src" / "fixtures" / "cert.pem")
USER = "threadwise"
PASSWORD = "Pass wörd 1€"
MANY = 3000
BULK_ROWS = 4000
PLAN = ('<RelOp NodeId="1"/>€' * 50_000)[:50_000]
VALUES = (
    255, -32768, -2147483648, 9223372036854775807, True, -1.5, 0.1, decimal.Decimal("-1234567890123.4567"),
    "Grüße, 日本 𝄞", "Grüße, 5 €", "", bytes([0, 1, 254, 255]), (bytes(range(256)) * 36)[:9000],
    datetime.date(2024, 2, 29), datetime.time(12, 34, 56, 789000),
    datetime.datetime(2024, 12, 31, 23, 59, 59, 999999), datetime.datetime(1999, 12, 31, 12, 0, 0, 500000),
    uuid.UUID("01234567-89ab-cdef-0001-020304050607"),
)


def setUpModule():  # noqa: N802
    """Ends the tests after five minutes: a client may wait for ever."""
    faulthandler.dump_traceback_later(300, exit=True)
    warnings.filterwarnings("ignore", category=DeprecationWarning, module="pytds")


def tearDownModule():  # noqa: N802
    """They have ended."""
    faulthandler.cancel_dump_traceback_later()


class Responder:
    """The program, with its questions and answers."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen(
            [PROGRAM, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )
        self.port = int(self.line().split()[1])

    def line(self):
        """The next line that it says."""
        return self.process.stdout.readline().rstrip("\n")

    def ask(self, question):
        """What it answers to a word."""
        self.process.stdin.write(question + "\n")
        self.process.stdin.flush()
        return self.line()

    def number(self, question):
        """The number that it answers with."""
        return int(self.ask(question).split()[1])

    def lines(self, question):
        """The lines that it answers with, after their number."""
        return [self.line() for _ in range(self.number(question))]

    def errors(self):
        """What it did not know of what it received."""
        return self.lines("errors")

    def wait_for_open(self, count):
        """Waits until so many connections are open."""
        end = time.monotonic() + 30
        while self.number("open") != count:
            if time.monotonic() > end:
                raise AssertionError(f"{self.ask('open')}, not {count}")
            time.sleep(0.01)

    def close(self):
        """Ends it."""
        self.process.stdin.close()
        self.process.wait(30)
        self.process.stdout.close()


class Case(unittest.TestCase):
    """A test with a responder that has to know all that it receives."""

    def start(self, *arguments):
        """Starts a responder, ended and asked for errors at the end of the test."""
        responder = Responder(*arguments)
        self.addCleanup(responder.close)
        self.addCleanup(lambda: self.assertEqual(responder.errors(), []))
        return responder


def first_difference(rows, expected):
    """Where two lists of rows differ; unittest's own differences of so many rows take hours."""
    for place, (row, wanted) in enumerate(zip(rows, expected)):
        if tuple(row) != wanted:
            return f"row {place}: {tuple(row)!r:.500}, not {wanted!r:.500}"
    return None if len(rows) == len(expected) else f"{len(rows)} rows, not {len(expected)}"


def fetch_sets(cursor):
    """The rows of all result sets."""
    sets = []
    while True:
        if cursor.description:
            sets.append(cursor.fetchall())
        if not cursor.nextset():
            return sets


class PythonTds(Case):
    """python-tds."""

    def connect(self, responder, **options):
        """A connection, closed at the end of the test."""
        given = {"user": USER, "password": PASSWORD, "database": "test", "autocommit": True, **options}
        connection = pytds.connect("localhost", port=responder.port, disable_connect_retry=True, **given)
        self.addCleanup(connection.close)
        return connection

    def test_values_and_nulls_of_each_type(self):
        cursor = self.connect(self.start()).cursor()
        cursor.execute("SELECT values")
        values, nulls = cursor.fetchall()
        self.assertIsNone(first_difference([values], [VALUES]))
        self.assertEqual(tuple(nulls), (None,) * len(VALUES))
        cursor.execute("SELECT fixed")
        self.assertIsNone(first_difference(cursor.fetchall(), [VALUES]))

    def test_several_results_and_counts(self):
        cursor = self.connect(self.start()).cursor()
        cursor.execute("SELECT several")
        # A count has the columns of the set before it, and no rows.
        self.assertEqual([rows for rows in fetch_sets(cursor) if rows], [[(0,), (1,)], [("ä",)]])
        cursor.execute("UPDATE seven")
        self.assertEqual(cursor.rowcount, 7)
        cursor.execute("PRINT hello")
        self.assertIn("hello", str(cursor.messages))

    def test_answers_and_requests_of_many_packets(self):
        for size in (512, 4096, 32767):
            connection = self.connect(self.start("--packet-size", str(size)), blocksize=16384)
            cursor = connection.cursor()
            cursor.execute("SELECT many")
            self.assertIsNone(first_difference(cursor.fetchall(), [(number,) for number in range(MANY)]))
            cursor.execute("SELECT plan")
            self.assertTrue(cursor.fetchone() == (PLAN,))
            cursor.execute("SELECT nothing " + "ä" * 30_000)

    def test_parameters_come_back(self):
        given = (
            -7, 2**40, 0.1, True, "ä€" * 3, "wörld " * 2000, pytds.Binary(b"\x01\x02"),
            pytds.Binary(bytes(range(256)) * 40),
            datetime.date(2024, 2, 29), datetime.datetime(2024, 2, 29, 12, 34, 56, 789000),
            decimal.Decimal("-19.99"), uuid.UUID(int=5),
        )
        cursor = self.connect(self.start()).cursor()
        cursor.execute("SELECT echo " + ", ".join(["%s"] * len(given)), given)
        self.assertIsNone(first_difference([cursor.fetchone()], [given]))

    def test_a_procedure_gives_rows_status_and_output(self):
        connection = self.connect(self.start())
        cursor = connection.cursor()
        given = (3, 4, pytds.output(value=0, param_type=int))
        self.assertEqual(cursor.callproc("add_only", given), [3, 4, 7])
        cursor.callproc("add_up", given)
        self.assertEqual(cursor.fetchall(), [(0,)])
        self.assertEqual(cursor.get_proc_return_status(), 42)
        with self.assertRaises(pytds.Error) as caught:
            cursor.callproc("fails", ())
        self.assertEqual((caught.exception.number, caught.exception.procname), (1205, "fails"))
        cursor.execute("UPDATE seven")
        self.assertEqual(cursor.rowcount, 7)

    def test_transactions(self):
        connection = self.connect(self.start(), autocommit=False)
        cursor = connection.cursor()
        cursor.execute("UPDATE seven")
        connection.commit()
        cursor.execute("UPDATE seven")
        connection.rollback()
        connection.autocommit = True
        for sql in ("BEGIN TRANSACTION", "UPDATE seven", "COMMIT", "USE other"):
            cursor.execute(sql)

    def test_every_row_of_a_bulk_load_arrives(self):
        types = pytds.tds_types
        columns = [
            pytds.tds_base.Column("id", type=types.IntType()),
            pytds.tds_base.Column("half", type=types.FloatType(), flags=1),
            pytds.tds_base.Column("name", type=types.NVarCharType(size=40), flags=1),
            pytds.tds_base.Column("text", type=types.NVarCharMaxType(), flags=1),
            pytds.tds_base.Column("day", type=types.DateType(), flags=1),
        ]
        day = datetime.date(2000, 1, 1)
        rows = [
            (number, number / 2 if number % 5 else None, f"name {number} ä" if number % 7 else None,
             "x" * (number % 50), day + datetime.timedelta(number))
            for number in range(BULK_ROWS)
        ]
        for arguments, options in (
            ((), {}), (("--packet-size", "512"), {}), (("--encryption", "required"), {"cafile": CERTIFICATE})
        ):
            cursor = self.connect(self.start(*arguments), **options).cursor()
            cursor.copy_to(data=rows, table_or_view="bulk", columns=columns)
            cursor.execute("SELECT * FROM bulk")
            self.assertIsNone(first_difference(cursor.fetchall(), rows))

    def test_a_wrong_password(self):
        responder = self.start()
        with self.assertRaises(pytds.OperationalError) as caught:
            self.connect(responder, user="someone", password="wrong")
        self.assertIn("Login failed for user 'someone'.", str(caught.exception))
        responder.wait_for_open(0)

    def test_each_level_of_encryption(self):
        for level, options in (
            ("refused", {}), ("allowed", {}), ("allowed", {"cafile": CERTIFICATE}),
            ("allowed", {"cafile": CERTIFICATE, "enc_login_only": True}), ("required", {"cafile": CERTIFICATE}),
            ("required", {"cafile": CERTIFICATE, "enc_login_only": True}),
        ):
            with self.subTest(level=level, options=options):
                cursor = self.connect(self.start("--encryption", level), **options).cursor()
                cursor.execute("SELECT many")
                self.assertEqual(len(cursor.fetchall()), MANY)

    def test_sides_that_disagree(self):
        for level, options in (("refused", {"cafile": CERTIFICATE}), ("required", {})):
            responder = self.start("--encryption", level)
            with self.assertRaises(Exception) as caught:
                self.connect(responder, **options)
            self.assertRegex(str(caught.exception), "encryption")
            responder.wait_for_open(0)
            self.assertEqual(responder.lines("requests"), [])

    def test_an_error_in_the_middle_of_a_batch(self):
        connection = self.connect(self.start())
        for sql in ("SELECT then deadlock", "SELECT until deadlock"):
            cursor = connection.cursor()
            with self.assertRaises(pytds.OperationalError) as caught:
                cursor.execute(sql)
                fetch_sets(cursor)
            fault = caught.exception
            self.assertEqual((fault.number, fault.state, fault.severity, fault.line), (1205, 51, 13, 3))
            self.assertEqual(fault.srvname, "RESPONDER")
        cursor = connection.cursor()
        cursor.execute("UPDATE seven")
        self.assertEqual(cursor.rowcount, 7)

    def test_a_disconnect_in_the_middle_of_a_row(self):
        responder = self.start()
        cursor = self.connect(responder).cursor()
        with self.assertRaises((pytds.Error, OSError)):
            cursor.execute("SELECT until disconnect")
            fetch_sets(cursor)
        responder.wait_for_open(0)

    def test_a_slow_answer_and_an_attention(self):
        responder = self.start()
        cursor = self.connect(responder).cursor()
        cursor.execute("SELECT slowly")
        self.assertEqual(fetch_sets(cursor), [[(0,)], [(1,)]])
        for sql in ("SELECT for hours", "SELECT never"):
            connection = self.connect(responder, timeout=0.3)
            cursor = connection.cursor()
            with self.assertRaises((pytds.tds_base.TimeoutError, pytds.Error)):
                cursor.execute(sql)
                fetch_sets(cursor)
            cursor.cancel()
            cursor.execute("SELECT several")
            self.assertEqual([rows for rows in fetch_sets(cursor) if rows], [[(0,), (1,)], [("ä",)]])

    def test_a_server_that_is_killed(self):
        responder = self.start()
        cursor = self.connect(responder).cursor()
        self.assertEqual(responder.number("open"), 1)
        responder.ask("kill")
        with self.assertRaises((pytds.Error, OSError)):
            cursor.execute("SELECT several")
        responder.wait_for_open(0)


@unittest.skipUnless(pymssql, "no pymssql")
class FreeTds(Case):
    """pymssql, which speaks by FreeTDS."""

    def connect(self, responder, **options):
        """A connection, closed at the end of the test."""
        given = {"user": USER, "password": PASSWORD, "database": "test", "autocommit": True, **options}
        connection = pymssql.connect("localhost", port=str(responder.port), login_timeout=10, tds_version="7.4", **given)
        self.addCleanup(connection.close)
        return connection

    def test_values_and_nulls_of_each_type(self):
        cursor = self.connect(self.start()).cursor()
        cursor.execute("SELECT values")
        values, nulls = cursor.fetchall()
        self.assertIsNone(first_difference([values], [VALUES]))
        self.assertEqual(tuple(nulls), (None,) * len(VALUES))

    def test_several_results_and_counts(self):
        cursor = self.connect(self.start()).cursor()
        cursor.execute("SELECT several")
        self.assertEqual(fetch_sets(cursor), [[(0,), (1,)], [("ä",)], []])
        cursor.execute("UPDATE seven")
        self.assertEqual(cursor.rowcount, 7)

    def test_answers_of_many_packets(self):
        cursor = self.connect(self.start("--packet-size", "512")).cursor()
        cursor.execute("SELECT many")
        self.assertIsNone(first_difference(cursor.fetchall(), [(number,) for number in range(MANY)]))
        cursor.execute("SELECT plan")
        self.assertTrue(cursor.fetchone() == (PLAN,))

    def test_a_procedure_gives_output(self):
        cursor = self.connect(self.start()).cursor()
        given = cursor.callproc("add_only", (3, 4, pymssql.output(int)))
        self.assertEqual(tuple(given), (3, 4, 7))

    def test_every_row_of_a_bulk_load_arrives(self):
        connection = self.connect(self.start())
        # Without texts: pymssql 2.4.6 sends bytes of UTF-8 for nvarchar.
        rows = [(number, number << 20, number / 2 if number % 5 else None) for number in range(BULK_ROWS)]
        connection.bulk_copy("bulk", rows, column_ids=[1, 2, 3], batch_size=BULK_ROWS + 1)
        cursor = connection.cursor()
        cursor.execute("SELECT * FROM bulk")
        expected = [(*row, None, None) for row in rows]
        self.assertIsNone(first_difference(cursor.fetchall(), expected))

    def test_each_level_of_encryption(self):
        for level, option in (
            ("refused", "off"), ("refused", "request"), ("allowed", "off"), ("allowed", "request"),
            ("allowed", "require"), ("required", "request"), ("required", "require"),
        ):
            with self.subTest(level=level, option=option):
                cursor = self.connect(self.start("--encryption", level), encryption=option).cursor()
                cursor.execute("SELECT many")
                self.assertEqual(len(cursor.fetchall()), MANY)

    def test_refusals_and_errors(self):
        responder = self.start()
        with self.assertRaises(pymssql.Error) as caught:
            self.connect(responder, user="someone", password="wrong")
        self.assertIn("18456", str(caught.exception))
        with self.assertRaises(pymssql.Error):
            self.connect(self.start("--encryption", "refused"), encryption="require")
        cursor = self.connect(responder).cursor()
        with self.assertRaises(pymssql.Error) as caught:
            cursor.execute("SELECT then deadlock")
            fetch_sets(cursor)
        self.assertIn("1205", str(caught.exception))
        with self.assertRaises(pymssql.Error):
            cursor = self.connect(responder).cursor()
            cursor.execute("SELECT until disconnect")
            fetch_sets(cursor)

    def test_a_slow_answer_and_an_attention(self):
        responder = self.start()
        cursor = self.connect(responder).cursor()
        cursor.execute("SELECT slowly")
        self.assertEqual(fetch_sets(cursor), [[(0,)], [(1,)]])
        connection = self.connect(responder, timeout=1)
        cursor = connection.cursor()
        with self.assertRaises(pymssql.Error):
            cursor.execute("SELECT never")
            fetch_sets(cursor)


if __name__ == "__main__":
    unittest.main()
