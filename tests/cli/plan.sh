#!/bin/sh
# What is said about the tasks is true: the plan, its drawing, and the record of a run that was made from it.
. "$(dirname "$0")/common.sh"
[ -x "$make_net" ] || exit 77

# drawing FILE: braces match, edges join steps that are there, Graphviz reads it where it is installed.
drawing()
{
	awk '
	{ line = $0; gsub(/"([^"\\]|\\.)*"/, "", line); depth += gsub(/{/, "", line) - gsub(/}/, "", line) }
	$2 == "->" { sub(/;$/, "", $3); if (!($1 in step) || !($3 in step)) { print "an edge from nowhere: " $0; bad = 1 } }
	/^s[0-9_]* \[label=/ { step[$1] = 1 }
	END { if (depth) { print "braces do not match"; bad = 1 } exit bad }' "$1" || complain "$1 is no drawing"
	[ "$(head -n 1 "$1")" = "digraph bpgraph {" ] || complain "$1 begins with $(head -n 1 "$1")"
	if command -v dot >/dev/null; then
		dot -Tcanon "$1" >/dev/null 2>"$tmp/err" || complain "Graphviz does not read $1: $(cat "$tmp/err")"
	fi
}

"$make_net" "$tmp/net.onnx" 16 768 4 4 || exit 99

# ---- optimised slopes: their bytes are said, and their steps drawn ----

"$bpgraph" plan "$examples/digits.onnx" --quiet --method alpha-crown --iterations 2 --dot "$tmp/dot" >"$tmp/out" || complain "plan of alpha-crown failed"
grep -q '^alpha .* MB, slopes of each row; coefficients kept in [1-9]' "$tmp/out" || complain "plan of alpha-crown: $(cat "$tmp/out")"
"$bpgraph" plan "$tmp/net.onnx" --quiet --method alpha-crown --iterations 2 >"$tmp/out" || complain "plan of alpha-crown failed"
own=$(sed -n 's/^alpha *\([0-9.]*\) .*/\1/p' "$tmp/out")
"$bpgraph" plan "$tmp/net.onnx" --quiet --method alpha-crown --iterations 2 --alpha-sharing node >"$tmp/out" || complain "plan with shared slopes failed"
awk -v own="$own" '/^alpha .* slopes shared by rows/ { less = $2 < own / 2 } END { exit !less }' "$tmp/out" || complain "$own MB, shared: $(cat "$tmp/out")"
drawing "$tmp/dot"
grep -q 'label="adjoint' "$tmp/dot" && grep -q 'label="step' "$tmp/dot" || complain "no step of the optimiser is drawn"

# ---- bpgraph plan: fields, one task a drawn step, the same cut for every placement ----

for net in "$examples/digits.onnx" "$examples/digits_conv.onnx" "$tmp/net.onnx"; do
	"$bpgraph" plan "$net" --quiet --json "$tmp/json" --dot "$tmp/dot" >"$tmp/out" || complain "plan $net failed"
	valid_json "$tmp/json" "plan $net"
	drawing "$tmp/dot"
	for name in predicted_bytes tasks traffic_bytes seconds plan_hash; do
		grep -q "\"$name\":" "$tmp/json" || complain "plan $net: no $name"
	done
	steps=$(grep -c '^s[0-9_]* \[label="' "$tmp/dot")
	freed=$(grep -c '^s[0-9_]* \[label="free' "$tmp/dot")
	[ $((steps - freed)) = "$(field "$tmp/json" tasks)" ] || complain "plan $net: $steps steps drawn, $freed of them free, $(field "$tmp/json" tasks) tasks"
	hash=$(field "$tmp/json" plan_hash)
	[ "${#hash}" = 16 ] || complain "plan $net: plan_hash is '$hash'"
	for more in '--placement single' '--placement rows --shards 2' '--placement fsdp --shards 3' '--placement offload' '--shards 5' '--wave 1' '--memory 1G'; do
		"$bpgraph" plan "$net" --quiet $more --json "$tmp/json" >"$tmp/out" || complain "plan $net $more failed"
		[ "$(field "$tmp/json" plan_hash)" = "$hash" ] || complain "plan $net $more: other plan_hash"
	done
	"$bpgraph" plan "$net" --quiet --tile 16 --json - >"$tmp/json" || complain "plan $net --tile 16 failed"
	[ "$(field "$tmp/json" plan_hash)" != "$hash" ] || complain "plan $net --tile 16: another cut has the same plan_hash"
done

# ---- the record of a run: an event for each task, tiles side by side on two workers ----

overlap=no
for try in 1 2 3; do
	"$bpgraph" run "$tmp/net.onnx" --quiet --trace "$tmp/trace" --dot "$tmp/dot" --json "$tmp/json" >"$tmp/out" || complain "run failed"
	valid_json "$tmp/trace" "trace"
	drawing "$tmp/dot"
	events=$(grep -c '"ph":"X"' "$tmp/trace")
	[ "$events" = "$(field "$tmp/json" tasks)" ] || complain "$events events, $(field "$tmp/json" tasks) tasks"
	steps=$(grep '^s[0-9_]* \[label="' "$tmp/dot" | grep -vc '^s[0-9_]* \[label="free')
	[ "$steps" -lt "$events" ] || complain "$steps steps drawn, but $events tasks run"
	# tid, first and last microsecond, tile
	sed -n 's/.*"tid":\([0-9]*\),"ts":\([0-9.]*\),"dur":\([0-9.]*\),.*"tile":\([0-9]*\).*/\1 \2 \3 \4/p' "$tmp/trace" | sort -k 2,2n |
	awk '{ for (w in end) if (w != $1 && end[w] > $2 && tile[w] != $4) both = 1; end[$1] = $2 + $3; tile[$1] = $4 } END { exit !both }' && overlap=yes
	[ $overlap = yes ] && break
done
if [ "$(field "$tmp/json" workers)" -gt 1 ]; then
	[ $overlap = yes ] || complain "no two tiles overlap in time"
fi
exit $status
