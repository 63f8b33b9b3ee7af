#!/bin/sh
# A layer's name stands in its own file and in layers.am; elsewhere only traits are asked. src/onnx and the passes of
# src/net may compare ONNX operator names, since there a name is a spelling to be normalised away.
top=${srcdir:-$(dirname "$0")/../..}
cd "$top/src" || exit 99
status=0
others=$(ls base/*.c net/*.c rt/*.c codelets/*.[ch] graph/*.[ch] bab/*.[ch] conformance/*.[ch] 2>/dev/null | grep -v '^net/pass_\|^codelets/layer_')
layers=
names=
ops=
for name in $(sed -n 's|^[^#]*src/codelets/layer_\([a-z0-9_]*\)\.c.*|\1|p' codelets/layers.am); do
	own=codelets/layer_$name.c
	[ -f "$own" ] || { echo "layers.am names $own, which is not there"; status=1; continue; }
	names="$names|$name"
	for op in $(sed -n 's|.*\.ops *= *"\([^"]*\)".*|\1|p' "$own"); do
		ops="$ops|$op"
	done
	# Between layers a name may be a word of ONNX (an attribute "tanh"), but nobody reaches into another's file.
	layers="$layers $own"
done
for own in $layers; do
	name=${own#codelets/layer_}
	grep -nHE "bpg_layer_(${names#|})\\b" "$own" | grep -v "bpg_layer_${name%.c}\\b" && status=1
done
grep -nHE "bpg_layer_(${names#|})\\b|\"(${names#|})\"|\"(${ops#|})\"" $others && status=1
[ $status = 0 ] || echo "names of layers outside their files: ask a trait"
exit $status
