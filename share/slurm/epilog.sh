#!/bin/sh
# Slurm's Epilog: runs everything in epilog.d/ beside it, in order of the names, all of them; fails when one did.
set -u
dir=$(dirname -- "$(readlink -f -- "$0")")/epilog.d
status=0
for script in "$dir"/*; do
	[ -x "$script" ] || continue
	"$script" || {
		status=$?
		echo "epilog: ${script##*/} failed with code $status" >&2
	}
done
exit $status
