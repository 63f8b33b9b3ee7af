/* options.c - the table of options, and setting one from text. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"

/* R: a run, whichever language the question is in; B: one that may be without a property, so that its box is chosen by options. */
enum {
	B = BPG_COMMAND_RUN, V = BPG_COMMAND_VERIFY, R = B | V, P = BPG_COMMAND_PLAN, E = BPG_COMMAND_EVAL, I = BPG_COMMAND_INFO, L = BPG_COMMAND_LAYERS
};

static const struct bpg_option table[] = {
#define AT(f) .field = #f, .at = offsetof(struct bpg_options, f)
#define BPG_GROUP(title)
#define BPG_CHOICE(f, w, c, h) { AT(f), .kind = BPG_OPTION_CHOICE, .where = w, .choices = c, .arg = "WORD", .help = h },
#define BPG_WHOLE(f, w, s, l, m, a, h) \
	{ AT(f), .kind = BPG_OPTION_WHOLE, .where = w, .start = s, .least = l, .most = (double)(m), .arg = a, .help = h },
#define BPG_REAL(f, w, s, l, m, a, h) { AT(f), .kind = BPG_OPTION_REAL, .where = w, .start = s, .least = l, .most = m, .arg = a, .help = h },
#define BPG_SIZE(f, w, a, h) { AT(f), .kind = BPG_OPTION_SIZE, .where = w, .arg = a, .help = h },
#define BPG_FLAG(f, w, h) { AT(f), .kind = BPG_OPTION_FLAG, .where = w, .help = h },
#define BPG_TEXT(f, w, a, h) { AT(f), .kind = BPG_OPTION_TEXT, .where = w, .arg = a, .help = h },
#define BPG_LIST(f, w, a, h) { AT(f), .kind = BPG_OPTION_LIST, .where = w, .arg = a, .help = h },
#define BPG_LATER(f, w) { .field = #f, .kind = BPG_OPTION_LATER, .where = w },
#include "base/options.def"
};

_Static_assert(BPG_LEN(table) == BPG_OPTIONS, "one line, one option");

const struct bpg_option *bpg_option_get(int id)
{
	return &table[id];
}

/* One spelling for fields and names: the dash. */
static char dashed(char c)
{
	return c == '_' ? '-' : c;
}

int bpg_option_find(const char *name, size_t length)
{
	for (int id = 0; id < BPG_OPTIONS; id++) {
		const char *f = table[id].field;
		size_t i = 0;
		while (i < length && f[i] && dashed(f[i]) == name[i])
			i++;
		if (i == length && !f[i])
			return id;
	}
	return -1;
}

const char *bpg_option_name(int id, char buf[32])
{
	size_t i = 0;
	for (; table[id].field[i] && i < 31; i++)
		buf[i] = dashed(table[id].field[i]);
	buf[i] = 0;
	return buf;
}

const char *bpg_option_variable(int id, char buf[48])
{
	size_t i = (size_t)snprintf(buf, 48, "BPGRAPH_");
	for (const char *f = table[id].field; *f && i < 47; f++)
		buf[i++] = (char)toupper((unsigned char)*f);
	buf[i] = 0;
	return buf;
}

const char *bpg_option_word(int id, int value, char buf[32], bool *built)
{
	const char *c = table[id].choices;
	for (; value > 0 && c; value--) {
		c = strchr(c, ' ');
		c = c ? c + 1 : NULL;
	}
	if (!c || value < 0)
		return NULL;
	size_t n = strcspn(c, " ");
	*built = c[n - 1] != '*';
	snprintf(buf, 32, "%.*s", (int)(n - !*built), c);
	return buf;
}

void bpg_options_init(struct bpg_options *o)
{
	memset(o, 0, sizeof *o);
	for (int id = 0; id < BPG_OPTIONS; id++) {
		void *field = (char *)o + table[id].at;
		if (table[id].kind == BPG_OPTION_WHOLE)
			*(int64_t *)field = (int64_t)table[id].start;
		if (table[id].kind == BPG_OPTION_REAL)
			*(double *)field = table[id].start;
	}
}

void bpg_options_fini(struct bpg_options *o)
{
	for (int id = 0; id < BPG_OPTIONS; id++)
		free(o->text[id]);
	memset(o, 0, sizeof *o);
}

