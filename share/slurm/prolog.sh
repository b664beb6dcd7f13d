#!/bin/sh
# Slurm's Prolog: runs everything in prolog.d/ beside it, in order of the names. The first that fails ends it: the job does not
# start, and Slurm drains the node.
set -u
dir=$(dirname -- "$(readlink -f -- "$0")")/prolog.d
for script in "$dir"/*; do
	[ -x "$script" ] || continue
	"$script" || {
		code=$?
		echo "prolog: ${script##*/} failed with code $code" >&2
		exit "$code"
	}
done
