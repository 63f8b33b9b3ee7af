#!/bin/sh
# Verdicts that bounds of the whole box do not give, against answers of an exact solver (search/README.md), by either cut.
. "$(dirname "$0")/common.sh"

cd "$(dirname "$0")/search" || exit 99

# verdict STATUS PROPERTY WORDS...
verdict()
{
	want=$1
	property=$2
	shift 2
	"$bpgraph" run mlp_2x24.onnx "$property" --timeout 120 --json "$tmp/json" "$@" >"$tmp/out" 2>"$tmp/err"
	rc=$?
	[ $rc = "$want" ] || complain "$property $*: exit status $rc, expected $want: $(head -n 1 "$tmp/out") $(cat "$tmp/err")"
}

verdict 3 robust.vnnlib --method crown
verdict 0 robust.vnnlib --branching babsr
[ "$(field "$tmp/json" domains)" -gt 1 ] || complain "no search was needed: $(field "$tmp/json" domains) domains"
verdict 0 robust.vnnlib --branching babsr --attack off --seed 7 --precision float64
verdict 0 robust.vnnlib --method beta-crown --batch 3
verdict 0 robust.vnnlib --branching fsb --attack off

# One batch after the other: the same domains for any number of workers.
for n in 1 2; do
	STARPU_NCPU=$n verdict 0 robust.vnnlib --branching babsr --force-synchronous
	domains="$domains $(field "$tmp/json" domains)"
done
[ "${domains% *}" = " ${domains##* }" ] || complain "synchronous searches differ:$domains domains"

# And with tasks as devices run them.
BPGRAPH_TWINS=host verdict 0 robust.vnnlib --branching babsr --force-synchronous
[ "$(field "$tmp/json" domains)" = "${domains##* }" ] || complain "twins: $(field "$tmp/json" domains) domains,$domains without"

# Multipliers that stay where they begin are as sound, and worth less.
verdict 0 robust.vnnlib --branching babsr --force-synchronous --lr-beta 1
[ "$(field "$tmp/json" domains)" = "${domains##* }" ] || complain "--lr-beta 1 is not the default: $(field "$tmp/json" domains) domains,$domains without"
verdict 0 robust.vnnlib --branching babsr --force-synchronous --lr-beta 0
[ "$(field "$tmp/json" domains)" -gt "${domains##* }" ] || complain "--lr-beta 0: $(field "$tmp/json" domains) domains,$domains with the default"

# And for any owners of weights and rows.
for more in '--shards 3' '--placement fsdp --shards 2' '--placement offload'; do
	verdict 0 robust.vnnlib --branching babsr --force-synchronous $more
	[ "$(field "$tmp/json" domains)" = "${domains##* }" ] || complain "$more: $(field "$tmp/json" domains) domains,$domains without"
done

# A run that is killed leaves a checkpoint, from which the same question goes on, and no other.
saved=$tmp/saved
"$bpgraph" run mlp_2x24.onnx robust.vnnlib --branching babsr --force-synchronous --batch 1 --checkpoint "$saved" --checkpoint-every 0.01 >/dev/null 2>&1 &
while kill -0 $! 2>/dev/null && [ ! -f "$saved" ]; do sleep 0.02; done
kill -9 $! 2>/dev/null
wait $! 2>/dev/null
verdict 0 robust.vnnlib --branching babsr --force-synchronous --resume "$saved" --checkpoint "$saved"
[ "$(field "$tmp/json" domains)" = "${domains##* }" ] || complain "$(field "$tmp/json" domains) domains after a kill,$domains without"
verdict 2 attacked.vnnlib --branching babsr --resume "$saved"
grep -q 'of another network, property' "$tmp/err" || complain "another property: $(cat "$tmp/err")"
verdict 2 robust.vnnlib --branching babsr --slope zero --resume "$saved"
verdict 2 robust.vnnlib --branching babsr --lr-beta 2 --resume "$saved"
head -c 100 "$saved" >"$tmp/torn"
verdict 2 robust.vnnlib --branching babsr --resume "$tmp/torn"
grep -q 'is damaged' "$tmp/err" || complain "torn: $(cat "$tmp/err")"
verdict 2 robust.vnnlib --branching babsr --resume "$tmp/none"
verdict 2 robust.vnnlib --branching babsr --checkpoint /nowhere/there
verdict 2 robust.vnnlib --checkpoint robust.vnnlib
verdict 0 robust.vnnlib --branching babsr --resume "$saved" --json "$tmp/json"

# With hardly more memory than bounds need domains wait on disk: the same ones, and no file stays.
verdict 0 robust.vnnlib --branching babsr --force-synchronous --batch 1
domains=$(field "$tmp/json" domains)
verdict 2 robust.vnnlib --branching babsr --memory 1K
least=$(sed -n 's/.*needs at least \([0-9]*\)$/\1/p' "$tmp/err")
mkdir "$tmp/spill" || exit 99
verdict 0 robust.vnnlib --branching babsr --force-synchronous --batch 1 --memory $((least + 1000)) --spill "$tmp/spill"
spilled=$(sed -n 's/.*"spilled_bytes": \([0-9]*\).*/\1/p' "$tmp/json")
[ "$(field "$tmp/json" domains)" = "$domains" ] || complain "$(field "$tmp/json" domains) domains with a disk, $domains without"
[ "${spilled:-0}" -gt 0 ] || complain "--memory $((least + 1000)): nothing went to disk"
[ -z "$(ls -A "$tmp/spill")" ] || complain "a file is left: $(ls -A "$tmp/spill")"
verdict 2 robust.vnnlib --memory 1G --spill /nowhere/there
[ "$(wc -l <"$tmp/err")" = 1 ] && grep -q -e '--spill: /nowhere/there: ' "$tmp/err" || complain "no folder: $(cat "$tmp/err")"
verdict 2 robust.vnnlib --spill "$tmp/spill"
grep -q 'give --memory' "$tmp/err" || complain "--spill without a limit: $(cat "$tmp/err")"

verdict 1 attacked.vnnlib
verdict 1 attacked.vnnlib --branching babsr
verdict 1 attacked.vnnlib --branching fsb --attack off
exit $status