/* ---- setting ---- */

/* "--method=crwon", or "BPGRAPH_METHOD=crwon (environment)": names the value and where it came from. */
struct given {
	int id;
	enum bpg_option_source source;
	const char *value;
	char text[256];
};

static const char *where(struct given *g)
{
	char name[48], value[128];
	bpg_printable(g->value, value);
	if (g->source == BPG_FROM_ENVIRONMENT)
		snprintf(g->text, sizeof g->text, "environment: %s=%s", bpg_option_variable(g->id, name), value);
	else
		snprintf(g->text, sizeof g->text, "--%s=%s", bpg_option_name(g->id, name), value);
	return g->text;
}

/* "auto, ibp or crown": the choices that are built. */
static void list_choices(int id, char *to, size_t room)
{
	char word[32], next[32] = "";
	bool built, first = true;
	size_t n = 0;
	to[0] = 0;
	for (int v = 0; bpg_option_word(id, v, word, &built); v++) {
		if (!built)
			continue;
		if (next[0]) {
			n += (size_t)snprintf(to + n, n < room ? room - n : 0, "%s%s", first ? "" : ", ", next);
			first = false;
		}
		snprintf(next, sizeof next, "%s", word);
	}
	if (n < room)
		snprintf(to + n, room - n, "%s%s", first ? "" : " or ", next);
}

static enum bpg_status set_choice(struct bpg_ctx *ctx, struct given *g, int *field)
{
	char word[32], list[256];
	bool built;
	list_choices(g->id, list, sizeof list);
	for (int v = 0; bpg_option_word(g->id, v, word, &built); v++) {
		if (strcmp(word, g->value))
			continue;
		if (!built)
			return bpg_fail(ctx, BPG_EUNSUPPORTED, "%s: not built yet; give %s", where(g), list);
		*field = v;
		return BPG_OK;
	}
	return bpg_fail(ctx, BPG_EUSAGE, "%s: unknown word; give %s", where(g), list);
}

static enum bpg_status set_whole(struct bpg_ctx *ctx, struct given *g, int64_t *field)
{
	char *end;
	errno = 0;
	long long v = strtoll(g->value, &end, 10);
	if (end == g->value || *end || isspace((unsigned char)g->value[0]))
		return bpg_fail(ctx, BPG_EUSAGE, "%s: give a whole number", where(g));
	const struct bpg_option *o = &table[g->id];
	if (errno || (double)v < o->least || (double)v > o->most) {
		if (o->most >= (double)INT64_MAX)
			return bpg_fail(ctx, BPG_EUSAGE, "%s: give a whole number from %.0f", where(g), o->least);
		return bpg_fail(ctx, BPG_EUSAGE, "%s: give a whole number from %.0f to %.0f", where(g), o->least, o->most);
	}
	*field = v;
	return BPG_OK;
}

/* Decimals only: strtod would also take hexadecimal, "inf" and "nan". */
static bool decimal(const char *s, double *v)
{
	char *end;
	if (!*s || strspn(s, "+-.0123456789eE") != strlen(s))
		return false;
	*v = strtod(s, &end);
	return end != s && !*end && isfinite(*v);
}

static enum bpg_status set_real(struct bpg_ctx *ctx, struct given *g, double *field)
{
	double v;
	const struct bpg_option *o = &table[g->id];
	if (!decimal(g->value, &v))
		return bpg_fail(ctx, BPG_EUSAGE, "%s: give a number", where(g));
	if (v < o->least && isinf(o->most))
		return bpg_fail(ctx, BPG_EUSAGE, "%s: give a number from %g", where(g), o->least);
	if (v < o->least || v > o->most)
		return bpg_fail(ctx, BPG_EUSAGE, "%s: give a number from %g to %g", where(g), o->least, o->most);
	*field = v;
	return BPG_OK;
}

