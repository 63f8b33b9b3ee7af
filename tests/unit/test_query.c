/* test_query.c - VNN-LIB 2: what is a query and what is not, against a table whose answers a reference parser gave; what
 * assertions mean, against integer arithmetic at points; texts that are hostile; networks that become one, against the networks.
 */
#include <check.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../graph/builder.h"
#include "spec/query.h"

static char path[64];
static struct bpg_ctx *ctx;

static void setup(void)
{
	snprintf(path, sizeof path, "/tmp/bpg_test_query_XXXXXX");
	int fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	close(fd);
	ctx = bpg_ctx_new();
	ck_assert_ptr_nonnull(ctx);
}

static void teardown(void)
{
	unlink(path);
	bpg_ctx_free(ctx);
}

static void write_file(const void *data, size_t n)
{
	FILE *f = fopen(path, "wb");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(data, 1, n, f), n);
	fclose(f);
}

/* Reads without networks. The query is closed by the caller, also after a failure (null then). */
static enum bpg_status check_bytes(const void *data, size_t n, struct bpg_query **q)
{
	write_file(data, n);
	enum bpg_status st = bpg_query_open(ctx, path, q);
	return st ? st : bpg_query_check(ctx, *q);
}

/* The message has the file, this line (0: some line) and these words. */
static void check_message(int line, const char *words, const char *text)
{
	const char *m = bpg_ctx_message(ctx);
	size_t n = strlen(path);
	ck_assert_msg(!strncmp(m, path, n) && m[n] == ':' && (line ? atoi(m + n + 1) == line : atoi(m + n + 1) > 0),
	              "not in line %d: %s\n%s", line, m, text);
	ck_assert_msg(strstr(m, words) != NULL, "'%s' is not in the message '%s' of\n%s", words, m, text);
	ck_assert_msg(!strchr(m, '\n'), "more than one line: %s", m);
}

#define VERSION "(vnnlib-version <2.0>)\n"
#define NET "(declare-network f\n (declare-input X float32 [1,3])\n (declare-output Y float32 [1,2])\n)\n"
#define HEAD VERSION NET
#define ONE "(assert (<= X[0,0] 1.0))"
#define OF_TYPE(t) VERSION "(declare-network f (declare-input X " t " [2]) (declare-output Y " t " [2]))"
#define SECOND(what, type) "(declare-network g " what " (declare-input A " type " [1,3]) (declare-output B " type " [1,2]))"

/* ---- what is a query ---- */

static const char *const accepted[] = {
	HEAD ONE,
	HEAD "(assert(<=X[0,0]1.0))",
	HEAD "(assert ( <= X [ 0 , 0 ] 1.0 ) )",
	HEAD "(assert (<= (-X[0,0]) 1.0))",
	HEAD "(assert (<= X[00,01] 007.50))",
	HEAD "(assert (<= X[0,0] -0.0))",
	HEAD "(assert (<= 0.0 1.0))",
	HEAD "(assert (<= 1.0 X[0,0]))",
	HEAD "(assert (<= (* X[0,0]) 1.0))",
	HEAD "(assert (<= (* 2.0 X[0,0] 3.0) (- X[0,0] X[0,1] X[0,2])))",
	HEAD "(assert (or (and (or (<= X[0,0] 1.0) (== Y[0,0] 0.0)) (!= Y[0,1] 1.0)) (> Y[0,0] 0.0)))",
	HEAD "(assert;c\n(<= X[0,0] 1.0)); no line end",
	"; first\r\n(vnnlib-version\t<2.0>)\r" NET ONE "\f",
	"(vnnlib-version<2.9>)" NET ONE,
	VERSION "(declare-network f (declare-input X float32 []) (declare-output Y float32 []))(assert (<= X Y))",
	VERSION "(declare-network f (declare-input X float32 [1]) (declare-hidden H float32 [2] \"a\\\"b\\\\\\n\") "
	        "(declare-output Y float32 [1]))"
	        "(assert (<= H[1] 0.5))",
	VERSION "(declare-network f (declare-input X float32 [1]) (declare-input Z float32 [2,2]) (declare-output Y float32 [1]) "
	        "(declare-output W float32 [1]))"
	        "(assert (<= (+ X[0] Z[1,1]) W[0]))",
	VERSION
	"(declare-network f (declare-input assert float32 [1]) (declare-output real float32 [1]))(assert (<= assert[0] real[0]))",
	HEAD SECOND("", "float64") ONE,
	HEAD SECOND("(equal-to f)", "float32") "(assert (== A[0,0] X[0,0]))",
	HEAD SECOND("(isomorphic-to f)", "float32") ONE,
	OF_TYPE("real") "(assert (<= (* 1.0 X[0]) 1.0))",
	OF_TYPE("Real") "(assert (<= X[0] 1.0))",
	OF_TYPE("float16") "(assert (<= X[0] 1.0))",
	"(vnnlib-version <2.1>)" NET ONE,
};

START_TEST(is_a_query)
{
	struct bpg_query *q;
	enum bpg_status st = check_bytes(accepted[_i], strlen(accepted[_i]), &q);
	ck_assert_msg(!st, "%s\n%s", bpg_ctx_message(ctx), accepted[_i]);
	ck_assert_msg(!q->note, "%s\n%s", q->note, accepted[_i]);
	bpg_query_close(q);
}
END_TEST

