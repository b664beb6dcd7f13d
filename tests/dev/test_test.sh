#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# dev/test, with a dev/root that only pretends: each stage does what a file says. What dev/test promises about lanes, sums,
# stages that are left out and interruption is all its own doing.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
. "$here/lib.sh"
tmp=${tmp-} # made by run_tests for each test

# A stage does what plan/STAGE says, or passes one test. begun and ended tell what ran beside what.
prepare() {
	unset SUNK_INSIDE_ROOT SUNK_ROOT_BIND SUNK_KUBE_NEEDED CI SUNK_ONE_BY_ONE
	mkdir -p "$tmp/checkout/dev" "$tmp/plan"
	cp "$here/../../dev/test" "$tmp/checkout/dev/"
	cat >"$tmp/checkout/dev/root" <<-FAKE
		#!/bin/sh
		case "\$*" in *--make) exit 0 ;; esac
		while [ "\$1" != --stage ]; do shift; done
		stage=\$2 out=$tmp/checkout/build-test
		echo "begun \$stage" >>$tmp/order
		if [ -e "$tmp/plan/\$stage" ]; then . "$tmp/plan/\$stage"; else printf '%s\tone\t0.1\t1\t0\t0\n' "\$stage" >"\$out/\$stage.tsv"; fi
		echo "ended \$stage" >>$tmp/order
	FAKE
	printf '#!/bin/sh\nexit 0\n' >"$tmp/checkout/dev/helm"
	cat >"$tmp/checkout/dev/kube" <<-FAKE
		#!/bin/sh
		[ "\${1:-}" != --path ] || exec test -e $tmp/kube-is-there
		[ ! -e $tmp/plan/kube ] || . $tmp/plan/kube
		touch $tmp/kube-is-there
		echo $tmp
	FAKE
	chmod 755 "$tmp/checkout/dev/"*
	test=$tmp/checkout/dev/test
}

plan() { cat >"$tmp/plan/$1"; }

# In a plan: until FILE is there. Whoever waits so is seen to run at the same time as whoever makes it.
WAIT='n=0; until [ -e "$file" ]; do n=$((n + 1)); [ $n -lt 300 ] || exit 9; sleep 0.05; done'

nobody_lingers() { ! ps -eo args | grep -v grep | grep -F "$tmp/"; }

position() { grep -nx "$1" "$tmp/order" | cut -d: -f1; }

test_sums_are_those_of_all_stages() {
	prepare
	printf 'printf "lint\\ta\\t2\\t5\\t0\\t1\\nlint\\tb\\t1\\t2\\t0\\t0\\n" >"$out/lint.tsv"\n' | plan lint
	"$test" --only unit,lint,e2e >"$tmp/out" 2>&1 || fail "$(cat "$tmp/out")"
	assert_has "$tmp/out" "lint      7 passed, 0 failed, 1 skipped"
	[ "$(tail -n 1 "$tmp/out")" = "9 passed, 0 failed, 1 skipped" ] || fail "$(cat "$tmp/out")"
}

test_a_stage_that_fails_or_ends_badly_is_counted_and_shown() {
	prepare
	printf 'printf "lint\\ta\\t1\\t0\\t1\\t0\\tin short\\n" >"$out/lint.tsv"; echo "why it failed" >"$out/lint.failed"\n' | plan lint
	printf 'echo "last words"; exit 3\n' | plan slurm
	fails 1 "$test" --only unit,lint,slurm >"$tmp/out" 2>&1
	assert_has "$tmp/out" "why it failed"
	assert_has "$tmp/out" "slurm: ended with code 3"
	assert_has "$tmp/out" "last words"
	sed -n '/^failed:$/,$p' "$tmp/out" >"$tmp/end"
	printf '%s\n' 'failed:' '  lint: a' '      in short' '  slurm: ended with code 3' '      last words' '' >"$tmp/wanted"
	head -n 6 "$tmp/end" | cmp - "$tmp/wanted" || fail "$(cat "$tmp/out")"
	[ "$(tail -n 1 "$tmp/out")" = "1 passed, 2 failed" ] || fail "$(cat "$tmp/out")"
}

