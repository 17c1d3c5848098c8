"""What peers without good intentions say to a compute trainer: it refuses them, keeps to its memory, and goes on.

usage: compute_attacks.py FOLDER   runs ps-serve and ps-train of the path on FOLDER/job.json and train.txt, and attacks them
"""

import json
import os
import random
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

import wire
from attacked import MEBIBYTE, Compute, Server, expect
from wire import Ended, Peer, Refused

AHEAD = ("--set", "train.pull_ahead=4")
OUT_OF_MEMORY, FENCED, BEGIN_AGAIN = 6, 8, 12
MOST_WAITING = 1000  # a connection is not read from while 1024 of its requests wait


def reader(folder, server, compute_port, *flags):
    return ["ps-train", os.path.join(folder, "job.json"), "--data", os.path.join(folder, "train.txt"), "--role", "reader",
            "--servers", f"127.0.0.1:{server.port}", "--compute", f"127.0.0.1:{compute_port}", *AHEAD, *flags]


class Recorded:
    """What an honest reader says to a compute trainer that greets it and answers nothing else."""

    def __init__(self, folder, server):
        # A reader sends those batches that it has prepared by then, which may be fewer: the next one tries again.
        deadline = time.monotonic() + 120
        while not self.record(folder, server):
            expect(time.monotonic() < deadline, "no reader has sent three batches ahead")

    def record(self, folder, server):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.settimeout(60)
            process = subprocess.Popen(reader(folder, server, listener.getsockname()[1]), stderr=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL)
            try:
                peer = Peer.accept(listener)
                with peer:
                    kind, _, request, body = peer.read()
                    assert kind == wire.READER_HELLO, kind
                    self.hello = json.loads(body)
                    welcome = json.dumps({"protocol": self.hello["protocol"], "cpu": self.hello["cpu"]}).encode()
                    peer.send_bytes(wire.frame(kind, welcome, request, wire.ANSWER))
                    kind, _, request, body = peer.read()
                    assert (kind, body) == (wire.JOIN, b""), kind
                    peer.send_bytes(wire.frame(kind, b"", request, wire.ANSWER))
                    kind, _, request, self.beginning = peer.read()
                    assert kind == wire.BEGINNING, kind
                    self.first = self.beginning[:8]
                    peer.send_bytes(wire.frame(kind, self.first, request, wire.ANSWER))
                    frames = []
                    while len(frames) < 4 and (peer.received or select.select([peer.socket], [], [], 2)[0]):
                        frames.append(peer.read())
            finally:
                process.kill()
                process.wait()
        if not frames:
            return False  # a reader that is slow has not even said that it stays
        assert [kind for kind, _, _, _ in frames] == [wire.STAY] + (len(frames) - 1) * [wire.AHEAD], frames
        self.batches = [body for _, _, _, body in frames[1:]]
        return len(self.batches) == 3

    def begin(self, compute, **changes):
        """A peer with copies at the compute trainer."""
        peer = compute.peer(self.hello, **changes)
        expect(peer.ask(wire.JOIN, b"") == b"", "all have joined, and it is not told so")
        expect(peer.ask(wire.BEGINNING, self.beginning) == self.first, "the copies begin at another step")
        return peer


def of_pass(batch, number):
    """A batch ahead, of another pass: the number stands behind the prepared batch, its padding, and `left`."""
    (size,) = struct.unpack_from("<Q", batch, 8)
    at = (16 + size + 63) // 64 * 64 + 8
    return batch[:at] + struct.pack("<q", number) + batch[at + 8:]


def code_of(peer, kind, body):
    """The code of the error that answers; 0: it is done, -1: the connection is ended."""
    try:
        peer.ask(kind, body)
        return 0
    except Refused as error:
        return error.code
    except Ended:
        return -1


def frames_that_never_end(compute, _, recorded):
    """Bodies that are announced and do not come take only what has come."""
    header = wire.frame(wire.READER_HELLO, bytes(4 * MEBIBYTE), 1)[:48]
    peers = []
    for _ in range(300):
        try:
            peer = compute.peer()
            peer.send_what_fits(header + bytes(4096))
            peers.append(peer)
        except (OSError, Ended):
            pass
    expect(len(peers) > 100, f"{len(peers)} connections")
    for peer in peers:
        peer.socket.close()
    with compute.peer(recorded.hello) as peer:
        peer.send_bytes(wire.frame(wire.AHEAD, bytes(64 * MEBIBYTE), 77))
        expect(code_of(peer, wire.AHEAD, recorded.batches[0]) == BEGIN_AGAIN, "a batch is not heard")


