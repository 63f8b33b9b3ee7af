#!/bin/sh
# Whole runs on the example networks: verdicts and exit statuses, the witness, JSON, equal bits, no home folder.
. "$(dirname "$0")/common.sh"

# run STATUS FIRST-LINE WORDS...: output in $tmp/out, messages in $tmp/err
run()
{
	want=$1
	first=$2
	shift 2
	"$bpgraph" run "$@" >"$tmp/out" 2>"$tmp/err"
	rc=$?
	[ $rc = "$want" ] || complain "run $*: exit status $rc, expected $want: $(cat "$tmp/err")"
	case $(head -n 1 "$tmp/out") in
	$first) ;;
	*) complain "run $*: first line '$(head -n 1 "$tmp/out")', expected '$first'" ;;
	esac
}

cd "$examples" || exit 99
run 0 unsat digits.onnx digits_six.vnnlib
[ "$(wc -l <"$tmp/out")" -eq 1 ] || complain "something follows unsat"
run 0 unsat digits_deep.onnx digits_deep_four.vnnlib
run 0 unsat digits_conv.onnx digits_conv_six.vnnlib --results "$tmp/results"
[ "$(cat "$tmp/results")" = unsat ] || complain "--results differs from standard output"
run 3 unknown digits.onnx digits_six.vnnlib --method ibp

# The witness names every input and output once, and eval gives its outputs.
run 1 sat digits.onnx digits_nine.vnnlib
sed -n 's/.*(X_[0-9]* \([^)]*\)).*/\1/p' "$tmp/out" >"$tmp/x"
sed -n 's/.*(\(Y_[0-9]* [^)]*\)).*/\1/p' "$tmp/out" >"$tmp/y"
[ "$(wc -l <"$tmp/x")" -eq 64 ] && [ "$(wc -l <"$tmp/y")" -eq 10 ] || complain "the witness is incomplete"
"$bpgraph" eval digits.onnx --input "$tmp/x" >"$tmp/again" || complain "eval of the witness failed"
run 1 '{"bpgraph"*' digits.onnx digits_nine.vnnlib --json -
grep -q '"verdict": "sat"' "$tmp/out" && grep -q '"witness":' "$tmp/out" || complain "the JSON of a sat lacks something: $(cat "$tmp/out")"
cmp -s "$tmp/y" "$tmp/again" || complain "eval does not give the outputs of the witness"

# Regions: the box of the property given by hand encloses the outputs at its centre.
region="--center digits_conv_six.txt --epsilon 0.05 --clip 0,1"
run 0 'Y_0 *' digits_conv.onnx $region
[ "$(wc -l <"$tmp/out")" -eq 10 ] || complain "ten outputs were expected"
"$bpgraph" eval digits_conv.onnx --input digits_conv_six.txt >"$tmp/centre"
paste -d ' ' "$tmp/out" "$tmp/centre" | awk '!($2 <= $5 && $5 <= $3) { bad = 1 } END { exit bad }' || complain "the value at the centre is outside the bounds"
run 0 'Y_0 *' digits.onnx
grep -q '\[0, 1\]' "$tmp/err" || complain "nothing says which region was taken"
run 0 'Y_0 *' digits.onnx --quiet
grep -q "^bpgraph:" "$tmp/err" && complain "--quiet printed: $(cat "$tmp/err")"
run 2 '' digits.onnx digits_six.vnnlib --epsilon 1
run 2 '' digits.onnx digits_conv_six.txt
run 0 '{"bpgraph"*' digits_conv.onnx $region --json - --layer-bounds
for field in network property verdict method rows layers domains tasks seconds memory environment plan_hash bounds_hash; do
	grep -q "\"$field\":" "$tmp/out" || complain "JSON has no $field"
done

# The same bits for any number of workers, scheduler, wave and number of owners.
hash()
{
	"$bpgraph" run digits_conv.onnx $region --quiet --json - "$@" | sed -n 's/.*"plan_hash": "\([0-9a-f]*\)", "bounds_hash": "\([0-9a-f]*\)".*/\1 \2/p'
}
one=$(hash)
[ ${#one} = 33 ] || complain "no hashes: $one"
for sched in eager prio dmdas; do
	[ "$(STARPU_SCHED=$sched hash)" = "$one" ] || complain "other bits under $sched"
done
[ "$(STARPU_NCPU=1 hash)" = "$one" ] || complain "other bits on one worker"
[ "$(hash --wave 1)" = "$one" ] || complain "other bits with --wave 1"
for more in '--shards 3' '--placement fsdp --shards 2' '--placement offload' '--placement offload --shards 3'; do
	[ "$(hash $more)" = "$one" ] || complain "other bits with $more"
done
"$bpgraph" run digits.onnx digits_six.vnnlib --placement single --shards 2 2>"$tmp/err" && complain "--placement single takes two owners"
grep -q '^bpgraph: --placement single has one owner' "$tmp/err" || complain "--placement single with two owners: $(cat "$tmp/err")"

# Folders that cannot be made, and a full disk.
for v in HOME XDG_CACHE_HOME STARPU_HOME STARPU_PERF_MODEL_DIR; do
	eval "export $v=/dev/null/nowhere"
done
run 0 unsat digits.onnx digits_six.vnnlib
if [ -w /dev/full ]; then
	"$bpgraph" run digits.onnx digits_six.vnnlib --quiet >/dev/full 2>"$tmp/err" && complain "a full disk went unnoticed"
	grep -q '^bpgraph: ' "$tmp/err" || complain "a full disk is not said: $(cat "$tmp/err")"
fi
exit $status
