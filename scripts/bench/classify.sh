#!/bin/bash
# Times tri-classify beside sha256sum, cat, jq and gojq over the same real events:
#
#	scripts/bench/classify.sh CHAT_DIR SEED_RULES.jq [ROUNDS]
#
# CHAT_DIR/*.ndjson, repeated to 221,592 events, are the input; the jq filter is
# what a user would otherwise run. jq and gojq are left out where they are not
# installed. Programs take turns; the medians of wall time count.
set -euo pipefail
[ $# -ge 2 ] || { echo "usage: $0 chat_dir seed_rules.jq [rounds]" >&2; exit 64; }
chat=$1 rules=$2 rounds=${3:-5} events=221592
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

(cd "$root" && CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '-s -w' -o "$work/tri-classify" ./cmd/tri-classify)
input=$work/events.ndjson
touch "$input"
while [ "$(wc -l <"$input")" -lt $events ]; do cat "$chat"/*.ndjson >>"$input"; done
head -n $events "$input" >"$input.cut" && mv "$input.cut" "$input"
echo '{}' >"$work/open.json"
filter='$o[0] as $open | '$(cat "$rules")

export TRI_HOME=$work
classify() { "$work/tri-classify" "$input"; }
sha() { sha256sum "$input"; }
plain() { cat "$input"; }
with_jq() { "$1" -c --arg bot ubotu --slurpfile o "$work/open.json" "$filter" "$input"; }
jq16() { with_jq jq; }
gojq1() { with_jq gojq; }
start_tri() { "$work/tri-classify" /dev/null; }
start_jq() { jq -n 1; }

TIMEFORMAT=%R
once() { { time "$1" >/dev/null; } 2>&1; }
median() { sort -n | awk '{ t[NR] = $1 } END { print t[int((NR + 1) / 2)] }'; }
# take N NAME...: N rounds in which the named take turns; a median each.
take() {
	local n=$1 i name
	shift
	for name in "$@"; do : >"$work/$name.t"; once "$name" >/dev/null; done
	for ((i = 0; i < n; i++)); do
		for name in "$@"; do once "$name" >>"$work/$name.t"; done
	done
	for name in "$@"; do printf '%-10s %8s s\n' "$name" "$(median <"$work/$name.t")"; done
}

echo "$events events, $(wc -c <"$input") bytes, median of $rounds rounds:"
take "$rounds" classify sha plain
slow=()
command -v jq >/dev/null && slow+=(jq16)
command -v gojq >/dev/null && slow+=(gojq1)
[ ${#slow[@]} -eq 0 ] || take 1 "${slow[@]}"
echo "start, median of 40 rounds:"
take 40 start_tri start_jq

for name in sha plain "${slow[@]}"; do
	awk -v a="$(median <"$work/classify.t")" -v b="$(median <"$work/$name.t")" -v n="$name" 'BEGIN { printf "%s / classify = %.2f\n", n, b / a }'
done
classify >/dev/null &
pid=$! peak=0
while kill -0 $pid 2>/dev/null; do
	now=$(awk '/^VmHWM/ { print $2 }' "/proc/$(pgrep -P $pid -x tri-classify || echo $pid)/status" 2>/dev/null || true)
	[ "${now:-0}" -le "$peak" ] || peak=$now
done
echo "peak resident memory of tri-classify: $peak KiB"
