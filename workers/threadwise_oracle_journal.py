"""Journal of masks of other users' processes, written before they are changed, as threadwise's own engines do.

The format and the rules are those of `crates/process/src/journal.rs` and its modules: one line a thread, `v1 BOOT PIDNS
PID TID START MASK`; lines `owner BOOT PIDNS PID START` of the processes that write; a file and a folder that no other
user may write; flock(2) around every change; durable before a mask is changed. The first mask of a thread counts.
threadwise restores them, even if everything was killed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import stat
import time
from collections.abc import Iterable, Iterator

from threadwise_failure import Failed

#: A thread by its process and its own number.
Thread = tuple[int, int]

#: Maximum bytes of a journal.
MAX_BYTES = 16 << 20

#: Longest wait for its lock, seconds.
LOCK_S = 20.0


class NoJournal(Exception):
    """Why nothing may be bound."""


def start_time(pid: int, tid: int) -> int | None:
    """When a thread started, clock ticks (proc_pid_stat(5), field 22); None if it has ended."""
    try:
        with open(f"/proc/{pid}/task/{tid}/stat", encoding="utf-8", errors="replace") as file:
            return int(file.read().rpartition(")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        return None


def threads_of(pid: int) -> list[int]:
    """Numbers of a process's threads; none if it has ended."""
    try:
        return sorted(int(name) for name in os.listdir(f"/proc/{pid}/task"))
    except (OSError, ValueError):
        return []


def mask_of(tid: int) -> set[int] | None:
    """The logical CPUs of a thread; None if it has ended."""
    try:
        return os.sched_getaffinity(tid)
    except OSError:
        return None


def cpu_text(cpus: Iterable[int]) -> str:
    """A list such as `0-3,8`, as `CpuSet` of the crate `machine` writes it."""
    runs: list[list[int]] = []
    for cpu in sorted(cpus):
        if runs and cpu == runs[-1][1] + 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in runs)


def here() -> str:
    """Boot id and PID namespace, two words of a line; `-` if unknown."""
    def word(text: str) -> str:
        return text if re.fullmatch(r"[A-Za-z0-9-]{1,64}", text) else "-"

    boot, namespace = "", ""
    with contextlib.suppress(OSError), open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        boot = file.read().strip()
    with contextlib.suppress(OSError):
        namespace = os.readlink("/proc/self/ns/pid").removeprefix("pid:[").removesuffix("]")
    return f"{word(boot)} {word(namespace)}"


def _look(pid: int, tid: int) -> tuple[int, set[int]] | None:
    """Start time and mask of a thread, read consistently."""
    start, mask = start_time(pid, tid), mask_of(tid)
    if start is None or mask is None or start_time(pid, tid) != start:
        return None
    return start, mask


def _own_file(flags: int, name: str, folder: int | None, path: str) -> int:
    try:
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
    except OSError as cause:
        raise NoJournal(f"cannot open journal {path}: {cause.strerror}; nothing is changed without it") from cause


