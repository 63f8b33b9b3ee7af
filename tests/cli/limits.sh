#!/bin/sh
# Limits are kept and what stops a run early never loses what is known: --timeout, interrupts, --memory.
. "$(dirname "$0")/common.sh"
[ -x "$make_net" ] || exit 77

# A run takes many seconds on any machine.
"$make_net" "$tmp/slow.onnx" 16 1024 24 4 || exit 99
{
	i=0
	while [ $i -lt 16 ]; do
		echo "(declare-const X_$i Real) (assert (>= X_$i 0)) (assert (<= X_$i 1))"
		i=$((i + 1))
	done
	for i in 0 1 2 3; do
		echo "(declare-const Y_$i Real)"
	done
	echo "(assert (>= Y_0 1))"
} >"$tmp/slow.vnnlib"
awk 'BEGIN { for (i = 0; i < 16; i++) print 0.5 }' >"$tmp/centre"

# ---- --timeout: exit 4 within a second of it (three tries, for machines that are busy) ----

# limited WORDS...: milliseconds past the limit of 1 s go to $late
limited()
{
	late=99999
	for try in 1 2 3; do
		before=$(date +%s%N)
		"$bpgraph" run "$tmp/slow.onnx" "$@" --quiet --timeout 1 --json "$tmp/json" >"$tmp/out" 2>"$tmp/err"
		rc=$?
		late=$((($(date +%s%N) - before) / 1000000 - 1000))
		[ $late -lt 1000 ] && break
	done
	[ $late -lt 1000 ] || complain "run $*: $late ms past the limit"
	[ $late -gt -500 ] || complain "run $*: no slow run: it ended $late ms from the limit"
	[ $rc = 4 ] || complain "run $*: exit status $rc, expected 4: $(cat "$tmp/err")"
	valid_json "$tmp/json" "run $*"
	[ "$(field "$tmp/json" verdict)" = timeout ] || complain "run $*: verdict $(field "$tmp/json" verdict)"
}

limited
[ "$(wc -l <"$tmp/out")" = 4 ] || complain "without a property a run that is out of time prints its bounds: $(cat "$tmp/out")"
grep -q 'inf' "$tmp/out" && complain "out of time, and not even intervals are known: $(cat "$tmp/out")"
"$bpgraph" eval "$tmp/slow.onnx" --input "$tmp/centre" >"$tmp/value" || complain "eval failed"
paste -d ' ' "$tmp/out" "$tmp/value" | awk '!($2 <= $5 && $5 <= $3) { bad = 1 } END { exit bad }' || complain "bounds of a run out of time are wrong"
limited "$tmp/slow.vnnlib" --attack off
[ "$(cat "$tmp/out")" = timeout ] || complain "with a property it prints: $(cat "$tmp/out")"
limited "$tmp/slow.vnnlib"
[ "$(cat "$tmp/out")" = timeout ] || complain "with a property and the attack it prints: $(cat "$tmp/out")"

# Reading is part of the time, and an interrupt ends it: a property that never ends.
"$make_net" "$tmp/small.onnx" 1 4 1 1 || exit 99
mkfifo "$tmp/endless" || exit 99
yes '; nothing' >"$tmp/endless" 2>/dev/null &
before=$(date +%s%N)
"$bpgraph" run "$tmp/small.onnx" "$tmp/endless" --quiet --timeout 1 --json "$tmp/json" >"$tmp/out" 2>"$tmp/err"
rc=$?
late=$((($(date +%s%N) - before) / 1000000 - 1000))
[ $rc = 4 ] && [ "$(cat "$tmp/out")" = timeout ] || complain "out of time while it reads: exit status $rc: $(cat "$tmp/out" "$tmp/err")"
[ $late -lt 5000 ] || complain "out of time while it reads: $late ms past the limit"
valid_json "$tmp/json" "out of time while it reads"
[ "$(field "$tmp/json" verdict)" = timeout ] || complain "out of time while it reads: no verdict in the JSON"
yes '; nothing' >"$tmp/endless" 2>/dev/null &
"$bpgraph" run "$tmp/small.onnx" "$tmp/endless" --quiet >"$tmp/out" 2>"$tmp/err" &
pid=$!
sleep 1
kill -s INT $pid
wait $pid
rc=$?
[ $rc = 3 ] && [ "$(cat "$tmp/out")" = unknown ] || complain "interrupted while it reads: exit status $rc: $(cat "$tmp/out" "$tmp/err")"

