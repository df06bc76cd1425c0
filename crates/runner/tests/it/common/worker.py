"""A worker for the runner's tests. What goes wrong is in the treatment's name."""
import ctypes, json, os, platform, signal, subprocess, sys, threading, time

reply = os.fdopen(int(os.environ["THREADWISE_REPLY_FD"]), "w", buffering=1)
spy = sys.argv[1]  # folder that the test reads afterwards
hello = sys.argv[2] if len(sys.argv) > 2 else "good"


def say(**message):
    reply.write(json.dumps(message) + "\n")


def parse(cpus):
    found = set()
    for part in cpus.split(","):
        low, _, high = part.partition("-")
        found |= set(range(int(low), int(high or low) + 1))
    return found


def policy():
    """The memory policy of this process, as its heap shows it."""
    with open("/proc/self/numa_maps") as maps:
        return next(line.split()[1] for line in maps if " heap " in line)


def forget_policy():
    number = 238 if platform.machine() == "x86_64" else 237
    ctypes.CDLL(None).syscall(number, 0, None, 0)


def session(cpus, tids, number, ready, park):
    os.sched_setaffinity(0, cpus)
    tids[number] = threading.get_native_id()
    ready.set()
    park.wait()


def daemons():
    try:
        with open(os.path.join(spy, "daemons")) as file:
            return file.read().split()
    except FileNotFoundError:
        return []


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def start_daemon():
    """A session and a group of its own, and this worker's files closed."""
    script = f"setsid sleep 600 </dev/null >/dev/null 2>&1 & echo $! >> {spy}/daemons"
    subprocess.run(["sh", "-c", script], check=True)


def prepare(sessions, fault):
    if fault == "daemon":
        with open(os.path.join(spy, "alive"), "a") as file:
            file.writelines(pid + "\n" for pid in daemons() if is_running(pid))
    tids = [0] * len(sessions)
    if fault.startswith("policy"):
        with open(os.path.join(spy, fault), "w") as file:
            file.write(policy())
    if fault == "policy forgotten":
        forget_policy()
    for number, entry in enumerate(sessions):
        cpus = parse(entry["cpus"])
        if fault == "mask":
            cpus = {min(cpus)}
        ready = threading.Event()
        arguments = (cpus, tids, number, ready, threading.Event())
        threading.Thread(target=session, args=arguments, daemon=True).start()
        ready.wait()
    return tids


def fall_asleep():
    """Suspends this process as SIGSTOP from elsewhere would; the file says so to the test."""
    with open(os.path.join(spy, "asleep"), "w"):
        pass
    os.kill(os.getpid(), signal.SIGSTOP)


def flood():
    """An answer that has no end, slowly: the runner is woken again and again."""
    with open(os.path.join(spy, "asleep"), "w"):
        pass
    while True:
        reply.write("x")
        reply.flush()
        time.sleep(0.0001)


def go(request, fault, tids):
    if fault == "segfault":
        print("about to fall over", flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)
        time.sleep(60)
    if fault == "hang":
        child = subprocess.Popen(["sleep", "600"])
        with open(os.path.join(spy, "grandchild"), "w") as file:
            file.write(str(child.pid))
        time.sleep(600)
    if fault == "garbage":
        reply.write("Segmentation fault? no.\n")
        return
    if fault == "engine":
        say(type="failed", kind="engine", message="no such table\nat all")
        sys.exit(1)
    if fault == "policy forgotten later":
        forget_policy()
    if fault == "farewell":
        say(type="failed", kind="engine", message="gone at once")
        os._exit(1)
    if fault == "asleep in slice":
        fall_asleep()
    if fault == "endless line":
        flood()
    if fault == "endless log":
        chunk = b"a line of a log that does not end\n" * 4096
        while True:
            os.write(1, chunk)
    if fault == "daemon":
        start_daemon()
    start = time.monotonic_ns() + request["warmup_ns"]
    time.sleep((request["warmup_ns"] + request["window_ns"]) / 1e9)
    one = {
        "steps": 10, "rows": 640, "answers_checked": 10, "answers_wrong": 0, "cpu_ns": 5,
        "counters": {"logical_reads": 1300, "physical_reads": 0},
    }
    if "piece_ns" in request:
        if hello != "pieces":
            sys.exit(9)
        pieces = request["window_ns"] // request["piece_ns"]
        slow = 3 if fault == "slow start" else 0
        rows = [70 if at < slow else 100 for at in range(pieces)]
        one.update(steps=60 * pieces, answers_checked=60 * pieces, rows=sum(rows), rows_by_piece=rows)
    with open(os.path.join(spy, "windows"), "a") as file:
        file.write(f"{fault},{request['warmup_ns']},{request['window_ns']}\n")
    if fault == "wrong":
        one["answers_wrong"] = 2
    if fault == "name":
        one["counters"]["x" * 300] = 1
    if fault == "many counters":
        one["counters"] = {f"counter_{number}": 1 for number in range(20_000)}
    if fault == "disk":
        one["counters"]["physical_reads"] = 40
    if fault == "late-mask" and request["sequence"] % 2 == 1:
        os.sched_setaffinity(tids[0], {min(os.sched_getaffinity(tids[0]))})
    window = request["window_ns"]
    say(type="slice", sequence=request["sequence"], start_ns=start, window_ns=window, sessions=[one] * len(tids))


def main():
    if hello == "silent":
        time.sleep(600)
    if hello == "environment":
        with open(os.path.join(spy, "environment"), "w") as file:
            file.write("\n".join(os.environ))
    with open(os.path.join(spy, "pids"), "a") as file:
        file.write(f"{os.getpid()}\n")
    said = {"properties": json.loads(hello)} if hello.startswith("{") else {}
    if hello == "pieces":
        said["pieces"] = True
    say(type="hello", protocol=99 if hello == "version" else 1, engine="test", version="1.2", **said)
    fault, tids = "", []
    for line in sys.stdin:
        request = json.loads(line)
        kind = request["type"]
        if kind == "load":
            if hello == "full":
                say(type="loaded", bytes_per_session=1 << 60, rows_per_session=1, notes=[])
            else:
                say(type="loaded", bytes_per_session=4096, rows_per_session=1, notes=["a note"])
        elif kind == "prepare":
            fault = request["load"]["treatment"]
            if hello == "slow":
                time.sleep(1.5)
            if fault == "exit":
                sys.exit(3)
            tids = prepare(request["sessions"], fault)
            if fault == "threads":
                tids = tids + tids
            if fault == "asleep in prepare":
                fall_asleep()
            if fault == "many notes":
                say(type="ready", tids=tids, notes=[f"note {number}" for number in range(20_000)])
            elif fault == "other notes":
                notes = [f"{time.monotonic_ns()} \x1b[2J\u202e{number}" for number in range(90)]
                say(type="ready", tids=tids, notes=notes)
            else:
                say(type="ready", tids=tids)
        elif kind == "go":
            go(request, fault, tids)
        elif kind == "stop":
            if fault == "stubborn":
                time.sleep(600)
            if fault == "asleep in stop":
                fall_asleep()
            say(type="done")
            break


main()
