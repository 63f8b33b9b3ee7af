#!/bin/sh
# The program that times bounds works: its line has every figure, and all of its runs had the same bits.
bench=$BPG_BUILD/bench/bench_bounds
examples=${BPG_EXAMPLES:-$(dirname "$0")/../../examples}
[ -x "$bench" ] || exit 77
point=$BPG_BUILD/tests/tmp/bench.$$
trap 'rm -f "$point"' EXIT
head -c 256 /dev/zero >"$point" || exit 99

line=$("$bench" "$examples/digits.onnx" "$point" 0.01 1 --method=crown) || exit 1
for figure in workers warm_s mean_width peak_rss_mb cpu_s gflop gemm_gflops gemm_share_of_wall outside_share tasks.gemm; do
	case $line in
	*"\"$figure\": "[0-9]*) ;;
	*)
		echo "no figure $figure in: $line"
		exit 1
		;;
	esac
done
"$bench" "$examples/digits.onnx" "$point" 0.01 1 --method=none 2>/dev/null && exit 1
exit 0
