# Functions for kills.rs: what of a machine has to come back, and what is done to a process that switches it.
C=/sys/devices/system/cpu
S=/sys/fs/cgroup/cpuset
J=/run/threadwise

# Things that a logical CPU takes with it when it goes: groups of version 1, masks of tasks, interrupts; and one that an
# administrator has taken offline.
prepare() {
    mkdir -p /run
    mount -t tmpfs cgroup /sys/fs/cgroup
    mkdir $S
    mount -t cgroup -o cpuset cpuset $S
    mkdir $S/a $S/a/b $S/d
    for group in a:0-3 a/b:1-3 d:3,7; do
        echo ${group#*:} > $S/${group%:*}/cpuset.cpus
        echo 0 > $S/${group%:*}/cpuset.mems
    done
    sleep 100000 & one=$!
    sleep 100000 & two=$!
    sleep 100000 & three=$!
    echo $three > $S/a/tasks
    { taskset -p 0x8 $one; taskset -p 0xc $two; taskset -p 0xe $three; } > /dev/null
    for mask in /proc/irq/*/smp_affinity_list; do echo 3 > $mask; done 2> /dev/null
    echo 0 > $C/cpu5/online
    state > before
    read -r online < $C/online
    echo "lines $(wc -l < before)"
}

state() {
    grep -H . $C/online $C/smt/control $C/cpu*/online $S/*/cpuset.cpus $S/*/*/cpuset.cpus /proc/irq/*/smp_affinity_list
    grep -H Cpus_allowed_list /proc/$one/status /proc/$two/status /proc/$three/status
    ls $J 2> /dev/null
}

# Moments of a process that switches.
journalled() { set -- $J/smt.*; [ -s "$1" ] && watched; }
begun() { read -r now < $C/online; [ "$now" != "$online" ]; }
switched() { read -r now < $C/online; [ "$now" = 0,2,4,6 ]; }

# The watchdogs that there are, in $dogs.
watched() {
    dogs=
    # By their journal. The pattern is no word of its own command.
    for path in $(grep -l 'threadwise/smt[.]' /proc/[0-9]*/cmdline 2> /dev/null); do
        path=${path#/proc/}
        dogs="$dogs ${path%/cmdline}"
    done
    [ -n "$dogs" ]
}

# Stops the process $pid at a moment; fails where it has ended before. One that is waited for has no program.
stop_at() {
    while [ -e /proc/$pid/exe ]; do
        if "$1"; then kill -STOP $pid && return 0; fi
    done
    return 1
}

# NAME MOMENT WHAT COMMAND…: has the command ended at the moment, and says whether all is as it was.
ended() {
    name=$1 moment=$2 what=$3
    shift 3
    for try in 1 2 3 4 5; do
        # Of a study that was ended before.
        rm -f killed.threadwise*
        "$@" > log 2>&1 &
        pid=$!
        if stop_at $moment; then
            read -r at < $C/online
            watched || echo "case $name: it has no watchdog"
            case $what in
                runner) kill -9 $pid ;;
                both) kill -9 $dogs $pid ;;
                ctrl-c) kill -INT $pid; kill -CONT $pid ;;
            esac
            wait $pid
            while watched; do sleep 0.1; done
            [ $what = both ] && threadwise restore > log 2>&1
            compare "$name with $at online"
            return
        fi
        # What it was asked for has been done before the moment was seen.
        threadwise restore > log 2>&1
    done
    echo "case $name: the moment never came: $(tail -n 1 log)"
}

# A logical CPU whose file takes nothing.
failed() {
    name=$1
    shift
    cat $C/cpu7/online > one
    mount --bind one $C/cpu7/online
    mount -o remount,ro,bind $C/cpu7/online
    if "$@" > log 2>&1; then echo "case $name: it did not fail"; fi
    umount $C/cpu7/online
    compare "$name"
}

compare() {
    state > after
    if cmp -s before after; then
        echo "case $1: as before"
    else
        echo "case $1: $(diff before after | grep '^[-+][^-+]' | head -n 4 | tr '\n' ' ')"
    fi
}
