#!/bin/sh
# Folders include each other in one direction only, and each outside library is seen by its own folder alone.
top=${srcdir:-$(dirname "$0")/../..}
cd "$top/src" || exit 99
status=0

complain()
{
	echo "$1"
	status=1
}

# What the files of a folder may include, folder by folder.
allowed()
{
	case $1 in
	base) echo base ;;
	net) echo base net ;;
	onnx) echo base net spec onnx ;; # spec: the reader of compressed files
	spec) echo base net spec ;;
	rt) echo base cuda rt ;;
	codelets) echo base net cuda rt codelets ;;
	graph) echo base net spec rt codelets graph ;;
	bab) echo base net spec graph bab ;;
	report) echo base net spec report ;;
	conformance) echo base net codelets conformance ;;
	cli) echo base net spec report conformance cli ;;
	check) echo base check ;;
	cuda) echo cuda ;;
	esac
}

# Single headers beyond that: the plain structure of results, the runtime's word for "stop", how a tile lies in memory.
beyond=' graph:report/result.h bab:report/result.h bab:rt/rt.h bab:rt/comm.h cuda:codelets/fields.h cuda:codelets/clones.h '

for dir in base net onnx spec rt codelets graph bab report conformance cli check cuda; do
	may=" $(allowed $dir) "
	for file in "$dir"/*.[ch] "$dir"/*.inc "$dir"/*.cu; do
		[ -f "$file" ] || continue
		case $file in *.pb-c.[ch]) continue ;; esac
		for header in $(sed -n 's|^# *include "\([a-z_]*/.*\)"|\1|p' "$file" | sort -u); do
			case $may$beyond in
			*" ${header%%/*} "* | *" $dir:$header "*) ;;
			*) complain "src/$file includes $header, which $dir must not" ;;
			esac
		done
	done
done

# Layers see the public headers, their family and nothing of the runtime.
for file in codelets/layer_*.c; do
	[ -f "$file" ] || continue
	for header in $(sed -n 's|^# *include "\(.*\)"|\1|p' "$file"); do
		case $header in
		codelets/*) ;;
		*) complain "src/$file includes $header; a layer includes <bpgraph/layer.h> and family headers" ;;
		esac
	done
done

# only PATTERN FILES...: who sees an outside header
only()
{
	pattern=$1
	shift
	for file in $(grep -lE "^# *include [<\"]$pattern" */*.[ch] */*.inc */*.cu ./*.c 2>/dev/null); do
		file=${file#./}
		for may in "$@"; do
			case $file in $may) continue 2 ;; esac
		done
		complain "src/$file includes $pattern"
	done
}
only 'starpu' 'rt/*'
only 'hwloc' 'rt/*'
only '(cuda_runtime|cublas|nccl)' 'cuda/launch.h' 'cuda/*.cu'
only 'mpi\.h' 'rt/*'
only '((onnx/)?onnx\.pb-c|protobuf-c|google)' 'onnx/*'
only '(mkl_)?cblas' 'base/blas.c'
only 'glpk' 'base/lp.c'
only 'onnx/onnx\.h' 'onnx/*' 'bpgraph.c'

# Installed headers stand on their own.
for file in ../include/bpgraph/*.h; do
	grep -nE '^# *include "' "$file" && complain "$file includes a header that is not installed"
done
exit $status