# ---- an interrupt: unknown, exit 3, and the JSON is written ----

for signal in INT TERM HUP; do
	for property in '' "$tmp/slow.vnnlib"; do
		rm -f "$tmp/json"
		"$bpgraph" run "$tmp/slow.onnx" $property --quiet --json "$tmp/json" >"$tmp/out" 2>"$tmp/err" &
		pid=$!
		sleep 1
		kill -s $signal $pid
		wait $pid
		rc=$?
		[ $rc = 3 ] || complain "SIG$signal $property: exit status $rc, expected 3: $(cat "$tmp/err")"
		[ "$(cat "$tmp/out")" = unknown ] || complain "SIG$signal $property: printed $(cat "$tmp/out")"
		[ -f "$tmp/json" ] && valid_json "$tmp/json" "SIG$signal $property"
		[ "$(field "$tmp/json" verdict)" = unknown ] || complain "SIG$signal $property: no verdict in the JSON"
	done
done

# ---- outputs are looked at before the work: nothing that is read, or written by another option, is overwritten ----

refuse()
{
	part=$1
	shift
	"$bpgraph" run "$tmp/net.onnx" --center "$tmp/centre" --epsilon 0.01 "$@" >"$tmp/out" 2>"$tmp/err"
	rc=$?
	[ $rc = 2 ] && [ ! -s "$tmp/out" ] && grep -q -e "$part" "$tmp/err" || complain "$*: exit status $rc: $(cat "$tmp/err")"
	cmp -s "$examples/digits.onnx" "$tmp/net.onnx" && cmp -s "$examples/digits_conv_six.txt" "$tmp/centre" || complain "$*: an input was overwritten"
}
cp "$examples/digits.onnx" "$tmp/net.onnx"
cp "$examples/digits_conv_six.txt" "$tmp/centre"
ln -s net.onnx "$tmp/link"
refuse '--json: .*is read by this run' --json "$tmp/net.onnx"
refuse '--dot: .*is read by this run' --dot "$tmp/link"
refuse '--results: .*is read by this run' --results "$tmp/centre"
refuse '--trace: .*is written by --json' --json "$tmp/both" --trace "$tmp/both"
refuse '--json: .*cannot be written' --json "$tmp/nowhere/json"

# ---- variables that StarPU would abort on ----

for number in many -1; do
	STARPU_NCPU=$number "$bpgraph" run "$examples/digits.onnx" >"$tmp/out" 2>"$tmp/err"
	rc=$?
	[ $rc = 2 ] && grep -q 'STARPU_NCPU: expected a whole number' "$tmp/err" || complain "STARPU_NCPU=$number: exit status $rc: $(cat "$tmp/err")"
done

# ---- --memory: too little is refused with the least, the least works, is kept and changes no bit ----

for net in digits digits_conv digits_deep; do
	for more in '' '--method crown-ibp' '--shards 3' '--precision float64'; do
		"$bpgraph" run "$examples/$net.onnx" --quiet $more --memory 1K >"$tmp/out" 2>"$tmp/err"
		rc=$?
		least=$(sed -n 's/^bpgraph: --memory: 1024 bytes are too little; this question needs at least \([0-9]*\)$/\1/p' "$tmp/err")
		[ $rc = 2 ] && [ -n "$least" ] && [ ! -s "$tmp/out" ] || complain "$net $more: exit status $rc: $(cat "$tmp/err" "$tmp/out")"
		"$bpgraph" run "$examples/$net.onnx" --quiet $more --json "$tmp/all" >"$tmp/out" || complain "$net $more failed"
		"$bpgraph" run "$examples/$net.onnx" --quiet $more --memory "$least" --json "$tmp/json" >"$tmp/limited" 2>"$tmp/err" ||
			complain "$net $more --memory $least: the least does not work: $(cat "$tmp/err")"
		cmp -s "$tmp/out" "$tmp/limited" || complain "$net $more: other bounds with --memory $least"
		for hash in plan_hash bounds_hash; do
			[ "$(field "$tmp/json" $hash)" = "$(field "$tmp/all" $hash)" ] || complain "$net $more: other $hash with --memory $least"
		done
		# The slack of a tile (some KiB) is not in the plan.
		peak=$(sed -n 's/.*"peak_bytes": \[\([0-9]*\).*/\1/p' "$tmp/json")
		[ "$peak" -le $((least + 4096)) ] || complain "$net $more: $peak bytes were used, $least allowed"
	done
done
exit $status
