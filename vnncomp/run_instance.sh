#!/bin/sh
# run_instance.sh v1 CATEGORY ONNX VNNLIB RESULT_FILE TIMEOUT: the first line of RESULT_FILE is sat, unsat, unknown, timeout or error,
# and behind sat stands the witness. Exit status 0 unless the word is error.
[ $# = 6 ] && [ "$1" = v1 ] || { echo "usage: run_instance.sh v1 CATEGORY ONNX VNNLIB RESULT_FILE TIMEOUT" >&2; exit 2; }
. "$(dirname "$0")/common.sh"
onnx=$3
vnnlib=$(found "$4")
result=$5
seconds=$(printf %s "$6" | tr -d '\r') # lists of instances have been written with line ends of another system

if second "$vnnlib"; then
	set -- verify "$vnnlib"
	while IFS= read -r network; do
		set -- "$@" --network "$network"
	done <<-END
		$(networks "$onnx")
	END
else
	set -- run "$(found "$onnx")" "$vnnlib"
fi

# The program keeps its limit itself. Should it ever not, it is ended before whoever waits for this script loses patience.
guard=$(awk -v s="$seconds" 'BEGIN { print s + 10 }')
rm -f "$result"
timeout -k 10 "$guard" "$bpgraph" "$@" --results "$result" --timeout "$seconds" --quiet >/dev/null
rc=$?
case $rc in
[0134]) exit 0 ;;
124)
	echo timeout >"$result"
	exit 0
	;;
esac
echo error >"$result"
exit 2
