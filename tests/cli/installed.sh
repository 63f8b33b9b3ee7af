# installed.sh - for other tests: installs the build into $to and sets $flags, what pkg-config says of it.
to=$BPG_BUILD/tests/tmp/$installed
rm -rf "$to"
$MAKE -C "$BPG_BUILD" -s install prefix="$to" exec_prefix="$to" libdir="$to/lib" bindir="$to/bin" includedir="$to/include" \
	mandir="$to/man" docdir="$to/doc" datarootdir="$to/share" pkgincludedir="$to/include/bpgraph" \
	pkgconfigdir="$to/lib/pkgconfig" >"$to.log" 2>&1 || {
	tail -20 "$to.log"
	exit 1
}

# bpgraph.pc speaks of the prefix that configure was given.
sed "s|^prefix=.*|prefix=$to|; s|^exec_prefix=.*|exec_prefix=$to|; s|^libdir=.*|libdir=$to/lib|; s|^includedir=.*|includedir=$to/include|" \
	"$to/lib/pkgconfig/bpgraph.pc" >"$to/bpgraph.pc" || exit 1
PKG_CONFIG_PATH=$to:$PKG_CONFIG_PATH
export PKG_CONFIG_PATH
flags=$(pkg-config --cflags --libs bpgraph) || exit 1
