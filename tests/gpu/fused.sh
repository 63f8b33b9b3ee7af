#!/bin/sh
# nvcc fuses what is written as fused and nothing else, keeps small numbers, and approximates nothing: read in what it makes of the kernels,
# with the flags of the build.
top=${srcdir:-$(dirname "$0")/../..}
[ -n "$NVCC" ] && [ -n "$BPG_CUDA_FLAGS" ] || { echo "no nvcc"; exit 77; }
status=0
flags=$(printf '%s\n' "$BPG_CUDA_FLAGS" | sed 's/-gencode *[^ ]*//g')
mkdir -p tests/tmp

# refuse FILE PATTERN WHY: the assembly of a source must not have it
refuse()
{
	if grep -nE "$2" "tests/tmp/$1.ptx" | head -n 3 | grep .; then
		echo "src/cuda/$1.cu: $3"
		status=1
	fi
}

for name in adjoint elements product relax sums; do
	"$NVCC" $flags -O3 -arch=compute_90 -ptx -I"$top/src" "$top/src/cuda/$name.cu" -o "tests/tmp/$name.ptx" || exit 1
	refuse $name '\.ftz|\.approx' 'small numbers are lost, or an operation is approximate'
	case $name in
	adjoint | product)
		grep -qE 'fma\.rn\.f32' "tests/tmp/$name.ptx" || { echo "src/cuda/$name.cu: nothing is fused"; status=1; }
		refuse $name 'mul(\.rn)?\.f(32|64)' 'a product that is not fused' ;;
	*) refuse $name 'fma\.rn\.f(32|64)' 'fused though it is not written so' ;;
	esac
	rm -f "tests/tmp/$name.ptx"
done
exit $status
