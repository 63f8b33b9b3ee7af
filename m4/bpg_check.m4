# Check, for the tests only: without it everything but `make check` works.

AC_DEFUN([BPG_CHECK], [
PKG_CHECK_MODULES([CHECK], [check >= 0.12], [bpg_check_text="Check `$PKG_CONFIG --modversion check`"],
	[bpg_check_text="not built: Check is missing (Debian package check)"; bpg_no_check=yes])
AM_CONDITIONAL([HAVE_CHECK], [test -z "$bpg_no_check"])
])
