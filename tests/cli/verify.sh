#!/bin/sh
# VNN-LIB 2 on the command line: verdicts and witnesses on queries about one network and about two, what does not fit, and what
# a tool may ask.
. "$(dirname "$0")/common.sh"

# verify STATUS FIRST-LINE WORDS...: output in $tmp/out, messages in $tmp/err
verify()
{
	want=$1
	first=$2
	shift 2
	"$bpgraph" verify "$@" >"$tmp/out" 2>"$tmp/err"
	rc=$?
	[ $rc = "$want" ] || complain "verify $*: exit status $rc, expected $want: $(cat "$tmp/err")"
	[ "$(head -n 1 "$tmp/out")" = "$first" ] || complain "verify $*: first line '$(head -n 1 "$tmp/out")', expected '$first'"
}

# refused PART WORDS...: one line on standard error that has the part
refused()
{
	part=$1
	shift
	verify 2 '' "$@"
	grep -q -e "^bpgraph: .*$part" "$tmp/err" && [ "$(wc -l <"$tmp/err")" = 1 ] || complain "verify $*: '$part' is not in: $(cat "$tmp/err")"
}

# The VNN-LIB 1.0 properties of the examples in the words of 2.0.
declare='(vnnlib-version <2.0>)\n(declare-network f (declare-input X float32 [1,64]) (declare-output Y float32 [1,10]))'
convert()
{
	printf "$declare\n"
	sed -n '/^(assert/,$p' "$1" | sed -E 's/([XY])_([0-9]+)/\1[0,\2]/g
		s/(\] -?)([0-9]+)(\.?)\)/\1\2.0)/g; s/ ([0-9]+)\.\)/ \1.0)/g'
}

cd "$examples" || exit 99
for name in digits_six digits_nine digits_deep_four; do
	convert $name.vnnlib >"$tmp/$name.vnnlib"
done
verify 0 unsat "$tmp/digits_six.vnnlib" --network f=digits.onnx
[ "$(wc -l <"$tmp/out")" = 1 ] || complain "something follows unsat"
verify 0 unsat --network=f=digits_deep.onnx "$tmp/digits_deep_four.vnnlib" --results "$tmp/results"
[ "$(cat "$tmp/results")" = unsat ] || complain "--results differs from standard output"
verify 3 unknown "$tmp/digits_six.vnnlib" --network f=digits.onnx --method ibp
verify 0 unsat "$tmp/digits_six.vnnlib" --network digits.onnx

# ---- the witness: variables in order, each with its header; eval gives the outputs ----

# values NAME FROM: the numbers behind the header
values()
{
	awk -v name="$1" 'NF > 1 { on = $1 == name; next } on' "$2"
}

verify 1 sat "$tmp/digits_nine.vnnlib" --network f=digits.onnx --json "$tmp/json"
[ "$(sed -n 2p "$tmp/out")" = 'X float32 [1,64]' ] && [ "$(sed -n 67p "$tmp/out")" = 'Y float32 [1,10]' ] && [ "$(wc -l <"$tmp/out")" = 77 ] ||
	complain "the witness is not in the format: $(cat "$tmp/out")"
values X "$tmp/out" >"$tmp/x"
values Y "$tmp/out" >"$tmp/y"
"$bpgraph" eval digits.onnx --input "$tmp/x" | sed 's/.* //' | cmp -s - "$tmp/y" || complain "eval does not give the outputs of the witness"
valid_json "$tmp/json" "the JSON of a query"
grep -q '"witness": {"input": \[' "$tmp/json" || complain "the JSON has no witness"

# ---- two networks ----

# pair RELATION ASSERTIONS: g beside f, inputs in [0, 0.1]
pair()
{
	printf "$declare\n(declare-network g $1 (declare-input A float32 [1,64]) (declare-output B float32 [1,10]))\n"
	awk 'BEGIN { for (i = 0; i < 64; i++) for (k = 0; k < 2; k++) printf "(assert (and (>= %s[0,%d] 0.0) (<= %s[0,%d] 0.1)))\n", k ? "A" : "X", i, k ? "A" : "X", i }'
	echo "$2"
}
same=$(awk 'BEGIN { for (i = 0; i < 64; i++) printf "(assert (== A[0,%d] X[0,%d]))\n", i, i }')
but_one=$(echo "$same" | grep -v '\[0,20\]')

