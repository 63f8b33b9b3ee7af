# MPI, for ranks: by pkg-config (Open MPI, MPICH), else by what mpicc shows. StarPU-MPI is not used (see src/rt/comm.h).

AC_DEFUN([BPG_MPI], [
AC_ARG_WITH([mpi], [AS_HELP_STRING([--with-mpi=auto|yes|no], [run on several ranks])], [], [with_mpi=auto])
bpg_mpi_text="no"
AS_IF([test "$with_mpi" != no], [
	AC_MSG_CHECKING([for MPI])
	bpg_mpi_found=
	for bpg_try in ompi-c mpich; do
		AS_IF([test -z "$bpg_mpi_found" && $PKG_CONFIG --exists $bpg_try], [
			bpg_mpi_found="$bpg_try `$PKG_CONFIG --modversion $bpg_try`"
			MPI_CFLAGS=`$PKG_CONFIG --cflags $bpg_try`
			MPI_LIBS=`$PKG_CONFIG --libs $bpg_try`
		])
	done
	AS_IF([test -z "$bpg_mpi_found" && mpicc --showme:version >/dev/null 2>&1], [
		bpg_mpi_found="`mpicc --showme:version 2>/dev/null | $SED -n '1s/^mpicc: //p'`"
		MPI_CFLAGS=`mpicc --showme:compile`
		MPI_LIBS=`mpicc --showme:link`
	])
	AS_IF([test -n "$bpg_mpi_found"], [
		# Warnings of its headers are not ours.
		MPI_CFLAGS=`AS_ECHO(["$MPI_CFLAGS"]) | $SED 's/-I */-isystem /g'`
		bpg_save_CPPFLAGS=$CPPFLAGS
		CPPFLAGS="$CPPFLAGS $MPI_CFLAGS"
		AC_PREPROC_IFELSE([AC_LANG_SOURCE([[#include <mpi.h>]])], [], [bpg_mpi_found=])
		CPPFLAGS=$bpg_save_CPPFLAGS
	])
	AS_IF([test -n "$bpg_mpi_found"], [
		bpg_mpi_text=$bpg_mpi_found
		AC_DEFINE([BPG_HAVE_MPI], [1], [Runs on several ranks])
		AC_DEFINE_UNQUOTED([BPG_VERSION_MPI], ["$bpg_mpi_found"], [MPI that was found])
		AC_MSG_RESULT([$bpg_mpi_found])
	], [
		MPI_CFLAGS= MPI_LIBS=
		AC_MSG_RESULT([no])
		AS_IF([test "$with_mpi" = yes], [BPG_MISSING([MPI], [libopenmpi-dev])])
	])
])
AC_SUBST([MPI_CFLAGS])
AC_SUBST([MPI_LIBS])
])
