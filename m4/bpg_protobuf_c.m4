# protobuf-c reads ONNX files. A clone makes the reader from the schema of Debian's libonnx-dev; a tarball brings it along,
# so that the library alone is needed there.

AC_DEFUN([BPG_PROTOBUF_C], [
BPG_MODULE([PROTOBUF_C], [libprotobuf-c >= 1.3], [protobuf-c], [libprotobuf-c-dev])
AC_ARG_WITH([onnx-proto], [AS_HELP_STRING([--with-onnx-proto=FILE], [schema of ONNX files (onnx.proto)])], [], [with_onnx_proto=])
AC_ARG_VAR([PROTOC_C], [compiler of protobuf-c])
AC_PATH_PROGS([PROTOC_C], [protoc-c])
AC_MSG_CHECKING([for onnx.proto])
ONNX_PROTO=
for bpg_try in "$with_onnx_proto" /usr/include/onnx/onnx.proto /usr/local/include/onnx/onnx.proto; do
	AS_IF([test -z "$ONNX_PROTO" && test -n "$bpg_try" && test -f "$bpg_try"], [ONNX_PROTO=$bpg_try])
done
AC_MSG_RESULT([${ONNX_PROTO:-no}])
AC_SUBST([ONNX_PROTO])
AC_SUBST([ONNX_PROTO_DIR], [`AS_DIRNAME(["${ONNX_PROTO:-.}"])`])
AS_IF([test ! -f "$srcdir/src/onnx/onnx.pb-c.c"], [
	AS_IF([test -z "$PROTOC_C"], [BPG_MISSING([protoc-c, the compiler of protobuf-c], [protobuf-c-compiler])])
	AS_IF([test -z "$ONNX_PROTO"], [BPG_MISSING([onnx.proto, the schema of ONNX files], [libonnx-dev])])
])])
