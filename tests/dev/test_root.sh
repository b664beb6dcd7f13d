#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# dev/root, with a debootstrap that only pretends: it makes a root of a few programs of the host. What dev/root promises
# about interruption, two runs at once, mounts and removal is all its own doing. Nothing is fetched.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
. "$here/lib.sh"
tmp=${tmp-} # made by run_tests for each test

# A checkout that others can read too, a cache of its own, and the pretender in front of the path.
# The pretended debootstrap writes `begun`, waits for `go` when there is a file `hold`, and fails when there is `broken`.
prepare() {
	unset SUNK_INSIDE_ROOT SUNK_ROOT_BIND
	chmod 755 "$tmp"
	mkdir -p "$tmp/checkout/dev" "$tmp/bin" "$tmp/state"
	cp "$here/../../dev/root" "$here/../../dev/packages" "$tmp/checkout/dev/"
	root=$tmp/checkout/dev/root
	SUNK_ROOT=chroot SUNK_CACHE=$tmp/cache PATH=$tmp/bin:$PATH state=$tmp/state
	export SUNK_ROOT SUNK_CACHE PATH state
	cat >"$tmp/bin/debootstrap" <<-'FAKE'
		#!/bin/sh
		new=$3
		for d in etc/apt/apt.conf.d etc/dpkg/dpkg.cfg.d usr/sbin usr/bin proc dev sys var/lib/apt/lists; do mkdir -p "$new/$d"; done
		ln -s usr/bin "$new/bin"
		for p in sh cat touch sleep true echo dirname sed awk id; do
			cp -L "/usr/bin/$p" "$new/usr/bin/"
			for lib in $(ldd "/usr/bin/$p" | grep -o '/[^ ]*'); do
				mkdir -p "$new/$(dirname "$lib")"
				cp -L "$lib" "$new/$lib"
			done
		done
		printf '#!/bin/sh\n' >"$new/usr/bin/apt-get"
		chmod 755 "$new/usr/bin/apt-get"
		echo run >>"$state/runs"
		echo $$ >"$state/begun"
		[ ! -e "$state/broken" ] || { echo "E: the mirror is on fire"; exit 1; }
		if [ -e "$state/hold" ]; then
			echo half >"$new/half-made"
			until [ -e "$state/go" ]; do sleep 0.1; done
		fi
		echo whole >"$new/made"
	FAKE
	chmod 755 "$tmp/bin/debootstrap"
}

made_roots() { find "$SUNK_CACHE" -mindepth 1 -maxdepth 1 -name 'root-*' ! -name '*.log' ! -name '*.new' | wc -l; }
runs() { wc -l <"$state/runs"; }

test_help_and_mistakes() {
	prepare
	"$root" --help >"$tmp/help"
	assert_has "$tmp/help" "usage: dev/root"
	fails 1 "$root" --nope 2>"$tmp/nope"
	assert_has "$tmp/nope" "unknown option --nope"
	assert_has "$tmp/nope" "usage: dev/root"
	fails 1 "$root" --suite buster true 2>"$tmp/suite"
	assert_has "$tmp/suite" "unknown suite 'buster'"
	fails 2 "$root" 2>"$tmp/nothing"
	assert_has "$tmp/nothing" "usage: dev/root"
	SUNK_ROOT=maybe fails 1 "$root" true 2>"$tmp/maybe"
	assert_has "$tmp/maybe" "native, chroot or auto"
	[ ! -e "$SUNK_CACHE" ] || fail "a cache was made"
}

test_a_normal_user_is_told_what_it_needs() {
	need_root
	prepare
	fails 1 setpriv --reuid=65534 --regid=65534 --clear-groups "$root" true 2>"$tmp/said"
	assert_has "$tmp/said" "needs root"
	assert_has "$tmp/said" "sudo"
	assert_has "$tmp/said" "libslurm-dev"
}

test_a_normal_user_runs_natively() {
	need_root
	prepare
	SUNK_ROOT=native setpriv --reuid=65534 --regid=65534 --clear-groups "$root" id -u >"$tmp/said"
	assert_has "$tmp/said" 65534
}

test_native_mode_runs_in_place_and_makes_nothing() {
	prepare
	SUNK_ROOT=native
	cd /usr || exit
	"$root" sh -c 'pwd; for a; do echo "<$a>"; done' sh 'a b' '$x' '' '*' >"$tmp/said"
	printf '%s\n' /usr '<a b>' '<$x>' '<>' '<*>' >"$tmp/want"
	cmp "$tmp/want" "$tmp/said"
	fails 7 "$root" sh -c 'exit 7'
	"$root" --make
	[ -z "$("$root" --path)" ] || fail "native mode has a path"
	[ ! -e "$SUNK_CACHE" ] || fail "a cache was made"
}

