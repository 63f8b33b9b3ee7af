/* cases.c - see cases.h. */
#include "case.h"

const struct gpu_case gpu_cases[] = {
	{ "dense product", gpu_dense },
	{ "convolution", gpu_conv },
	{ "convolution of points", gpu_conv_forward },
	{ "adjoint product", gpu_adjoint },
	{ "relaxation", gpu_relax },
	{ "opposite rows", gpu_opposite },
	{ "chosen slopes, step", gpu_choice },
	{ "tolls, region, corners", gpu_sums },
	{ "copy, join", gpu_join },
	{ "map", gpu_map },
	{ "map of points", gpu_map_forward },
	{ "planes", gpu_planes },
	{ "unit rows", gpu_unit_rows },
	{ "rows of a matrix", gpu_matrix_rows },
};
const int gpu_case_count = (int)BPG_LEN(gpu_cases);
