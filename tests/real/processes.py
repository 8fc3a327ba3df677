"""multiprocessing in most of its forms, and programs whose output is read."""
import multiprocessing
import multiprocessing.reduction
import os
import random
import socket
import subprocess
import time


def square(number):
    return number * number


def count(counter, rounds):
    for _ in range(rounds):
        with counter.get_lock():
            counter.value += 1


def answer(connection):
    while (text := connection.recv()) is not None:
        connection.send(text[::-1])


def receive_file(connection):
    handle = multiprocessing.reduction.recv_handle(connection)
    print("sent:", os.pread(handle, 9, 0), os.lseek(handle, 0, os.SEEK_CUR), flush=True)


def main():
    with multiprocessing.Pool(3) as pool:
        print("pool:", pool.map(square, range(10)))
    counter = multiprocessing.Value("i", 0)
    workers = [multiprocessing.Process(target=count, args=(counter, 100)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print("counter:", counter.value)
    queue = multiprocessing.Queue()
    workers = [multiprocessing.Process(target=queue.put, args=(i,)) for i in range(4)]
    for worker in workers:
        worker.start()
    print("queue:", sorted(queue.get() for _ in workers))
    for worker in workers:
        worker.join()
    ours, theirs = multiprocessing.Pipe()
    worker = multiprocessing.Process(target=answer, args=(theirs,))
    worker.start()
    ours.send("abc")
    print("pipe:", ours.recv())
    ours.send(None)
    worker.join()
    file = os.memfd_create("file")
    os.write(file, b"content")
    worker = multiprocessing.Process(target=receive_file, args=(theirs,))
    worker.start()
    multiprocessing.reduction.send_handle(ours, file, worker.pid)
    worker.join()
    ends = socket.socketpair()
    socket.send_fds(ends[0], [b"two"], [file, 1])
    text, files, _, _ = socket.recv_fds(ends[1], 9, 2)
    print("received:", text, len(files), os.pread(files[0], 9, 0))
    print(subprocess.run(["ip", "addr"], capture_output=True, text=True, check=True).stdout)
    print(subprocess.run(["ibv_devinfo"], capture_output=True, text=True, check=True).stdout)
    print(random.random(), hash("order"), time.time(), os.getpid(), sorted(os.environ))


if __name__ == "__main__":
    main()
