# Threads, queues, processes and time.
import multiprocessing
import os
import queue
import random
import threading
import time

results = queue.Queue()


def work(number):
    for turn in range(5):
        time.sleep(random.random() / 1000)
        results.put((number, turn, time.time_ns(), time.perf_counter_ns()))


threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
while not results.empty():
    print(*results.get())


def square(number):
    return number * number, os.getpid()


with multiprocessing.get_context("fork").Pool(3) as pool:
    print(sorted(pool.map(square, range(10), chunksize=2)))
