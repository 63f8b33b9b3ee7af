# Helpers of the scripts that start ranks; read after common.sh. Without MPI, or a launcher that runs, the test is skipped.
"$bpgraph" --version | grep -q '^MPI none' && { echo "built without MPI"; exit 77; }
command -v mpirun >/dev/null || { echo "no mpirun here"; exit 77; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 STARPU_NCPU=1

# ranks P WORDS...: at most a minute
ranks()
{
	p=$1
	shift
	timeout 60 mpirun --oversubscribe --bind-to none -n "$p" "$bpgraph" "$@"
}
timeout 60 mpirun --oversubscribe --bind-to none -n 2 true 2>"$tmp/err" || { echo "mpirun does not run here: $(head -n 3 "$tmp/err")"; exit 77; }

# killed SECONDS WORDS...: two ranks, of which the second is killed after so many seconds; whether the run ends within ten more, by the
# launcher's word, and with no answer
killed()
{
	seconds=$1
	shift
	rm -f "$tmp"/pid.*
	timeout 60 mpirun --oversubscribe --bind-to none -n 2 sh -c 'echo $$ >"$0.$OMPI_COMM_WORLD_RANK"; exec "$@"' "$tmp/pid" "$bpgraph" "$@" >"$tmp/out" 2>"$tmp/err" &
	launcher=$!
	sleep "$seconds"
	kill -9 "$(cat "$tmp/pid.1")" 2>/dev/null || { why="nothing to kill"; return 1; }
	start=$(date +%s)
	wait $launcher
	rc=$?
	why="exit status $rc after $(($(date +%s) - start)) s: $(cat "$tmp/out" "$tmp/err")"
	[ $(($(date +%s) - start)) -le 10 ] && [ $rc != 0 ] && grep -qi 'signal 9\|killed' "$tmp/err" && ! grep -q '^unsat\|^sat' "$tmp/out"
}
