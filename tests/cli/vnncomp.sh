#!/bin/sh
# The scripts of competitions: the words and witnesses of result files, limits, compressed files, errors.
. "$(dirname "$0")/common.sh"
scripts=$(cd "$(dirname "$0")/../../vnncomp" && pwd) || exit 99
BPG_PROGRAM=$(cd "$(dirname "$bpgraph")" && pwd)/$(basename "$bpgraph")
export BPG_PROGRAM
result=$tmp/result

# instance WORD STATUS ONNX VNNLIB TIMEOUT
instance()
{
	"$scripts/run_instance.sh" v1 any "$3" "$4" "$result" "$5" >"$tmp/out" 2>"$tmp/err"
	rc=$?
	[ $rc = "$2" ] || complain "$3 $4: exit status $rc, expected $2: $(cat "$tmp/err")"
	[ "$(head -n 1 "$result")" = "$1" ] || complain "$3 $4: '$(head -n 1 "$result")', expected '$1'"
	[ "$1" = sat ] || [ "$(wc -l <"$result")" = 1 ] || complain "$3 $4: more than the word: $(cat "$result")"
}

# witness ONNX VNNLIB INPUTS OUTPUTS: the file is as its format says, its inputs lie in the box, eval gives its outputs
witness()
{
	awk -v n="$3" -v m="$4" 'NR == 1 { ok = $0 == "sat"; next }
		{ k = NR - 2; name = k < n ? "X_" k : "Y_" k - n; line = $0 }
		k == 0 { ok = ok && sub(/^\(/, "", line) }
		k == n + m - 1 { ok = ok && sub(/\)$/, "", line) }
		{ ok = ok && line ~ "^ ?[(]" name " -?[0-9.]+(e[-+]?[0-9]+)?[)]$" }
		END { exit !(ok && NR == n + m + 1) }' "$result" || complain "$1 $2: not in the format: $(cat "$result")"
	sed -n 's/.*(X_[0-9]* \([^)]*\)).*/\1/p' "$result" >"$tmp/x"
	sed -n 's/.*(\(Y_[0-9]* [^)]*\)).*/\1/p' "$result" >"$tmp/y"
	sed -n 's/(assert (\([<>]\)= X_\([0-9]*\) \([^)]*\)))/\2 \1 \3/p' "$2" >"$tmp/box"
	[ "$(wc -l <"$tmp/box")" = $((2 * $3)) ] || complain "$2: the box was not understood"
	awk 'NR == FNR { x[NR - 1] = $1; next }
		$2 == "<" ? x[$1] > $3 : x[$1] < $3 { bad = 1 }
		END { exit bad }' "$tmp/x" "$tmp/box" || complain "$1 $2: an input lies outside the box"
	"$bpgraph" eval "$1" --input "$tmp/x" >"$tmp/again" || complain "$1: eval failed"
	cmp -s "$tmp/y" "$tmp/again" || complain "$1 $2: eval does not give the outputs"
}

cd "$examples" || exit 99
"$scripts/prepare_instance.sh" v1 any digits.onnx digits_six.vnnlib || complain "prepare refuses a sound instance"
instance unsat 0 digits.onnx digits_six.vnnlib 60
instance sat 0 digits.onnx digits_nine.vnnlib 60
witness digits.onnx digits_nine.vnnlib 64 10
instance unsat 0 digits.onnx digits_six.vnnlib "$(printf '60.5\r')"
echo sat >"$result"
instance error 2 nowhere.onnx digits_six.vnnlib 60
grep -q 'nowhere.onnx' "$tmp/err" || complain "an error without its reason: $(cat "$tmp/err")"
instance error 2 digits.onnx digits_six.txt 60
"$scripts/prepare_instance.sh" v1 any nowhere.onnx digits_six.vnnlib 2>/dev/null && complain "prepare takes a network that is not there"
"$scripts/run_instance.sh" v2 any digits.onnx digits_six.vnnlib "$result" 60 2>/dev/null && complain "another version of the interface is taken"

