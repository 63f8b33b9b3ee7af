#!/bin/sh
# Owners in one process have the bytes that the plan says, and the share of the placement.
. "$(dirname "$0")/../cli/common.sh"
[ -x "$make_net" ] || exit 77

# 64 inputs, 4 layers of 512, 4 outputs
"$make_net" "$tmp/net.onnx" 64 512 4 4 || exit 99

# array NAME: the numbers of an array of the JSON
array()
{
	sed -n "s/.*\"$1\": \[\([^]]*\)\].*/\1/p" "$tmp/json" | tr -d ' ' | tr ',' ' '
}

run()
{
	"$bpgraph" run "$tmp/net.onnx" --method crown --quiet "$@" --json "$tmp/json" >"$tmp/out" 2>"$tmp/err" || complain "run $*: $(cat "$tmp/err")"
	planned=$(array predicted_bytes)
	peak=$(array peak_bytes)
}

run --wave 4
single=$peak
[ "$(array gathered_bytes)" = 0 ] || complain "single gathers $(array gathered_bytes) bytes"

# The peak of each owner is no more than the plan says, and not much less: tiles need not all be in flight at once.
for more in '--shards 2 --wave 4' '--shards 4 --wave 4' '--placement fsdp --shards 4 --wave 4' '--placement offload --wave 4'; do
	run $more
	echo "$more: single $single, planned $planned, peak $peak, gathered $(array gathered_bytes)"
	echo "$planned" | tr ' ' '\n' >"$tmp/planned"
	echo "$peak" | tr ' ' '\n' | paste "$tmp/planned" - | awk '{ if ($2 > 1.01 * $1 || $2 < 0.7 * $1) bad = 1 } END { exit bad }' ||
		complain "$more: planned $planned, peak $peak"
	[ "$(array gathered_bytes | tr ' ' '\n' | sort -n | tail -n 1)" -gt 0 ] || complain "$more: nothing is gathered"
done

# fsdp: owners without rows hold a share of the weights, and nothing else: of four matrices of 512 x 512, as no more columns move.
run --placement fsdp --shards 4
echo "$peak" | tr ' ' '\n' | sed 1d | awk '{ if ($1 > 1.05 * 4 * 512 * 512) bad = 1 } END { exit bad }' || complain "fsdp: shares $peak"

# Under half and a quarter of what one owner takes, offload has the same bounds; under nothing it says the least.
hash=$(sed -n 's/.*"bounds_hash": "\([0-9a-f]*\)".*/\1/p' "$tmp/json")
for part in 2 4; do
	run --placement offload --tile 32 --panel 64 --memory $((single / part))
	[ "$(sed -n 's/.*"bounds_hash": "\([0-9a-f]*\)".*/\1/p' "$tmp/json")" = "$hash" ] || complain "offload under 1/$part: other bits"
	[ "$peak" -le $((single / part)) ] || complain "offload under $((single / part)): peak $peak"
done
"$bpgraph" run "$tmp/net.onnx" --method crown --quiet --placement offload --memory 1M >"$tmp/out" 2>"$tmp/err" && complain "offload runs under 1M"
least=$(sed -n 's/.*needs at least \([0-9]*\).*/\1/p' "$tmp/err")
[ -n "$least" ] || complain "the least limit is not said: $(cat "$tmp/err")"
run --placement offload --memory "${least:-1G}"
[ "$peak" -le "${least:-0}" ] || complain "offload under its least, $least: peak $peak"

# tp: weights of a pair are with the owners of its segments, and what is not built is refused.
run --placement tp
single=$peak
for p in 2 4; do
	run --placement tp --shards $p
	echo "tp, $p owners: one $single, planned $planned, peak $peak"
	echo "$planned" | tr ' ' '\n' >"$tmp/planned"
	echo "$peak" | tr ' ' '\n' | paste "$tmp/planned" - | awk '{ if ($2 > 1.01 * $1) bad = 1 } END { exit bad }' || complain "tp: planned $planned, peak $peak"
	echo "$peak" | tr ' ' '\n' | awk -v most=$((single * 2 / p)) '{ if ($1 > most) bad = 1 } END { exit bad }' || complain "tp: $p owners have $peak of $single"
done
refused()
{
	"$bpgraph" run "$@" --quiet >"$tmp/out" 2>"$tmp/err"
	[ $? = 2 ] && [ "$(wc -l <"$tmp/err")" = 1 ] && grep -q 'placement' "$tmp/err" || complain "run $*: $(cat "$tmp/err")"
}
refused "$tmp/net.onnx" --placement tp --method alpha-crown
refused "$tmp/net.onnx" --placement rows --tp-bounds ibp
"$make_net" "$tmp/small.onnx" 4 8 1 2 || exit 99
refused "$tmp/small.onnx" --placement tp

# For thousands of ranks.
for placement in rows tp; do
	"$bpgraph" plan "$tmp/net.onnx" --method crown --quiet --placement $placement --ranks 4096 --json "$tmp/json" >"$tmp/out" || complain "plan --ranks 4096 fails"
	[ "$(array predicted_bytes | wc -w)" = 4096 ] || complain "plan --ranks 4096: $(array predicted_bytes | wc -w) entries"
	[ "$(array traffic_bytes | wc -w)" = 4096 ] || complain "plan --ranks 4096: $(array traffic_bytes | wc -w) entries of traffic"
done
exit $status
