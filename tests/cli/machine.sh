#!/bin/sh
# Estimates for machines: fields, what they may not contradict, and how a bad file ends.
. "$(dirname "$0")/common.sh"
[ -x "$make_net" ] || exit 77
machines=$examples/machines
cd "$tmp" || exit 99
unset STARPU_NCPU

# plan WORDS...: JSON in $tmp/json
plan()
{
	"$bpgraph" plan "$net" --quiet --method crown "$@" --json "$tmp/json" >"$tmp/out" 2>"$tmp/err" || complain "plan $*: $(cat "$tmp/err")"
}
# holds CONDITION WHAT: of numbers
holds()
{
	awk "BEGIN { exit !($1) }" || complain "$2: not $1"
}
worst()
{
	sed -n 's/.*"predicted_bytes": \[\([^]]*\)\].*/\1/p' "$tmp/json" | tr ',' '\n' | sort -n | tail -n 1
}

"$make_net" "$tmp/net.onnx" 16 512 4 4 || exit 99
net=$tmp/net.onnx

# ---- what every estimate has, on every machine that is described ----

for file in "$machines"/*.txt; do
	for more in '' '--ranks 3' '--ranks 3 --placement fsdp' '--ranks 2 --placement offload' '--shards 3' '--ranks 40' '--method alpha-crown --iterations 2 --ranks 2'; do
		plan --machine "$file" $more
		valid_json "$tmp/json" "plan --machine $file $more"
		for name in predicted_bytes tasks traffic_bytes seconds plan_hash estimate machine work_seconds critical_seconds waiting overlap workers; do
			grep -q "\"$name\":" "$tmp/json" || complain "$file $more: no $name"
		done
		seconds=$(sed -n 's/^ "seconds": \([^,]*\),.*/\1/p' "$tmp/json")
		work=$(field "$tmp/json" work_seconds)
		critical=$(field "$tmp/json" critical_seconds)
		holds "$seconds >= $work * 0.999999 && $seconds >= $critical * 0.999999 && $critical > 0" "$file $more: bounds"
		grep -q '^estimate ' "$tmp/out" || complain "$file $more: no text"
	done
done

# ---- the same cut, and bytes that more owners never make more ----

plan
hash=$(field "$tmp/json" plan_hash)
most=
for ranks in 1 2 4 8 16; do
	plan --machine "$machines/a100.txt" --ranks $ranks
	[ "$(field "$tmp/json" plan_hash)" = "$hash" ] || complain "$ranks ranks: other plan_hash"
	now=$(worst)
	[ -z "$most" ] || [ "$now" -le "$most" ] || complain "$ranks ranks need $now bytes each, fewer $most"
	most=$now
done

# ---- twice as fast in everything: half the time ----

awk '/^(gemm|conv|adjoint|tiles|starts|intervals|packing|upload|file|fresh|link |network )/ { n = $2; sub(/[kMGT]/, "", n); u = $2; sub(/^[0-9.e+-]*/, "", u); print $1, 2 * n u; next }
	/^(task|submit|wait|message|link_latency|network_latency)/ { printf "%s %.17g\n", $1, $2 / 2; next } { print }' "$machines/a100.txt" >"$tmp/fast.txt"
plan --machine "$machines/a100.txt" --ranks 4
slow=$(sed -n 's/^ "seconds": \([^,]*\),.*/\1/p' "$tmp/json")
plan --machine "$tmp/fast.txt" --ranks 4
fast=$(sed -n 's/^ "seconds": \([^,]*\),.*/\1/p' "$tmp/json")
holds "$slow < 2.0001 * $fast && $slow > 1.9999 * $fast" "twice as fast: $slow s, $fast s"

# ---- a run may be estimated, too: its bounds are the same ----

"$bpgraph" run "$net" --quiet --method crown --json "$tmp/json" >/dev/null 2>&1
hash=$(field "$tmp/json" bounds_hash)
"$bpgraph" run "$net" --quiet --method crown --machine "$machines/h200.txt" --json "$tmp/json" >/dev/null 2>"$tmp/err" || complain "run --machine: $(cat "$tmp/err")"
[ "$(field "$tmp/json" bounds_hash)" = "$hash" ] || complain "run --machine: other bounds"
grep -q '"critical_seconds"' "$tmp/json" || complain "run --machine: no estimate"

# ---- bad files: one line that names it, exit status 2 ----

refused()
{
	"$bpgraph" plan "$net" --quiet --machine "$1" >"$tmp/out" 2>"$tmp/err"
	rc=$?
	[ $rc = 2 ] && [ "$(wc -l <"$tmp/err")" = 1 ] && grep -q "^bpgraph: $1$2" "$tmp/err" || complain "$1: $rc, $(cat "$tmp/err")"
}
printf 'machine x\nunits many\n' >bad.txt
refused bad.txt ':2: units'
refused nowhere.txt ': '
: >bad.txt
refused bad.txt ':1: '
printf 'machine x\0y\nunits 2\n' >bad.txt
refused bad.txt ':1: a byte of 0'
refused /dev/zero ':1: a byte of 0'
head -c 3000 /dev/urandom >bad.txt
refused bad.txt ':'
"$bpgraph" run "$examples/digits.onnx" "$examples/digits_six.vnnlib" --machine "$machines/a40.txt" >"$tmp/out" 2>"$tmp/err"
[ $? = 2 ] && grep -q -- '--machine' "$tmp/err" || complain "a search is estimated: $(cat "$tmp/err")"
exit $status
