# What an interpreter does around its work; prints only what the seed decides.
import os
import random
import selectors
import socket
import subprocess
import threading
import time

print(hash("a string"), random.random(), os.getpid(), time.time())

count, lock = 0, threading.Lock()


def work():
    global count
    for _ in range(100):
        with lock:
            count += 1
        time.sleep(0.0001)


threads = [threading.Thread(target=work) for _ in range(5)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(count)

selector = selectors.DefaultSelector()
near, far = socket.socketpair()
reader, writer = os.pipe()
selector.register(near, selectors.EVENT_READ, "socket")
selector.register(reader, selectors.EVENT_READ, "pipe")
os.write(writer, b"x")
print(sorted(key.data for key, _ in selector.select(1)))
far.close()
print(sorted(key.data for key, _ in selector.select(1)))

server = socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True)
for address in ("127.0.0.1", "::1", socket.gethostname(), socket.gethostname() + ".ip6"):
    client = socket.create_connection((address, server.getsockname()[1]))
    accepted, peer = server.accept()
    client.sendall(b"hello")
    client.shutdown(socket.SHUT_WR)
    print(peer, accepted.makefile("rb").read())
print(socket.if_nameindex())
print(subprocess.run("echo one two three | tr ' ' '\\n' | sort -r | head -2", shell=True, capture_output=True).stdout)
