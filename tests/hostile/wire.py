"""A small client of ps-wire(5), written from the page alone, that also says what no honest trainer would say."""

import ctypes
import json
import select
import socket
import ssl
import struct
import subprocess

ALIVE, NOTICE, DESCRIBE, HELLO, PULL, PUSH, KEYS, LOAD = 1, 2, 16, 17, 18, 19, 20, 21
GATHER, COMMIT, END_RUN, ROW_REPORT, SAVE_LEASE, CHECKPOINT, PART, PART_PIECE = 22, 23, 24, 25, 26, 27, 29, 30
READER_HELLO, BATCH, END, BEGINNING, AHEAD, JOIN, STAY, NO_DATA = range(96, 104)  # of readers to compute trainers
STATE_CHUNK, LEAVE_RUN, ABSENT, OPTIMIZERS, STORED_ROWS, RETURN_ROWS = 31, 32, 33, 34, 35, 36
WORK, APPLIED, GATHERED, RUN_END = 37, 38, 39, 40
REQUESTS = tuple(range(DESCRIBE, RUN_END + 1))

MAGIC, VERSION = b"PSK1", 1
ANSWER, ERROR, PIECE = 1, 2, 4
CHUNK = 8  # of the flags of a push
HEADER = struct.Struct("<4sHHIIQQQ")  # less its own checksum

_xxhash = ctypes.CDLL("libxxhash.so.0")
_xxhash.XXH3_64bits.restype = ctypes.c_uint64
_xxhash.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]


class Refused(Exception):
    """The answer is an error; code as in ps(7)."""

    def __init__(self, code, message):
        super().__init__(f"code {code}: {message}")
        self.code = code


class Ended(Exception):
    """The other side has closed the connection."""


def checksum(data):
    return _xxhash.XXH3_64bits(data, len(data))


def frame(kind, body=b"", request=0, flags=0):
    """The bytes of a frame."""
    header = HEADER.pack(MAGIC, VERSION, kind, flags, 0, request, len(body), checksum(body))
    return header + struct.pack("<Q", checksum(header)) + body


def varint(number):
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def key_list(keys):
    """Ascending keys, each as its difference to the one before, less one."""
    last, out = -1, bytearray()
    for key in keys:
        out += varint(key - last - 1)
        last = key
    return struct.pack("<II", len(keys), len(out)) + bytes(out)


def keyed_part(parameter, keys):
    return struct.pack("<IB", parameter, 0) + key_list(keys)


def range_part(parameter, first, count):
    return struct.pack("<IBQQ", parameter, 1, first, count)


def parts(*each):
    return struct.pack("<I", len(each)) + b"".join(each)


def pull(step, mode, number, what):
    return struct.pack("<QBBQ", step, mode, 0, number) + what


def push(step, slice, num_slices, what=b"", samples=1, pulled=0, flags=0, rows=b"", row_type=0):
    body = struct.pack("<QQQBBIIQ", step, samples, 0, flags, row_type, slice, num_slices, pulled) + what
    return body + bytes(-len(body) % 64) + rows


def chunk(data):
    """A trainer state chunk, which follows the row slices of a push."""
    return struct.pack("<Q", len(data)) + data


def gift(number, data, first=0, rest=0):
    """A piece of what a trainer gives to a gathering."""
    return struct.pack("<QQQ", number, first, rest) + data


