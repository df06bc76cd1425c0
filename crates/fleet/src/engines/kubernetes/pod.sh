# Measures one cell in a pod: written by threadwise fleet plan, the same for every fleet. What differs is in the environment.
# It needs a shell with cmp, cp, mv and sed; for results in the log also tar, gzip, base64, sha256sum and wc (busybox has all).
set -u

# The Job counts its pods from 0; these are the repeats that were missing when it was submitted.
set -- $THREADWISE_REPEATS
shift "$JOB_COMPLETION_INDEX"
cell=$THREADWISE_MACHINE.$1
folder=$THREADWISE_FOLDER
end_file=${THREADWISE_END_FILE:-/dev/termination-log}

fail() {
	echo "threadwise: $1" >&2
	echo "failed" >"$end_file"
	exit 1
}

# A volume may have the plan already; with another plan its cells would be mixed up.
for file in plan.json study.toml; do
	if ! test -e "$folder/$file"; then
		cp "$THREADWISE_PLAN/$file" "$folder/.$file.$cell" && mv "$folder/.$file.$cell" "$folder/$file"
	fi
	cmp -s "$THREADWISE_PLAN/$file" "$folder/$file" ||
		fail "the volume has another $file than this plan: take another folder of it (sub_path)"
done

# Holds the pod, and with it the node, until the next repeat may start.
apart=
if test "$THREADWISE_APART_S" -gt 0; then
	sleep "$THREADWISE_APART_S" &
	apart=$!
fi

child=
trap 'test -z "$child" || kill -TERM "$child" 2>/dev/null; test -z "$apart" || kill "$apart" 2>/dev/null' TERM INT
"$THREADWISE_PROGRAM" fleet cell --dir "$folder" --cell "$cell" --node "$THREADWISE_NODE" --job "$THREADWISE_POD" &
child=$!
wait "$child"
code=$?
# wait ends at a signal, before the cell does.
while kill -0 "$child" 2>/dev/null; do
	wait "$child"
	code=$?
done
child=

# Into the log, between two lines that nothing else looks like, where no volume keeps it.
pack() {
	cd "$folder/cells/$cell" || return
	set -- cell.json exit
	test ! -f study.threadwise || set -- "$@" study.threadwise
	tar -cf - "$@" | gzip -9 >../.packed || return
	bytes=$(($(wc -c <../.packed)))
	if test "$bytes" -gt "$THREADWISE_LOG_BYTES"; then
		echo "-----threadwise-cell $cell too-large $bytes $THREADWISE_LOG_BYTES"
		return 1
	fi
	sum=$(sha256sum <../.packed)
	echo "-----BEGIN threadwise-cell $cell $outcome $bytes ${sum%% *}"
	base64 ../.packed || return
	echo "-----END threadwise-cell $cell"
}

outcome=none
if test -f "$folder/cells/$cell/exit"; then
	outcome=$(sed -n 's/^  "outcome": "\([a-z]*\)",*$/\1/p' "$folder/cells/$cell/cell.json")
	if test "$THREADWISE_LOG_BYTES" -gt 0; then
		(pack) || code=1
	fi
fi
# kubectl get pods shows it, and submit knows by it what was measured.
echo "$outcome" >"$end_file"
test -z "$apart" || wait "$apart"
test "$THREADWISE_POD_EXIT" = cell || code=0
exit "$code"
