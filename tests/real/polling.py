"""Polls a completion queue that stays empty for so many milliseconds, as rdma-core's tests in Python do."""
import sys
import time

from pyverbs.cq import CQ
from pyverbs.device import Context


def poll(cq, seconds):
    completions = []
    count = 1
    start = time.perf_counter()
    while count > 0 and time.perf_counter() - start < seconds:
        found, entries = cq.poll(count)
        count -= found
        completions.extend(entries)
    return len(completions), time.perf_counter() - start


with Context(name="mlx5_0") as context, CQ(context, 10) as queue:
    found, passed = poll(queue, int(sys.argv[1]) / 1000)
    print(f"{found} completions in {passed * 1e9:.0f} ns")