class Peer:
    """A connection to a shard, which may come from another address of this machine."""

    tls = None  # a context: what passes is encrypted

    def __init__(self, port, receive_buffer=None, source=None, host="127.0.0.1"):
        self.socket = socket.socket()
        if source:
            self.socket.bind((source, 0))
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.connect((host, port))
        if self.tls:
            self.socket = self.tls.wrap_socket(self.socket, server_hostname=host)
        self.begin()

    @classmethod
    def accept(cls, listener):
        """The other side of the next connection that a listening socket gets."""
        peer = cls.__new__(cls)
        peer.socket = listener.accept()[0]
        peer.begin()
        return peer

    def begin(self):
        self.request = 0
        self.received = bytearray()
        self.pieces = {}  # of answers that are not whole, by request

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, kind, body=b""):
        """Sends a request, and returns its number.  Throws Ended."""
        self.request += 1
        self.send_bytes(frame(kind, body, self.request))
        return self.request

    def say_alive(self):
        """Says that it is there, as a peer does that has nothing else to say for seconds."""
        self.send_bytes(frame(ALIVE))

    def send_bytes(self, data):
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError) as error:
            raise Ended(str(error)) from error

    def send_what_fits(self, data):
        """Sends as much as the other side takes at once; returns how much that is."""
        self.socket.setblocking(False)
        try:
            return self.socket.send(data)
        except (BlockingIOError, ssl.SSLWantWriteError):
            return 0
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError) as error:
            raise Ended(str(error)) from error
        finally:
            self.socket.setblocking(True)

    def read_some(self, most):
        """Waits for bytes, and says meanwhile that it is there."""
        while not self._may_read(3000):
            self.say_alive()
        try:
            data = self.socket.recv(most)
        except (ConnectionResetError, ssl.SSLError) as error:
            raise Ended(str(error)) from error
        if not data:
            raise Ended("end of the connection")
        return data

    def _take(self, size):
        while len(self.received) < size:
            self.received += self.read_some(1 << 20)
        taken = bytes(self.received[:size])
        del self.received[:size]
        return taken

    def read(self):
        """The next frame that is not alive, or answer in pieces: its type, flags, request and body."""
        while True:
            kind, flags, request, size = self._take_header()
            body = self._take(size)
            if kind == NOTICE:
                raise Ended(body[4:].decode())
            if flags & PIECE:
                self.pieces.setdefault(request, []).append(body)
            elif kind != ALIVE:
                before = self.pieces.pop(request, [])
                return kind, flags, request, body if flags & ERROR else b"".join([*before, body])

    def _take_header(self):
        header = self._take(HEADER.size + 8)
        magic, _, kind, flags, _, request, size, _ = HEADER.unpack(header[: HEADER.size])
        assert magic == MAGIC, header
        return kind, flags, request, size

    def pass_over(self):
        """Yields the numbers of bytes of the next answer as they come, and keeps none."""
        more = True
        while more:
            kind, flags, _, left = self._take_header()
            more = flags & PIECE or kind == ALIVE
            while left > 0:
                come = min(left, len(self.received))
                if come > 0:
                    del self.received[:come]
                else:
                    come = len(self.read_some(min(left, 1 << 18)))
                left -= come
                yield come

    def answer(self, request):
        """The answer to this request, which nothing but answers to others comes before."""
        while True:
            _, flags, answered, body = self.read()
            if answered == request:
                if flags & ERROR:
                    raise Refused(struct.unpack("<I", body[:4])[0], body[4:].decode())
                return body

    def ask(self, kind, body=b""):
        return self.answer(self.send(kind, body))

    def hello(self, like, **changes):
        """Says the hello `like`, but for the changes.  Returns the answer."""
        return json.loads(self.ask(HELLO, json.dumps({**like, **changes}).encode()))

    def has_something(self):
        return bool(self.received or self._may_read(0))

    def _may_read(self, wait_ms):
        if isinstance(self.socket, ssl.SSLSocket) and self.socket.pending() > 0:
            return True
        waiting = select.poll()
        waiting.register(self.socket, select.POLLIN)
        return bool(waiting.poll(wait_ms))


def hello_of_trainer(command):
    """The hello that a trainer says: `command` starts one, with --servers ADDRESS added, which meets this process in place
    of a server, and is ended when it has spoken."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(60)
        port = listener.getsockname()[1]
        trainer = subprocess.Popen([*command, "--servers", f"127.0.0.1:{port}"], stderr=subprocess.DEVNULL)
        try:
            while True:
                peer = Peer.accept(listener)
                with peer:
                    try:
                        while True:
                            kind, _, request, body = peer.read()
                            if kind == HELLO:
                                return json.loads(body)
                            assert kind == DESCRIBE, kind
                            ports = json.dumps({"ports": [port], "dense": 1, "sparse": 1}).encode()
                            peer.send_bytes(frame(DESCRIBE, ports, request, ANSWER))
                    except Ended:
                        pass
        finally:
            trainer.kill()
            trainer.wait()
