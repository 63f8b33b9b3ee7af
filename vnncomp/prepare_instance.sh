#!/bin/sh
# prepare_instance.sh v1 CATEGORY ONNX VNNLIB: can this instance be run at all? Networks and properties are read as they are, so
# there is nothing to convert, and run_instance.sh leaves no process behind that would have to be ended here.
[ $# = 4 ] && [ "$1" = v1 ] || { echo "usage: prepare_instance.sh v1 CATEGORY ONNX VNNLIB" >&2; exit 2; }
. "$(dirname "$0")/common.sh"
[ -x "$bpgraph" ] || die "$bpgraph is not built; run install_tool.sh v1"
onnx=$(found "$3")
vnnlib=$(found "$4")
for file in "$onnx" "$vnnlib"; do
	[ -r "$file" ] || die "$file cannot be read"
done