static const struct { const char *text; int line; const char *message;
} refused[] = {
	{ "", 1, "vnnlib-version" },
	{ "; nothing\n", 2, "vnnlib-version" },
	{ NET ONE, 1, "vnnlib-version" },
	{ "(vnnlib-version <1.0>)" NET ONE, 1, "version <1.0>" },
	{ "(vnnlib-version <3.0>)" NET ONE, 1, "version <3.0>" },
	{ "(vnnlib-version <2>)" NET ONE, 1, "no version" },
	{ "(vnnlib-version <2.0.0>)" NET ONE, 1, "no version" },
	{ "(vnnlib-version < 2.0 >)" NET ONE, 1, "a version" },
	{ "(vnnlib-version 2.0)" NET ONE, 1, "a version" },
	{ VERSION VERSION NET ONE, 2, "declare-network" },
	{ VERSION ONE, 2, "declare-network" },
	{ HEAD, 6, "assert" },
	{ HEAD ONE "\n" SECOND("", "float32"), 7, "before all assertions" },
	{ HEAD ONE ")", 6, "end of the file" },
	{ HEAD ONE "xyz", 6, "'xyz'" },
	{ HEAD "(check-sat)" ONE, 6, "(check-sat" },
	{ "(declare-const X_0 Real)", 1, "(declare-const" },
	{ HEAD "( assert (<= X[0,0] 1.0))", 6, "assert" },
	{ HEAD "(assertion (<= X[0,0] 1.0))", 6, "assert" },
	{ HEAD "(assert (<= X[0,0] 1.0)", 6, "the file ends" },
	{ HEAD "(assert (<= X[0,0] 1.0)\n", 7, "the file ends before the bracket opened in line 6" },
	{ HEAD "(assert )", 6, "needs an operand" },
	{ HEAD "(assert (and ))", 6, "needs an operand" },
	{ HEAD "(assert (<= X[0,0]))", 6, "two operands" },
	{ HEAD "(assert (<= X[0,0] 1.0 2.0))", 6, "')' belongs here" },
	{ HEAD "(assert (<= X[0,0] 1.0) (<= X[0,1] 1.0))", 6, "')' belongs here" },
	{ HEAD "(assert (+ X[0,0] 1.0))", 6, "'+'" },
	{ HEAD "(assert (and X[0,0]))", 6, "a condition" },
	{ HEAD "(assert true)", 6, "a condition" },
	{ HEAD "(assert (not (<= X[0,0] 1.0)))", 6, "'not'" },
	{ HEAD "(assert (=> (<= X[0,0] 1.0) (<= X[0,0] 1.0)))", 6, "'='" },
	{ HEAD "(assert (= X[0,0] 1.0))", 6, "write '=='" },
	{ HEAD "(assert (=< X[0,0] 1.0))", 6, "'='" },
	{ HEAD "(assert (<> X[0,0] 1.0))", 6, "'>'" },
	{ HEAD "(assert (<= (/ X[0,0] 2.0) 1.0))", 6, "'/'" },
	{ HEAD "(assert (<= (+ ) 1.0))", 6, "needs an operand" },
	{ HEAD "(assert (<= (X[0,0]) 1.0))", 6, "'X'" },
	{ HEAD "(assert (<= X[0,0] (1.0)))", 6, "'1.0'" },
	{ HEAD "(assert (<= (and (<= X[0,0] 1.0)) 1.0))", 6, "'and'" },
	{ HEAD "(assert (<= X[0,0] 1.))", 6, "point" },
	{ HEAD "(assert (<= X[0,0] .5))", 6, "'.'" },
	{ HEAD "(assert (<= X[0,0] +0.5))", 6, "'+'" },
	{ HEAD "(assert (<= X[0,0] --0.5))", 6, "'-'" },
	{ HEAD "(assert (<= X[0,0] 1.0e-3))", 6, "exponent" },
	{ HEAD "(assert (<= X[0,0] 1.2.3))", 6, "two points" },
	{ HEAD "(assert (<= X[0,0] nan))", 6, "'nan' is not declared" },
	{ HEAD "(assert (<= X[0,0] inf))", 6, "'inf' is not declared" },
	{ HEAD "(assert (<= Z[0,0] 1.0))", 6, "'Z' is not declared" },
	{ HEAD "(assert (<= x[0,0] 1.0))", 6, "'x' is not declared" },
	{ HEAD "(assert (<= f 1.0))", 6, "'f' is not declared" },
	{ HEAD "(assert (<= X[0,3] 1.0))", 6, "index 3" },
	{ HEAD "(assert (<= X[0,-1] 1.0))", 6, "index -1" },
	{ HEAD "(assert (<= X[0,99999999999999999999] 1.0))", 6, "index 99999999999999999999" },
	{ HEAD "(assert (<= X[0] 1.0))", 6, "2 indices" },
	{ HEAD "(assert (<= X[0,0,0] 1.0))", 6, "2 indices" },
	{ HEAD "(assert (<= X 1.0))", 6, "2 indices" },
	{ HEAD "(assert (<= X[] 1.0))", 6, "an index" },
	{ VERSION "(declare-network f (declare-input X float32 [1]) (declare-output Y float32 []))\n(assert (<= Y[0] 1.0))", 3,
	  "no index" },
	{ HEAD "(assert (<= X[0,0] 1))", 6, "1.0" },
	{ HEAD "(assert (<= 1 X[0,0]))", 6, "1.0" },
	{ HEAD "(assert (<= 0 1.0))", 6, "decimal point" },
	{ OF_TYPE("real") "\n(assert (<= X[0] 1))", 3, "1.0" },
	{ OF_TYPE("int32") "\n(assert (<= X[0] 1.0))", 3, "without a decimal point" },
	{ OF_TYPE("uint8") "\n(assert (<= X[0] -1))", 3, "without sign" },
	{ OF_TYPE("bool") "\n(assert (<= X[0] 1))", 3, "no number" },
	{ VERSION "(declare-network f (declare-input X float32 [2]) (declare-input Z float64 [2]) (declare-output Y float32 "
	          "[2]))\n(assert (<= X[0] Z[0]))",
	  3, "different element types" },
	{ VERSION "(declare-network f)" ONE, 2, "declare-input" },
	{ VERSION "(declare-network f (declare-input X float32 [1]))" ONE, 2, "declare-output" },
	{ VERSION "(declare-network f (declare-output Y float32 [1]))" ONE, 2, "declare-input" },
	{ VERSION
	  "(declare-network f (declare-input X float32 [1]) (declare-output Y float32 [1]) (declare-input Z float32 [1]))" ONE,
	  2, "(declare-input" },
	{ VERSION "(declare-network f (declare-input X float32 [1]) (declare-output Y float32 [1]) (declare-hidden H float32 [1] "
	          "\"h\"))" ONE,
	  2, "(declare-hidden" },
	{ VERSION "(declare-network f-copy (declare-input X float32 [1]) (declare-output Y float32 [1]))" ONE, 2, "'-'" },
	{ VERSION "(declare-network _f (declare-input X float32 [1]) (declare-output Y float32 [1]))" ONE, 2, "'_'" },
	{ VERSION "(declare-network 1f (declare-input X float32 [1]) (declare-output Y float32 [1]))" ONE, 2, "a letter" },
	{ VERSION "(declare-network \303\251 (declare-input X float32 [1]) (declare-output Y float32 [1]))" ONE, 2, "byte 195" },
	{ VERSION "(declare-network f (declare-input and float32 [1]) (declare-output Y float32 [1]))" ONE, 2, "'and'" },
	{ VERSION "(declare-network f\n(declare-input X float32 [1])\n(declare-output X float32 [1]))" ONE, 4,
	  "'X' is declared twice, first in line 3" },
	{ HEAD "(declare-network g (declare-input X float32 [1,3]) (declare-output B float32 [1,2]))" ONE, 6,
	  "'X' is declared twice, first in line 3" },
	{ VERSION "(declare-network f (declare-input X float32 [0,3]) (declare-output Y float32 [1]))" ONE, 2, "size 0" },
	{ VERSION "(declare-network f (declare-input X float32 [-1,3]) (declare-output Y float32 [1]))" ONE, 2, "size -1" },
	{ VERSION "(declare-network f (declare-input X float32 [1.0,3]) (declare-output Y float32 [1]))" ONE, 2, "size 1.0" },
	{ VERSION "(declare-network f (declare-input X float32 [1,3,]) (declare-output Y float32 [1]))" ONE, 2, "a size" },
	{ VERSION "(declare-network f (declare-input X float32 [1 3]) (declare-output Y float32 [1]))" ONE, 2, "','" },
	{ VERSION "(declare-network f (declare-input X float32 [1,99999999999999999999999]) (declare-output Y float32 [1]))" ONE,
	  2, "size 99999999999999999999999" },
	{ VERSION "(declare-network f (declare-input X float32 [1000000,1000000]) (declare-output Y float32 [1]))" ONE, 2,
	  "2^33 elements" },
	{ VERSION "(declare-network f (declare-input X float32 [4294967296]) (declare-input Z float32 [8589934592]) "
	          "(declare-output Y float32 [1]))" ONE,
	  2, "in all" },
	{ VERSION "(declare-network f (declare-input X float32 [1,1,1,1,1,1,1,1,1]) (declare-output Y float32 [1]))" ONE, 2,
	  "more than 8 sizes" },
	{ VERSION "(declare-network f (declare-input X float32 [1] \"x\") (declare-output Y float32 [1]))" ONE, 2, "'x'" },
	{ VERSION
	  "(declare-network f (declare-input X float32 [1]) (declare-hidden H float32 [1]) (declare-output Y float32 [1]))" ONE,
	  2, "in quotes" },
	{ VERSION "(declare-network f (declare-input X float32 [1]) (declare-hidden H float32 [1] \"a\\q\") (declare-output Y "
	          "float32 [1]))" ONE,
	  2, "backslash" },
	{ VERSION "(declare-network f (declare-input X float32 [1] initialized) (declare-output Y float32 [1]))" ONE, 2,
	  "'initialized'" },
	{ HEAD SECOND("(equal-to h)", "float32") ONE, 6, "no network 'h'" },
	{ HEAD SECOND("(equal-to g)", "float32") ONE, 6, "no network 'g'" },
	{ HEAD SECOND("(equal-to f)", "float64") ONE, 6, "the element type of 'A' differs" },
	{ HEAD SECOND("(isomorphic-to f)", "float64") ONE, 6, "the element type of 'A' differs" },
	{ HEAD "(declare-network g (equal-to f) (declare-input A float32 [1,4]) (declare-output B float32 [1,2]))" ONE, 6,
	  "the shape of 'A' differs" },
	{ HEAD "(declare-network g (equal-to f) (declare-input A float32 [1,3]) (declare-input C float32 [1,3]) (declare-output "
	       "B float32 [1,2]))" ONE,
	  6, "2 inputs" },
	{ HEAD SECOND("(equal-to f)", "float32") "(declare-network h (isomorphic-to g) (declare-input C float32 [1,3]) "
	                                         "(declare-output D float32 [1,2]))" ONE,
	  6, "itself declared" },
	{ VERSION
	  "(declare-network f (declare-input X float32 [1]) (declare-hidden H float32 [1] \"h\") (declare-output Y float32 [1]))"
	  "(declare-network g (equal-to f) (declare-input A float32 [1]) (declare-hidden I float32 [2] \"h\") (declare-output B "
	  "float32 [1]))" ONE,
	  2, "of 'I' differs" },
};