class Journal:
    """A journal to write to."""

    def __init__(self, path: str) -> None:
        self.path = path
        if not os.path.isabs(path) or not os.path.basename(path):
            raise NoJournal(f"journal {path} is not used: its path is not the absolute path of a file")
        with contextlib.suppress(OSError):
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        self.folder = _own_file(os.O_RDONLY | os.O_DIRECTORY, os.path.dirname(path), None, path)
        entry = os.fstat(self.folder)
        if entry.st_uid != os.geteuid() or stat.S_IMODE(entry.st_mode) & 0o077:
            raise NoJournal(f"journal {path} is not used: its folder must be owned by this user, with mode 0700")
        while not self._enter():  # removed by another process between opening and locking: made again
            continue
        os.fsync(self.folder)

    def _open(self, more: int) -> int:
        file = _own_file(os.O_RDWR | os.O_APPEND | os.O_NONBLOCK | more, os.path.basename(self.path), self.folder,
                         self.path)
        entry = os.fstat(file)
        if not stat.S_ISREG(entry.st_mode) or entry.st_uid != os.geteuid() or entry.st_mode & 0o022 \
                or entry.st_nlink > 1:
            os.close(file)
            raise NoJournal(f"journal {self.path} is not used: it must be this user's regular file, with mode 0600 and "
                            "one name")
        return file

    @contextlib.contextmanager
    def _locked(self, more: int = 0) -> Iterator[tuple[int, str] | None]:
        """The locked file and its complete lines; None if it was renamed meanwhile."""
        file = self._open(more)
        try:
            until = time.monotonic() + LOCK_S
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > until:
                        raise NoJournal(f"cannot lock journal {self.path}: another process holds it") from None
                    time.sleep(0.005)
            if os.fstat(file).st_nlink == 0:
                yield None
                return
            size = os.fstat(file).st_size
            if size > MAX_BYTES:
                raise NoJournal(f"journal {self.path} is not used: it is longer than {MAX_BYTES >> 20} MiB")
            text = os.pread(file, size, 0).decode("ascii", errors="replace")
            yield file, text[:text.rfind("\n") + 1]
        finally:
            os.close(file)

    def _append(self, file: int, whole: str, lines: str) -> None:
        """Adds lines behind the last whole one, durably or not at all."""
        at = len(whole)
        try:
            if at + len(lines) > MAX_BYTES:
                raise OSError("it would be too long")
            os.ftruncate(file, at)
            data = lines.encode("ascii")
            if os.write(file, data) != len(data):
                raise OSError("it was written only partly")
            os.fsync(file)
        except OSError as cause:
            with contextlib.suppress(OSError):
                os.ftruncate(file, at)
            raise NoJournal(f"cannot write journal {self.path}: {cause}; nothing is changed without it") from cause

    def _enter(self) -> bool:
        """Records this process as an owner, once; False if the file was renamed."""
        with self._locked(os.O_CREAT) as opened:
            if opened is None:
                return False
            pid = os.getpid()
            line = f"owner {here()} {pid} {start_time(pid, pid) or 0}\n"
            if line not in opened[1]:
                self._append(*opened, line)
            return True

    def record(self, threads: list[Thread]) -> list[Thread]:
        """Records the current masks of threads unless recorded already, with those of all threads of their processes.
        Returns those that may be changed now; the others have ended."""
        with self._locked() as opened:
            if opened is None:
                raise NoJournal(f"journal {self.path} was removed: nothing is changed without it")
            file, whole = opened
            place = here()
            known = _entries(whole, place)
            lines: list[str] = []

            def write(pid: int, tid: int, start: int, mask: set[int]) -> None:
                if (pid, tid, start) not in known:
                    known[pid, tid, start] = mask
                    lines.append(f"v1 {place} {pid} {tid} {start} {cpu_text(mask)}\n")

            before, recorded = dict(known), []
            for pid, tid in threads:
                seen = _look(pid, tid)
                if seen is None:
                    continue
                first = before.get((pid, pid, start_time(pid, pid) or 0))
                if first is not None:  # its process is written down: what began since then has inherited a mask
                    write(pid, tid, seen[0], first)
                else:
                    write(pid, tid, *seen)
                    for other in threads_of(pid):
                        if (found := _look(pid, other)) is not None:
                            write(pid, other, *found)
                recorded.append((pid, tid))
            if lines:
                self._append(file, whole, "".join(lines))
            return recorded

    def first_mask(self, pid: int, tid: int) -> set[int] | None:
        """The mask that a thread had at first, if it is the same thread still."""
        with self._locked() as opened:
            if opened is None:
                return None
            return _entries(opened[1], here()).get((pid, tid, start_time(pid, tid) or 0))


def _entries(text: str, place: str) -> dict[tuple[int, int, int], set[int]]:
    """The first line of each thread of this boot and PID namespace."""
    entries: dict[tuple[int, int, int], set[int]] = {}
    for line in text.splitlines():
        found = re.fullmatch(rf"v1 {re.escape(place)} (\d+) (\d+) (\d+) ([\d,-]+)", line)
        if found is None:
            continue
        with contextlib.suppress(ValueError):
            mask = {cpu for part in found[4].split(",") for ends in [part.split("-")]
                    for cpu in range(int(ends[0]), int(ends[-1]) + 1)}
            entries.setdefault((int(found[1]), int(found[2]), int(found[3])), mask)
    return entries


def bind(journal: Journal, threads: list[Thread], cpus: set[int]) -> list[Thread]:
    """Binds threads of other users' processes, and reads their masks back; returns those that live. One that already
    has the mask is not recorded: nothing is changed."""
    living = [(thread, mask) for thread in threads if (mask := mask_of(thread[1])) is not None]
    bound = [thread for thread, mask in living if mask == cpus]
    for pid, tid in journal.record([thread for thread, mask in living if mask != cpus]):
        try:
            os.sched_setaffinity(tid, cpus)
        except ProcessLookupError:
            continue
        except OSError as cause:
            raise Failed("lost-pin", f"thread {tid} of the server cannot be bound to logical CPUs {cpu_text(cpus)} "
                                     f"({cause.strerror}); check whether they are in the server's cpuset") from cause
        actual = mask_of(tid)
        if actual is not None and actual != cpus:
            raise Failed("lost-pin", f"thread {tid} of the server was bound to logical CPUs {cpu_text(cpus)} and reads "
                                     f"back {cpu_text(actual)}: the server's cpuset prevents it")
        bound.append((pid, tid))
    return bound
