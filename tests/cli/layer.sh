#!/bin/sh
# Layers from outside: the example compiles with the installed headers, loads, passes the conformance test, and gives bounds
# and verdicts that dense sampling agrees with. What must not be loaded is refused in one line.
[ -n "$BPG_BUILD" ] || exit 77
case $(sed -n 's/^BPG_SANFLAGS = *//p' "$BPG_BUILD/Makefile") in ?*) exit 77 ;; esac
installed=layer
tests=$(cd "${srcdir:-$(dirname "$0")/../..}/tests/cli" && pwd) || exit 1
. "$tests/installed.sh"
PATH=$to/bin:$PATH
status=0
mkdir -p "$to/my" && cp "$BPG_EXAMPLES"/my_layer/* "$to/my" && chmod -R u+w "$to/my" && cd "$to/my" || exit 1

complain()
{
	echo "$*"
	status=1
}

# try STATUS PART WORDS...: runs, checks the exit status, and that some output has the part
try()
{
	want=$1
	part=$2
	shift 2
	got=$("$@" 2>&1)
	rc=$?
	case $got in
	*"$part"*) ;;
	*) complain "$*: '$part' is not in: $got" ;;
	esac
	[ $rc = "$want" ] || complain "$*: exit status $rc, expected $want: $got"
}

# ---- the example ----

env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL ${MAKE:-make} -s CC="${CC:-cc}" CFLAGS='-O2 -Wall -Wextra -Werror' check >make.log 2>&1 || complain "$(cat make.log)"
grep -q 'signed_square *passed' make.log || complain "make check: $(cat make.log)"
layer=./signed_square.so
printf -- '-1 -1\n' >lower.txt
printf '1 1\n' >upper.txt
try 2 "node 'SignedSquare_1' (org.example::SignedSquare)" bpgraph run net.onnx
try 0 'unsupported org.example::SignedSquare' bpgraph info net.onnx
try 0 'unsupported none' bpgraph info net.onnx --layer $layer
try 0 'org.example::SignedSquare' bpgraph layers --layer $layer
try 0 'SignedSquare' env BPGRAPH_LAYER=signed_square.so:$layer bpgraph layers
try 0 'Y_0' bpgraph run net.onnx --layer $layer --layer signed_square.so --lower lower.txt --upper upper.txt
try 0 'tasks' bpgraph plan net.onnx --layer $layer --lower lower.txt --upper upper.txt

# Bounds of each method, and values, against the network written out here.
for method in ibp crown-ibp crown; do
	bpgraph run net.onnx --layer $layer --method $method --lower lower.txt --upper upper.txt >bounds.txt || complain "$method"
	awk -v method=$method '
	function f(x, y) { return s(1.5 * x - y + 0.25) - 0.5 * s(-0.5 * x + 2 * y - 0.5) + 2 * s(0.75 * x + 0.25 * y) + 0.125 }
	function s(a) { return a < 0 ? -a * a : a * a }
	$1 == "Y_0" { lo = $2; up = $3 }
	END {
		least = 1e9; most = -1e9
		for (i = 0; i <= 200; i++) for (j = 0; j <= 200; j++) {
			v = f(i / 100 - 1, j / 100 - 1)
			if (v < least) least = v
			if (v > most) most = v
		}
		if (!(lo <= least + 1e-12 && up >= most - 1e-12 && up - lo < 4 * (most - least))) {
			print method ": bounds " lo " " up ", sampled " least " " most
			exit 1
		}
	}' bounds.txt || status=1
done
printf '0.5 -0.25\n' >point.txt
try 0 'Y_0 2.6640625' bpgraph eval net.onnx --layer $layer --input point.txt # 1.25^2 + 1.25^2/2 + 2 * 0.3125^2 + 1/8
property()
{
	printf '(declare-const X_0 Real)\n(declare-const X_1 Real)\n(declare-const Y_0 Real)\n'
	printf '(assert (>= X_0 -1))\n(assert (<= X_0 1))\n(assert (>= X_1 -1))\n(assert (<= X_1 1))\n(assert (>= Y_0 %s))\n' "$1"
}
property 20 >unsat.vnnlib
property 1 >sat.vnnlib
try 0 unsat bpgraph run net.onnx unsat.vnnlib --layer $layer
try 1 sat bpgraph run net.onnx sat.vnnlib --layer $layer

# ---- the other families ----

${CC:-cc} -O2 -Wall -Wextra -Werror -fPIC -shared $(pkg-config --cflags bpgraph) -o outside.so "$tests/outside.c" || complain "outside.c does not compile"
try 0 'line             passed, 200 instances' bpgraph-layer-test outside.so
try 0 'larger           passed, 50 instances' bpgraph-layer-test outside.so larger --instances 50
sed 's/upper->bias = larger(u\[0\]\[i\], u\[1\]\[i\])/upper->bias = u[0][i]/' "$tests/outside.c" >wrong.c
${CC:-cc} -O2 -fPIC -shared $(pkg-config --cflags bpgraph) -o wrong.so wrong.c || complain "wrong.c does not compile"
try 1 'layer larger, op org.example::Larger' bpgraph-layer-test wrong.so larger

# ---- other hosts: a program with libbpgraph.so, and one that hides it ----

cat >host.c <<'END'
#include <bpgraph/bpgraph.h>
int main(int argc, char **argv)
{
	struct bpg_ctx *ctx = bpg_ctx_new();
	struct bpg_net *net = NULL;
	int bad = argc != 3 || bpg_plugin_load(ctx, argv[1]) || bpg_net_open(ctx, argv[2], &net) || bpg_net_in_count(net) != 2;
	if (bad)
		printf("%s\n", bpg_ctx_message(ctx));
	bpg_net_close(net);
	bpg_ctx_free(ctx);
	return bad;
}
END
cat >hidden.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	void *lib = argc == 3 ? dlopen(argv[2], RTLD_NOW | RTLD_LOCAL) : NULL;
	void *(*ctx)(void) = lib ? (void *(*)(void))dlsym(lib, "bpg_ctx_new") : NULL;
	int (*load)(void *, const char *) = lib ? (int (*)(void *, const char *))dlsym(lib, "bpg_plugin_load") : NULL;
	const char *(*message)(void *) = lib ? (const char *(*)(void *))dlsym(lib, "bpg_ctx_message") : NULL;
	void *c = ctx ? ctx() : NULL;
	if (c && load && !load(c, argv[1]))
		return 0;
	printf("%s\n", c ? message(c) : dlerror());
	return 1;
}
END
LD_LIBRARY_PATH=$to/lib:$LD_LIBRARY_PATH
export LD_LIBRARY_PATH
${CC:-cc} -o host host.c $flags && ${CC:-cc} -o hidden hidden.c -ldl || complain "the hosts do not compile"
try 0 '' ./host $layer net.onnx
try 0 '' ./hidden $layer "$to/lib/libbpgraph.so"

# ---- what is refused ----

# variant NAME HEADERS SED [FLAGS...]: the example, changed
variant()
{
	name=$1
	headers=$2
	change=$3
	shift 3
	sed "$change" signed_square.c >"$name.c"
	${CC:-cc} -O2 -w -ffp-contract=off -fPIC -shared -I"$headers" -o "$name.so" "$name.c" "$@" || complain "$name does not compile"
}
installed_headers=$to/include
cp -r "$installed_headers" other && cp -r "$installed_headers" larger
sed 's/^#define BPG_LAYER_ABI .*/#define BPG_LAYER_ABI 99/' "$installed_headers/bpgraph/layer.h" >other/bpgraph/layer.h
sed 's/^struct bpg_layer {/&\n\tvoid *more;/' "$installed_headers/bpgraph/layer.h" >larger/bpgraph/layer.h
here=$(sed -n 's/^#define BPG_LAYER_ABI //p' "$installed_headers/bpgraph/layer.h")

