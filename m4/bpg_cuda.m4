# CUDA. For now only looked for and shown: there is nothing to compile with nvcc yet.

AC_DEFUN([BPG_CUDA], [
AC_ARG_WITH([cuda], [AS_HELP_STRING([--with-cuda=auto|no|DIR], [look for the CUDA toolkit])], [], [with_cuda=auto])
AC_ARG_VAR([NVCC], [compiler of CUDA])
bpg_cuda_text=no
AS_IF([test "$with_cuda" != no], [
	AS_CASE([$with_cuda], [auto|yes], [bpg_cuda_dir=${CUDA_HOME:-/usr/local/cuda}], [bpg_cuda_dir=$with_cuda])
	AC_PATH_PROG([NVCC], [nvcc], [], [$bpg_cuda_dir/bin$PATH_SEPARATOR$PATH])
	AS_IF([test -n "$NVCC"], [
		bpg_cuda_version=`"$NVCC" --version 2>/dev/null | $SED -n 's/.*release \([[0-9.]]*\).*/\1/p'`
		bpg_cuda_text="toolkit $bpg_cuda_version found; not used by this version"
		AC_DEFINE_UNQUOTED([BPG_VERSION_CUDA], ["$bpg_cuda_version"], [CUDA toolkit that was found])
	], [AS_IF([test "$with_cuda" != auto], [BPG_MISSING([nvcc], [nvidia-cuda-toolkit])])])
])])