test_one_that_works_runs_beside_one_that_waits() {
	prepare
	printf 'touch %s/unit; file=%s/e2e; %s\nprintf "unit\\ta\\t1\\t1\\t0\\t0\\n" >"$out/unit.tsv"\n' "$tmp" "$tmp" "$WAIT" | plan unit
	printf 'touch %s/e2e; file=%s/unit; %s\nprintf "e2e\\ta\\t1\\t1\\t0\\t0\\n" >"$out/e2e.tsv"\n' "$tmp" "$tmp" "$WAIT" | plan e2e
	"$test" --only unit,clang,e2e,slurm >"$tmp/out" 2>&1 || fail "$(cat "$tmp/out")"
	[ "$(position 'begun clang')" -gt "$(position 'ended unit')" ] || fail "clang beside unit"
	[ "$(position 'begun slurm')" -gt "$(position 'ended e2e')" ] || fail "slurm beside e2e"
}

test_one_by_one_means_that() {
	prepare
	SUNK_ONE_BY_ONE=yes "$test" --only unit,e2e,bench,soak >"$tmp/out" 2>&1 || fail "$(cat "$tmp/out")"
	printf '%s\n' 'begun unit' 'ended unit' 'begun e2e' 'ended e2e' 'begun bench' 'ended bench' 'begun soak' 'ended soak' | cmp - "$tmp/order"
}

test_kubernetes_is_built_beside_what_does_not_need_it() {
	prepare
	printf 'file=%s/unit; %s\ntouch %s/built\n' "$tmp" "$WAIT" "$tmp" | plan kube
	printf 'touch %s/unit; file=%s/built; %s\nprintf "unit\\ta\\t1\\t1\\t0\\t0\\n" >"$out/unit.tsv"\n' "$tmp" "$tmp" "$WAIT" | plan unit
	"$test" --only e2e-real,unit >"$tmp/out" 2>&1 || fail "$(cat "$tmp/out")"
	[ "$(position 'begun e2e-real')" -gt "$(position 'begun unit')" ] || fail "e2e-real did not wait"
	assert_has "$tmp/out" "kube      built"
}

test_without_kubernetes_its_stages_are_left_out_in_sight_of_all() {
	prepare
	echo 'echo "no go here"; exit 1' | plan kube
	"$test" --only e2e-real,unit >"$tmp/out" 2>&1 || fail "$(cat "$tmp/out")"
	assert_has "$tmp/out" "e2e-real  skipped: no real Kubernetes can be had"
	[ "$(tail -n 1 "$tmp/out")" = "1 passed, 0 failed, 1 skipped" ] || fail "$(cat "$tmp/out")"
	fails 1 env SUNK_KUBE_NEEDED=yes "$test" --only e2e-real,unit >"$tmp/out" 2>&1
	assert_has "$tmp/out" "e2e-real  failed: no real Kubernetes can be had"
	[ "$(tail -n 1 "$tmp/out")" = "1 passed, 1 failed" ] || fail "$(cat "$tmp/out")"
}

test_interrupted_it_ends_all_that_runs() {
	prepare
	ln -s "$(command -v sleep)" "$tmp/linger"
	for s in unit e2e; do printf '%s/linger 300 & touch %s/%s; wait\n' "$tmp" "$tmp" $s | plan $s; done
	setsid sh "$test" --only unit,e2e >"$tmp/out" 2>&1 &
	pid=$!
	wait_for 20 test -e "$tmp/unit"
	wait_for 20 test -e "$tmp/e2e"
	kill -s TERM $pid
	fails 130 wait $pid
	assert_has "$tmp/out" "stopped"
	wait_for 10 nobody_lingers
}

run_tests "$0" "$@"
