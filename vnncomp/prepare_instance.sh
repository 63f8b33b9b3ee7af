#!/bin/sh
# prepare_instance.sh v1 CATEGORY ONNX VNNLIB: can this instance be run at all? Networks and properties are read as they are, so
# there is nothing to convert, and run_instance.sh leaves no process behind that would have to be ended here.
[ $# = 4 ] && [ "$1" = v1 ] || { echo "usage: prepare_instance.sh v1 CATEGORY ONNX VNNLIB" >&2; exit 2; }
. "$(dirname "$0")/common.sh"
[ -x "$bpgraph" ] || die "$bpgraph is not built; run install_tool.sh v1"
files=$(networks "$3" | case $3 in "["*) sed 's/^[^=]*=//' ;; *) cat ;; esac)
[ -n "$files" ] || die "no network in $3"
printf '%s\n%s\n' "$files" "$(found "$4")" | while IFS= read -r file; do
	[ -r "$file" ] || die "$file cannot be read"
done