START_TEST(is_no_query)
{
	struct bpg_query *q;
	const char *text = refused[_i].text;
	ck_assert_msg(check_bytes(text, strlen(text), &q) != BPG_OK, "accepted:\n%s", text);
	check_message(refused[_i].line, refused[_i].message, text);
	bpg_query_close(q);
}
END_TEST

/* Well-formed, and beyond what can be answered: said in a note, and refused once there are networks. */
static const struct { const char *text; int line; const char *note;
} beyond[] = {
	{ HEAD "(assert (<= (* X[0,0] Y[0,1]) 1.0))", 6, "product of variables (X[0,0] and Y[0,1])" },
	{ HEAD ONE "\n(assert (or (<= (+ (* 2.0 (* X[0,2] X[0,2] 3.0)) 1.0) 1.0) (<= X[0,0] 1.0)))", 7, "X[0,2] and X[0,2]" },
	{ OF_TYPE("int32") "(assert (<= X[0] -1))", 2, "int32" },
	{ OF_TYPE("float8e5m2") "(assert (<= X[0] 1.0))", 2, "float8e5m2" },
	{ OF_TYPE("foo") "(assert (<= (+ X[0] 1.0) 1.0))", 2, "'foo'" },
	{ "(vnnlib-version <2.1>)\n(declare-network f (declare-input X real [1] initialized) (declare-output Y real [1]))(assert "
	  "(<= X[0] 1.0))",
	  2, "'initialized'" },
	{ HEAD "(declare-network f (declare-input A float32 [1]) (declare-output B float32 [1]))" ONE, 6,
	  "two networks are named 'f'" },
};

