# Sends twenty messages to the host `server`, and says what came back for the last one.
import zmq

socket = zmq.Context().socket(zmq.REQ)
socket.connect("tcp://server:5555")
for number in range(20):
    socket.send(b"message %d" % number)
    answer = socket.recv()
print(answer[::-1].decode())
