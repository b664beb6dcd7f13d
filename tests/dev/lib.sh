# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
#
# A test program in plain sh, for hosts that have nothing else. Functions named test_* are the tests; each runs in a
# shell and a folder ($tmp) of its own, with errors fatal. Prints "ok NAME", "not ok NAME" (with what it wrote) or
# "skipped NAME" (when it calls skip). A name as argument runs that one only.

SKIPPED=77

skip() {
	echo "skipped: $*"
	exit $SKIPPED
}

fail() {
	echo "FAILED: $*"
	exit 1
}

# wait_for SECONDS COMMAND...: until the command succeeds.
wait_for() {
	deadline=$(($(date +%s) + $1))
	shift
	until "$@"; do
		[ "$(date +%s)" -lt "$deadline" ] || fail "waited too long for: $*"
		sleep 0.1
	done
}

# has FILE TEXT: the file has the text in one of its lines.
has() { grep -qF -- "$2" "$1"; }

assert_has() {
	has "$1" "$2" && return
	echo "--- $1:"
	cat "$1"
	fail "'$2' is not in $1"
}

# fails CODE COMMAND...: with this exit code.
fails() {
	want=$1
	shift
	"$@" && code=0 || code=$?
	[ "$code" = "$want" ] || fail "exit code $code, not $want: $*"
}

need_root() { [ "$(id -u)" = 0 ] || skip "needs root"; }

run_tests() { # program, arguments
	program=$1
	shift
	if [ "${1:-}" = --inside ]; then
		set -eu
		"$2"
		exit 0
	fi
	bad=0
	for t in $(sed -n 's/^\(test_[a-z0-9_]*\)() {$/\1/p' "$program"); do
		case $t in *"${1:-}"*) ;; *) continue ;; esac
		tmp=$(mktemp -d)
		export tmp
		sh "$program" --inside "$t" >"$tmp/.out" 2>&1
		code=$?
		case $code in
		0) echo "ok $t" ;;
		"$SKIPPED") echo "skipped $t: $(tail -n 1 "$tmp/.out")" ;;
		*) bad=1; echo "not ok $t"; sed 's/^/    /' "$tmp/.out" ;;
		esac
		rm -rf "$tmp"
	done
	return $bad
}
