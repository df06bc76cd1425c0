#!/bin/sh
# usage: submit.sh NAME MANIFEST KUBECTL…      in the fleet's folder
# Makes the ConfigMap NAME with the plan, the study and the script of pods, where it is not there yet, and applies MANIFEST.
set -eu
name=$1
manifest=$2
shift 2
if ! "$@" get configmap "$name" --output=name >/dev/null 2>&1; then
	"$@" create configmap "$name" --from-file=plan.json --from-file=study.toml --from-file=kubernetes/pod.sh >&2
fi
exec "$@" apply --filename="$manifest" --output=name
