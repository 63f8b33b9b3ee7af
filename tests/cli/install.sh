#!/bin/sh
# What is installed suffices: the example of the library compiles against it by pkg-config and runs.
[ -n "$BPG_BUILD" ] || exit 77
to=$BPG_BUILD/tests/tmp/installed
rm -rf "$to"
$MAKE -C "$BPG_BUILD" -s install prefix="$to" exec_prefix="$to" libdir="$to/lib" bindir="$to/bin" includedir="$to/include" \
	mandir="$to/man" docdir="$to/doc" datarootdir="$to/share" pkgincludedir="$to/include/bpgraph" \
	pkgconfigdir="$to/lib/pkgconfig" >"$to.log" 2>&1 || {
	tail -20 "$to.log"
	exit 1
}
[ -f "$to/include/bpgraph/bpgraph.h" ] && [ -f "$to/include/bpgraph/layer.h" ] && [ -f "$to/lib/libbpgraph.so" ] || exit 1

# bpgraph.pc speaks of the prefix that configure was given.
sed "s|^prefix=.*|prefix=$to|; s|^exec_prefix=.*|exec_prefix=$to|; s|^libdir=.*|libdir=$to/lib|; s|^includedir=.*|includedir=$to/include|" \
	"$to/lib/pkgconfig/bpgraph.pc" >"$to/bpgraph.pc" || exit 1
flags=$(PKG_CONFIG_PATH=$to:$PKG_CONFIG_PATH pkg-config --cflags --libs bpgraph) || exit 1
case $(sed -n 's/^BPG_SANFLAGS = *//p' "$BPG_BUILD/Makefile") in
?*) flags="$flags -fsanitize=address,undefined" ;;
esac
${CC:-cc} -Wall -Wextra -Werror -o "$to/hello" "$BPG_EXAMPLES/hello.c" $flags || exit 1
cd "$BPG_EXAMPLES" && LD_LIBRARY_PATH="$to/lib:$LD_LIBRARY_PATH" "$to/hello" digits.onnx
rc=$?
[ $rc = 0 ] || echo "hello: exit status $rc"
rm -rf "$to"
exit $rc
