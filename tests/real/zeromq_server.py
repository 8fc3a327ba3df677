# Answers twenty messages over TCP with ZeroMQ, whose threads wait with epoll and tell each other by eventfd.
import zmq

socket = zmq.Context().socket(zmq.REP)
socket.bind("tcp://*:5555")
for served in range(20):
    socket.send(socket.recv()[::-1])
print("served", served + 1)
