#!/bin/sh
# usage: collect.sh FOLDER CELL… -- COMMAND…
# Takes cells out of what COMMAND prints, the logs of their pods, and puts them into FOLDER/cells by a rename each. Of several
# attempts at a cell a measured one counts, or else the last one.
set -eu
folder=$1
shift
cells=
while test "$1" != --; do
	cells="$cells $1"
	shift
done
shift
# A result is no larger than this when it is unpacked; what is larger is none.
most=$((256 * 1024 * 1024))
mkdir -p "$folder/kubernetes"
room=$(mktemp -d "$folder/kubernetes/.collecting.XXXXXX")
trap 'rm -rf "$room"' EXIT
trap 'exit 1' TERM INT
"$@" >"$room/log"

# The first line is the header of the attempt, or that it was too large; its lines follow.
# shellcheck disable=SC2016
extract='
	$1 == "-----threadwise-cell" && $2 == cell && $3 == "too-large" { large = $4 " " $5 }
	$1 == "-----BEGIN" && $2 == "threadwise-cell" && $3 == cell { header = $4 " " $5 " " $6; count = 0; within = 1; next }
	$1 == "-----END" && $2 == "threadwise-cell" && $3 == cell && within {
		within = 0
		split(header, field, " ")
		good = field[1] == "measured" || field[1] == "invalid"
		if (good || !is_good) {
			is_good = good
			best = header
			for (i = 1; i <= count; i++) kept[i] = line[i]
			lines = count
		}
		next
	}
	/^-----/ { within = 0 }
	within { line[++count] = $0 }
	END {
		if (best != "") { print best; for (i = 1; i <= lines; i++) print kept[i] }
		else if (large != "") print "too-large " large
	}'

one() {
	cell=$1
	awk -v cell="$cell" "$extract" "$room/log" >"$room/block"
	read -r outcome bytes sum <"$room/block" || {
		echo "$cell: the logs of its pods have no result"
		return 1
	}
	if test "$outcome" = too-large; then
		echo "$cell: its result has $bytes bytes compressed, and a log takes $sum at most: give the fleet a volume (claim)"
		return 1
	fi
	sed 1d "$room/block" | base64 -d >"$room/packed" 2>/dev/null || true
	found=$(sha256sum <"$room/packed")
	if test "${found%% *}" != "$sum"; then
		echo "$cell: its result in the log is damaged (SHA-256): collect again; if it stays, kubectl delete its job and submit again"
		return 1
	fi
	rm -rf "$room/cell"
	mkdir "$room/cell"
	gzip -dc "$room/packed" 2>/dev/null | head -c "$most" >"$room/tar" || true
	if tar -tf "$room/tar" 2>/dev/null | grep -Evx 'cell\.json|exit|study\.threadwise' >/dev/null ||
		! tar -xof "$room/tar" -C "$room/cell" 2>/dev/null ||
		test -n "$(find "$room/cell" -mindepth 1 ! -type f)"; then
		echo "$cell: its result in the log is no result of a cell: look at the log of its pod"
		return 1
	fi
	sh "$folder/kubernetes/place.sh" "$folder" "$cell" "$room/cell" 2>&1
}

missing=0
for cell in $cells; do
	if ! why=$(one "$cell"); then
		echo "$why" >&2
		missing=1
	fi
done
exit "$missing"
