#!/bin/sh
# A layer's name stands in its own file and in layers.am; elsewhere only traits are asked. src/onnx and the passes of
# src/net may compare ONNX operator names, since there a name is a spelling to be normalised away.
top=${srcdir:-$(dirname "$0")/../..}
cd "$top/src" || exit 99
status=0
for name in $(sed -n 's|^[^#]*src/codelets/layer_\([a-z0-9_]*\)\.c.*|\1|p' codelets/layers.am); do
	own=codelets/layer_$name.c
	[ -f "$own" ] || { echo "layers.am names $own, which is not there"; status=1; continue; }
	ops=$(sed -n 's|.*\.ops *= *"\([^"]*\)".*|\1|p' "$own" | tr ' ' '|')
	pattern="bpg_layer_$name\\b|\"$name\""
	[ -n "$ops" ] && pattern="$pattern|\"($ops)\""
	for file in base/*.c net/*.c rt/*.c codelets/*.c codelets/*.h graph/*.[ch] bab/*.[ch]; do
		[ -f "$file" ] || continue
		case $file in "$own" | net/pass_*) continue ;; esac
		grep -nHE "$pattern" "$file" && status=1
	done
done
[ $status = 0 ] || echo "names of layers outside their files: ask a trait"
exit $status
