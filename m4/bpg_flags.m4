# Flags that bounds depend on, warnings, sanitizers.

# Rounding is part of the contract: no contraction to fused operations that are not written, no reordering. Flags of the
# user come later on the command line, so the one family that breaks this is refused.
AC_DEFUN([BPG_C_FLAGS], [
AC_SUBST([BPG_CFLAGS], ["-std=gnu11 -ffp-contract=off -fno-trapping-math -fno-math-errno -fvisibility=hidden -pthread"])
AC_MSG_CHECKING([that CFLAGS keep IEEE arithmetic])
AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error
#endif
]], [])], [AC_MSG_RESULT([yes])], [
	AC_MSG_RESULT([no])
	AC_MSG_ERROR([CFLAGS="$CFLAGS" lets the compiler reorder floating point; bounds would not be sound. Leave -Ofast and -ffast-math out])
])])

AC_DEFUN([BPG_WARNINGS], [
AC_ARG_ENABLE([werror], [AS_HELP_STRING([--enable-werror], [a warning ends the build])], [], [enable_werror=no])
bpg_warnings="-Wall -Wextra"
AS_IF([test "$enable_werror" = yes], [bpg_warnings="$bpg_warnings -Werror"])
AC_SUBST([BPG_WARNFLAGS], ["$bpg_warnings"])
])

# The library of the sanitizers must be the first one a process loads, so everything is linked with them.
AC_DEFUN([BPG_SANITIZERS], [
AC_ARG_ENABLE([sanitizers], [AS_HELP_STRING([--enable-sanitizers], [build with AddressSanitizer and UBSan, for tests])], [], [enable_sanitizers=no])
bpg_sanitizers=no
BPG_SANFLAGS=
AS_IF([test "$enable_sanitizers" = yes], [
	BPG_SANFLAGS="-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer"
	bpg_sanitizers="address, undefined behaviour"
])
AC_SUBST([BPG_SANFLAGS])
AM_CONDITIONAL([SANITIZERS], [test "$enable_sanitizers" = yes])
])