static enum bpg_status set_size(struct bpg_ctx *ctx, struct given *g, int64_t *field)
{
	static const char units[] = "KMGT";
	char *end;
	double v = strtod(g->value, &end), scale = 1;
	bool ok = end != g->value && strspn(g->value, "+.0123456789eE") >= (size_t)(end - g->value);
	const char *u = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
	if (u) {
		scale = ldexp(1, 10 * (int)(u - units + 1));
		end++;
		end += *end == 'i';
	}
	end += *end == 'B';
	if (!ok || *end || !(v >= 0) || v * scale >= 0x1p62)
		return bpg_fail(ctx, BPG_EUSAGE, "%s: give a size such as 512M or 4G", where(g));
	*field = (int64_t)(v * scale);
	return BPG_OK;
}

static enum bpg_status set_flag(struct bpg_ctx *ctx, struct given *g, bool *field)
{
	static const char *const words[] = { "off", "on", "no", "yes", "0", "1", "false", "true" };
	for (int i = 0; i < (int)BPG_LEN(words); i++) {
		if (!strcmp(g->value, words[i])) {
			*field = i & 1;
			return BPG_OK;
		}
	}
	return bpg_fail(ctx, BPG_EUSAGE, "%s: give on or off", where(g));
}

/* What was there and is as strong, and the new entries: one from the line, those between colons from the environment. */
static char *add_to_list(const char *old, const char *value, enum bpg_option_source source)
{
	size_t start = old ? strlen(old) : 0, n = strlen(value);
	char *text = malloc(start + n + 2);
	if (!text)
		return NULL;
	snprintf(text, start + n + 2, "%s%s\n", old ? old : "", value);
	for (char *p = text + start; source == BPG_FROM_ENVIRONMENT && *p; p++)
		if (*p == ':')
			*p = '\n';
	return text;
}

enum bpg_status bpg_option_set(struct bpg_ctx *ctx, struct bpg_options *o, int id, const char *value, enum bpg_option_source source)
{
	struct given g = { .id = id, .source = source, .value = value };
	void *field = (char *)o + table[id].at;
	char name[48];

	if (source < o->source[id])
		return BPG_OK;
	if (table[id].kind == BPG_OPTION_LATER) {
		if (source == BPG_FROM_ENVIRONMENT)
			return bpg_fail(ctx, BPG_EUNSUPPORTED, "environment: %s is not built yet; unset it", bpg_option_variable(id, name));
		return bpg_fail(ctx, BPG_EUNSUPPORTED, "--%s is not built yet; leave it out", bpg_option_name(id, name));
	}
	if (!value)
		return bpg_fail(ctx, BPG_EUSAGE, "--%s has no value%s", bpg_option_name(id, name), table[id].kind == BPG_OPTION_FLAG ? "; give on or off" : "");
	if (!*value)
		return bpg_fail(ctx, BPG_EUSAGE, "%s: the value is empty", where(&g));
	bool list = table[id].kind == BPG_OPTION_LIST;
	char *copy = list ? add_to_list(o->source[id] == source ? o->text[id] : NULL, value, source) : strdup(value);
	if (!copy)
		return bpg_nomem(ctx, "options");

	enum bpg_status st = BPG_OK;
	switch (table[id].kind) {
	case BPG_OPTION_CHOICE: st = set_choice(ctx, &g, field); break;
	case BPG_OPTION_WHOLE: st = set_whole(ctx, &g, field); break;
	case BPG_OPTION_REAL: st = set_real(ctx, &g, field); break;
	case BPG_OPTION_SIZE: st = set_size(ctx, &g, field); break;
	case BPG_OPTION_FLAG: st = set_flag(ctx, &g, field); break;
	case BPG_OPTION_TEXT:
	case BPG_OPTION_LIST: *(const char **)field = copy; break;
	case BPG_OPTION_LATER: break;
	}
	if (st) {
		free(copy);
		return st;
	}
	free(o->text[id]);
	o->text[id] = copy;
	o->source[id] = source;
	return BPG_OK;
}

enum bpg_status bpg_options_environment(struct bpg_ctx *ctx, struct bpg_options *o, int command)
{
	char name[48];
	for (int id = 0; id < BPG_OPTIONS; id++) {
		if (!(table[id].where & command) || o->source[id] > BPG_FROM_ENVIRONMENT)
			continue;
		const char *value = getenv(bpg_option_variable(id, name));
		if (value && *value)
			BPG_TRY(bpg_option_set(ctx, o, id, value, BPG_FROM_ENVIRONMENT));
	}
	return BPG_OK;
}
