/* dot.c - see dot.h. */
#include "graph/dot.h"

#include <inttypes.h>
#include <stdlib.h>

#include "graph/panels.h"

/* A step is drawn by the kind of its task; what only the plan knows by its own name. */
static const char *name(enum bpg_step_kind kind)
{
	static const enum bpg_task_kind task[] = {
		[BPG_STEP_START] = BPG_TASK_START, [BPG_STEP_QUESTION] = BPG_TASK_START, [BPG_STEP_TOLL] = BPG_TASK_CONCRETIZE,
		[BPG_STEP_RELAX] = BPG_TASK_RELAX, [BPG_STEP_GATHER] = BPG_TASK_GATHER, [BPG_STEP_GEMM] = BPG_TASK_GEMM, [BPG_STEP_CONV] = BPG_TASK_GEMM, [BPG_STEP_MAP] = BPG_TASK_MAP,
		[BPG_STEP_PLANES] = BPG_TASK_RELAX, [BPG_STEP_ADD] = BPG_TASK_REDUCE, [BPG_STEP_COPY] = BPG_TASK_MAP,
		[BPG_STEP_CONCRETIZE] = BPG_TASK_CONCRETIZE, [BPG_STEP_FINISH] = BPG_TASK_CONCRETIZE,
		[BPG_STEP_ALPHA_START] = BPG_TASK_STEP, [BPG_STEP_ALPHA_RELAX] = BPG_TASK_RELAX, [BPG_STEP_ALPHA_STEP] = BPG_TASK_STEP,
		[BPG_STEP_ENTER] = BPG_TASK_STEP, [BPG_STEP_LEAVE] = BPG_TASK_STEP, [BPG_STEP_MOVE] = BPG_TASK_GATHER, [BPG_STEP_MOVE_STATE] = BPG_TASK_GATHER,
		[BPG_STEP_STATE] = BPG_TASK_START, [BPG_STEP_ROWS] = BPG_TASK_START,
		[BPG_STEP_CORNER] = BPG_TASK_ADJOINT, [BPG_STEP_FORWARD] = BPG_TASK_ADJOINT, [BPG_STEP_ROW_WEIGHTS] = BPG_TASK_STEP,
	};

	return kind == BPG_STEP_FREE ? "free" : kind == BPG_STEP_TOLL ? "toll" : bpg_task_kind_name(task[kind]);
}

void bpg_dot_begin(FILE *to)
{
	fputs("digraph bpgraph {\nrankdir=LR; node [shape=box, fontname=\"sans\", fontsize=10];\n", to);
}

void bpg_dot_end(FILE *to)
{
	fputs("}\n", to);
}

static void quoted(FILE *to, const char *s)
{
	for (; *s; s++)
		if (*s == '"' || *s == '\\')
			fprintf(to, "\\%c", *s);
		else if ((unsigned char)*s >= ' ')
			fputc(*s, to);
}

void bpg_wave_dot(const struct bpg_model *m, const struct bpg_stage *s, const struct bpg_wave *w, FILE *to)
{
	static int64_t waves;     /* names must differ over the document */
	int64_t *writer = bpg_calloc((size_t)w->buffers + 1, sizeof *writer), id = waves++;

	if (!writer)
		return;
	for (int64_t b = 0; b < w->buffers; b++)
		writer[b] = -1;
	fprintf(to, "subgraph cluster_%" PRId64 " { label=\"", id);
	quoted(to, s->node < 0 ? "rows asked" : m->node[s->node].net->tensor);
	fputs("\";\n", to);
	for (int64_t i = 0; i < w->steps; i++) {
		const struct bpg_step *p = &w->step[i];
		if (p->kind == BPG_STEP_FREE && p->from < 0)
			continue;
		fprintf(to, "s%" PRId64 "_%" PRId64 " [label=\"%s", id, i, name(p->kind));
		if (p->kind != BPG_STEP_FINISH) {
			fputs("\\n", to);
			quoted(to, m->node[p->node].net->tensor);
		}
		if (p->kind == BPG_STEP_GATHER)
			fprintf(to, "\\nowner %d", s->tile[p->tile].owner);
		else
			fprintf(to, "\\ntile %d", p->tile);
		if (p->kind == BPG_STEP_GEMM || (p->kind == BPG_STEP_GATHER && p->panel != BPG_PANEL_FORWARD))
			fprintf(to, " panel %d", p->panel);
		if (p->kind == BPG_STEP_GATHER)
			fprintf(to, " slot %d", p->k);
		fprintf(to, "\"%s];\n", p->kind == BPG_STEP_GEMM || p->kind == BPG_STEP_CONV ? ", style=filled, fillcolor=lightblue" : "");
		if (p->from >= 0 && writer[p->from] >= 0)
			fprintf(to, "s%" PRId64 "_%" PRId64 " -> s%" PRId64 "_%" PRId64 ";\n", id, writer[p->from], id, i);
		if (p->to >= 0) {
			if (writer[p->to] >= 0)
				fprintf(to, "s%" PRId64 "_%" PRId64 " -> s%" PRId64 "_%" PRId64 ";\n", id, writer[p->to], id, i);
			if (p->kind != BPG_STEP_RELAX) /* there it is read */
				writer[p->to] = i;
		}
		if (p->from >= 0 && p->kind == BPG_STEP_RELAX)
			writer[p->from] = i;
	}
	fputs("}\n", to);
	free(writer);
}
