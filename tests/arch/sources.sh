#!/bin/sh
# Every source and test file is listed for the build, so that nothing is forgotten in a tarball.
top=${srcdir:-$(dirname "$0")/../..}
cd "$top" || exit 99
status=0
missing()
{
	echo "$1 is not in $2"
	status=1
}
for file in include/bpgraph/*.h src/*.[ch] src/*/*.[ch] src/*/*.def src/*/*.inc src/*/*.cu; do
	case $file in */layers.def | *'*'* | src/codelets/layer_template.c) continue ;; esac
	grep -q "$file" src/sources.am src/codelets/layers.am || missing "$file" src/sources.am
done
for file in tests/*/*.[ch] tests/*/*.sh; do
	case $file in *'*'*) continue ;; esac
	grep -q "${file%.c}" tests/tests.am || missing "$file" tests/tests.am
done
exit $status