START_TEST(is_beyond)
{
	struct bpg_query *q;
	const char *text = beyond[_i].text;
	ck_assert_msg(!check_bytes(text, strlen(text), &q), "%s\n%s", bpg_ctx_message(ctx), text);
	ck_assert_msg(q->note && q->note_line == beyond[_i].line && strstr(q->note, beyond[_i].note), "note in line %d: %s\n%s",
	              (int)q->note_line, q->note, text);
	ck_assert_int_eq(bpg_query_supported(ctx, q), BPG_EUNSUPPORTED);
	check_message(beyond[_i].line, beyond[_i].note, text);
	bpg_query_close(q);
}
END_TEST

/* Terms whose product is linear after all, and numbers no double holds, are found while the normal form is made. */
START_TEST(refused_while_read)
{
	static const struct { const char *text, *message; } cases[] = {
		{ HEAD "(assert (<= (* X[0,0] Y[0,1]) 1.0))", "product of variables" },
		{ HEAD "(assert (<= X[0,0] 1%s.0))", "outside the range" },
	};
	char zeros[401], text[2000];
	memset(zeros, '0', 400);
	zeros[400] = 0;
	for (size_t k = 0; k < BPG_LEN(cases); k++) {
		struct bpg_query *q;
		struct bpg_query_spec said;
		snprintf(text, sizeof text, cases[k].text, zeros);
		write_file(text, strlen(text));
		ck_assert_int_eq(bpg_query_open(ctx, path, &q), BPG_OK);
		ck_assert_int_eq(bpg_query_read(ctx, q, &said), BPG_EUNSUPPORTED);
		check_message(6, cases[k].message, text);
		bpg_query_close(q);
	}
	struct bpg_query *q;
	struct bpg_query_spec said;
	const char *linear = HEAD "(assert (<= (* (- X[0,0] X[0,0]) Y[0,1]) 1.0))";
	write_file(linear, strlen(linear));
	ck_assert_int_eq(bpg_query_open(ctx, path, &q), BPG_OK);
	ck_assert_int_eq(bpg_query_read(ctx, q, &said), BPG_OK);
	bpg_spec_free(said.spec);
	bpg_query_close(q);
}
END_TEST

/* ---- declarations ---- */

/* Numbers of inputs and outputs run through all networks; hidden tensors stand behind the outputs of theirs. */
START_TEST(numbering)
{
	static const struct { const char *name; enum bpg_query_side side; int64_t n, first, line;
	} want[] = {
		{ "X", BPG_QUERY_INPUT, 6, 0, 3 },  { "Z", BPG_QUERY_INPUT, 1, 6, 3 }, { "H", BPG_QUERY_HIDDEN, 4, 5, 4 },
		{ "Y", BPG_QUERY_OUTPUT, 5, 0, 5 }, { "A", BPG_QUERY_INPUT, 6, 7, 7 }, { "B", BPG_QUERY_INPUT, 1, 13, 7 },
		{ "C", BPG_QUERY_OUTPUT, 5, 9, 8 },
	};
	const char *text = VERSION "(declare-network f\n(declare-input X float32 [2,3]) (declare-input Z float32 "
	                           "[])\n(declare-hidden H float32 [4] \"inner\")\n"
	                           "(declare-output Y float32 [1,5]))\n(declare-network g (equal-to f)\n(declare-input A float32 "
	                           "[2,3]) (declare-input B float32 [])\n"
	                           "(declare-output C float32 [1,5]))\n(assert (<= X[0,0] 1.0))";
	struct bpg_query *q;
	ck_assert_msg(!check_bytes(text, strlen(text), &q), "%s", bpg_ctx_message(ctx));
	ck_assert_int_eq(q->networks, 2);
	ck_assert_int_eq(q->variables, (int)BPG_LEN(want));
	ck_assert(q->inputs == 14 && q->outputs == 14);
	for (size_t i = 0; i < BPG_LEN(want); i++) {
		const struct bpg_query_variable *v = &q->variable[i];
		ck_assert_msg(!strcmp(v->name, want[i].name) && v->side == want[i].side && v->n == want[i].n &&
		                      v->first == want[i].first && v->line == want[i].line,
		              "%s: %d, %d elements from %d, line %d", v->name, (int)v->side, (int)v->n, (int)v->first,
		              (int)v->line);
	}
	ck_assert_str_eq(q->variable[2].tensor, "inner");
	ck_assert(q->network[1].base == 0 && q->network[1].equal && q->network[0].base == -1);
	bpg_query_close(q);
}
END_TEST

/* ---- meaning, against integers at points ---- */

enum { POINTS = 64, IN = 6, OUT = 4, ROOM = 1 << 16 };