def hellos_of_nobody(compute, _, recorded):
    """Hellos of other jobs, of ranks that there are not, and what is none."""
    hello = recorded.hello
    slot = {"name": "x", "dense": True, "dim": 1 << 40}
    changes = ({"job": {}}, {"rank": 1}, {"rank": -1}, {"trainers": 0}, {"trainers": 1 << 40}, {"protocol": 99}, {"run": 0},
               {"generation": 0}, {"schema": {}}, {"schema": {"slots": [slot]}}, {"schema": {"slots": [slot] * 10000}},
               {"ends": True, "job": {}}, {"none": 1})
    bodies = [json.dumps({**hello, **change}).encode() for change in changes]
    bodies += [b"", b"{", b"[" * MEBIBYTE, b"\0" * 1000, json.dumps(hello).encode()[:-1]]
    for body in bodies:
        with compute.peer() as peer:
            expect(code_of(peer, wire.READER_HELLO, body) != 0, f"greeted: {body[:100]}")


def what_must_not_come_now(compute, _, recorded):
    """Messages before a hello or a beginning, of another mode, and of passes that are over or far away."""
    first, second = recorded.batches[:2]
    with compute.peer() as peer:
        expect(code_of(peer, wire.AHEAD, first) != 0, "a batch before a hello")
    with compute.peer(recorded.hello) as peer:
        expect(code_of(peer, wire.READER_HELLO, json.dumps(recorded.hello).encode()) == 3, "a second hello")
        expect(code_of(peer, wire.BATCH, first) == 3, "a batch of another mode")
        for kind, body in ((wire.AHEAD, first), (wire.STAY, b""), (wire.NO_DATA, bytes(16)), (wire.BEGINNING, recorded.beginning)):
            expect(code_of(peer, kind, body) == BEGIN_AGAIN, f"{kind} before the reader has joined")
        for damaged in (recorded.beginning[:-1], recorded.beginning + b"\0", recorded.beginning[:7], b""):
            expect(code_of(peer, wire.JOIN, b"") == 0, "a reader that joins again")
            expect(code_of(peer, wire.JOIN, b"") == 3, "a reader that joins twice")
            expect(code_of(peer, wire.BEGINNING, damaged) == 3, "a damaged beginning")
    with recorded.begin(compute) as peer:
        expect(code_of(peer, wire.BEGINNING, recorded.beginning) == 3, "a second beginning")
        expect(code_of(peer, wire.NO_DATA, bytes(8)) == 3, "a step without data that is cut short")
        expect(peer.ask(wire.NO_DATA, recorded.first + bytes(8)) == b"\1", "the pass does not end")
        expect(peer.ask(wire.NO_DATA, recorded.first + bytes(8)) == b"\1", "a step behind the end of the pass")
        expect(code_of(peer, wire.NO_DATA, recorded.first + struct.pack("<q", 5)) == 3, "no data in another pass")
    for number in (-1, -(1 << 63), 1 << 40, (1 << 63) - 1):
        with recorded.begin(compute) as peer:
            expect(code_of(peer, wire.AHEAD, first) == 0, "an honest batch")
            expect(code_of(peer, wire.AHEAD, of_pass(second, number)) == 3, f"a batch of pass {number}")
    with recorded.begin(compute) as peer:
        expect(code_of(peer, wire.AHEAD, of_pass(first, 5)) == 0, "a first batch of a later pass")


def answers_that_wait(compute, server, recorded):
    """While the servers say nothing, batches wait within the limit, and what comes beyond it is refused with code 6."""
    with recorded.begin(compute) as peer:
        server.process.send_signal(signal.SIGSTOP)
        codes = {}
        try:
            (step,) = struct.unpack("<Q", recorded.first)
            while not codes and step < MOST_WAITING:
                peer.send(wire.AHEAD, struct.pack("<Q", step) + recorded.batches[0][8:])
                step += 1
                while peer.has_something():
                    _, flags, _, body = peer.read()
                    code = struct.unpack("<I", body[:4])[0] if flags & wire.ERROR else 0
                    codes[code] = codes.get(code, 0) + 1
        finally:
            server.process.send_signal(signal.SIGCONT)
        expect(codes.keys() <= {OUT_OF_MEMORY}, codes)


def copies_for_one_reader(compute, _, recorded):
    """Who begins over many connections has the copies of the last."""
    peers = [recorded.begin(compute) for _ in range(40)]
    expect(code_of(peers[0], wire.AHEAD, recorded.batches[0]) == FENCED, "the first connection has copies")
    expect(code_of(peers[-1], wire.AHEAD, recorded.batches[0]) == 0, "the last connection has none")
    for peer in peers:
        peer.socket.close()


