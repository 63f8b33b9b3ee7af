# CUDA: nvcc with a host compiler that it takes, cuBLAS, NCCL. Kernels are compiled, tested on the host, and checked on a device by
# tests/gpu/run; runs use them where StarPU drives devices. After BPG_STARPU.

AC_DEFUN([BPG_CUDA], [
AC_ARG_WITH([cuda], [AS_HELP_STRING([--with-cuda=auto|no|DIR], [compile the kernels for GPUs with the CUDA toolkit, that of DIR])], [], [with_cuda=auto])
AC_ARG_VAR([NVCC], [compiler of CUDA])
AC_ARG_VAR([NVCCFLAGS], [flags for it])
: ${NVCCFLAGS=-O3}
bpg_cuda_text=no
bpg_cuda=no
bpg_nccl=no
CUDA_CPPFLAGS=
CUDA_LIBS=
AS_IF([test "$with_cuda" != no], [
	AS_CASE([$with_cuda], [auto|yes], [bpg_cuda_dir=${CUDA_HOME:-/usr/local/cuda}], [bpg_cuda_dir=$with_cuda])
	AC_PATH_PROG([NVCC], [nvcc], [], [$bpg_cuda_dir/bin$PATH_SEPARATOR$PATH])
	AS_IF([test -z "$NVCC"], [
		bpg_cuda_text="no (nvcc: Debian package nvidia-cuda-toolkit, or NVIDIA's cuda-nvcc)"
		AS_IF([test "$with_cuda" != auto], [BPG_MISSING([nvcc], [nvidia-cuda-toolkit])])
	], [
		bpg_cuda_version=`"$NVCC" --version 2>/dev/null | $SED -n 's/.*release \([[0-9.]]*\).*/\1/p'`
		bpg_cuda_dir=`"$NVCC" --dryrun -c x.cu 2>&1 | $SED -n 's/^#\$ TOP=//p'`
		bpg_cuda_dir=`cd "$bpg_cuda_dir" && pwd -P`
		bpg_cuda_lib=$bpg_cuda_dir/lib64
		AS_IF([test -n "$bpg_cuda_dir" && test -d "$bpg_cuda_lib"], [
			CUDA_CPPFLAGS="-I$bpg_cuda_dir/include"
			CUDA_LIBS="-L$bpg_cuda_lib"
			bpg_cuda_run="-R $bpg_cuda_lib"
		], [bpg_cuda_run=])
		BPG_NVCC_WORKS
		AS_IF([test "$bpg_nvcc_works" = yes], [
			BPG_CUDA_HAS([cuBLAS], [cublas], [cublas_v2.h], [-lcublas], [libcublas-dev])
			BPG_CUDA_HAS([NCCL], [nccl], [nccl.h], [-lnccl], [libnccl-dev])
		])
		AS_IF([test "$bpg_nvcc_works" != yes], [
			bpg_cuda_text="toolkit $bpg_cuda_version found, but nvcc compiles nothing (it needs g++: Debian package g++); see config.log"
		], [test "$bpg_has_cublas" != yes], [
			bpg_cuda_text="toolkit $bpg_cuda_version found without cuBLAS (Debian package nvidia-cuda-toolkit, NVIDIA's libcublas-dev)"
		], [
			bpg_cuda=yes
			bpg_cuda_text="toolkit $bpg_cuda_version with cuBLAS"
			AS_IF([test "$bpg_has_nccl" = yes], [
				bpg_nccl=yes
				bpg_cuda_text="$bpg_cuda_text and NCCL"
			], [bpg_cuda_text="$bpg_cuda_text, no NCCL (Debian and NVIDIA package libnccl-dev)"])
			bpg_cuda_text="$bpg_cuda_text: kernels for sm_80, sm_90 and PTX"
			AS_IF([test "$bpg_starpu_cuda" != yes], [bpg_cuda_text="$bpg_cuda_text, in tests/gpu alone, as StarPU drives no devices"])
			AC_DEFINE_UNQUOTED([BPG_VERSION_CUDA], ["$bpg_cuda_version"], [CUDA toolkit that was found])
		])
		AS_IF([test "$bpg_cuda" = no && test "$with_cuda" != auto], [BPG_MISSING([a CUDA toolkit with cuBLAS for which nvcc works], [nvidia-cuda-toolkit])])
	])
])
# Nothing is contracted that is not written as a fused operation: equal bits with the CPU.
AC_SUBST([CUDA_FLAGS], ["-std=c++17 --fmad=false -ftz=false -prec-div=true -prec-sqrt=true -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 -gencode arch=compute_90,code=compute_90"])
AC_SUBST([CUDA_CPPFLAGS])
CUDA_LIBS="$CUDA_LIBS $bpg_cuda_run $bpg_cublas_libs -lcudart_static -lstdc++ -lrt -ldl -lpthread"
AC_SUBST([CUDA_LIBS])
# Beside StarPU, which has the shared runtime.
AC_SUBST([CUDA_SHARED_LIBS], ["-L$bpg_cuda_lib $bpg_cuda_run $bpg_cublas_libs -lcudart -lstdc++"])
bpg_devices=no
AS_IF([test "$bpg_cuda" = yes && test "$bpg_starpu_cuda" = yes], [bpg_devices=yes])
AM_CONDITIONAL([DEVICES], [test "$bpg_devices" = yes])
AC_DEFINE_UNQUOTED([BPG_DEVICES], [`test $bpg_devices = yes && echo 1 || echo 0`], [Tasks run on CUDA devices: kernels are compiled, and StarPU drives them])
AC_SUBST([NCCL_LIBS], [$bpg_nccl_libs])
AM_CONDITIONAL([CUDA], [test "$bpg_cuda" = yes])
AM_CONDITIONAL([NCCL], [test "$bpg_nccl" = yes])
])

