/* number.c - numbers as text that reads back exactly. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/number.h"

/* 17 digits always suffice; most numbers that people wrote need fewer. */
const char *bpg_number(double x, char buf[32])
{
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(buf, 32, "%.*g", digits, x);
		if (isnan(x) || strtod(buf, NULL) == x)
			break;
	}
	return buf;
}