/* Two networks of three inputs and two outputs; a text is written together with its truth at 64 points. */
struct maker {
	struct bpg_rng rng;
	char text[ROOM];
	size_t n;
	int64_t x[POINTS][IN], y[POINTS][OUT];
};

static int draw(struct maker *m, int n) { return (int)(bpg_rng_next(&m->rng) % (uint64_t)n); }

static void say(struct maker *m, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	m->n += (size_t)vsnprintf(m->text + m->n, ROOM - m->n, format, ap);
	va_end(ap);
	ck_assert_uint_lt(m->n, ROOM);
}

static void say_element(struct maker *m, int var, int64_t to[POINTS])
{
	static const char *const names[] = { "X[0,0]", "X[0,1]", "X[0,2]", "A[0,0]", "A[0,1]",
		                             "A[0,2]", "Y[0,0]", "Y[0,1]", "B[0,0]", "B[0,1]" };
	say(m, " %s", names[var]);
	for (int p = 0; p < POINTS; p++)
		to[p] = var < IN ? m->x[p][var] : m->y[p][var - IN];
}

static void say_number(struct maker *m, int64_t k, int64_t to[POINTS])
{
	say(m, " %d.0", (int)k);
	for (int p = 0; p < POINTS; p++)
		to[p] = k;
}

/* A linear term. */
static void say_term(struct maker *m, int depth, int64_t to[POINTS])
{
	int64_t part[POINTS];
	int kind = draw(m, depth > 0 ? 6 : 3), operands = 1 + draw(m, 3);
	if (kind < 2) {
		say_element(m, draw(m, IN + OUT), to);
	} else if (kind == 2) {
		say_number(m, draw(m, 9) - 4, to);
	} else if (kind == 3) {
		int64_t c = draw(m, 7) - 3;
		say(m, " (* %d.0", (int)c);
		say_term(m, depth - 1, to);
		say(m, ")");
		for (int p = 0; p < POINTS; p++)
			to[p] *= c;
	} else {
		say(m, kind == 4 ? " (+" : " (-");
		say_term(m, depth - 1, to);
		for (int p = 0; p < POINTS && kind == 5 && operands == 1; p++)
			to[p] = -to[p];
		for (int k = 1; k < operands; k++) {
			say_term(m, depth - 1, part);
			for (int p = 0; p < POINTS; p++)
				to[p] += kind == 4 ? part[p] : -part[p];
		}
		say(m, ")");
	}
}

static uint64_t say_comparison(struct maker *m)
{
	static const char *const words[] = { "<=", "<", ">=", ">", "==", "!=" };
	int64_t a[POINTS], b[POINTS];
	int op = draw(m, 6);
	uint64_t truth = 0;
	say(m, " (%s", words[op]);
	say_term(m, 2, a);
	say_term(m, 1, b);
	say(m, ")");
	for (int p = 0; p < POINTS; p++) {
		bool t = op == 0   ? a[p] <= b[p]
		         : op == 1 ? a[p] < b[p]
		         : op == 2 ? a[p] >= b[p]
		         : op == 3 ? a[p] > b[p]
		         : op == 4 ? a[p] == b[p]
		                   : a[p] != b[p];
		truth |= (uint64_t)t << p;
	}
	return truth;
}

static uint64_t say_condition(struct maker *m, int depth)
{
	if (!depth || draw(m, 3) == 0)
		return say_comparison(m);
	bool and = draw(m, 2);
	uint64_t truth = and ? UINT64_MAX : 0;
	say(m, and ? " (and" : " (or");
	for (int k = 1 + draw(m, 3); k > 0; k--) {
		uint64_t one = say_condition(m, depth - 1);
		truth = and ? truth & one : truth | one;
	}
	say(m, ")");
	return truth;
}

/* Inputs are small so that equations between them hold often. */
static uint64_t say_query(struct maker *m, uint64_t seed)
{
	uint64_t truth = UINT64_MAX;
	int64_t a[POINTS], b[POINTS];
	bpg_rng_seed(&m->rng, seed);
	m->n = 0;
	for (int p = 0; p < POINTS; p++) {
		for (int i = 0; i < IN; i++)
			m->x[p][i] = draw(m, 3) - 1;
		for (int i = 0; i < OUT; i++)
			m->y[p][i] = draw(m, 9) - 4;
	}
	say(m, HEAD SECOND("(isomorphic-to f)", "float32"));
	for (int k = draw(m, 4); k > 0; k--) {
		say(m, "(assert (==");
		say_element(m, draw(m, IN), a);
		say_element(m, draw(m, IN), b);
		say(m, "))\n");
		for (int p = 0; p < POINTS; p++)
			if (a[p] != b[p])
				truth &= ~((uint64_t)1 << p);
	}
	for (int k = 1 + draw(m, 3); k > 0; k--) {
		say(m, "(assert");
		truth &= say_condition(m, 3);
		say(m, ")\n");
	}
	return truth;
}

/* Does the normal form hold at point p? */
static bool holds(const struct maker *m, const struct bpg_query_spec *said, int p)
{
	double x[IN], y[OUT + IN];
	for (int i = 0; i < IN; i++) {
		if (said->same && m->x[p][i] != m->x[p][said->same[i]])
			return false;
		x[said->to[i]] = (double)m->x[p][i];
		y[OUT + i] = (double)m->x[p][i];
	}
	for (int i = 0; i < OUT; i++)
		y[i] = (double)m->y[p][i];
	return bpg_spec_holds(said->spec, x, y, y);
}

