"""Errors of the driver and of an Oracle server, as one line that says what to do next.

Sources: Oracle Database Error Messages 19c (ORA- numbers); python-oracledb, "Troubleshooting Errors" and its
`errors.py` (DPY- numbers, which replace ORA- numbers that mean a lost connection). A view or package
without permission is reported as missing (ORA-00942, PLS-00201); from 23ai on it is ORA-41900.
"""

from __future__ import annotations

import re
import sys
import traceback

from threadwise_failure import Failed, first_sentence

ENGINE = "oracle"

#: Replacement for a password in messages.
HIDDEN = "********"

#: Minimum length of a hidden password: hiding shorter ones would make messages unreadable.
SHORTEST_SECRET = 4

#: What to do, by the number that an error begins with.
HINTS = {
    "ORA-01017": "user or password is wrong: set ORACLE_PASSWORD, or give a file by --engine-option password_file=",
    "ORA-28000": "the account is locked: have it unlocked (ALTER USER … ACCOUNT UNLOCK), or give another one",
    "ORA-28001": "the password has expired: set a new one, for instance with sqlplus",
    "ORA-02396": "the profile's IDLE_TIME is over: raise it for the account",
    "ORA-01045": "the account lacks the privilege CREATE SESSION: GRANT it",
    "ORA-02391": "the profile's SESSIONS_PER_USER is reached: raise it, or run fewer sessions",
    "ORA-00018": "the instance's parameter sessions is reached: raise it, or run fewer sessions",
    "ORA-00020": "the instance's parameter processes is reached: raise it, or run fewer sessions",
    "ORA-01652": "no space is left in the temporary tablespace: extend it, or use less data",
    "ORA-01653": "no space is left in the tablespace: extend it, or use less data",
    "ORA-01654": "no space is left in the tablespace: extend it, or use less data",
    "ORA-01536": "the quota on the tablespace is used up: raise it (ALTER USER … QUOTA), or use less data",
    "ORA-01950": "the account has no quota on its default tablespace: ALTER USER … QUOTA … ON …",
    "ORA-30036": "no space is left for undo: extend the undo tablespace, or use less data",
    "ORA-00257": "the archiver is stuck, usually for lack of space: ask the server's administrator to free some",
    "ORA-00060": "two sessions waited for each other: remove the option shared, or updates",
    "ORA-00054": "something else holds the lock: try again when it has ended",
    "ORA-01031": "the account lacks the privilege for it: GRANT it, or give another account",
    "ORA-00942": "the table does not exist, or the account may not read it: GRANT that, or start the study again",
    "ORA-01555": "the server kept too little undo for a long query: raise undo_retention",
    "ORA-01013": "it was cancelled",
    "ORA-12514": "the listener does not know the service: check the end of the address (lsnrctl services shows them)",
    "ORA-12541": "no listener is running there: start it, or correct host and port of the address",
    "ORA-12516": "the listener has no process free: raise the instance's parameter processes, or run fewer sessions",
    "DPY-6001": "the listener does not know the service: check the end of the address (lsnrctl services shows them)",
    "DPY-6000": "the listener refused: check the server's parameters processes and sessions, and its access list",
    "DPY-6005": "no answer: start server and listener, correct host and port of the address, and check whether "
                "a firewall blocks it; for TLS the address begins with oracles://",
    "DPY-4011": "the connection is lost: the server's alert log has the reason",
    "DPY-1001": "the connection is lost: the server's alert log has the reason",
    "DPY-4024": "it exceeded its time limit",
    "DPY-3010": "the server is older than 12.1, which the driver does not support",
    "DPY-3001": "the server requires native network encryption, which the driver's thin mode lacks: use oracles://",
    "DPY-3015": "the account's password has only an old verifier (10G): set it again with a newer one",
}

#: The same error under other numbers.
HINTS |= {number: HINTS["DPY-4011"] for number in ("ORA-03113", "ORA-03114", "ORA-03135", "ORA-00028", "ORA-01012",
                                                   "ORA-01089", "ORA-01092", "ORA-12537")}

#: Numbers that mean a missing privilege, possibly.
MISSING = {"ORA-00942", "ORA-01031", "ORA-41900", "ORA-00990", "ORA-01720", "ORA-01749", "ORA-65096"}

_SECRETS: list[str] = []


def keep_secret(password: str) -> None:
    """Hides a text in all further messages and logs of this worker."""
    if len(password) >= SHORTEST_SECRET:
        _SECRETS.append(password)


def without_secrets(text: str) -> str:
    """The text with every password hidden."""
    for secret in _SECRETS:
        text = text.replace(secret, HIDDEN)
    return text


def failed(action: str, why: str, kind: str = "engine") -> Failed:
    """A failure found by this program."""
    return Failed(kind, without_secrets(f"{ENGINE} could not {action}: {why}"))


def refused(option: str, why: str) -> Failed:
    """The refusal of one option."""
    return Failed("option", without_secrets(f"option '{option}': {why}"))


def number_of(cause: BaseException) -> str:
    """The number that an error begins with, such as `ORA-00942`; empty if it has none."""
    found = re.search(r"\b(ORA|DPY)-(\d{4,5})\b", _text(cause))
    if found is None:
        return ""
    return f"ORA-{int(found[2]):05}" if found[1] == "ORA" else f"DPY-{found[2]}"


def _text(cause: BaseException) -> str:
    """The driver's message; its errors hold one object with a message (python-oracledb, "_Error Objects")."""
    inner = cause.args[0] if cause.args else None
    return str(getattr(inner, "message", None) or cause)


def is_missing(cause: BaseException) -> bool:
    """Whether the account lacks a privilege, as far as the error shows. A package without permission fails the
    block that names it (PLS-00201, PLS-00904)."""
    text = _text(cause)
    return number_of(cause) in MISSING or re.search(r"PLS-00(201|904)\b", text) is not None


def is_not_there(cause: BaseException) -> bool:
    """Whether the object to drop does not exist."""
    return number_of(cause) in ("ORA-00942", "ORA-04043")


def advice(cause: BaseException) -> str:
    """The cause, with what to do next if known."""
    said = without_secrets(first_sentence(_text(cause)) or type(cause).__name__)
    inner = re.search(r"PLS-\d{5}: [^\n]*", _text(cause))
    if inner and inner[0] not in said:
        said = f"{said}: {inner[0]}"
    hint = HINTS.get(number_of(cause))
    return f"{said}; {hint}" if hint else said


def statement_failed(action: str, cause: BaseException) -> Failed:
    """A statement that failed."""
    return failed(action, advice(cause))


def log_traceback() -> None:
    """Writes progress to the run's log, without passwords."""
    sys.stderr.write(without_secrets(traceback.format_exc()))
    sys.stderr.flush()
