#!/bin/sh
# The command line: exit statuses, messages that name the value and where it came from, texts made from the table.
bpgraph=${BPG_PROGRAM:-./bpgraph}
status=0

# try STATUS PART WORDS...: runs, checks the exit status, and that some output has the part
try()
{
	want=$1
	part=$2
	shift 2
	got=$("$bpgraph" "$@" 2>&1)
	rc=$?
	case $got in
	*"$part"*) ;;
	*)
		echo "bpgraph $*: '$part' is not in: $got"
		status=1
		;;
	esac
	[ $rc = "$want" ] || {
		echo "bpgraph $*: exit status $rc, expected $want: $got"
		status=1
	}
}

try 0 'StarPU' --version
try 0 'CPU workers' --version
try 0 'BLAS' --version
try 0 'bpgraph run' --help
try 0 '--epsilon E' run --help
try 0 '--input FILE' eval --help
try 0 '.TH BPGRAPH 1' --man
try 0 'operator' layers
try 2 'bpgraph: give a command' 
try 2 'bpgraph: dance: no such command' dance
try 2 'give a network' run
try 2 'bpgraph: --colour=red: no such option' run n.onnx --colour=red
try 2 'bpgraph: -x: options begin with two dashes' run n.onnx -x
try 2 'bpgraph: --method=crwon: unknown word; give auto, ibp, crown-ibp, crown, alpha-crown or beta-crown' run n.onnx --method crwon
try 2 'bpgraph: --sound=deployed: not built yet' run n.onnx --sound=deployed
try 2 'bpgraph: --certificate is not built yet' run n.onnx --certificate c
try 2 'bpgraph: --input is no option of bpgraph run' run n.onnx --input x
try 2 'bpgraph: --json needs a value' run n.onnx --json
try 2 'bpgraph: --json needs a value' run n.onnx --json --quiet
try 2 'bpgraph: c: one file too many' run a b c
try 2 'nowhere.onnx' run nowhere.onnx
try 2 'nowhere.onnx' eval nowhere.onnx --input x
try 2 'bpgraph: eval: give the point by --input' eval nowhere.onnx
try 2 'nowhere.onnx' info nowhere.onnx
try 0 '--network NAME=FILE' verify --help
try 2 'q.vnnlib' verify q.vnnlib
try 2 'bpgraph: --network is no option of bpgraph run' run n.onnx --network f=n.onnx

BPGRAPH_SLOPE=steep
export BPGRAPH_SLOPE
try 2 'bpgraph: environment: BPGRAPH_SLOPE=steep: unknown word' run n.onnx
try 2 'n.onnx' run n.onnx --slope zero
BPGRAPH_SLOPE=
try 2 'n.onnx' run n.onnx
unset BPGRAPH_SLOPE

# Every option of --help is in the manual.
for option in $("$bpgraph" run --help | sed -n 's/^  --\([a-z-]*\).*/\1/p'); do
	"$bpgraph" --man | sed 's/\\-/-/g' | grep -q -- "--$option" || {
		echo "--$option is not in the manual"
		status=1
	}
done
exit $status