# Names of plain files, where the compressed ones lie.
for file in digits.onnx digits_nine.vnnlib; do
	gzip -c $file >"$tmp/$file.gz"
done
"$scripts/prepare_instance.sh" v1 any "$tmp/digits.onnx" "$tmp/digits_nine.vnnlib" || complain "prepare refuses compressed files"
instance sat 0 "$tmp/digits.onnx" "$tmp/digits_nine.vnnlib" 60
witness digits.onnx digits_nine.vnnlib 64 10

# A decimal that float32 cannot hold, at both ends of a narrow box: the witness is rounded inward.
awk '/<= X_0 / { print "(assert (<= X_0 0.10000001))"; next } />= X_0 / { print "(assert (>= X_0 0.09999999))"; next } { print }' \
	digits_nine.vnnlib >"$tmp/narrow.vnnlib"
instance sat 0 digits.onnx "$tmp/narrow.vnnlib" 60
witness digits.onnx "$tmp/narrow.vnnlib" 64 10

# Queries of VNN-LIB 2, about one network and about two that read the same input.
awk -v one="$tmp/one.vnnlib" -v two="$tmp/two.vnnlib" 'BEGIN {
	f = "(vnnlib-version <2.0>)\n(declare-network f (declare-input X float32 [1,64]) (declare-output Y float32 [1,10]))"
	print "; a comment (first)\n" f >one
	print f "\n(declare-network g (declare-input A float32 [1,64]) (declare-output B float32 [1,10]))" >two
	for (i = 0; i < 64; i++) {
		box = "(assert (and (>= X[0," i "] 0.0) (<= X[0," i "] 0.1)))"
		print box >one
		print box "(assert (== X[0," i "] A[0," i "]))" >two
	}
	print "(assert (>= Y[0,0] 1000.0))" >one
	print "(assert (!= Y[0,0] B[0,0]))" >two
}'
gzip -n "$tmp/one.vnnlib"
instance unsat 0 digits.onnx "$tmp/one.vnnlib" 60
pair="[('f', 'digits.onnx'), ('g', '$tmp/digits.onnx')]"
"$scripts/prepare_instance.sh" v1 any "$pair" "$tmp/two.vnnlib" || complain "prepare refuses a list of networks"
"$scripts/prepare_instance.sh" v1 any "[('f', 'digits.onnx'), ('g', 'nowhere.onnx')]" "$tmp/two.vnnlib" 2>/dev/null && complain "prepare takes a list with a network that is not there"
instance unsat 0 "[('f', 'digits.onnx'), ('g', 'digits.onnx')]" "$tmp/two.vnnlib" 60
instance sat 0 "[('f', 'digits.onnx'), ('g', 'digits_deep.onnx')]" "$tmp/two.vnnlib" 60
[ "$(grep '^[A-Z]' "$result" | tr '\n' ' ')" = 'X float32 [1,64] Y float32 [1,10] A float32 [1,64] B float32 [1,10] ' ] || complain "a witness about two networks: $(cat "$result")"
instance error 2 digits.onnx "$tmp/two.vnnlib" 60

# The limit is kept; three tries, for machines that are busy.
if [ -x "$make_net" ]; then
	"$make_net" "$tmp/slow.onnx" 16 1024 24 4 || exit 99
	awk 'BEGIN {
		for (i = 0; i < 16; i++) printf "(declare-const X_%d Real) (assert (>= X_%d 0)) (assert (<= X_%d 1))\n", i, i, i
		for (i = 0; i < 4; i++) printf "(declare-const Y_%d Real)\n", i
		print "(assert (>= Y_0 1))" }' >"$tmp/slow.vnnlib"
	for try in 1 2 3; do
		before=$(date +%s%N)
		instance timeout 0 "$tmp/slow.onnx" "$tmp/slow.vnnlib" 1
		late=$((($(date +%s%N) - before) / 1000000 - 1000))
		[ $late -lt 1000 ] && break
	done
	[ $late -lt 1000 ] || complain "$late ms past the limit"
fi
exit $status
