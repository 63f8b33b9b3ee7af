# What the scripts here share, which read this file.
bpgraph=${BPG_PROGRAM:-$(dirname "$0")/../bpgraph}

die()
{
	echo "$(basename "$0"): $*" >&2
	exit 2
}

# found FILE: the file itself, or where it is stored compressed
found()
{
	if [ ! -e "$1" ] && [ -e "$1.gz" ]; then
		echo "$1.gz"
	else
		echo "$1"
	fi
}

# networks ONNX: a line NAME=FILE for each of [('f', 'a.onnx'), ('g', 'b.onnx')], or the one file
networks()
{
	case $1 in
	"["*) printf '%s\n' "$1" | awk -F "['\"]" '{ for (i = 2; i + 2 < NF; i += 4) print $i "=" $(i + 2) }' ;;
	*) printf '%s\n' "$1" ;;
	esac | while IFS= read -r line; do
		case $1 in
		"["*) echo "${line%%=*}=$(found "${line#*=}")" ;;
		*) found "$line" ;;
		esac
	done
}

# second FILE: does it begin as a query of VNN-LIB 2?
second()
{
	gzip -cdf "$1" 2>/dev/null | sed -n 's/;.*//; /[^[:space:]]/ { p; q; }' | grep -q '^[[:space:]]*(vnnlib-version'
}