try 2 'cannot be loaded' bpgraph run net.onnx --layer nowhere.so
try 2 'cannot be loaded' bpgraph run net.onnx --layer net.onnx
variant abi other ''
try 2 "./abi.so: made for layer ABI 99, this bpgraph has $here;" bpgraph run net.onnx --layer abi.so
variant size larger ''
try 2 'struct bpg_layer has' bpgraph run net.onnx --layer size.so
variant symbol "$installed_headers" '/^BPG_LAYER_PLUGIN/d'
try 2 'no symbol bpg_layer_plugin' bpgraph run net.onnx --layer symbol.so
variant undefined "$installed_headers" 's/fabs(l + u)/bpg_of_tomorrow(l + u)/; s/^static double f(/extern double bpg_of_tomorrow(double);\n&/'
try 2 'bpg_of_tomorrow' bpgraph run net.onnx --layer undefined.so
variant builtin "$installed_headers" 's/org.example::SignedSquare/Relu/'
try 2 "layer 'signed_square' imports the operator 'Relu', which layer 'relu' of bpgraph has already" bpgraph run net.onnx --layer builtin.so
variant twice "$installed_headers" 's/an example/another/'
try 2 "which layer 'signed_square' of ./signed_square.so has already" bpgraph run net.onnx --layer $layer --layer twice.so
variant word "$installed_headers" 's/org.example::SignedSquare/org.example:SignedSquare/'
try 2 'neither "Op" nor "domain::Op"' bpgraph run net.onnx --layer word.so
variant slopes "$installed_headers" 's/ \.slopes = slopes,//'
try 2 "layer 'signed_square' lacks 'unary->slopes'" bpgraph run net.onnx --layer slopes.so
variant linked "$installed_headers" '' -Wl,--no-as-needed -L"$to/lib" -lbpgraph
try 2 'another copy of bpgraph' bpgraph run net.onnx --layer linked.so
try 0 '' ./host ./linked.so net.onnx # there it is the same copy

