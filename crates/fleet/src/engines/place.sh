#!/bin/sh
# usage: place.sh FOLDER CELL FROM
# Makes FROM, which has all that a cell left, the folder cells/CELL of the fleet's folder: by a rename, so that whoever
# sees it sees all of it. A measured cell is never replaced; one that was refused or failed is kept below replaced/.
set -eu
folder=$1
cell=$2
from=$3
to=$folder/cells/$cell

fail() {
	echo "$cell: $1" >&2
	exit 1
}

test -s "$from/cell.json" && test -s "$from/exit" || fail "what came of it has no cell.json and exit: collect again"
# Files first and the name after them; a sync that takes no names does more than is needed.
sync "$from"/* 2>/dev/null || sync
if test -e "$to"; then
	grep -Eq '^  "outcome": "(refused|failed)",?$' "$to/cell.json" || fail "it is in cells/ already, and is left as it is"
	mkdir -p "$folder/replaced"
	number=1
	while test -e "$folder/replaced/$cell.$number"; do
		number=$((number + 1))
	done
	mv "$to" "$folder/replaced/$cell.$number"
fi
mv "$from" "$to"
