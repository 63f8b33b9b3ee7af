"""Whether other programs were busy while something was measured."""
import os
import resource
import time

LOST = 0.1  # share of the machine that others may take in a round that counts


def watch(work):
    """What it returns, and the share of the machine that others took meanwhile."""
    def used():
        with open('/proc/stat') as f:
            ticks = list(map(int, f.readline().split()[1:9]))
        own = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf('SC_CLK_TCK') - sum(r.ru_utime + r.ru_stime for r in own), time.monotonic()
    before = used()
    result = work()
    after = used()
    return result, (after[0] - before[0]) / max(after[1] - before[1], 1e-9) / os.cpu_count()
