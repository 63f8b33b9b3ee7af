#!/bin/sh
# What is installed suffices: the example of the library compiles against it by pkg-config and runs.
[ -n "$BPG_BUILD" ] || exit 77
installed=installed
. "${srcdir:-$(dirname "$0")/../..}/tests/cli/installed.sh"
[ -f "$to/include/bpgraph/bpgraph.h" ] && [ -f "$to/include/bpgraph/layer.h" ] && [ -f "$to/lib/libbpgraph.so" ] || exit 1
case $(sed -n 's/^BPG_SANFLAGS = *//p' "$BPG_BUILD/Makefile") in
?*) flags="$flags -fsanitize=address,undefined" ;;
esac
${CC:-cc} -Wall -Wextra -Werror -o "$to/hello" "$BPG_EXAMPLES/hello.c" $flags || exit 1
cd "$BPG_EXAMPLES" && LD_LIBRARY_PATH="$to/lib:$LD_LIBRARY_PATH" "$to/hello" digits.onnx
rc=$?
[ $rc = 0 ] || echo "hello: exit status $rc"
rm -rf "$to"
exit $rc