# A host with all packages but some.
pretend_host_without() { # PACKAGE|PACKAGE...
	cat >"$tmp/bin/dpkg-query" <<-FAKE
		#!/bin/sh
		case "\$*" in *'{Version}'*) echo 99; exit 0 ;; esac
		shift 3
		for p; do case \$p in $1) ;; *) echo 'ii ' ;; esac; done
	FAKE
	printf '#!/bin/sh\nexit 0\n' >"$tmp/bin/dpkg"
	chmod 755 "$tmp/bin/dpkg-query" "$tmp/bin/dpkg"
}

test_a_host_with_the_packages_is_used_also_without_those_that_only_make_it_faster() {
	prepare
	SUNK_ROOT=auto
	pretend_host_without 'ccache|lld'
	[ -z "$("$root" --path)" ] || fail "a root for want of ccache"
	pretend_host_without 'meson'
	[ -n "$("$root" --path)" ] || fail "a host without meson is used"
}

test_a_command_runs_in_the_root_as_it_was_written() {
	need_root
	prepare
	cd "$tmp/checkout" || exit
	"$root" sh -c 'pwd; echo "$SUNK_INSIDE_ROOT"; for a; do echo "<$a>"; done' sh 'a b' '$x' "it's" >"$tmp/said" 2>"$tmp/err"
	printf '%s\n' "$tmp/checkout" trixie '<a b>' '<$x>' "<it's>" >"$tmp/want"
	cmp "$tmp/want" "$tmp/said"
	fails 7 "$root" sh -c 'exit 7'
	[ ! -e /usr/bin/apt-config ] || "$root" sh -c '[ ! -e /usr/bin/apt-config ]' || fail "it is not another root"
	"$root" "$root" sh -c 'echo nested' >"$tmp/nested"
	assert_has "$tmp/nested" nested
	[ "$(runs)" = 1 ] || fail "the root was made $(runs) times"
}

test_what_compilers_made_is_kept_outside_of_root_and_checkout() {
	need_root
	prepare
	cd "$tmp/checkout" || exit
	CCACHE_DIR=/nowhere "$root" sh -c 'echo "$CCACHE_DIR"; echo "$CCACHE_BASEDIR"; echo "${CCACHE_MAXSIZE:?}" >"$1/max"; echo "${PATH%%:*}"' sh "$tmp" >"$tmp/said"
	printf '%s\n' "$SUNK_CACHE/ccache" "$tmp/checkout" /usr/lib/ccache >"$tmp/want"
	cmp "$tmp/want" "$tmp/said"
	SUNK_ROOT=native CCACHE_DIR=/mine "$root" sh -c 'echo "$CCACHE_DIR"' >"$tmp/said"
	assert_has "$tmp/said" /mine # on a host of one's own it is one's own
}

test_the_root_follows_the_package_list() {
	prepare
	one=$("$root" --path)
	echo '# only a comment' >>"$tmp/checkout/dev/packages"
	[ "$("$root" --path)" = "$one" ] || fail "a comment made another root"
	[ "$("$root" --suite sid --path)" != "$one" ] || fail "both suites have the same root"
	echo 'sid: only-for-sid' >>"$tmp/checkout/dev/packages"
	[ "$("$root" --path)" = "$one" ] || fail "sid's package changed trixie's root"
	echo one-more >>"$tmp/checkout/dev/packages"
	[ "$("$root" --path)" != "$one" ] || fail "a package did not make another root"
}

test_an_interrupted_run_is_done_again() {
	need_root
	prepare
	touch "$state/hold"
	for signal in INT TERM KILL; do
		rm -f "$state/begun"
		env --default-signal=INT setsid "$root" --make >"$tmp/out" 2>&1 &
		pid=$!
		wait_for 20 test -s "$state/begun"
		kill -$signal $pid # the script alone: what it started must not go on behind its back
		wait $pid && fail "it was not interrupted" || true
		[ "$(made_roots)" = 0 ] || fail "half a root has its final name after $signal"
		wait_for 20 no_process "$tmp/bin/debootstrap"
	done
	rm "$state/hold"
	"$root" true 2>"$tmp/again"
	assert_has "$tmp/again" "an interrupted run left"
	assert_has "$("$root" --path)/made" whole
	[ ! -e "$("$root" --path)/half-made" ] || fail "the half-made root was used"
}

no_process() { ! pgrep -f -- "$1" >/dev/null; }