pair '(equal-to f)' "$same (assert (!= Y[0,3] B[0,3]))" >"$tmp/q"
verify 0 unsat "$tmp/q" --network f=digits.onnx
pair '(equal-to f)' "$but_one (assert (> Y[0,3] B[0,3])) (assert (> X[0,20] A[0,20]))" >"$tmp/q"
verify 1 sat "$tmp/q" --network f=digits.onnx
grep -E '^[A-Z]' "$tmp/out" | tr '\n' ' ' | grep -q '^X float32 \[1,64\] Y float32 \[1,10\] A float32 \[1,64\] B float32 \[1,10\] $' || complain "order of variables: $(cat "$tmp/out")"
for net in X:Y A:B; do
	values ${net%:*} "$tmp/out" >"$tmp/x"
	values ${net#*:} "$tmp/out" >"$tmp/y"
	"$bpgraph" eval digits.onnx --input "$tmp/x" | sed 's/.* //' | cmp -s - "$tmp/y" || complain "eval does not give ${net#*:}"
done
values X "$tmp/out" >"$tmp/x"
values A "$tmp/out" | paste -d ' ' "$tmp/x" - | awk 'NR == 21 ? !($1 > $2) : $1 != $2 { bad = 1 } END { exit bad }' || complain "A and X are not as the query says"
pair '(isomorphic-to f)' "$same (assert (>= (- Y[0,3] B[0,3]) 1000.0))" >"$tmp/q"
verify 0 unsat "$tmp/q" --network f=digits.onnx --network g=digits_deep.onnx
pair '(isomorphic-to f)' "$same (assert (!= Y[0,3] B[0,3]))" >"$tmp/q"
verify 1 sat "$tmp/q" --network g=digits_deep.onnx --network f=digits.onnx
verify 1 sat "$tmp/q" --network g=digits_deep.onnx --network f=digits.onnx --shards 3

# ---- inputs related to inputs and outputs, hidden tensors ----

box=$(awk 'BEGIN { for (i = 0; i < 64; i++) printf "(assert (and (>= X[0,%d] 0.0) (<= X[0,%d] 0.1)))\n", i, i }')
one()
{
	printf "$declare\n$box\n$1\n" >"$tmp/q"
}
one '(assert (>= (+ X[0,1] X[0,2]) 0.3))'
verify 0 unsat "$tmp/q" --network f=digits.onnx
one '(assert (and (>= (+ X[0,1] X[0,2]) 0.15) (<= X[0,1] (* 0.5 Y[0,0]))))'
verify 3 unknown "$tmp/q" --network f=digits.onnx --method ibp --attack off
one '(assert (>= (- Y[0,0] (* 3.0 X[0,5])) 1000.0))'
verify 0 unsat "$tmp/q" --network f=digits.onnx
one '(assert (<= (- Y[0,0] (* 3.0 X[0,5])) 1000.0))'
verify 1 sat "$tmp/q" --network f=digits.onnx
one '(assert (== X[0,1] X[0,2])) (assert (!= X[0,1] X[0,2]))'
verify 0 unsat "$tmp/q" --network f=digits.onnx

tensor=$("$bpgraph" run digits.onnx --quiet --json - | sed -n 's/.*"layers": \[{"tensor": "\([^"]*\)".*/\1/p')
hidden="(vnnlib-version <2.0>)(declare-network f (declare-input X float32 [1,64]) (declare-hidden H float32 [1,24] \"$tensor\") (declare-output Y float32 [1,10]))"
printf '%s\n' "$hidden" "$box" '(assert (>= H[0,0] 1000.0))' >"$tmp/q"
verify 0 unsat "$tmp/q" --network f=digits.onnx
printf '%s\n' "$hidden" "$box" '(assert (<= (- H[0,0] Y[0,0]) 1000.0))' >"$tmp/q"
verify 1 sat "$tmp/q" --network f=digits.onnx
[ "$(grep -E '^[A-Z]' "$tmp/out" | tr '\n' ' ')" = 'X float32 [1,64] H float32 [1,24] Y float32 [1,10] ' ] || complain "hidden tensors of a witness: $(cat "$tmp/out")"

# ---- what does not fit ----

six=$tmp/digits_six.vnnlib
refused 'add --network f=NET.onnx' "$six"
refused 'give a query' --network f=digits.onnx
refused 'nowhere.vnnlib' nowhere.vnnlib --network f=digits.onnx
refused 'nowhere.onnx' "$six" --network f=nowhere.onnx
refused 'no network of this name' "$six" --network g=digits.onnx
refused 'given twice' "$six" --network f=digits.onnx --network f=digits.onnx
refused 'no file is given' "$six" --network f=
refused 'the shape \[1,64\], but .* \[1,1,8,8\]' "$six" --network f=digits_conv.onnx
refused '--epsilon is no option of bpgraph verify' "$six" --network f=digits.onnx --epsilon 1
refused 'is read by this run' "$six" --network f=digits.onnx --json "$six"
pair '(equal-to f)' "$same" >"$tmp/q"
refused 'declared equal to another' "$tmp/q" --network f=digits.onnx --network g=digits.onnx
pair '' "$same" >"$tmp/q"
refused "'g' has no file; give --network g=NET.onnx" "$tmp/q" --network f=digits.onnx
refused 'of which network' "$tmp/q" --network digits.onnx
sed 's/float32 \[1,64\]/float64 [1,64]/' "$six" >"$tmp/q"
refused 'q:2: .*float64.*float32' "$tmp/q" --network f=digits.onnx
sed 's/\[1,10\]/[1,11]/' "$six" >"$tmp/q"
refused 'q:2: .*\[1,11\]' "$tmp/q" --network f=digits.onnx
sed 's/(declare-output/(declare-input Z float32 [1]) (declare-output/' "$six" >"$tmp/q"
refused 'q:2: .*2 inputs and 1 outputs' "$tmp/q" --network f=digits.onnx
one '(assert (<= (* X[0,0] Y[0,0]) 1.0))'
refused 'q:67: a product of variables' "$tmp/q" --network f=digits.onnx
refused 'q:67: a product of variables.*--network f=NET.onnx' "$tmp/q"
one '(assert (<= X[0,64] 1.0))'
refused 'q:67: index 64' "$tmp/q" --network f=digits.onnx

# ---- compressed queries, and a limit ----

gzip -c "$tmp/digits_nine.vnnlib" >"$tmp/q.gz"
verify 1 sat "$tmp/q.gz" --network f=digits.onnx
if [ -x "$make_net" ]; then
	"$make_net" "$tmp/slow.onnx" 16 1024 24 4 || exit 99
	{
		echo '(vnnlib-version <2.0>)(declare-network f (declare-input X float32 [1,16]) (declare-output Y float32 [1,4]))'
		awk 'BEGIN { for (i = 0; i < 16; i++) printf "(assert (and (>= X[0,%d] 0.0) (<= X[0,%d] 1.0)))\n", i, i; print "(assert (>= Y[0,0] 1.0))" }'
	} >"$tmp/q"
	verify 4 timeout "$tmp/q" --network f="$tmp/slow.onnx" --timeout 1 --quiet
fi

# ---- what a tool may ask ----

[ "$("$bpgraph" --name)" = bpgraph ] || complain "--name"
for capability in $("$bpgraph" supports); do
	[ -n "$("$bpgraph" supports $capability)" ] || complain "supports $capability says nothing"
done
[ "$("$bpgraph" supports | wc -l)" = 11 ] || complain "supports lists: $("$bpgraph" supports)"
"$bpgraph" supports --onnx-operators | sort | uniq -d | grep . && complain "operators that are listed twice"
"$bpgraph" supports --onnx-operators | grep -qx Relu || complain "no Relu"
"$bpgraph" supports --colours >/dev/null 2>"$tmp/err" && complain "a capability that is none"
exit $status