START_TEST(meaning)
{
	struct maker *m = malloc(sizeof *m);
	int merged = 0, related = 0, both = 0;
	ck_assert_ptr_nonnull(m);
	for (uint64_t seed = 1; seed <= 3000; seed++) {
		uint64_t truth = say_query(m, seed);
		struct bpg_query *q;
		struct bpg_query_spec said;
		write_file(m->text, m->n);
		ck_assert_msg(!bpg_query_open(ctx, path, &q), "%s", bpg_ctx_message(ctx));
		ck_assert_msg(!bpg_query_read(ctx, q, &said), "seed %d: %s\n%s", (int)seed, bpg_ctx_message(ctx), m->text);
		for (int p = 0; p < POINTS; p++)
			ck_assert_msg(holds(m, &said, p) == (bool)(truth >> p & 1),
			              "seed %d: at point %d the normal form is %d\n%s", (int)seed, p, (int)holds(m, &said, p),
			              m->text);
		merged += said.same != NULL;
		related += said.related;
		both += truth && ~truth;
		bpg_spec_free(said.spec);
		bpg_query_close(q);
	}
	free(m);
	ck_assert_msg(merged > 1000 && related > 1000 && both > 1000, "%d merged, %d related, %d neither true nor false", merged,
	              related, both);
}
END_TEST

/* ---- hostile texts ---- */

static const char rich[] =
        "; rich\n" VERSION NET
        "(declare-network g (equal-to f) (declare-input A float32 [1,3])\n (declare-hidden H float32 [2] \"in\\\"ner\")"
        " (declare-output B float32 [1,2]))\n(assert (== A[0,1] X[0,1]))(assert (and (>= X[0,0] -1.5) (<= (- X[0,0]) 2.25)))\n"
        "(assert (or (and (<= Y[0,0] (* 2.0 (+ B[0,1] 0.1 -3.0))) (> X[0,2] 0.25))\n  (!= (- H[0] X[0,0] 1.0) Y[0,1])))\n";

static void try_bytes(const void *data, size_t n)
{
	struct bpg_query *q;
	struct bpg_query_spec said;
	if (check_bytes(data, n, &q))
		check_message(0, "", data);
	bpg_query_close(q);
	if (bpg_query_open(ctx, path, &q))
		return;
	if (q->inputs < 100 && !bpg_query_read(ctx, q, &said))
		bpg_spec_free(said.spec);
	bpg_query_close(q);
}

/* Cut anywhere, or with wrong bytes anywhere: read or refused, with a line. */
START_TEST(damaged_text)
{
	static const char bytes[] = "() ;\"-0.e[],X\n\001\377<>=!+*\\";
	struct bpg_rng rng;
	char copy[sizeof rich];
	struct bpg_query *q;
	ck_assert_msg(!check_bytes(rich, sizeof rich - 1, &q), "%s", bpg_ctx_message(ctx));
	bpg_query_close(q);
	for (size_t n = 0; n <= sizeof rich; n++)
		try_bytes(rich, n);
	bpg_rng_seed(&rng, 7);
	for (int k = 0; k < 5000; k++) {
		memcpy(copy, rich, sizeof rich);
		for (int i = 0; i <= k % 3; i++)
			copy[bpg_rng_next(&rng) % (sizeof rich - 1)] = bytes[bpg_rng_next(&rng) % sizeof bytes];
		try_bytes(copy, sizeof rich - 1);
	}
}
END_TEST

static char *repeat(const char *head, const char *unit, int times, const char *middle, const char *end, const char *tail)
{
	size_t n = strlen(head) + (strlen(unit) + strlen(end)) * (size_t)times + strlen(middle) + strlen(tail) + 1,
	       u = strlen(unit), e = strlen(end);
	char *s = malloc(n), *at = s;
	ck_assert_ptr_nonnull(s);
	at = stpcpy(at, head);
	for (int i = 0; i < times; i++, at += u)
		memcpy(at, unit, u);
	at = stpcpy(at, middle);
	for (int i = 0; i < times; i++, at += e)
		memcpy(at, end, e);
	strcpy(at, tail);
	return s;
}

/* A million brackets inside each other are a matter of memory, not of the stack. */
static const struct { const char *unit, *middle, *end; bool closed; } deep[] = {
	{ "(and ", "(<= X[0,0] 1.0)", ")", true },
	{ "(or ", "(<= Y[0,0] 1.0)", ")", true },
	{ "(and (or ", "(<= Y[0,0] 1.0)", "))", true },
	{ "(<= X[0,0] (- ", "1.0", "))", false },
	{ "(and ", "", "", false },
	{ "(", "", "", false },
	{ "(or (and ", "(<= X[0,0]", "", false },
};

START_TEST(depth)
{
	char *text = repeat(HEAD "(assert ", deep[_i].unit, 1000000, deep[_i].middle, deep[_i].end, ")");
	struct bpg_query *q;
	struct bpg_query_spec said;
	enum bpg_status st = check_bytes(text, strlen(text), &q);
	ck_assert_int_eq(st == BPG_OK, deep[_i].closed);
	if (st)
		check_message(6, "", deep[_i].unit);
	bpg_query_close(q);
	ck_assert_int_eq(bpg_query_open(ctx, path, &q), BPG_OK);
	st = bpg_query_read(ctx, q, &said);
	ck_assert_int_eq(st == BPG_OK, deep[_i].closed);
	if (!st)
		ck_assert_int_eq(said.spec->disjuncts, 1);
	bpg_spec_free(said.spec);
	bpg_query_close(q);
	free(text);
}
END_TEST

START_TEST(deep_terms)
{
	char *text = repeat(HEAD "(assert (<= ", "(- ", 1000001, "Y[0,0]", ")", " 1.0))");
	struct bpg_query *q;
	struct bpg_query_spec said;
	write_file(text, strlen(text));
	ck_assert_int_eq(bpg_query_open(ctx, path, &q), BPG_OK);
	ck_assert_msg(!bpg_query_read(ctx, q, &said), "%s", bpg_ctx_message(ctx));
	ck_assert(said.spec->disjunct[0].row[0].coef[0] == -1);
	bpg_spec_free(said.spec);
	bpg_query_close(q);
	free(text);
}
END_TEST

