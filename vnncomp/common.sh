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
