# Missing parts are collected, so that one run of configure names all of them and one apt-get line installs them.

AC_DEFUN([BPG_MISSING_INIT], [
bpg_missing=
bpg_missing_packages=
])

# BPG_MISSING(what, Debian package)
AC_DEFUN([BPG_MISSING], [
AC_MSG_WARN([$1 is missing (Debian package $2)])
bpg_missing="$bpg_missing
  $1 (Debian package $2)"
bpg_missing_packages="$bpg_missing_packages $2"
])

AC_DEFUN([BPG_MISSING_REPORT], [
AS_IF([test -n "$bpg_missing"], [
	AC_MSG_ERROR([missing:$bpg_missing
on Debian: apt-get install$bpg_missing_packages])
])])

# BPG_MODULE(VARIABLE, pkg-config module, what, Debian package): sets VARIABLE_CFLAGS, VARIABLE_LIBS, bpg_version_VARIABLE
# and the C macro BPG_VERSION_VARIABLE.
AC_DEFUN([BPG_MODULE], [
bpg_version_$1=missing
PKG_CHECK_MODULES([$1], [$2], [
	bpg_version_$1=`$PKG_CONFIG --modversion m4_bpatsubst([$2], [ .*], [])`
	AC_DEFINE_UNQUOTED([BPG_VERSION_$1], ["$bpg_version_$1"], [Version of $3])
], [BPG_MISSING([$3], [$4])])
])
