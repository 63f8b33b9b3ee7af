/* test_spec.c - properties, decimals, arrays of numbers, regions: against tables and against a small evaluator over
 * rational numbers that shares nothing with the reader. */
#include <check.h>
#include <fenv.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

#include "spec/region.h"
#include "spec/spec.h"

/* ---- files ---- */

static char path[64];
static struct bpg_ctx *ctx;

static void setup(void)
{
	snprintf(path, sizeof path, "/tmp/bpg_test_spec_XXXXXX");
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

static enum bpg_status read_text(const char *text, int64_t in, int64_t out, struct bpg_spec **spec)
{
	write_file(text, strlen(text));
	return bpg_vnnlib_read(ctx, path, in, out, spec);
}

static void check_message(const char *wanted, const char *text)
{
	const char *m = bpg_ctx_message(ctx);
	ck_assert_msg(strstr(m, wanted) != NULL, "'%s' is not in the message '%s' of\n%s", wanted, m, text);
	ck_assert_msg(!strchr(m, '\n'), "more than one line: %s", m);
}

/* A message with the name of the file and a line. */
static void check_line(const char *what)
{
	const char *m = bpg_ctx_message(ctx);
	size_t n = strlen(path);
	ck_assert_msg(!strncmp(m, path, n) && m[n] == ':' && m[n + 1] >= '0' && m[n + 1] <= '9', "no line in '%s' (%s)", m,
	              what);
	ck_assert_msg(!strchr(m, '\n'), "more than one line: %s", m);
}

/* ---- normal forms ---- */

#define DECLARE "(declare-const X_0 Real)(declare-const X_1 Real)(declare-const Y_0 Real)(declare-const Y_1 Real)\n"

/* Box without ends left out, rows as `coef*Y_i ... offset <= 0`; one disjunct after the other. */
static void print_spec(const struct bpg_spec *s, char *to, size_t room)
{
	size_t n = 0;
	to[0] = 0;
	for (int64_t i = 0; i < s->disjuncts; i++) {
		const struct bpg_disjunct *d = &s->disjunct[i];
		n += (size_t)snprintf(to + n, room - n, "%s{", i ? " " : "");
		for (int64_t k = 0; k < d->box->n; k++) {
			if (isinf(d->box->lo[k]) && isinf(d->box->up[k]))
				continue;
			n += (size_t)snprintf(to + n, room - n, " X_%d[%g,%g]", (int)k, d->box->lo[k], d->box->up[k]);
		}
		for (int r = 0; r < d->rows; r++) {
			const struct bpg_row *row = &d->row[r];
			n += (size_t)snprintf(to + n, room - n, " |");
			for (int t = 0; t < row->n; t++)
				n += (size_t)snprintf(to + n, room - n, "%+gY_%d", row->coef[t], (int)row->index[t]);
			n += (size_t)snprintf(to + n, room - n, "%+g%s0", row->offset, row->strict ? "<" : "<=");
		}
		n += (size_t)snprintf(to + n, room - n, " }");
	}
}

static const struct { const char *text, *form; } forms[] = {
	{ "(assert (<= X_0 1))(assert (>= X_0 -1))(assert (<= Y_0 Y_1))", "{ X_0[-1,1] |+1Y_0-1Y_1+0<=0 }" },
	{ "(assert (<= -1 X_0))(assert (>= 1 X_0))(assert (> 2 Y_1))", "{ X_0[-1,1] |+1Y_1-2<0 }" },
	{ "(assert (or (<= Y_0 1) (>= Y_1 2)))", "{ |+1Y_0-1<=0 } { |-1Y_1+2<=0 }" },
	{ "(assert (or (and (<= Y_0 1) (< Y_1 3)) (and (>= Y_1 2))))", "{ |+1Y_0-1<=0 |+1Y_1-3<0 } { |-1Y_1+2<=0 }" },
	/* several disjunctions multiply out; what comes later holds in every disjunct */
	{ "(assert (or (<= Y_0 1) (<= Y_0 2)))(assert (or (<= Y_1 3) (<= Y_1 4)))(assert (<= Y_0 5))",
	  "{ |+1Y_0-5<=0 |+1Y_0-1<=0 |+1Y_1-3<=0 } { |+1Y_0-5<=0 |+1Y_0-1<=0 |+1Y_1-4<=0 } "
	  "{ |+1Y_0-5<=0 |+1Y_0-2<=0 |+1Y_1-3<=0 } { |+1Y_0-5<=0 |+1Y_0-2<=0 |+1Y_1-4<=0 }" },
	/* bounds of a disjunct are its own */
	{ "(assert (or (and (>= X_0 1) (<= Y_0 0)) (and (<= X_1 2) (<= X_0 9))))(assert (<= X_0 7))(assert (>= X_0 -7))",
	  "{ X_0[1,7] |+1Y_0+0<=0 } { X_0[-7,7] X_1[-inf,2] }" },
	{ "(assert (and (or (and (>= X_0 1) (or (<= X_1 1) (<= X_1 2))) (>= X_0 3)) (<= X_0 5)))",
	  "{ X_0[1,5] X_1[-inf,1] } { X_0[1,5] X_1[-inf,2] } { X_0[3,5] }" },
	{ "(assert (or (or (<= Y_0 1)) (or (or (<= Y_0 2) (<= Y_0 3)))))", "{ |+1Y_0-1<=0 } { |+1Y_0-2<=0 } { |+1Y_0-3<=0 }" },
	{ "(assert (or (<= Y_0 1)))", "{ |+1Y_0-1<=0 }" },
	{ "(assert (= X_0 2))(assert (= Y_0 Y_1))", "{ X_0[2,2] |+1Y_0-1Y_1+0<=0 |-1Y_0+1Y_1+0<=0 }" },
	{ "(assert (or (= Y_0 1) (= Y_0 2)))", "{ |+1Y_0-1<=0 |-1Y_0+1<=0 } { |+1Y_0-2<=0 |-1Y_0+2<=0 }" },
	{ "(assert (<= -1 X_0 1))(assert (< Y_0 Y_1 3))", "{ X_0[-1,1] |+1Y_0-1Y_1+0<0 |+1Y_1-3<0 }" },
	{ "(assert (>= 1 X_0 -1))(assert (= 3 X_1 3))", "{ X_0[-1,1] X_1[3,3] }" },
	/* disjuncts of one box follow each other */
	{ "(assert (or (and (<= X_0 1) (<= Y_0 1)) (<= Y_0 2) (and (>= X_1 0) (<= Y_0 3)) (and (<= X_0 1) (<= Y_0 4)) (<= Y_0 5)"
	  " (and (>= X_1 0) (<= Y_0 6)) (and (<= X_0 1) (>= X_1 0))))",
	  "{ X_0[-inf,1] |+1Y_0-1<=0 } { X_0[-inf,1] |+1Y_0-4<=0 } { |+1Y_0-2<=0 } { |+1Y_0-5<=0 } { X_1[0,inf] |+1Y_0-3<=0 } "
	  "{ X_1[0,inf] |+1Y_0-6<=0 } { X_0[-inf,1] X_1[0,inf] }" },
	/* linear terms */
	{ "(assert (<= (+ X_0 1) 3))(assert (>= (* (- 2) X_0) (- 8)))(assert (<= (* 0 X_0) 1000))(assert (>= (- X_0 1) 1))",
	 "{ X_0[2,2] }" },
	{ "(assert (<= (- (* 2 Y_0) (* Y_1 3) (- 4)) (+ Y_0 1 Y_1)))", "{ |+1Y_0-4Y_1+3<=0 }" },
	{ "(assert (<= (* 2 (- (+ Y_0 Y_1) (* 3 (- Y_1)))) 0))", "{ |+2Y_0+8Y_1+0<=0 }" },
	{ "(assert (<= (- Y_0 Y_0) Y_1))", "{ |-1Y_1+0<=0 }" },
	{ "(assert (<= (/ X_0 4 2) 1))(assert (>= (/ 1 2) (* -1 X_1)))", "{ X_0[-inf,8] X_1[-0.5,inf] }" },
	{ "(assert (<= (- X_0 X_0) X_1))", "{ X_1[0,inf] }" },
	/* constants only */
	{ "(assert (<= 1 2))(assert (<= Y_0 0))", "{ |+1Y_0+0<=0 }" },
	{ "(assert (<= 2 1))(assert (<= Y_0 0))", "" },
	{ "(assert (or (< 1 1) (<= Y_0 0) false))", "{ |+1Y_0+0<=0 }" },
	{ "(assert (or (<= Y_0 0) (and true (<= 1 1))))", "{ |+1Y_0+0<=0 } { }" },
	{ "(assert true)", "{ }" },
	/* empty boxes are kept: refuted by their bounds */
	{ "(assert (<= X_0 1))(assert (>= X_0 2))", "{ X_0[2,1] }" },
	/* layout */
	{ "; note (with brackets)\r\n(assert(<=\r\n X_0 ; here\r\n 1.0E+00))(assert\t(and(<= Y_0 +.5)(>= Y_1 5.)))",
	 "{ X_0[-inf,1] |+1Y_0-0.5<=0 |-1Y_1+5<=0 }" },
	{ "(set-logic QF_LRA)(set-info :source |x| \"(\")(assert (<= Y_0 1))(check-sat)", "{ |+1Y_0-1<=0 }" },
};

/* Every text has the normal form that is written beside it. */
START_TEST(normal_forms)
{
	struct bpg_spec *s;
	char text[1024], form[2048];
	snprintf(text, sizeof text, "%s%s", DECLARE, forms[_i].text);
	enum bpg_status st = read_text(text, 2, 2, &s);
	ck_assert_msg(st == BPG_OK, "%s\n%s", bpg_ctx_message(ctx), text);
	print_spec(s, form, sizeof form);
	ck_assert_msg(!strcmp(form, forms[_i].form), "%s\ngave  %s\nnot   %s", forms[_i].text, form, forms[_i].form);
	bpg_spec_free(s);
}
END_TEST

static const struct { enum bpg_status st; const char *text, *message; } refused[] = {
	{ BPG_EFILE, "(assert (>= Y_0 ))", ":2: '>=' needs two operands, it has one" },
	{ BPG_EFILE, "\n(assert (<= ))", ":3: '<=' needs two operands, it has none" },
	{ BPG_EFILE, "(assert (and ))", ":2: 'and' needs an operand" },
	{ BPG_EFILE, "(assert (or))", ":2: 'or' needs an operand" },
	{ BPG_EFILE, "(assert )", ":2: 'assert' needs an operand" },
	{ BPG_EFILE, "(assert (<= Y_0 1) (<= Y_1 1))", ":2: assert takes one condition" },
	{ BPG_EFILE, "(assert (<= Y_0 (+)))", ":2: '+' needs an operand" },
	{ BPG_EFILE, "(assert (<= Y_0 (/ 1)))", ":2: '/' needs two operands" },
	{ BPG_EFILE, "(assert (<= Y_0 Z))", ":2: 'Z' is neither a variable X_i or Y_i nor a number" },
	{ BPG_EFILE, "(assert (<= Y_0 1.5.2))", ":2: '1.5.2' is neither" },
	{ BPG_EFILE, "(assert (<= Y_0 nan))", ":2: 'nan' is neither" },
	{ BPG_EFILE, "(assert (<= Y_0 0x10))", ":2: '0x10' is neither" },
	{ BPG_EFILE, "(assert (<= Y_0 X_2))", ":2: 'X_2' is not declared" },
	{ BPG_EFILE, "(assert (<= Y_00 1))", ":2: 'Y_00' is neither" },
	{ BPG_EFILE, "(assert Y_0)", ":2: a condition belongs here, not 'Y_0'" },
	{ BPG_EFILE, "(assert (+ Y_0 1))", ":2: '+' makes a number, but a condition belongs here" },
	{ BPG_EFILE, "(assert (<= Y_0 (and 1 2)))", ":2: 'and' makes a condition, but a number belongs here" },
	{ BPG_EFILE, "(assert ((<= Y_0 1)))", ":2: an operator belongs after '('" },
	{ BPG_EFILE, "(assert (<= Y_0 1)", ":2: the file ends before the bracket opened in line 2 is closed" },
	{ BPG_EFILE, "(assert (<= Y_0 1)))", ":2: a ')' that closes nothing" },
	{ BPG_EFILE, "(assert (<= Y_0 1)) garbage", ":2: 'garbage' outside of brackets" },
	{ BPG_EFILE, "(assert (<= Y_0 \"1\"))", ":2: a string" },
	{ BPG_EFILE, "(assert (<= Y_0 \"1))", ":2: a string without its closing quote" },
	{ BPG_EFILE, "(assert (<= Y_0 \001))", ":2: a control character" },
	{ BPG_EFILE, "()", ":2: a command belongs after '('" },
	{ BPG_EFILE, "", "no assertion" },
	{ BPG_EUNSUPPORTED, "(assert (xor (<= Y_0 1) (<= Y_1 1)))", ":2: operator 'xor' is not supported" },
	{ BPG_EUNSUPPORTED, "(assert (not (<= Y_0 1)))", ":2: operator 'not' is not supported" },
	{ BPG_EUNSUPPORTED, "(declare-sort X_1 2)", ":2: command 'declare-sort' is not supported" },
	{ BPG_EUNSUPPORTED, "(vnnlib-version <2.0>)", ":2: 'vnnlib-version': this is a VNN-LIB 2 query" },
	{ BPG_EUNSUPPORTED, "(assert (<= (* Y_0 Y_1) 1))", ":2: a product of variables" },
	{ BPG_EUNSUPPORTED, "(assert (<= (/ 1 Y_1) 1))", ":2: a division by a variable" },
	{ BPG_EUNSUPPORTED, "(assert (<= (/ Y_1 0) 1))", ":2: a division by zero" },
	{ BPG_EUNSUPPORTED, "(assert (<= X_0 X_1))", ":2: a relation between inputs X_0 and X_1 is not supported" },
	{ BPG_EUNSUPPORTED, "(assert (or (<= Y_0 1)\n(<= Y_1 (* 2 X_1))))",
	 ":3: a relation between input X_1 and output Y_1 is not supported" },
	{ BPG_EUNSUPPORTED, "(assert (<= X_0 1e400))", ":2: number '1e400' is outside the range" },
	{ BPG_EUNSUPPORTED, "(assert (<= (* 1e300 Y_0 1e300) 1))", ":2: a number in this comparison is outside the range" },
	{ BPG_EUNSUPPORTED, "(assert (<= (* 1e-300 X_0) 1e300))", ":2: the bound of input X_0 is outside the range" },
	{ BPG_EUNSUPPORTED, "(assert (<= (- (* 0.3 X_0) (* 0.1 X_0) (* 0.1 X_0) (* 0.1 X_0)) 1))",
	 ":2: the coefficients of input X_0 cancel" },
	{ BPG_EUNSUPPORTED, "(declare-const Z_0 Real)", ":2: variable 'Z_0'" },
	{ BPG_EUNSUPPORTED, "(declare-const X_01 Real)", ":2: variable 'X_01'" },
	{ BPG_EUNSUPPORTED, "(declare-const X_2 Int)", ":2: type 'Int': variables must be Real" },
	{ BPG_EUNSUPPORTED, "(declare-fun X_2 (Real) Real)", ":2: a function with arguments" },
	{ BPG_EFILE, "(declare-const X_1 Real)", ":2: 'X_1' is declared twice" },
	{ BPG_EFILE, "(declare-const X_2)", ":2: a declaration without a type" },
	{ BPG_EFILE, "(declare-const)", ":2: a declaration without a name" },
	{ BPG_EFILE, "(declare-const X_2 Real 3)", ":2: the declaration should end here" },
	{ BPG_EFILE, "(declare-const X_2 Real)(assert (<= Y_0 1))",
	 ":2: the property declares 3 inputs (X_i), the network has 2" },
	{ BPG_EFILE, "(declare-const Y_2 Real)\n\n", ":2: the property declares 3 outputs (Y_i), the network has 2" },
};

/* What is wrong or not supported is refused, with the line and the names of the file. */
START_TEST(messages)
{
	struct bpg_spec *s;
	char text[1024];
	snprintf(text, sizeof text, "%s%s", DECLARE, refused[_i].text);
	enum bpg_status st = read_text(text, 2, 2, &s);
	ck_assert_msg(st == refused[_i].st, "status %d, '%s' for\n%s", st, bpg_ctx_message(ctx), text);
	ck_assert_ptr_null(s);
	check_message(refused[_i].message, text);
	check_line(text);
}
END_TEST

/* Counts must be those of the network: both are named. */
START_TEST(counts)
{
	struct bpg_spec *s;
	ck_assert_int_eq(read_text(DECLARE "(assert (<= Y_0 1))", 3, 2, &s), BPG_EFILE);
	check_message(":1: the property declares 2 inputs (X_i), the network has 3", DECLARE);
	ck_assert_int_eq(read_text(DECLARE "(assert (<= Y_0 1))", 2, 1, &s), BPG_EFILE);
	check_message(":1: the property declares 2 outputs (Y_i), the network has 1", DECLARE);
	ck_assert_int_eq(read_text("(declare-const X_0 Real)\n(declare-const X_2 Real)(assert (<= X_0 1))", 2, 0, &s),
	                 BPG_EFILE);
	check_message(":2: X_1 is not declared", "");
	ck_assert_int_eq(bpg_vnnlib_read(ctx, "/nonexistent/file", 1, 1, &s), BPG_EFILE);
	check_message("/nonexistent/file: ", "");
	ck_assert_int_eq(bpg_vnnlib_read(ctx, "/", 1, 1, &s), BPG_EFILE);
}
END_TEST

/* Decimals grow outward for proofs and inward for witnesses; strict bounds exclude their end for witnesses. */
START_TEST(rounding)
{
	struct bpg_spec *s;
	const char *text = DECLARE "(assert (<= 0.1 X_0 0.3))(assert (< 0.5 X_1 0.75))(assert (<= (* 0.1 Y_0) (+ 0.1 0.2)))";
	ck_assert_int_eq(read_text(text, 2, 2, &s), BPG_OK);
	const struct bpg_box *b = s->disjunct[0].box;
	/* 0.1 lies below its double, 0.3 above */
	ck_assert(b->lo[0] == nextafter(0.1, 0) && b->in_lo[0] == 0.1);
	ck_assert(b->lo[0] < b->in_lo[0] && b->in_up[0] < b->up[0] && nextafter(b->in_up[0], 1) == b->up[0]);
	ck_assert(b->lo[1] == 0.5 && b->in_lo[1] == nextafter(0.5, 1) && b->up[1] == 0.75 && b->in_up[1] == nextafter(0.75, 0));
	const struct bpg_row *r = &s->disjunct[0].row[0];
	ck_assert(r->coef[0] == 0.1 && r->coef_err[0] > 0 && r->coef_err[0] < 2e-17);
	ck_assert(fabs(r->offset + 0.3) < 1e-16 && r->offset_err > 0 && r->offset_err < 2e-16);
	bpg_spec_free(s);
	/* The output reaches the threshold exactly. */
	ck_assert_int_eq(read_text(DECLARE "(assert (>= Y_0 0))", 2, 2, &s), BPG_OK);
	double x[2] = { 0 }, y[2] = { -0.0, 5 }, below[2] = { -5e-324, 5 };
	ck_assert(bpg_spec_holds(s, x, y, y));
	ck_assert(!bpg_spec_holds(s, x, below, y));
	y[0] = NAN;
	ck_assert(!bpg_spec_holds(s, x, y, y));
	bpg_spec_free(s);
}
END_TEST

/* Disjuncts that do not tighten the whole box share it, equal boxes are shared, too. */
START_TEST(shared_boxes)
{
	struct bpg_spec *s;
	const char *text = DECLARE "(assert (<= 0 X_0 1))(assert (or (<= Y_0 1) (and (<= X_0 2) (<= Y_0 2))"
	                   "(and (<= X_1 1) (<= Y_0 3)) (and (<= Y_0 4) (<= X_1 1)) (<= Y_1 4)))";
	ck_assert_int_eq(read_text(text, 2, 2, &s), BPG_OK);
	ck_assert_int_eq(s->disjuncts, 5);
	const struct bpg_disjunct *d = s->disjunct;
	ck_assert(d[0].box == d[1].box && d[0].box == d[2].box && d[3].box == d[4].box && d[0].box != d[3].box);
	ck_assert(d[3].box->up[1] == 1 && d[3].box->up[0] == 1 && d[0].box->up[1] == INFINITY);
	bpg_spec_free(s);
}
END_TEST

/* ---- random properties against rational arithmetic ---- */

struct rational { int64_t n, d; };    /* d > 0 */

static int64_t gcd(int64_t a, int64_t b)
{
	a = a < 0 ? -a : a;
	while (b) {
		int64_t t = a % b;
		a = b;
		b = t;
	}
	return a ? a : 1;
}

static struct rational make(int64_t n, int64_t d)
{
	int64_t g = gcd(n, d);
	return (struct rational){ n / g, d / g };
}

static struct rational radd(struct rational a, struct rational b) { return make(a.n * b.d + b.n * a.d, a.d * b.d); }
static struct rational rmul(struct rational a, struct rational b) { return make(a.n * b.n, a.d * b.d); }
static struct rational rneg(struct rational a) { return make(-a.n, a.d); }
static bool rless(struct rational a, struct rational b) { return a.n * b.d < b.n * a.d; }

enum { NUMBER, VARIABLE, PLUS, MINUS, TIMES, LE, LT, GE, GT, EQ, AND, OR };

struct tree { int kind, kids, kid[3], var; struct rational value; };

enum { IN = 2, OUT = 3 };

struct maker {
	struct bpg_rng rng;
	struct tree tree[400];
	int n;
	char text[8192];
	size_t len;
};

static int64_t draw(struct maker *m, int64_t lo,
                    int64_t up) { return lo + (int64_t)(bpg_rng_next(&m->rng) % (uint64_t)(up - lo + 1)); }

static int node(struct maker *m, int kind)
{
	ck_assert_int_lt(m->n, (int)BPG_LEN(m->tree));
	m->tree[m->n] = (struct tree){ .kind = kind };
	return m->n++;
}

static int make_number(struct maker *m)
{
	int t = node(m, NUMBER);
	/* eighths, or tenths, which no double holds */
	m->tree[t].value = draw(m, 0, 1) ? make(draw(m, -16, 16), 8) : make(draw(m, -20, 20), 10);
	return t;
}

static void give(struct maker *m, int t, int kid) { m->tree[t].kid[m->tree[t].kids++] = kid; }

static int make_output_term(struct maker *m, int depth)
{
	int t, k = (int)draw(m, 0, depth > 0 ? 5 : 1);
	if (k == 0)
		return make_number(m);
	if (k <= 2) {
		t = node(m, VARIABLE);
		m->tree[t].var = IN + (int)draw(m, 0, OUT - 1);
		return t;
	}
	t = node(m, k == 3 ? PLUS : k == 4 ? MINUS : TIMES);
	if (k == 5) {
		int a = make_number(m), b = make_output_term(m, depth - 1);
		bool turn = draw(m, 0, 1);
		give(m, t, turn ? b : a);
		give(m, t, turn ? a : b);
		return t;
	}
	for (int i = (int)draw(m, 1, 3); i > 0; i--)
		give(m, t, make_output_term(m, depth - 1));
	return t;
}

/* c * X or X, against a number. */
static int make_input_atom(struct maker *m)
{
	int t = node(m, (int)draw(m, LE, EQ)), x = node(m, VARIABLE);
	m->tree[x].var = (int)draw(m, 0, IN - 1);
	if (draw(m, 0, 2) == 0) {
		int p = node(m, TIMES), c = make_number(m);
		if (!m->tree[c].value.n)
			m->tree[c].value = make(-3, 10);
		give(m, p, c);
		give(m, p, x);
		x = p;
	}
	int c = make_number(m);
	bool turn = draw(m, 0, 1);
	give(m, t, turn ? c : x);
	give(m, t, turn ? x : c);
	return t;
}

static int make_condition(struct maker *m, int depth)
{
	if (depth > 0 && draw(m, 0, 2)) {
		int t = node(m, draw(m, 0, 1) ? AND : OR);
		for (int i = (int)draw(m, 1, 3); i > 0; i--)
			give(m, t, make_condition(m, depth - 1));
		return t;
	}
	if (draw(m, 0, 1))
		return make_input_atom(m);
	int t = node(m, (int)draw(m, LE, EQ));
	for (int i = draw(m, 0, 5) ? 2 : 3; i > 0; i--)
		give(m, t, make_output_term(m, 2));
	return t;
}

static void put(struct maker *m, const char *s)
{
	static const char *const gaps[] = { " ", "  ", "\n", "\t", " ; x)\n", "\r\n" };
	const char *gap = gaps[draw(m, 0, 9) ? 0 : draw(m, 0, 5)];
	m->len += (size_t)snprintf(m->text + m->len, sizeof m->text - m->len, "%s%s", s, gap);
	ck_assert_uint_lt(m->len, sizeof m->text);
}

static void put_number(struct maker *m, struct rational v)
{
	char s[64];
	/* eighths and tenths have at most three places */
	int64_t k = v.n * (1000 / v.d), a = k < 0 ? -k : k;
	const char *sign = k < 0 ? "-" : "";
	switch (draw(m, 0, 3)) {
	case 0: snprintf(s, sizeof s, "%s%" PRId64 "e-3", sign, a); break;
	case 1: snprintf(s, sizeof s, k < 0 ? "(- %s%" PRId64 ".%03" PRId64 ")" : "%s%" PRId64 ".%03" PRId64, "", a / 1000,
	                 a % 1000); break;
	case 2: snprintf(s, sizeof s, "%s0.%06" PRId64 "E+3", sign, a); break;
	default: snprintf(s, sizeof s, "%s%" PRId64 ".%03" PRId64, sign, a / 1000, a % 1000);
	}
	put(m, s);
}

static void put_tree(struct maker *m, int t)
{
	static const char *const ops[] = { "", "", "(+", "(-", "(*", "(<=", "(<", "(>=", "(>", "(=", "(and", "(or" };
	const struct tree *v = &m->tree[t];
	char s[16];
	if (v->kind == NUMBER) {
		put_number(m, v->value);
	} else if (v->kind == VARIABLE) {
		snprintf(s, sizeof s, "%c_%d", v->var < IN ? 'X' : 'Y', v->var < IN ? v->var : v->var - IN);
		put(m, s);
	} else {
		put(m, ops[v->kind]);
		for (int i = 0; i < v->kids; i++)
			put_tree(m, v->kid[i]);
		put(m, ")");
	}
}

static struct rational value(const struct maker *m, int t, const struct rational *at)
{
	const struct tree *v = &m->tree[t];
	if (v->kind == NUMBER)
		return v->value;
	if (v->kind == VARIABLE)
		return at[v->var];
	struct rational r = value(m, v->kid[0], at);
	if (v->kind == MINUS && v->kids == 1)
		return rneg(r);
	for (int i = 1; i < v->kids; i++) {
		struct rational k = value(m, v->kid[i], at);
		r = v->kind == TIMES ? rmul(r, k) : radd(r, v->kind == MINUS ? rneg(k) : k);
	}
	return r;
}

/* Truth; `margin`: every comparison must hold with room, so that no rounding can hide it. */
static bool truth(const struct maker *m, int t, const struct rational *at, bool margin)
{
	const struct tree *v = &m->tree[t];
	if (v->kind == AND || v->kind == OR) {
		for (int i = 0; i < v->kids; i++)
			if (truth(m, v->kid[i], at, margin) != (v->kind == AND))
				return v->kind == OR;
		return v->kind == AND;
	}
	for (int i = 0; i + 1 < v->kids; i++) {
		struct rational a = value(m, v->kid[i], at), b = value(m, v->kid[i + 1], at);
		bool l = rless(a, b), g = rless(b, a), ok;
		switch (v->kind) {
		case LE: ok = margin ? l : !g; break;
		case LT: ok = l; break;
		case GE: ok = margin ? g : !l; break;
		case GT: ok = g; break;
		default: ok = !l && !g && !margin;
		}
		if (!ok)
			return false;
	}
	return true;
}

/* Could the normal form hold, with everything that proofs grant? In long double: its rounding is far below the errors
 * that the rows state. */
static bool may_hold(const struct bpg_spec *s, const double *x, const double *y)
{
	for (int64_t i = 0; i < s->disjuncts; i++) {
		const struct bpg_disjunct *d = &s->disjunct[i];
		bool ok = true;
		for (int64_t k = 0; k < d->box->n; k++)
			ok &= x[k] >= d->box->lo[k] && x[k] <= d->box->up[k];
		for (int r = 0; r < d->rows; r++) {
			const struct bpg_row *row = &d->row[r];
			long double least = (long double)row->offset - row->offset_err, size = fabsl(least);
			for (int t = 0; t < row->n; t++) {
				long double v = y[row->index[t]];
				least += row->coef[t] * v - row->coef_err[t] * fabsl(v);
				size += fabsl(row->coef[t] * v);
			}
			ok &= least <= size * 0x1p-60L;
		}
		if (ok)
			return true;
	}
	return false;
}

/* Where the property holds, the normal form may hold (else a proof could be wrong); where bpg_spec_holds says yes the
 * property holds (else a witness could be wrong); and it says yes wherever the property holds with room. */
START_TEST(random_properties)
{
	struct maker *m = calloc(1, sizeof *m);
	int yes = 0;
	for (uint64_t seed = 1; seed <= 600; seed++) {
		bpg_rng_seed(&m->rng, seed);
		m->n = 0;
		m->len = 0;
		for (int i = 0; i < IN + OUT; i++)
			m->len += (size_t)sprintf(m->text + m->len, "(declare-const %c_%d Real)\n", i < IN ? 'X' : 'Y', i < IN
			                          ? i : i - IN);
		int asserts = (int)draw(m, 1, 3), root[3];
		for (int i = 0; i < asserts; i++) {
			put(m, "(assert");
			put_tree(m, root[i] = make_condition(m, 3));
			put(m, ")");
		}
		struct bpg_spec *s;
		enum bpg_status st = read_text(m->text, IN, OUT, &s);
		ck_assert_msg(st == BPG_OK, "seed %d: %s\n%s", (int)seed, bpg_ctx_message(ctx), m->text);
		for (int k = 0; k < 100; k++) {
			struct rational at[IN + OUT];
			double x[IN + OUT];
			for (int i = 0; i < IN + OUT; i++) {
				at[i] = make(draw(m, -24, 24), 8);
				x[i] = (double)at[i].n / (double)at[i].d;
			}
			bool exact = true, roomy = true, says = bpg_spec_holds(s, x, x + IN, x + IN);
			for (int i = 0; i < asserts; i++) {
				exact = exact && truth(m, root[i], at, false);
				roomy = roomy && truth(m, root[i], at, true);
			}
			yes += says;
			ck_assert_msg(!says || exact, "seed %d: holds where it should not\n%s", (int)seed, m->text);
			ck_assert_msg(!roomy || says, "seed %d: should hold\n%s", (int)seed, m->text);
			ck_assert_msg(!exact || may_hold(s, x, x + IN), "seed %d: a proof could be wrong\n%s", (int)seed,
			              m->text);
		}
		bpg_spec_free(s);
	}
	ck_assert_int_gt(yes, 1000);
	free(m);
}
END_TEST

/* ---- hostile files ---- */

static const char rich[] =
	"; rich\n(declare-const X_0 Real)(declare-fun X_1 () Real)\n(declare-const Y_0 Real)\n(declare-const Y_1 Real)\n"
	"(set-info :a \"b\")\n(assert (<= X_0 1.5e-3)) (assert (and (>= X_0 -1) (<= (- 2) X_1 2)))\n"
	"(assert (or (and (<= Y_0 (* 2 (+ Y_1 0.1 (- 3)))) (> X_0 0.25))\n  (and (>= Y_0 Y_1) (or (< Y_1 1) (= Y_1 (/ 5 2))))))\n"
	"(assert (or (<= Y_0 1) (<= Y_1 (* 3 Y_0))))\n";

static void try_bytes(const char *text, size_t n)
{
	struct bpg_spec *s;
	write_file(text, n);
	if (bpg_vnnlib_read(ctx, path, 2, 2, &s) == BPG_OK)
		bpg_spec_free(s);
	else
		check_line(text);
}

/* A file cut anywhere or with a wrong byte anywhere is read or refused with its line. */
START_TEST(damaged_text)
{
	static const char bytes[] = "() ;\"-0.eX_Y\n\001\377<+";
	struct bpg_rng rng;
	char copy[sizeof rich];
	struct bpg_spec *s;
	ck_assert_int_eq(read_text(rich, 2, 2, &s), BPG_OK);
	ck_assert_int_eq(s->disjuncts, 6);
	bpg_spec_free(s);
	for (size_t n = 0; n < sizeof rich; n++)
		try_bytes(rich, n);
	bpg_rng_seed(&rng, 7);
	for (int k = 0; k < 3000; k++) {
		memcpy(copy, rich, sizeof rich);
		for (int i = 0; i <= k % 3; i++)
			copy[bpg_rng_next(&rng) % (sizeof rich - 1)] = bytes[bpg_rng_next(&rng) % (sizeof bytes)];
		try_bytes(copy, sizeof rich - 1);
	}
}
END_TEST

static char *repeat(const char *head, const char *unit, int times, const char *tail)
{
	char *s = malloc(strlen(head) + strlen(unit) * (size_t)times + strlen(tail) + 1), *at = s;
	ck_assert_ptr_nonnull(s);
	at += sprintf(at, "%s", head);
	for (int i = 0; i < times; i++)
		at += sprintf(at, "%s", unit);
	strcpy(at, tail);
	return s;
}

static const struct { const char *head, *unit; int times; const char *tail, *message; } excess[] = {
	{ DECLARE "(assert ", "(and ", 100000, "", "more than 256 brackets" },
	{ DECLARE "(assert ", "(or (and ", 100000, "", "more than 256 brackets" },
	{ DECLARE "(assert (<= Y_0 ", "(- ", 100000, "1", "more than 256 brackets" },
	{ DECLARE, "(", 100000, "", "a command belongs" },
	{ DECLARE "(set-info ", "(", 100000, "", "the file ends" },
	{ DECLARE "(assert (<= Y_0 ", "1", 1100000, "))", "more than a million characters" },
	{ DECLARE, "(assert (or (<= Y_0 1) (<= Y_0 2)))", 40, "", "multiply out to more than 2097152 disjuncts" },
	/* 81 disjuncts of a million rows */
	{ DECLARE "(assert (or (<= Y_0 1) (and true", "(<= Y_0 1)", 1000000, ")))(assert (or (<= Y_0 1) (<= Y_0 2) (<= Y_0 3)))"
	  "(assert (or (<= Y_0 1) (<= Y_0 2) (<= Y_0 3)))(assert (or (<= Y_0 1) (<= Y_0 2) (<= Y_0 3)))"
	  "(assert (or (<= Y_0 1) (<= Y_0 2) (<= Y_0 3)))", "more than 16777216 conditions" },
};

/* Depth, length and size have limits that say what they are. */
START_TEST(limits)
{
	struct bpg_spec *s;
	char *text = repeat(excess[_i].head, excess[_i].unit, excess[_i].times, excess[_i].tail);
	ck_assert_int_ne(read_text(text, 2, 2, &s), BPG_OK);
	check_message(excess[_i].message, excess[_i].head);
	check_line(excess[_i].head);
	free(text);
}
END_TEST

/* Long inputs that are fine: digits, a flat sum, a wide disjunction. */
START_TEST(long_but_right)
{
	struct bpg_spec *s;
	char *text = repeat(DECLARE "(assert (<= Y_0 0.", "3", 100000, "))");
	ck_assert_int_eq(read_text(text, 2, 2, &s), BPG_OK);
	ck_assert(s->disjunct[0].row[0].offset == -1. / 3);
	bpg_spec_free(s);
	free(text);
	text = repeat(DECLARE "(assert (<= (+ 0 ", "Y_0 ", 100000, ") Y_1))");
	ck_assert_int_eq(read_text(text, 2, 2, &s), BPG_OK);
	ck_assert(s->disjunct[0].row[0].n == 2 && s->disjunct[0].row[0].coef[0] == 100000
	          && s->disjunct[0].row[0].coef_err[0] == 0);
	bpg_spec_free(s);
	free(text);
	text = repeat(DECLARE "(assert (or ", "(and (<= X_0 1)(>= X_0 0.5)(<= Y_0 Y_1))\n", 50000, "))(assert (<= X_1 1))");
	ck_assert_int_eq(read_text(text, 2, 2, &s), BPG_OK);
	ck_assert_int_eq(s->disjuncts, 50000);
	ck_assert(s->disjunct[0].box == s->disjunct[49999].box && s->disjunct[49999].row[0].line == 50001);
	bpg_spec_free(s);
	free(text);
}
END_TEST

static size_t compress_rich(unsigned char *to, size_t room)
{
	z_stream z = { 0 };
	ck_assert_int_eq(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = (unsigned char *)(uintptr_t)rich;
	z.avail_in = sizeof rich - 1;
	z.next_out = to;
	z.avail_out = (uInt)room;
	ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
	size_t n = room - z.avail_out;
	deflateEnd(&z);
	return n;
}

/* Compressed files: read; cut anywhere, flipped anywhere that matters, or followed by something: refused. */
START_TEST(gzip)
{
	unsigned char data[2 * sizeof rich + 100], copy[sizeof data];
	struct bpg_spec *s;
	size_t n = compress_rich(data, sizeof rich + 50);
	write_file(data, n);
	ck_assert_int_eq(bpg_vnnlib_read(ctx, path, 2, 2, &s), BPG_OK);
	ck_assert_int_eq(s->disjuncts, 6);
	bpg_spec_free(s);
	for (size_t k = 2; k < n; k++) {
		write_file(data, k);
		ck_assert_int_eq(bpg_vnnlib_read(ctx, path, 2, 2, &s), BPG_EFILE);
	}
	/* Bytes 4 to 9 of the header are a date and hints. */
	for (size_t k = 10; k < n; k++) {
		memcpy(copy, data, n);
		copy[k] ^= 0x10;
		write_file(copy, n);
		ck_assert_msg(bpg_vnnlib_read(ctx, path, 2, 2, &s) != BPG_OK, "byte %d", (int)k);
	}
	memcpy(copy, data, n);
	copy[n] = 'x';
	write_file(copy, n + 1);
	ck_assert_int_eq(bpg_vnnlib_read(ctx, path, 2, 2, &s), BPG_EFILE);
	check_message("damaged gzip data", "");
	/* Two members are one text: here everything is declared twice. */
	memcpy(copy + n, data, n);
	write_file(copy, 2 * n);
	ck_assert_int_eq(bpg_vnnlib_read(ctx, path, 2, 2, &s), BPG_EFILE);
	check_message("declared twice", "");
}
END_TEST

/* ---- decimals ---- */

static const struct { const char *text; double nearest, lo, up; } decimals[] = {
	{ "0", 0, 0, 0 }, { "-0.000e5", 0, 0, 0 }, { "1", 1, 1, 1 }, { "+1.5", 1.5, 1.5, 1.5 }, { ".5", .5, .5, .5 }, { "5.", 5,
		5, 5 },
	{ "-2.5e-1", -.25, -.25, -.25 }, { "1E+02", 100, 100, 100 }, { "0.1", 0.1, 0x1.9999999999999p-4, 0.1 },
	{ "-0.1", -0.1, -0.1, -0x1.9999999999999p-4 }, { "9007199254740993", 9007199254740992., 9007199254740992.,
	                                                9007199254740994. },
	{ "1e22", 1e22, 1e22, 1e22 }, { "1e23", 1e23, 0x1.52d02c7e14af6p+76, 0x1.52d02c7e14af7p+76 },
	{ "1e400", INFINITY, 0x1.fffffffffffffp+1023, INFINITY }, { "-1e999999999999999999999", -INFINITY, -INFINITY,
	                                                           -0x1.fffffffffffffp+1023 },
	{ "1e-400", 0, 0, 0x1p-1074 }, { "-1e-99999999999999999999", 0, -0x1p-1074, 0 },
	{ "0.1000000000000000055511151231257827021181583404541015625", 0.1, 0.1, 0.1 },
	{ "0.10000000000000000555111512312578270211815834045410156250000000000000000000000001", 0.1, 0.1,
	 0x1.999999999999bp-4 },
	{ "0.30000000000000004", 0x1.3333333333334p-2, 0x1.3333333333333p-2, 0x1.3333333333334p-2 },
};

START_TEST(decimal_table)
{
	double v, lo, up;
	ck_assert(bpg_decimal(decimals[_i].text, &v, &lo, &up));
	ck_assert_msg(v == decimals[_i].nearest && lo == decimals[_i].lo && up == decimals[_i].up, "%s: %a [%a, %a]",
	              decimals[_i].text, v, lo, up);
}
END_TEST

START_TEST(decimal_refused)
{
	static const char *const bad[] = { "", "-", "+", ".", "e5", "-.e1", "1e", "1e+", "1 ", " 1", "1x", "0x1p3", "nan",
	                                  "inf", "-infinity", "1,5",
		"1.5.2", "--1", "1e5.0", "1_000", "\xd9\xa1" };
	double v, lo, up;
	for (size_t i = 0; i < BPG_LEN(bad); i++)
		ck_assert_msg(!bpg_decimal(bad[i], &v, &lo, &up), "'%s'", bad[i]);
}
END_TEST

static double in_mode(const char *s, int mode)
{
	fesetround(mode);
	double v = strtod(s, NULL);
	fesetround(FE_TONEAREST);
	return v;
}

/* Random decimals: the same as the C library in the three rounding modes, also under a locale with a decimal comma; the
 * rounding mode is left as it was. */
START_TEST(decimal_random)
{
	struct bpg_rng rng;
	char s[64];
	bpg_rng_seed(&rng, 11);
	for (int i = 0; i < 60000; i++) {
		uint64_t m = bpg_rng_next(&rng) >> (bpg_rng_next(&rng) % 64);
		int places = (int)(bpg_rng_next(&rng) % 26);
		const char *sign = bpg_rng_next(&rng) % 2 ? "-" : "";
		if (i % 3 == 0)
			snprintf(s, sizeof s, "%s%" PRIu64 "e-%d", sign, m, places);
		else if (i % 3 == 1)
			snprintf(s, sizeof s, "%s%.*g", sign, 1 + places % 17, ldexp((double)m, -64));
		else
			snprintf(s, sizeof s, "%s%" PRIu64 ".%0*" PRIu64, sign, m >> 40, 1 + places, m & 0xfffff);
		double v, lo, up;
		double want_lo = in_mode(s, FE_DOWNWARD), want_up = in_mode(s, FE_UPWARD), want = strtod(s, NULL);
		if (setlocale(LC_NUMERIC, "de_DE.UTF-8") == NULL)
			setlocale(LC_NUMERIC, "fr_FR.UTF-8");
		ck_assert(bpg_decimal(s, &v, &lo, &up));
		setlocale(LC_NUMERIC, "C");
		ck_assert_msg(v == want && lo == want_lo && up == want_up, "%s: %a [%a, %a], not %a [%a, %a]", s, v, lo, up,
		              want, want_lo, want_up);
		ck_assert_int_eq(fegetround(), FE_TONEAREST);
	}
}
END_TEST

/* ---- arrays of numbers ---- */

static void write_npy(int major, const char *header, const void *data, size_t bytes)
{
	unsigned char file[1024] = "\x93NUMPY";
	size_t n = strlen(header), at = 8;
	file[6] = (unsigned char)major;
	for (size_t k = 0; k < (major > 1 ? 4 : 2); k++)
		file[at++] = (unsigned char)(n >> (8 * k));
	memcpy(file + at, header, n);
	memcpy(file + at + n, data, bytes);
	write_file(file, at + n + bytes);
}

#define NPY(descr, shape) "{'descr': '" descr "', 'fortran_order': False, 'shape': " shape ", }    \n"

static void check_numbers(int64_t n, const double *wanted)
{
	int64_t count;
	double *v, *lo, *up;
	ck_assert_msg(bpg_numbers_read(ctx, path, n, &count, &v, &lo, &up) == BPG_OK, "%s", bpg_ctx_message(ctx));
	ck_assert_int_eq(count, n);
	for (int64_t i = 0; i < n; i++)
		ck_assert(v[i] == wanted[i] && lo[i] <= v[i] && up[i] >= v[i] && (lo[i] == up[i] || up[i] - lo[i] <= 1e-15));
	free(v);
	free(lo);
	free(up);
	ck_assert_int_eq(bpg_numbers_read(ctx, path, -1, &count, &v, NULL, NULL), BPG_OK);
	free(v);
	ck_assert_int_eq(bpg_numbers_read(ctx, path, n + 1, &count, &v, NULL, NULL), BPG_EFILE);
	ck_assert_int_eq(bpg_numbers_read(ctx, path, n - 1, &count, &v, NULL, NULL), BPG_EFILE);
}

START_TEST(npy)
{
	const float f[6] = { 1, -2.5f, 3, 4, 5, INFINITY };
	const double d[6] = { 1, -2.5, 3, 4, 5, INFINITY };
	const int32_t w[6] = { 1, -2, 3, 4, 5, -2147483647 };
	const double wd[6] = { 1, -2, 3, 4, 5, -2147483647 };
	const uint8_t b[6] = { 1, 254, 3, 4, 5, 0 };
	const double bd[6] = { 1, 254, 3, 4, 5, 0 };
	write_npy(1, NPY("<f4", "(2, 3)"), f, sizeof f);
	check_numbers(6, d);
	write_npy(2, NPY("<f8", "(6,)"), d, sizeof d);
	check_numbers(6, d);
	write_npy(3, NPY("<i4", "(1, 6)"), w, sizeof w);
	check_numbers(6, wd);
	write_npy(1, NPY("|u1", "(6, 1, 1)"), b, sizeof b);
	check_numbers(6, bd);
	write_npy(1, NPY("<f8", "()"), d, sizeof *d);
	check_numbers(1, d);
	write_npy(1, "{'shape': (3,), 'fortran_order': True, 'descr': '<f8'}\n", d, 3 * sizeof *d);
	check_numbers(3, d);
}
END_TEST

static const struct { int major; const char *header; size_t bytes; const char *message; } bad_npy[] = {
	{ 1, NPY("<f8", "(6,)"), 47, "it is cut off" }, { 1, NPY("<f8", "(6,)"), 49, "something follows" },
	{ 4, NPY("<f8", "(6,)"), 48, "version 4" }, { 1, NPY(">f8", "(6,)"), 48, "type '>f8'" }, { 1, NPY("<c8", "(6,)"), 48,
		"type '<c8'" },
	{ 1, NPY("<f8", "(6"), 48, "shape" }, { 1, NPY("<f8", "(-6,)"), 48, "shape" }, { 1,
		NPY("<f8", "(4294967296, 4294967296)"), 48, "shape" },
	{ 1, NPY("<f8", "(99999999999999999999,)"), 48, "shape" }, { 1, NPY("<f8", "(8000000000,)"), 48, "it is cut off" },
	{ 1, "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3)}", 48, "Fortran order" },
	{ 1, "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (6,)}", 48, "type 'structure'" },
	{ 1, "{'fortran_order': False, 'shape': (6,)}", 48, "no descr" }, { 1, "", 0, "no descr" },
	{ 1, NPY("<i8", "(6,)"), 48, "beyond 2^53" },
};

START_TEST(npy_refused)
{
	const double d[7] = { 1, 2, 3, 4, 5, 6, 7 };
	int64_t count;
	double *v;
	write_npy(bad_npy[_i].major, bad_npy[_i].header, d, bad_npy[_i].bytes);
	ck_assert_int_ne(bpg_numbers_read(ctx, path, -1, &count, &v, NULL, NULL), BPG_OK);
	check_message(bad_npy[_i].message, bad_npy[_i].header);
}
END_TEST

START_TEST(npy_nan)
{
	const double d[2] = { 1, NAN };
	int64_t count;
	double *v;
	write_npy(1, NPY("<f8", "(2,)"), d, sizeof d);
	ck_assert_int_eq(bpg_numbers_read(ctx, path, 2, &count, &v, NULL, NULL), BPG_EFILE);
	check_message("element 1 is NaN", "");
	for (size_t n = 1; n < 60; n++) {
		write_npy(1, NPY("<f8", "(2,)"), d, 8);
		ck_assert_int_eq(truncate(path, (off_t)n), 0);
		ck_assert_int_ne(bpg_numbers_read(ctx, path, 2, &count, &v, NULL, NULL), BPG_OK);
	}
}
END_TEST

START_TEST(text_numbers)
{
	const double wanted[5] = { 1, -2.5, 0.1, 4e-3, 5 };
	static const char *const good[] = { "1 -2.5 0.1 4e-3 5", "1,-2.5, 0.1\n4e-3,\n5\n",
	                                   "# note, here\r\n\t1\r\n-2.5\r\n.1\r\n0.004 # more\r\n5,", "1\n-2.5\n0.1\n4E-3\n+5." };
	static const struct { const char *text, *message; } bad[] = {
		{ "1 2 x", ":1: 'x' is not a number" }, { "1\n2\nnan", ":3: 'nan' is not a number" }, { "1,,2",
			":1: no number before a comma" },
		{ ",1", ":1: no number before a comma" }, { "1 1e999", ":1: '1e999' is outside the range" }, { "1;2",
			":1: '1;2' is not" },
	};
	int64_t count;
	double *v;
	for (size_t i = 0; i < BPG_LEN(good); i++) {
		write_file(good[i], strlen(good[i]));
		check_numbers(5, wanted);
	}
	for (size_t i = 0; i < BPG_LEN(bad); i++) {
		write_file(bad[i].text, strlen(bad[i].text));
		ck_assert_int_eq(bpg_numbers_read(ctx, path, -1, &count, &v, NULL, NULL), BPG_EFILE);
		check_message(bad[i].message, bad[i].text);
	}
	write_file("1 2\n3", 5);
	ck_assert_int_eq(bpg_numbers_read(ctx, path, 2, &count, &v, NULL, NULL), BPG_EFILE);
	check_message(":2: more than the 2 numbers", "");
	write_file("\0\0", 2);
	ck_assert_int_eq(bpg_numbers_read(ctx, path, -1, &count, &v, NULL, NULL), BPG_EFILE);
}
END_TEST

/* ---- regions ---- */

START_TEST(regions)
{
	struct bpg_region *r;
	double c[3] = { 0.5, 0.1, 2 }, c_lo[3] = { 0.5, nextafter(0.1, 0), 2 }, c_up[3] = { 0.5, 0.1, 2 };
	struct bpg_numbers center = { "c.txt", 3, c, c_lo, c_up };
	ck_assert_int_eq(bpg_region_ball(ctx, BPG_NORM_INF, 3, &center, 0.25, NULL, &r), BPG_OK);
	/* exact sums stay exact */
	ck_assert(r->lo[0] == 0.25 && r->up[0] == 0.75 && r->lo[2] == 1.75 && r->up[2] == 2.25 && !r->ball
	          && r->center[1] == 0.1);
	ck_assert(r->lo[1] <= 0.1L - 0.25L && r->up[1] >= 0.1L + 0.25L && r->up[1] - r->lo[1] < 0.5 + 1e-15);
	bpg_region_free(r);
	const double clip[2] = { 0.4, 1.9 };
	ck_assert_int_eq(bpg_region_ball(ctx, BPG_NORM_2, 3, &center, 0.5, clip, &r), BPG_OK);
	ck_assert(r->ball && r->norm == BPG_NORM_2 && r->radius > 0.5 && r->radius < 0.5 + 1e-15);
	ck_assert(r->lo[0] == 0.4 && r->up[0] == 1 && r->lo[1] == 0.4 && r->up[2] == 1.9);
	bpg_region_free(r);
	/* an exact centre leaves the radius alone */
	struct bpg_numbers exact = { "c.npy", 3, c, NULL, NULL };
	ck_assert_int_eq(bpg_region_ball(ctx, BPG_NORM_1, 3, &exact, 0.5, NULL, &r), BPG_OK);
	ck_assert(r->radius == 0.5 && r->ball);
	bpg_region_free(r);
	ck_assert_int_eq(bpg_region_ball(ctx, BPG_NORM_INF, 3, &center, 0.25, clip, &r), BPG_EUSAGE);
	check_message("c.txt: element 1: [-0.15", "");
	ck_assert_int_eq(bpg_region_ball(ctx, BPG_NORM_INF, 4, &center, 0.25, NULL, &r), BPG_EUSAGE);
	check_message("c.txt: 3 numbers, the network has 4 inputs", "");
	ck_assert_int_eq(bpg_region_ball(ctx, BPG_NORM_INF, 3, &center, -1, NULL, &r), BPG_EUSAGE);
	ck_assert_int_eq(bpg_region_ball(ctx, BPG_NORM_INF, 3, &center, NAN, NULL, &r), BPG_EUSAGE);
	c[2] = INFINITY;
	ck_assert_int_eq(bpg_region_ball(ctx, BPG_NORM_INF, 3, &center, 1, NULL, &r), BPG_EUSAGE);
	check_message("element 2 of the centre is not finite", "");

	double l[2] = { -INFINITY, 0.1 }, u[2] = { 1, 0.1 }, l_lo[2] = { -INFINITY, nextafter(0.1, 0) };
	struct bpg_numbers lower = { "l.txt", 2, l, l_lo, NULL }, upper = { "u.txt", 2, u, NULL, NULL };
	ck_assert_int_eq(bpg_region_box(ctx, 2, &lower, &upper, &r), BPG_OK);
	ck_assert(r->lo[0] == -INFINITY && r->lo[1] == l_lo[1] && r->up[1] == 0.1 && !r->center && !r->ball);
	bpg_region_free(r);
	u[1] = 0;
	ck_assert_int_eq(bpg_region_box(ctx, 2, &lower, &upper, &r), BPG_EUSAGE);
	check_message("l.txt: element 1: lower bound", "");
	u[1] = NAN;
	ck_assert_int_eq(bpg_region_box(ctx, 2, &lower, &upper, &r), BPG_EUSAGE);
	check_message("u.txt: element 1 is NaN", "");
	ck_assert_int_eq(bpg_region_unit(ctx, 2, &r), BPG_OK);
	ck_assert(r->lo[1] == 0 && r->up[1] == 1);
	bpg_region_free(r);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("spec");
	TCase *t = tcase_create("spec");
	tcase_set_timeout(t, 120);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, normal_forms, 0, (int)BPG_LEN(forms));
	tcase_add_loop_test(t, messages, 0, (int)BPG_LEN(refused));
	tcase_add_test(t, counts);
	tcase_add_test(t, rounding);
	tcase_add_test(t, shared_boxes);
	tcase_add_test(t, random_properties);
	tcase_add_test(t, damaged_text);
	tcase_add_loop_test(t, limits, 0, (int)BPG_LEN(excess));
	tcase_add_test(t, long_but_right);
	tcase_add_test(t, gzip);
	tcase_add_loop_test(t, decimal_table, 0, (int)BPG_LEN(decimals));
	tcase_add_test(t, decimal_refused);
	tcase_add_test(t, decimal_random);
	tcase_add_test(t, npy);
	tcase_add_loop_test(t, npy_refused, 0, (int)BPG_LEN(bad_npy));
	tcase_add_test(t, npy_nan);
	tcase_add_test(t, text_numbers);
	tcase_add_test(t, regions);
	suite_add_tcase(suite, t);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
