# Helpers of the scripts here, which read this file: a folder that goes away at the end, complaints, fields of JSON.
bpgraph=${BPG_PROGRAM:-./bpgraph}
make_net=${BPG_BUILD:-.}/tests/cli/make_net
examples=${BPG_EXAMPLES:-$(dirname "$0")/../../examples}
tmp=${BPG_BUILD:-.}/tests/tmp/$(basename "$0" .sh).$$
mkdir -p "$tmp" || exit 99
trap 'rm -rf "$tmp"' EXIT
status=0

complain()
{
	echo "$*"
	status=1
}

# field FILE NAME: one word or number
field()
{
	sed -n "s/.*\"$2\": \"\{0,1\}\([^\",}]*\).*/\1/p" "$1"
}

# valid_json FILE WHAT
valid_json()
{
	command -v python3 >/dev/null || return 0
	python3 -m json.tool "$1" >/dev/null || complain "$2: no JSON: $(head -c 300 "$1")"
}