static const struct { const char *head, *unit; int times; const char *tail, *message;
} excess[] = {
	{ HEAD "(assert (<= X[0,0] 1.", "1", 1100000, "))", "more than a million characters" },
	{ HEAD "(assert (<= X", "a", 1100000, " 1.0))", "more than a million characters" },
	{ VERSION "(declare-network f (declare-input X float32 [1]) (declare-hidden H float32 [1] \"", "h", 1100000, "\")",
	  "more than a million characters" },
	{ VERSION "(declare-network f (declare-input X float32 [", "1,", 1000000, "1])", "more than 8 sizes" },
	{ HEAD, "(assert (or (<= Y[0,0] 1.0) (<= Y[0,0] 2.0)))", 40, "", "multiply out to more than 2097152 disjuncts" },
	{ HEAD, "(assert (!= Y[0,0] 1.0))", 40, "", "multiply out to more than 2097152 disjuncts" },
};

START_TEST(limits)
{
	char *text = repeat(excess[_i].head, excess[_i].unit, excess[_i].times, excess[_i].tail, "", "");
	struct bpg_query *q;
	struct bpg_query_spec said;
	write_file(text, strlen(text));
	enum bpg_status st = bpg_query_open(ctx, path, &q);
	if (!st)
		st = bpg_query_read(ctx, q, &said);
	ck_assert_int_ne(st, BPG_OK);
	check_message(0, excess[_i].message, excess[_i].head);
	bpg_query_close(q);
	free(text);
}
END_TEST

/* Thousands of names, each found. */
START_TEST(many_names)
{
	enum { NAMES = 20000 };
	char *text = malloc(NAMES * 120 + 1000), *at = text;
	struct bpg_query *q;
	ck_assert_ptr_nonnull(text);
	at += sprintf(at, VERSION "(declare-network f");
	for (int i = 0; i < NAMES; i++)
		at += sprintf(at, "(declare-input v%d float32 [2])", i);
	at += sprintf(at, "(declare-output Y float32 [1]))");
	for (int i = 0; i < NAMES; i++)
		at += sprintf(at, "(assert (<= v%d[1] 1.0))", i);
	ck_assert_msg(!check_bytes(text, (size_t)(at - text), &q), "%s", bpg_ctx_message(ctx));
	ck_assert_int_eq(q->inputs, 2 * NAMES);
	bpg_query_close(q);
	free(text);
}
END_TEST

/* ---- networks that become one ---- */

/* Two inputs [1,3] and [1,2], two outputs; one of them is a reshape of an inner tensor. */
static struct bpg_net *small_net(uint64_t seed)
{
	struct build b;
	struct bpg_net *net;
	build_start(&b, seed);
	int x = build_vector(&b, 3), z = build_vector(&b, 2);
	int h = build_unary(&b, "Relu", build_dense(&b, build_concat(&b, x, z, 1), 4, NULL, NULL));
	int g = build_unary(&b, "Sigmoid", build_dense(&b, z, 4, NULL, NULL));
	build_output(&b, build_dense(&b, build_join(&b, "Add", h, g), 2, NULL, NULL));
	build_output(&b, h);
	ck_assert_msg(!build_net(&b, ctx, &net), "%s", bpg_ctx_message(ctx));
	return net;
}

enum { EACH_IN = 5, EACH_OUT = 6 };

/* Partitions of 10 inputs of two networks, or of one with itself: numbers of the least equal one. */
static const int64_t partitions[][2 * EACH_IN] = {
	{ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 },
	{ 0, 1, 2, 3, 4, 0, 1, 2, 3, 4 },   /* all the same */
	{ 0, 1, 2, 3, 4, 0, 1, 2, 8, 9 },   /* one tensor shared */
	{ 0, 1, 2, 3, 4, 0, 6, 2, 3, 9 },   /* elements */
	{ 0, 1, 2, 3, 4, 2, 1, 0, 4, 3 },   /* another order */
	{ 0, 0, 2, 2, 4, 0, 2, 4, 4, 4 },   /* inside a tensor, and across tensors */
	{ 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 },
	{ 0, 1, 2, 0, 1, 5, 6, 7, 8, 6 },
};

static void check_joined(const struct bpg_net *joined, const struct bpg_net *const *net, const int64_t *same, bool pass,
                         struct bpg_rng *rng)
{
	double raw[2 * EACH_IN], x[2 * EACH_IN], y[2 * (EACH_OUT + EACH_IN)], want[EACH_OUT];
	float raw32[2 * EACH_IN], x32[2 * EACH_IN], y32[2 * (EACH_OUT + EACH_IN)], want32[EACH_OUT];
	int64_t n = 0;
	for (int i = 0; i < 2 * EACH_IN; i++) {
		if (same[i] == i) {
			raw[i] = raw32[i] = (float)(4 * bpg_rng_uniform(rng) - 2);
			x[n] = raw[i];
			x32[n++] = raw32[i];
		}
		raw[i] = raw[same[i]];
		raw32[i] = raw32[same[i]];
	}
	ck_assert_int_eq(joined->in_count, n);
	ck_assert_int_eq(joined->out_count, 2 * (EACH_OUT + (pass ? EACH_IN : 0)));
	ck_assert_msg(!bpg_net_output(ctx, joined, x, y) && !bpg_net_output_f32(ctx, joined, x32, y32), "%s",
	              bpg_ctx_message(ctx));
	for (int p = 0; p < 2; p++) {
		ck_assert_int_eq(bpg_net_output(ctx, net[p], raw + p * EACH_IN, want), BPG_OK);
		ck_assert_int_eq(bpg_net_output_f32(ctx, net[p], raw32 + p * EACH_IN, want32), BPG_OK);
		for (int i = 0; i < EACH_OUT; i++)
			ck_assert_msg(y[p * EACH_OUT + i] == want[i] && y32[p * EACH_OUT + i] == want32[i],
			              "part %d, output %d: %g, not %g", p, i, y[p * EACH_OUT + i], want[i]);
	}
	for (int i = 0; pass && i < 2 * EACH_IN; i++)
		ck_assert_msg(y[2 * EACH_OUT + i] == raw[i], "input %d passed as %g, not %g", i, y[2 * EACH_OUT + i], raw[i]);
}

