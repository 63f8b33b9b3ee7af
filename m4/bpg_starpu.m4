# StarPU 1.4, else 1.3. The aliases starpu-1.0 to 1.2 and libstarpu that Debian installs say nothing about the series,
# so they are not asked. Limits are compiled into StarPU: they are read here, for --version and the summary.

# BPG_STARPU_LIMIT(macro)
AC_DEFUN([BPG_STARPU_LIMIT], [
AC_COMPUTE_INT([bpg_$1], [$1], [[#include <starpu_config.h>]], [bpg_$1=0])
AC_DEFINE_UNQUOTED([BPG_$1], [$bpg_$1], [$1 of the StarPU found])
])

AC_DEFUN([BPG_STARPU], [
AC_ARG_WITH([starpu], [AS_HELP_STRING([--with-starpu=DIR], [where StarPU is installed (its lib/pkgconfig is looked into first)])], [], [with_starpu=yes])
AS_CASE([$with_starpu],
	[yes], [],
	[no], [AC_MSG_ERROR([bpgraph does not work without StarPU])],
	[PKG_CONFIG_PATH="$with_starpu/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
	 export PKG_CONFIG_PATH])
bpg_starpu_series=
bpg_starpu_text=missing
for bpg_try in 1.4 1.3; do
	AS_IF([test -z "$bpg_starpu_series" && $PKG_CONFIG --exists starpu-$bpg_try], [bpg_starpu_series=$bpg_try])
done
AC_SUBST([STARPU_MODULE], [starpu-$bpg_starpu_series])
AS_IF([test -z "$bpg_starpu_series"], [BPG_MISSING([StarPU 1.4 or 1.3], [libstarpu-dev])], [
	PKG_CHECK_MODULES([STARPU], [$STARPU_MODULE])
	# Warnings of its headers are not ours.
	STARPU_CFLAGS=`AS_ECHO(["$STARPU_CFLAGS"]) | $SED 's/-I */-isystem /g'`
	bpg_version_STARPU=`$PKG_CONFIG --modversion $STARPU_MODULE`
	bpg_save_CPPFLAGS=$CPPFLAGS
	CPPFLAGS="$CPPFLAGS $STARPU_CFLAGS"
	BPG_STARPU_LIMIT([STARPU_MAXCPUS])
	BPG_STARPU_LIMIT([STARPU_MAXCUDADEVS])
	BPG_STARPU_LIMIT([STARPU_NMAXBUFS])
	AC_MSG_CHECKING([whether StarPU drives CUDA devices])
	AC_PREPROC_IFELSE([AC_LANG_SOURCE([[
#include <starpu_config.h>
#ifndef STARPU_USE_CUDA
#error
#endif
]])], [bpg_starpu_cuda=yes], [bpg_starpu_cuda=no])
	AC_MSG_RESULT([$bpg_starpu_cuda])
	CPPFLAGS=$bpg_save_CPPFLAGS
	AC_DEFINE_UNQUOTED([BPG_VERSION_STARPU], ["$bpg_version_STARPU"], [Version of StarPU])
	AC_DEFINE_UNQUOTED([BPG_STARPU_CUDA], [`test $bpg_starpu_cuda = yes && echo 1 || echo 0`], [StarPU was built with CUDA])
	bpg_starpu_text="$bpg_version_STARPU (at most $bpg_STARPU_MAXCPUS CPU workers, $bpg_STARPU_MAXCUDADEVS CUDA devices, $bpg_STARPU_NMAXBUFS buffers a task; CUDA: $bpg_starpu_cuda)"
])])