test_two_runs_at_once_make_one_root() {
	need_root
	prepare
	touch "$state/hold"
	"$root" echo first >"$tmp/first" 2>"$tmp/first.err" &
	first=$!
	wait_for 20 test -s "$state/begun"
	"$root" echo second >"$tmp/second" 2>"$tmp/second.err" &
	second=$!
	wait_for 20 has "$tmp/second.err" "waiting for another run"
	touch "$state/go"
	wait $first
	wait $second
	assert_has "$tmp/first" first
	assert_has "$tmp/second" second
	[ "$(runs)" = 1 ] || fail "debootstrap ran $(runs) times"
}

test_a_mirror_that_fails_is_shown_and_leaves_no_root() {
	need_root
	prepare
	touch "$state/broken"
	fails 1 "$root" true 2>"$tmp/said"
	assert_has "$tmp/said" "the mirror is on fire"
	assert_has "$tmp/said" "could not make the root"
	[ "$(made_roots)" = 0 ] || fail "a root was made"
	rm "$state/broken"
	"$root" true
}

test_no_mount_is_seen_from_the_host() {
	need_root
	prepare
	"$root" true
	cat /proc/self/mountinfo >"$tmp/before"
	"$root" sh -c 'cat /proc/self/mountinfo >"$1/inside"; touch "$1/in"; until [ -e "$1/leave" ]; do sleep 0.1; done' sh "$tmp" &
	pid=$!
	wait_for 20 test -e "$tmp/in"
	cat /proc/self/mountinfo >"$tmp/during"
	touch "$tmp/leave"
	wait $pid
	cat /proc/self/mountinfo >"$tmp/after"
	has "$tmp/inside" "$SUNK_CACHE/root-" || fail "inside, nothing is mounted: this test sees nothing"
	cmp "$tmp/before" "$tmp/during"
	cmp "$tmp/before" "$tmp/after"
}

test_nothing_is_left_when_the_command_is_killed() {
	need_root
	prepare
	"$root" true
	cat /proc/self/mountinfo >"$tmp/before"
	"$root" sh -c 'touch "$1/in"; while :; do sleep 0.1; done' sh "$tmp" &
	pid=$!
	wait_for 20 test -e "$tmp/in"
	kill -KILL $pid
	wait $pid || true
	cat /proc/self/mountinfo >"$tmp/after"
	cmp "$tmp/before" "$tmp/after"
}

test_clean_removes_roots_and_nothing_else() {
	need_root
	prepare
	"$root" true
	echo keep >"$SUNK_CACHE/other"
	echo keep >"$tmp/outside"
	ln -s "$tmp" "$("$root" --path)/link"
	"$root" --clean 2>"$tmp/said"
	assert_has "$tmp/said" "removing"
	[ "$(made_roots)" = 0 ] || fail "a root is still there"
	assert_has "$SUNK_CACHE/other" keep
	assert_has "$tmp/outside" keep
}

test_clean_does_not_reach_through_a_mount() {
	need_root
	prepare
	"$root" true
	mkdir "$tmp/precious" "$("$root" --path)/mnt"
	echo keep >"$tmp/precious/file"
	# a bind mount of the same file system, in a namespace of our own so that it goes away with us
	unshare --mount --propagation private sh -c '
		mount --bind "$1/precious" "$2/mnt"
		"$3" --clean 2>"$1/said" && exit 9
		exit 0' sh "$tmp" "$("$root" --path)" "$root" || fail "it did not stop"
	assert_has "$tmp/precious/file" keep
	assert_has "$tmp/said" "something is mounted there"
	"$root" --clean
	[ "$(made_roots)" = 0 ] || fail "without the mount, the root is still there"
	assert_has "$tmp/precious/file" keep
}

test_clean_waits_for_nobody_but_spares_a_root_in_use() {
	need_root
	prepare
	mkdir "$tmp/precious"
	echo keep >"$tmp/precious/file"
	SUNK_ROOT_BIND=$tmp/precious
	export SUNK_ROOT_BIND
	"$root" sh -c 'touch "$1/in"; until [ -e "$1/leave" ]; do sleep 0.1; done' sh "$tmp" &
	pid=$!
	wait_for 20 test -e "$tmp/in"
	fails 1 "$root" --clean 2>"$tmp/said"
	touch "$tmp/leave"
	wait $pid
	assert_has "$tmp/said" "commands still run in it"
	assert_has "$tmp/precious/file" keep
	"$root" --clean
	[ "$(made_roots)" = 0 ] || fail "a root is still there"
	assert_has "$tmp/precious/file" keep
}

run_tests "$0" "$@"