def anything_in_any_order(compute, _, recorded):
    """Messages of an honest reader with damages, in any order, over connections that come and go."""
    random_source = random.Random(1)
    codes = {}
    for _ in range(40):
        try:
            with compute.peer(recorded.hello) as peer:
                for _ in range(12):
                    kind = random_source.choice((*2 * (wire.JOIN,), *2 * (wire.BEGINNING,), *4 * (wire.AHEAD,), wire.NO_DATA, wire.BATCH, 95, 104))
                    body = random_source.choice(recorded.batches)
                    body = {wire.JOIN: b"", wire.BEGINNING: recorded.beginning, wire.NO_DATA: body[:16]}.get(kind, body)
                    damage = random_source.random()
                    if damage < 0.2:
                        body = body[: random_source.randrange(len(body) + 1)]
                    elif damage < 0.6 and body:
                        body = bytearray(body)
                        for _ in range(random_source.choice((1, 1, 8))):
                            body[random_source.randrange(len(body))] ^= 1 << random_source.randrange(8)
                        body = bytes(body)
                    code = code_of(peer, kind, body)
                    codes[code] = codes.get(code, 0) + 1
                    if code == -1:
                        break
        except (Ended, OSError):
            pass
    expect(codes.get(3, 0) > 40 and codes.get(0, 0) > 0, codes)
    expect(not codes.get(1), f"faults of the program: {codes}")


ATTACKS = (frames_that_never_end, hellos_of_nobody, what_must_not_come_now, answers_that_wait, copies_for_one_reader,
           anything_in_any_order)


def a_reader_that_falls_silent(folder, server, recorded):
    """It is gone after the request timeout; the compute trainer waits for another, and ends, and names the rank."""
    compute = Compute(folder, server, *AHEAD, "--set", "cluster.request_timeout=1", "--set", "cluster.trainer_timeout=1")
    job = {**recorded.hello["job"], "cluster": {"request_timeout": 1.0}}
    with compute.peer(recorded.hello, job=job) as peer:
        peer.socket.settimeout(60)
        while peer.socket.recv(1 << 16):
            pass
        expect(compute.process.wait(60) == 4, compute.said())
    expect("no connection from reader 0" in compute.said(), compute.said())


def train(folder, server, compute, model):
    """An honest reader trains to the model, a folder, whose bytes are returned."""
    subprocess.run(reader(folder, server, compute.port, "--save-dir", model), check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, timeout=300)
    with open(os.path.join(model, "pass-00000", "model.safetensors"), "rb") as file:
        return file.read()


def honest_reader_beside_others(folder, recorded):
    """An honest reader has the bits of an undisturbed one, whatever others say meanwhile of runs that are over."""
    server = Server(folder, *AHEAD)
    compute = Compute(folder, server, *AHEAD)
    undisturbed = train(folder, server, compute, os.path.join(folder, "undisturbed"))
    expect(compute.process.wait(60) == 0, compute.said())
    server.end()
    server = Server(folder, *AHEAD)
    compute = Compute(folder, server, *AHEAD)
    ended = threading.Event()
    said = []

    def attack(seed):
        random_source = random.Random(seed)
        number = 0
        while not ended.is_set():
            try:
                with compute.peer() as peer:
                    if random_source.random() < 0.5:
                        peer.send(wire.READER_HELLO, json.dumps({**recorded.hello, "job": {}}).encode())
                    for _ in range(random_source.randrange(4)):
                        kind = random_source.choice((wire.BEGINNING, wire.AHEAD, wire.BATCH, wire.END, wire.JOIN, wire.STAY, wire.NO_DATA))
                        peer.send(kind, random_source.randbytes(random_source.choice((0, 100, 10000))))
                        number += 1
                    time.sleep(0.001)
            except (Ended, OSError):
                pass
        said.append(number)

    threads = [threading.Thread(target=attack, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    try:
        disturbed = train(folder, server, compute, os.path.join(folder, "disturbed"))
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    expect(disturbed == undisturbed, "the model is another one")
    expect(compute.process.wait(60) == 0, compute.said())
    server.end()
    print(f"  the same model beside {sum(said)} messages")


def main():
    folder = sys.argv[1]
    server = Server(folder, *AHEAD)
    recorded = Recorded(folder, server)
    for attack in ATTACKS:
        print(attack.__name__.replace("_", " "), flush=True)
        compute = Compute(folder, server, *AHEAD)
        begin = time.monotonic()
        attack(compute, server, recorded)
        with compute.peer(recorded.hello):
            pass
        peak = compute.peak()
        print(f"  {peak // MEBIBYTE} MiB of {compute.MAX_RESIDENT // MEBIBYTE}, {time.monotonic() - begin:.1f} s", flush=True)
        expect(peak <= compute.MAX_RESIDENT, f"the compute trainer has taken {peak // MEBIBYTE} MiB")
        compute.end()
    print("a reader that falls silent", flush=True)
    a_reader_that_falls_silent(folder, server, recorded)
    server.end()
    print("an honest reader beside others", flush=True)
    honest_reader_beside_others(folder, recorded)


if __name__ == "__main__":
    main()