AC_DEFUN([BPG_NVCC_WORKS], [
AC_MSG_CHECKING([that nvcc works])
bpg_nvcc_works=no
cat >conftest.cu <<_END
#include <cuda_runtime.h>
__global__ void kernel(float *x) { x@<:@threadIdx.x@:>@ += 1; }
int main() { kernel<<<1, 1>>>(nullptr); return cudaDeviceSynchronize() != cudaSuccess; }
_END
AS_IF([AC_TRY_COMMAND(["$NVCC" $NVCCFLAGS -std=c++17 -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 -gencode arch=compute_90,code=compute_90 -c conftest.cu -o conftest-cu.o >&AS_MESSAGE_LOG_FD 2>&AS_MESSAGE_LOG_FD])], [
	AS_IF([AC_TRY_COMMAND([$CC $CFLAGS $LDFLAGS -o conftest-cu conftest-cu.o $CUDA_LIBS -lcudart_static -lstdc++ -lrt -ldl -lpthread >&AS_MESSAGE_LOG_FD 2>&AS_MESSAGE_LOG_FD])], [bpg_nvcc_works=yes])
])
rm -f conftest.cu conftest-cu.o conftest-cu
AC_MSG_RESULT([$bpg_nvcc_works])
])

# BPG_CUDA_HAS(what, name, header, libraries, NVIDIA package): sets bpg_has_NAME, bpg_NAME_libs
AC_DEFUN([BPG_CUDA_HAS], [
bpg_has_$2=no
bpg_$2_libs=
bpg_save_cppflags=$CPPFLAGS bpg_save_libs=$LIBS
CPPFLAGS="$CPPFLAGS $CUDA_CPPFLAGS" LIBS="$CUDA_LIBS $4 $LIBS"
AC_MSG_CHECKING([for $1])
AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <$3>]], [[]])], [bpg_has_$2=yes bpg_$2_libs="$4"])
AC_MSG_RESULT([$bpg_has_$2])
CPPFLAGS=$bpg_save_cppflags LIBS=$bpg_save_libs
])
