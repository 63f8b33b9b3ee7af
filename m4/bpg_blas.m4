# A serial CBLAS: tasks run side by side already. Debian keeps each flavour in a folder of its own below the multiarch
# folders, so those are looked into before the common ones.

# BPG_BLAS_TRY(name, folder, header, library, extra library flags, a call that only this library has): sets bpg_blas when it links
AC_DEFUN([BPG_BLAS_TRY], [
AS_IF([test -z "$bpg_blas"], [
	bpg_try_cflags=
	bpg_try_libs="-l$4 $5"
	for bpg_dir in "/usr/include/$bpg_multiarch/$2" "/usr/include/$2"; do
		AS_IF([test -z "$bpg_try_cflags" && test -f "$bpg_dir/$3"], [bpg_try_cflags="-isystem $bpg_dir"])
	done
	AS_IF([test -d "/usr/lib/$bpg_multiarch/$2"], [bpg_try_libs="-L/usr/lib/$bpg_multiarch/$2 $bpg_try_libs"])
	AC_MSG_CHECKING([for CBLAS of $1])
	CPPFLAGS="$bpg_save_CPPFLAGS $bpg_try_cflags $BLAS_CFLAGS"
	LIBS="${BLAS_LIBS:-$bpg_try_libs} $bpg_save_LIBS"
	AC_LINK_IFELSE([AC_LANG_PROGRAM([[
#include <$3>
]], [[
float a[] = { 1 }, x[] = { 1 }, y[] = { 0 };
cblas_sgemv(CblasRowMajor, CblasNoTrans, 1, 1, 1, a, 1, x, 1, 0, y, 1);
$6
]])], [
		bpg_blas=$1
		BLAS_CFLAGS=${BLAS_CFLAGS:-$bpg_try_cflags}
		BLAS_LIBS=${BLAS_LIBS:-$bpg_try_libs}
		AC_MSG_RESULT([yes])
	], [AC_MSG_RESULT([no])])
	CPPFLAGS=$bpg_save_CPPFLAGS
	LIBS=$bpg_save_LIBS
])])

AC_DEFUN([BPG_BLAS], [
AC_ARG_WITH([blas], [AS_HELP_STRING([--with-blas=auto|blis|openblas|mkl], [which CBLAS (auto: BLIS, else OpenBLAS, else MKL)])], [], [with_blas=auto])
AC_ARG_VAR([BLAS_CFLAGS], [flags to compile with the CBLAS, instead of what configure finds])
AC_ARG_VAR([BLAS_LIBS], [flags to link with the CBLAS, instead of what configure finds])
AS_CASE([$with_blas], [auto|yes|blis|openblas|mkl], [], [AC_MSG_ERROR([--with-blas=$with_blas: give auto, blis, openblas or mkl])])
bpg_multiarch=`$CC -print-multiarch 2>/dev/null`
bpg_save_CPPFLAGS=$CPPFLAGS
bpg_save_LIBS=$LIBS
bpg_blas=
AS_CASE([$with_blas], [auto|yes|blis], [
	BPG_BLAS_TRY([BLIS], [blis-serial], [cblas.h], [blis], [],
		[extern void bli_thread_set_num_threads(long); bli_thread_set_num_threads(1);])
	BPG_BLAS_TRY([BLIS], [blis], [cblas.h], [blis], [],
		[extern void bli_thread_set_num_threads(long); bli_thread_set_num_threads(1);])
])
AS_CASE([$with_blas], [auto|yes|openblas], [
	BPG_BLAS_TRY([OpenBLAS], [openblas-serial], [cblas.h], [openblas], [], [openblas_set_num_threads(1);])
	BPG_BLAS_TRY([OpenBLAS], [openblas], [cblas.h], [openblas], [], [openblas_set_num_threads(1);])
])
AS_CASE([$with_blas], [auto|yes|mkl], [
	AS_IF([test -z "$bpg_blas" && $PKG_CONFIG --exists mkl-dynamic-lp64-seq], [
		BLAS_CFLAGS=`$PKG_CONFIG --cflags mkl-dynamic-lp64-seq`
		BLAS_LIBS=`$PKG_CONFIG --libs mkl-dynamic-lp64-seq`
	])
	BPG_BLAS_TRY([MKL], [mkl], [mkl_cblas.h], [mkl_rt])
])
bpg_blas_text=missing
AS_CASE([$bpg_blas],
	[BLIS], [AC_DEFINE([BPG_BLAS_BLIS], [1], [CBLAS of BLIS])],
	[OpenBLAS], [AC_DEFINE([BPG_BLAS_OPENBLAS], [1], [CBLAS of OpenBLAS])],
	[MKL], [AC_DEFINE([BPG_BLAS_MKL], [1], [CBLAS of MKL])],
	[AS_CASE([$with_blas],
		[openblas], [BPG_MISSING([a serial OpenBLAS], [libopenblas-serial-dev])],
		[mkl], [BPG_MISSING([MKL], [libmkl-dev])],
		[BPG_MISSING([a serial CBLAS], [libblis-serial-dev])])])
AS_IF([test -n "$bpg_blas"], [bpg_blas_text="$bpg_blas ($BLAS_LIBS)"])
])