START_TEST(joined)
{
	const int64_t *same = partitions[_i];
	struct bpg_net *a = small_net(1), *b = small_net(2);
	struct bpg_rng rng;
	bpg_rng_seed(&rng, 5);
	for (int twice = 0; twice < 2; twice++)
		for (int pass = 0; pass < 2; pass++) {
			const struct bpg_net *const net[] = { a, twice ? a : b };
			const struct bpg_net_part part[] = { { net[0], "f" }, { net[1], "g" } };
			struct bpg_net *both;
			ck_assert_msg(!bpg_net_join(ctx, 2, part, same, pass, &both), "%s", bpg_ctx_message(ctx));
			for (int k = 0; k < 20; k++)
				check_joined(both, net, same, pass, &rng);
			if (twice && _i == 1)
				ck_assert_msg(both->nodes == a->nodes, "%d nodes for twice the same network, %d for one",
				              both->nodes, a->nodes);
			ck_assert(both->parameters == a->parameters + (twice ? 0 : b->parameters));
			bpg_net_free(both);
		}
	bpg_net_free(b);
	bpg_net_free(a);
}
END_TEST

/* Names of tensors say which part they belong to. */
START_TEST(joined_names)
{
	struct bpg_net *a = small_net(1), *both;
	const struct bpg_net_part part[] = { { a, "f" }, { a, "g" } };
	ck_assert_int_eq(bpg_net_join(ctx, 2, part, NULL, false, &both), BPG_OK);
	for (int i = 0; i < both->nodes; i++)
		ck_assert_msg(!strncmp(both->node[i].tensor, "f:", 2) || !strncmp(both->node[i].tensor, "g:", 2), "%s",
		              both->node[i].tensor);
	ck_assert_int_eq(both->nodes, 2 * a->nodes);
	bpg_net_free(both);
	bpg_net_free(a);
}
END_TEST

/* ---- what a query asks of a file ---- */

/* Y = Relu(X W), X [N,2]. */
static void write_open_net(void)
{
	static const float w[] = { 1, -2, 2, 0.5f };   /* [1,2] to [5,-1], [-2,1] to [0,4.5] */
	const int64_t two[] = { 2, 2 }, open[] = { -1, 2 };
	struct ow g = { 0 };
	ow_add_input(&g, "X", 2, open);
	ow_add_output(&g, "Y", 2, open);
	ow_add_tensor(&g, ow_floats("w", 2, two, w));
	ow_add_node(&g, ow_node("MatMul", "", "X w", "product"));
	ow_add_node(&g, ow_node("Relu", "", "product", "Y"));
	struct ow model = ow_model(&g, 13);
	ow_write(path, model.data, model.n);
	ow_free(&model);
}

START_TEST(wishes)
{
	static const double x[] = { 1, 2, -2, 1 }, y[] = { 5, 0, 0, 4.5, 5, -1, 0, 4.5, 1, 2, -2, 1 };
	static const char *const hidden[] = { "product", "X" };
	const struct bpg_shape three = { .rank = 2, .dim = { 2, 2 } };
	struct bpg_net_wish wish = { .inputs = 1, .shape = &three, .tensors = 2, .tensor = hidden };
	struct bpg_net *net;
	double got[12];
	write_open_net();
	ck_assert_msg(!bpg_net_open_as(ctx, path, &wish, &net), "%s", bpg_ctx_message(ctx));
	ck_assert(net->in_count == 4 && net->outputs == 3 && net->out_count == 12);
	for (int k = 0; k < 3; k++)
		ck_assert(bpg_shape_equal(&net->out_shape[k], &three));
	ck_assert(net->in_type[0] == OW_FLOAT && net->out_type[0] == OW_FLOAT && net->out_type[1] == 0);
	ck_assert_int_eq(bpg_net_output(ctx, net, x, got), BPG_OK);
	for (int i = 0; i < 12; i++)
		ck_assert_msg(got[i] == y[i], "output %d is %g, not %g", i, got[i], y[i]);
	bpg_net_free(net);
	wish.tensor = (const char *const[]){ "product", "nowhere" };
	ck_assert_int_eq(bpg_net_open_as(ctx, path, &wish, &net), BPG_EFILE);
	ck_assert_msg(strstr(bpg_ctx_message(ctx), "'nowhere'") != NULL, "%s", bpg_ctx_message(ctx));
	ck_assert_int_eq(bpg_net_open_as(ctx, path, NULL, &net), BPG_OK);
	ck_assert(net->in_count == 2 && net->outputs == 1);
	bpg_net_free(net);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("query");
	TCase *t = tcase_create("query");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 300);
	tcase_add_loop_test(t, is_a_query, 0, (int)BPG_LEN(accepted));
	tcase_add_loop_test(t, is_no_query, 0, (int)BPG_LEN(refused));
	tcase_add_loop_test(t, is_beyond, 0, (int)BPG_LEN(beyond));
	tcase_add_test(t, refused_while_read);
	tcase_add_test(t, numbering);
	tcase_add_test(t, meaning);
	tcase_add_test(t, damaged_text);
	tcase_add_loop_test(t, depth, 0, (int)BPG_LEN(deep));
	tcase_add_test(t, deep_terms);
	tcase_add_loop_test(t, limits, 0, (int)BPG_LEN(excess));
	tcase_add_test(t, many_names);
	tcase_add_loop_test(t, joined, 0, (int)BPG_LEN(partitions));
	tcase_add_test(t, joined_names);
	tcase_add_test(t, wishes);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
