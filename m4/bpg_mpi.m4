# StarPU-MPI of the same series as StarPU. For now only looked for and shown: nothing is compiled with it.

AC_DEFUN([BPG_MPI], [
AC_ARG_WITH([mpi], [AS_HELP_STRING([--with-mpi=auto|yes|no], [look for StarPU-MPI])], [], [with_mpi=auto])
bpg_mpi_text="no"
AS_IF([test "$with_mpi" != no && test -n "$bpg_starpu_series"], [
	AC_MSG_CHECKING([for starpumpi-$bpg_starpu_series])
	AS_IF([$PKG_CONFIG --exists starpumpi-$bpg_starpu_series], [
		bpg_mpi_version=`$PKG_CONFIG --modversion ompi-c 2>/dev/null`
		bpg_mpi_name="Open MPI $bpg_mpi_version"
		AS_IF([test -z "$bpg_mpi_version"], [bpg_mpi_name="an MPI without ompi-c.pc"])
		bpg_mpi_text="starpumpi-$bpg_starpu_series and $bpg_mpi_name found; not used by this version"
		AC_DEFINE_UNQUOTED([BPG_VERSION_MPI], ["$bpg_mpi_name"], [MPI that was found])
		AC_MSG_RESULT([yes])
	], [
		AC_MSG_RESULT([no])
		AS_IF([test "$with_mpi" = yes], [BPG_MISSING([StarPU-MPI], [libstarpu-dev])])
	])
])])
