# shellcheck shell=sh
# What the scripts that start processes share. Sourced, never run. The caller sets `me` (its name in messages).
#
# A process that was started is written down in a file as "PID STARTTIME", and is only ever ended when both still match:
# a pid that the kernel gave to someone else meanwhile is left alone.

: "${me:?set me before sourcing this}"

say() { printf '%s: %s\n' "$me" "$*" >&2; }
die() { say "$*"; exit 1; }

number() { # NAME VALUE MIN
	case $2 in '' | *[!0-9]*) die "$1: '$2' is not a number" ;; ??????????*) die "$1: $2 is too large" ;; esac
	[ "$2" -ge "$3" ] || die "$1: at least $3"
}

start_time() { # of a pid, empty when it is gone; the name in stat may hold blanks and brackets
	sed -n 's/^.*) //p' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20
}

is_zombie() {
	[ "$(sed -n 's/^.*) //p' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f1)" = Z ]
}

proc_pid() { # FILE: the pid written there, when that process still runs
	[ -r "$1" ] || return 0
	read -r p_pid p_start <"$1" || return 0
	if [ -n "$p_start" ] && [ "$(start_time "$p_pid")" = "$p_start" ] && ! is_zombie "$p_pid"; then printf '%s\n' "$p_pid"; fi
}

note_proc() { # FILE PID
	printf '%s %s\n' "$2" "$(start_time "$2")" >"$1.new"
	mv "$1.new" "$1"
}

start_proc() { # FILE LOG COMMAND...: in the background, output to LOG, written down in FILE
	s_file=$1 s_log=$2
	shift 2
	"$@" </dev/null >>"$s_log" 2>&1 8>&- 9>&- &
	note_proc "$s_file" $!
}

end_proc() { # FILE [WHAT]: SIGTERM, SIGKILL after five seconds; waits until it is gone
	e_pid=$(proc_pid "$1")
	if [ -n "$e_pid" ]; then
		kill -CONT "$e_pid" 2>/dev/null || true
		kill -TERM "$e_pid" 2>/dev/null || true
		e_n=0
		while [ -n "$(proc_pid "$1")" ]; do
			e_n=$((e_n + 1))
			[ $e_n -ne 100 ] || kill -KILL "$e_pid" 2>/dev/null || true
			[ $e_n -lt 200 ] || die "${2:-$1} (pid $e_pid) does not end"
			sleep 0.05
		done
	fi
	rm -f "$1" "$1.new"
}

show_tail() { # LOG...: the last lines of those that say something
	for t_log in "$@"; do
		[ -s "$t_log" ] || continue
		say "the last lines of $t_log:"
		tail -n 12 "$t_log" | sed 's/^/    /' >&2
	done
}

# The first of so many ports in a row, below the range that the kernel gives out by itself. They are nobody else's for as long as
# OWNER exists, also while nobody listens there: others may be starting, or their daemons dead for a moment.
PORTS_FIRST=20000 PORTS_SPAN=12000
free_ports() { # COUNT OWNER
	f_place=/tmp/sunk-$(id -u) f_table=$f_place/ports # FIRST COUNT OWNER
	mkdir -m 700 "$f_place" 2>/dev/null || true
	# the name can be guessed: what somebody else put there is not written through
	[ -n "$(find "$f_place" -maxdepth 0 -type d -user "$(id -u)" ! -perm /077)" ] || die "$f_place is not a private directory of ours: remove it"
	(
		umask 077
		exec 6>>"$f_table"
		flock 6
		while read -r f_first f_count f_owner; do
			[ ! -e "$f_owner" ] || printf '%s %s %s\n' "$f_first" "$f_count" "$f_owner"
		done <"$f_table" >"$f_table.new"
		f_base=$(ss -Hltn | awk '{ n = split($4, a, ":"); print a[n], 1 }' | cat - "$f_table.new" | awk -v want="$1" -v first=$PORTS_FIRST \
			-v span=$PORTS_SPAN -v seed="$(od -An -N4 -tu4 /dev/urandom)" '
			{ for (i = 0; i < $2; i++) taken[$1 + i] = 1 }
			END {
				srand(seed)
				for (try = 0; try < 1000; try++) {
					base = first + int(rand() * (span - want))
					for (i = 0; i < want && !((base + i) in taken); i++);
					if (i == want) { print base; exit }
				}
			}')
		[ -n "$f_base" ] || die "found no $1 free ports in a row"
		printf '%s %s %s\n' "$f_base" "$1" "$2" >>"$f_table.new"
		cat "$f_table.new" >"$f_table" # not a new file: others wait for this one
		rm "$f_table.new"
		printf '%s\n' "$f_base"
	)
}

# Where a person works is shown inside the root too (dev/root): what a job or a Pod writes there is then found.
show_places() {
	for w_dir in "${HOME:-/}" "$PWD"; do
		case $w_dir in / | /usr* | /bin* | /sbin* | /lib* | /etc* | /var* | /proc* | /sys* | /dev* | /run*) continue ;; esac
		SUNK_ROOT_BIND=${SUNK_ROOT_BIND:+$SUNK_ROOT_BIND:}$w_dir
		export SUNK_ROOT_BIND
	done
}

find_go() { # prints where it is
	for f_go in go /usr/local/go/bin/go /usr/lib/go/bin/go; do
		if command -v "$f_go" >/dev/null 2>&1; then
			command -v "$f_go"
			return
		fi
	done
	return 1
}

# Shows that something happens: Go builds in silence, so the compiler's cache tells how far it is.
show_build() { # PID WHAT GOCACHE LOG
	b_started=$(date +%s) b_next=2
	while kill -0 "$1" 2>/dev/null; do
		b_now=$(($(date +%s) - b_started))
		if [ $b_now -ge $b_next ]; then
			b_line="building $2: $b_now s, $(find "$3" -name '*-a' 2>/dev/null | wc -l) compiled  $(tail -n 1 "$4" 2>/dev/null | cut -c1-60)"
			if [ -t 2 ]; then printf '\r\033[K%s: %s' "$me" "$b_line" >&2; else say "$b_line"; fi
			if [ -t 2 ]; then b_next=$((b_now + 1)); else b_next=$((b_now + 20)); fi
		fi
		sleep 0.5
	done
	[ ! -t 2 ] || printf '\r\033[K' >&2
}

# Inside of dev/root the host's certificates are not seen, which may hold one of a proxy of its own; the cache is.
share_ca() { # CACHE: on the host
	c_file=${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}
	[ ! -r "$c_file" ] || cp "$c_file" "$1/ca-certificates.crt"
}

use_ca() { # CACHE: inside
	[ ! -r "$1/ca-certificates.crt" ] || export SSL_CERT_FILE="$1/ca-certificates.crt"
}
