/* rng.c - splitmix64 (Steele, Lea, Flood 2014): seeded, the same on every machine, one word of state. */
#include <bpgraph/layer.h>

#include <math.h>

#include "base/base.h"

void bpg_rng_seed(struct bpg_rng *rng, uint64_t seed)
{
	rng->state = seed;
}

uint64_t bpg_rng_next(struct bpg_rng *rng)
{
	uint64_t z = rng->state += 0x9e3779b97f4a7c15ull;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

double bpg_rng_uniform(struct bpg_rng *rng)
{
	return (double)(bpg_rng_next(rng) >> 11) * 0x1p-53;
}

/* High word of the product; its bias is below n/2^64. */
int64_t bpg_rng_below(struct bpg_rng *rng, int64_t n)
{
	uint64_t r = bpg_rng_next(rng);
	return n > 0 ? (int64_t)(((unsigned __int128)r * (uint64_t)n) >> 64) : 0;
}

/* Box and Muller's; the second number is not kept, the state stays one word. */
double bpg_rng_normal(struct bpg_rng *rng)
{
	double r = sqrt(-2 * log(1 - bpg_rng_uniform(rng)));
	return r * cos(2 * 3.14159265358979323846 * bpg_rng_uniform(rng));
}
