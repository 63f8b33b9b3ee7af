/* versions.c - what bpgraph was built with. The limits are compiled into StarPU: configure reads them. */
#include "config.h"

#include "base/blas.h"
#include "base/lp.h"
#include "report/json.h"
#include "report/versions.h"

const char *bpg_version(void)
{
	return PACKAGE_VERSION;
}

void bpg_versions_print(FILE *to)
{
	bpg_blas_init();
	fprintf(to, "bpgraph %s\n", PACKAGE_VERSION);
	fprintf(to, "StarPU %s: at most %d CPU workers, %d CUDA devices, %d buffers a task\n", BPG_VERSION_STARPU, BPG_STARPU_MAXCPUS,
	        BPG_STARPU_CUDA ? BPG_STARPU_MAXCUDADEVS : 0, BPG_STARPU_NMAXBUFS);
	fprintf(to, "hwloc %s\n", BPG_VERSION_HWLOC);
	fprintf(to, "BLAS %s, kernel %s\n", bpg_blas_name(), bpg_blas_kernel());
	fprintf(to, "%s\n", bpg_lp_solver());
	fprintf(to, "protobuf-c %s\n", BPG_VERSION_PROTOBUF_C);
	fprintf(to, "zlib %s\n", BPG_VERSION_ZLIB);
#ifdef BPG_VERSION_MPI
	fprintf(to, "MPI %s\n", BPG_VERSION_MPI);
#else
	fprintf(to, "MPI none: one rank\n");
#endif
#if BPG_DEVICES
	fprintf(to, "CUDA %s: tasks run on devices, where there are some\n", BPG_VERSION_CUDA);
#elif defined BPG_VERSION_CUDA
	fprintf(to, "CUDA not used (toolkit %s was found)\n", BPG_VERSION_CUDA);
#else
	fprintf(to, "CUDA not used\n");
#endif
}

void bpg_versions_json(struct bpg_json *j)
{
	bpg_json_object(j, "versions");
	bpg_json_string(j, "bpgraph", PACKAGE_VERSION);
	bpg_json_string(j, "starpu", BPG_VERSION_STARPU);
	bpg_json_string(j, "hwloc", BPG_VERSION_HWLOC);
	bpg_json_string(j, "blas", bpg_blas_name());
	bpg_json_string(j, "blas_kernel", bpg_blas_kernel());
	bpg_json_string(j, "lp", bpg_lp_solver());
	bpg_json_string(j, "protobuf_c", BPG_VERSION_PROTOBUF_C);
	bpg_json_end(j);
}
