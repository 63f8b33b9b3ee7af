#!/bin/sh
# Several ranks: the bits of one process, rank 0 alone speaks, all end alike, and what goes wrong at one ends all.
. "$(dirname "$0")/../cli/common.sh"
. "$(dirname "$0")/launch.sh"

cd "$examples" || exit 99
hashes()
{
	sed -n 's/.*"plan_hash": "\([0-9a-f]*\)", "bounds_hash": "\([0-9a-f]*\)".*/\1 \2/p'
}

# The same bits and the same cut, for every placement; one entry for each rank.
for net in digits.onnx digits_conv.onnx; do
	region="--center digits_conv_six.txt --epsilon 0.05 --clip 0,1 --quiet --iterations 3 --tile 32"
	for method in ibp crown alpha-crown; do
		one=$("$bpgraph" run $net $region --method $method --json - | hashes)
		[ ${#one} = 33 ] || complain "$net $method: no hashes: $one"
		for more in 'rows 2' 'rows 3' 'fsdp 3' 'offload 2'; do
			set -- $more
			[ $method = ibp ] && [ "$more" != 'rows 3' ] && continue
			ranks "$2" run $net $region --method $method --placement "$1" --json - >"$tmp/json" 2>"$tmp/err" || complain "$net $method on $more ranks: $(cat "$tmp/err")"
			[ "$(hashes <"$tmp/json")" = "$one" ] || complain "$net $method: other bits with $more ranks"
			[ "$(tr -dc '{' <"$tmp/json" | wc -c)" = "$(tr -dc '}' <"$tmp/json" | wc -c)" ] || complain "$net $method: braces of $more ranks"
			for name in peak_bytes peak_rss_bytes predicted_bytes; do
				n=$(sed -n "s/.*\"$name\": \[\([^]]*\)\].*/\1/p" "$tmp/json" | tr ',' '\n' | wc -l)
				[ "$n" = "$2" ] || complain "$net $method: $n entries of $name for $2 ranks"
			done
		done
	done
done

# Weights that stay: rows go from rank to rank through pairs of layers.
for net in digits.onnx digits_conv.onnx; do
	for method in ibp crown; do
		for more in exact ibp; do
			one=$("$bpgraph" run $net $region --method $method --placement tp --tp-bounds $more --json - | hashes)
			[ ${#one} = 33 ] || complain "$net $method tp: no hashes: $one"
			[ $method = ibp ] && [ $more = ibp ] && continue
			for p in 2 3; do
				ranks $p run $net $region --method $method --placement tp --tp-bounds $more --json - >"$tmp/json" 2>"$tmp/err" || complain "$net $method, tp on $p ranks: $(cat "$tmp/err")"
				[ "$(hashes <"$tmp/json")" = "$one" ] || complain "$net $method, $more: other bits with tp on $p ranks"
			done
		done
	done
done
ranks 2 run digits_conv.onnx digits_conv_six.vnnlib --placement tp --quiet >"$tmp/out" 2>"$tmp/err"
[ $? = 0 ] && [ "$(head -n 1 "$tmp/out")" = unsat ] || complain "a property by tp on two ranks: $(cat "$tmp/out" "$tmp/err")"

# The joint objective: sums go from rank to rank.
one=$("$bpgraph" run digits.onnx $region --method alpha-crown --objective joint --json - | hashes)
ranks 3 run digits.onnx $region --method alpha-crown --objective joint --json - >"$tmp/json" 2>"$tmp/err" || complain "joint on three ranks: $(cat "$tmp/err")"
[ "$(hashes <"$tmp/json")" = "$one" ] || complain "joint: other bits with three ranks"

# Verdicts by bounds, and by the attack of rank 0; search_ranks.sh has those of searches.
verdict()
{
	ranks 3 run "$3" "$4" --quiet >"$tmp/out" 2>"$tmp/err"
	rc=$?
	[ $rc = "$1" ] && [ "$(head -n 1 "$tmp/out")" = "$2" ] || complain "$4 on three ranks: $rc, $(head -n 1 "$tmp/out"): $(head -n 3 "$tmp/err")"
}
verdict 0 unsat digits_conv.onnx digits_conv_six.vnnlib
verdict 1 sat digits.onnx digits_nine.vnnlib
[ "$(wc -l <"$tmp/out")" -gt 10 ] || complain "no witness of three ranks"

# One speaks for all: one line for each output, one for an error.
ranks 3 run digits.onnx --quiet >"$tmp/out" 2>"$tmp/err" || complain "three ranks fail: $(cat "$tmp/err")"
[ "$(wc -l <"$tmp/out")" = 10 ] || complain "$(wc -l <"$tmp/out") lines of three ranks"
ranks 3 run nowhere.onnx >"$tmp/out" 2>"$tmp/err"
rc=$?
[ $rc = 2 ] || complain "a file that is not there: exit status $rc"
[ "$(grep -c '^bpgraph: nowhere.onnx' "$tmp/err")" = 1 ] || complain "not said once: $(cat "$tmp/err")"

# Every rank has a trace of its own with what came to it, and says how long it waited.
ranks 2 run digits.onnx $region --method crown --placement rows --trace "$tmp/trace" --json "$tmp/json" >"$tmp/out" 2>"$tmp/err" || complain "--trace on two ranks: $(cat "$tmp/err")"
for file in trace trace.1; do
	valid_json "$tmp/$file" "$file"
	grep -q '"name":"receive"' "$tmp/$file" && grep -q '"name":"gemm"' "$tmp/$file" || complain "$file: nothing received, or no products"
done
[ "$(sed -n 's/.*"waiting": \[\([^]]*\)\].*/\1/p' "$tmp/json" | tr ',' '\n' | wc -l)" = 2 ] || complain "no share of waiting for each rank"

# More than the limit allows is refused before any work, by all alike.
ranks 2 run digits.onnx $region --method crown --memory 10K >"$tmp/out" 2>"$tmp/err"
rc=$?
[ $rc = 2 ] && [ "$(grep -c '^bpgraph: .*at least' "$tmp/err")" = 1 ] && [ ! -s "$tmp/out" ] || complain "10K on two ranks: exit status $rc: $(cat "$tmp/err")"

# A rank that fails alone: the others end with its message.
cp digits.onnx "$tmp/net.onnx"
cat >"$tmp/one.sh" <<END
[ "\$OMPI_COMM_WORLD_RANK" = 1 ] && exec "$bpgraph" run "$tmp/gone.onnx" --quiet
exec "$bpgraph" run "$tmp/net.onnx" --quiet
END
timeout 60 mpirun --oversubscribe --bind-to none -n 3 sh "$tmp/one.sh" >"$tmp/out" 2>"$tmp/err"
rc=$?
[ $rc = 2 ] || complain "a rank without its file: exit status $rc"
grep -q 'gone.onnx' "$tmp/err" || complain "a rank without its file is not said: $(cat "$tmp/err")"

# A rank that is killed ends the run within ten seconds, and the launcher says so.
[ -x "$make_net" ] || exit $status
"$make_net" "$tmp/big.onnx" 64 2048 4 4 || exit 99
long="run $tmp/big.onnx --quiet --method alpha-crown --iterations 1000"
killed 4 $long || killed 4 $long || complain "a killed rank: $why" # twice: the machine may have been busy
exit $status
