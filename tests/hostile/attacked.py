"""Programs that listen on a port and are attacked: ps-serve and a compute trainer."""

import atexit
import json
import os
import signal
import subprocess
import time
from concurrent import futures

import wire
from wire import Ended, Peer, Refused

MEBIBYTE = 1 << 20


def expect(condition, text):
    if not condition:
        raise AssertionError(text)


def say_alive(*peers):
    """Each says that it is there; one whose connection has ended says nothing."""
    for peer in peers:
        try:
            peer.say_alive()
        except (Ended, OSError):
            pass


class Program:
    """A process that writes its port into a file, and a line when it is ready; its messages go to FOLDER/NAME.err."""

    statuses = (0,)  # with which it ends well when it is told to

    def __init__(self, folder, name, command):
        port_file = os.path.join(folder, f"{name}.port")
        self.errors = os.path.join(folder, f"{name}.err")
        if os.path.exists(port_file):
            os.remove(port_file)
        with open(self.errors, "w") as errors:
            self.process = subprocess.Popen([*command, "--port", "0", "--port-file", port_file], stdout=subprocess.PIPE,
                                            stderr=errors)
        atexit.register(self.process.kill)
        assert self.process.stdout.readline(), self.said()
        with open(port_file) as file:
            self.port = int(file.readline())

    def said(self):
        with open(self.errors) as file:
            return file.read()

    def peak(self):
        """The most memory that it has taken, in bytes."""
        with open(f"/proc/{self.process.pid}/status") as file:
            (line,) = [line for line in file if line.startswith("VmHWM")]
        return int(line.split()[1]) << 10

    def peer(self, hello=None, source=None, **changes):
        """A peer, which comes from the address `source`, and has said the hello but for the changes."""
        peer = Peer(self.port, source=source)
        if hello:
            self.greet(peer, {**hello, **changes})
        return peer

    def peers(self, sources, hello=None, beside=(), **changes):
        """A peer from each of these addresses, as peer() gives it, or None in place of one that was refused.  Sixteen come at
        a time, since the round trips of one after the other take long on a busy machine; those that have come, and those
        beside them, say meanwhile that they are there."""
        come, spoken = [], time.monotonic()
        with futures.ThreadPoolExecutor(16) as pool:
            waiting = [pool.submit(self.peer, hello, source, **changes) for source in sources]
            for each in waiting:
                while futures.wait([each], 1).not_done or time.monotonic() - spoken > 3:
                    say_alive(*beside, *filter(None, come))
                    spoken = time.monotonic()
                come.append(None if isinstance(each.exception(), (Refused, Ended, OSError)) else each.result())
        return come

    def end(self):
        """Ends it, and expects that it ends well."""
        self.process.terminate()
        status = self.process.wait(60)
        assert status in self.statuses, f"it ended with {status}: {self.said()}"


class Server(Program):
    """ps-serve on the job, with so much memory."""

    MAX_MEMORY = 128 * MEBIBYTE
    # The promise of ps-serve(1): what the process takes when --max-memory is used up.
    MAX_RESIDENT = MAX_MEMORY * 5 // 4 + 64 * MEBIBYTE

    def __init__(self, folder, *flags):
        super().__init__(folder, "serve", ["ps-serve", os.path.join(folder, "job.json"), "--max-memory",
                                           str(self.MAX_MEMORY), *flags])

    def greet(self, peer, hello):
        peer.hello(hello)


class Compute(Program):
    """ps-train --role compute on the job, in front of a server."""

    MAX_MEMORY = 64 * MEBIBYTE
    # Beside that, the copies of one reader, what the allocator keeps, code and threads.
    MAX_RESIDENT = MAX_MEMORY * 5 // 4 + 96 * MEBIBYTE
    statuses = (128 + signal.SIGTERM, -signal.SIGTERM)

    def __init__(self, folder, server, *flags):
        super().__init__(folder, "compute", ["ps-train", os.path.join(folder, "job.json"), "--role", "compute", "--servers",
                                             f"127.0.0.1:{server.port}", "--max-memory", str(self.MAX_MEMORY), *flags])

    def greet(self, peer, hello):
        peer.ask(wire.READER_HELLO, json.dumps(hello).encode())
