/* lp.c - GLPK: reentrant, small, and in the process anyway where StarPU has it. */
#include "base/lp.h"

#include <glpk.h>
#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

/* GLPK ends the process when something is wrong inside it, unless it is led out of there. */
static void lead_out(void *to)
{
	longjmp(*(jmp_buf *)to, 1);
}

static int kind_of(double lo, double up)
{
	if (isinf(lo))
		return isinf(up) ? GLP_FR : GLP_UP;
	return isinf(up) ? GLP_LO : lo < up ? GLP_DB : GLP_FX;
}

static void state(glp_prob *p, const struct bpg_lp *lp, int *index, double *value)
{
	glp_set_obj_dir(p, GLP_MIN);
	glp_add_cols(p, lp->columns);
	for (int j = 0; j < lp->columns; j++) {
		glp_set_col_bnds(p, j + 1, kind_of(lp->lo[j], lp->up[j]), lp->lo[j], lp->up[j]);
		glp_set_obj_coef(p, j + 1, lp->cost[j]);
	}
	if (lp->rows)
		glp_add_rows(p, lp->rows);
	for (int i = 0; i < lp->rows; i++) {
		const double *a = lp->a + (int64_t)i * lp->columns;
		int n = 0;
		for (int j = 0; j < lp->columns; j++)
			if (a[j] != 0) {
				index[++n] = j + 1;
				value[n] = a[j];
			}
		glp_set_mat_row(p, i + 1, n, index, value);
		glp_set_row_bnds(p, i + 1, GLP_LO, lp->least[i], 0);
	}
}

static bool solve(glp_prob *p, const struct bpg_lp *lp, double seconds, double *x, double *multiplier)
{
	glp_smcp o;

	glp_init_smcp(&o);
	o.msg_lev = GLP_MSG_OFF;
	o.meth = GLP_DUALP;
	o.tm_lim = (int)(1000 * BPG_MIN(seconds, 1e6));
	glp_scale_prob(p, GLP_SF_AUTO);
	glp_adv_basis(p, 0);
	if (glp_simplex(p, &o) || glp_get_status(p) != GLP_OPT)
		return false;
	for (int j = 0; j < lp->columns; j++)
		x[j] = glp_get_col_prim(p, j + 1);
	for (int i = 0; i < lp->rows; i++)
		multiplier[i] = fmax(glp_get_row_dual(p, i + 1), 0);
	return true;
}

bool bpg_lp_solve(const struct bpg_lp *lp, double seconds, double *x, double *multiplier)
{
	int *index = malloc((size_t)(lp->columns + 1) * sizeof *index);
	double *value = malloc((size_t)(lp->columns + 1) * sizeof *value);
	jmp_buf out;
	volatile bool right = false;

	if (index && value && !setjmp(out)) {
		glp_term_out(GLP_OFF);
		glp_error_hook(lead_out, &out);
		glp_prob *p = glp_create_prob();
		state(p, lp, index, value);
		right = solve(p, lp, seconds, x, multiplier);
	} else {
		right = false;
	}
	glp_free_env(); /* of this thread, with all that is in it */
	free(value);
	free(index);
	return right;
}

const char *bpg_lp_solver(void)
{
	static char name[64];

	snprintf(name, sizeof name, "GLPK %s", glp_version());
	return name;
}