# Small numbers flushed to zero: when the file is loaded, and later, by a callback.
if echo | ${CC:-cc} -dM -E - | grep -q __SSE2__; then
	flush='_mm_setcsr(_mm_getcsr() | 0x8040);'
	variant ftz "$installed_headers" "s/^#include <math.h>/&\n#include <immintrin.h>\n__attribute__((constructor)) static void flush(void) { $flush }/"
	try 2 './ftz.so: changes how this process rounds' bpgraph run net.onnx --layer ftz.so
	try 2 './ftz.so: changes how this process rounds' bpgraph-layer-test ftz.so
	variant later "$installed_headers" "s/^#include <math.h>/&\n#include <immintrin.h>/; s/return x \\* fabs(x);/$flush &/"
	try 2 'small numbers' bpgraph run net.onnx --layer later.so
	try 2 'small numbers' bpgraph eval net.onnx --layer later.so --input point.txt
	try 1 'FAILED' bpgraph-layer-test later.so
fi

# ---- the conformance test sees mistakes ----

mistake()
{
	variant mistake "$installed_headers" "$1"
	try 1 'FAILED: layer signed_square' bpgraph-layer-test mistake.so
}
mistake 's/return n;/return 0;/'                     # extremes are missing
mistake 's/at\[n++\] = s \/ 2;/at[n++] = s \/ 2.1;/' # or off
mistake 's/\.curvature = 2, //; s/at\[n++\] = s \/ 2;/at[n++] = s \/ 2.00001;/'
mistake 's/return 2 \* fabs(x);/return fabs(x);/'    # the derivative
mistake 's/return x \* fabs(x);/return x * x;/; s/return 2 \* fabs(x);/return 2 * x;/' # not monotone
mistake 's/return x \* fabs(x);/return x == 0 ? 0 : isinf(x) ? x : NAN;/'
try 0 'relu             passed, 5 instances' bpgraph-layer-test --builtin relu --instances 5
try 2 'no such layer' bpgraph-layer-test --builtin nonesuch
try 2 'give one of' bpgraph-layer-test

cd / && { [ $status != 0 ] || rm -rf "$to"; }
exit $status
