# GLPK solves the linear programs that are left when all neurons of a domain are split. StarPU has it in the process as a rule.

AC_DEFUN([BPG_GLPK], [
AC_ARG_VAR([GLPK_LIBS], [flags to link with GLPK, instead of -lglpk])
GLPK_LIBS=${GLPK_LIBS:--lglpk}
bpg_glpk_text=missing
bpg_save_LIBS=$LIBS
LIBS="$GLPK_LIBS $LIBS"
AC_MSG_CHECKING([for GLPK])
AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <glpk.h>]], [[glp_error_hook(0, 0); glp_free_env();]])], [
	bpg_glpk_text="$GLPK_LIBS"
	AC_MSG_RESULT([yes])
], [
	AC_MSG_RESULT([no])
	BPG_MISSING([GLPK], [libglpk-dev])
])
LIBS=$bpg_save_LIBS
])
