"""What peers without good intentions say to a server: it refuses them, keeps to its memory, and goes on serving.

usage: attacks.py FOLDER TRAINER... [-- FLAG...]   runs ps-serve of the path on FOLDER/job.json, with these flags, and attacks
it; with --tls-cert, through TLS, and that certificate is its own authority
"""

import copy
import json
import os
import random
import ssl
import struct
import subprocess
import sys
import threading
import time

import wire
from attacked import MEBIBYTE, Server, expect
from wire import Ended, Peer, Refused

# Parameters of the job, in the order of the model's.
DEEP, WIDE = 0, 2  # 65536 x 8 floats each, sparse and dense
NUM_ROWS = 65536
LONG = 300  # seconds: cluster.request_timeout of a server that waits for long
ROW_BYTES = 8 * 4


def refusals(peer, requests):
    """The codes of the errors among the answers to these, by code; 0 for what was done."""
    codes = {}
    for _ in requests:
        _, flags, _, body = peer.read()
        code = struct.unpack("<I", body[:4])[0] if flags & wire.ERROR else 0
        codes[code] = codes.get(code, 0) + 1
    return codes


def pull_of_one_range_many_times(server, hello):
    """A small request for an answer of gigabytes is refused, and one of 16 MiB at most is answered."""
    with server.peer(hello) as peer:
        for times in (9, 96, 65536):
            what = wire.parts(*[wire.range_part(WIDE, 0, NUM_ROWS)] * times)
            try:
                peer.ask(wire.PULL, wire.pull(0, 1, 0, what))
                raise AssertionError(f"a pull of {times} x 2 MiB was answered")
            except Refused as error:
                expect(error.code == 3, error)
        body = peer.ask(wire.PULL, wire.pull(0, 1, 0, wire.parts(*[wire.range_part(WIDE, 0, NUM_ROWS)] * 8)))
        expect(len(body) == 8 * NUM_ROWS * ROW_BYTES, f"{len(body)} bytes")


def pulls_for_a_step_that_never_comes(server, hello):
    """What waits is held within the limit; the rest is refused with code 6."""
    what = wire.parts(wire.keyed_part(DEEP, range(0, NUM_ROWS, 2)))
    with server.peer(hello) as peer:
        requests = [peer.send(wire.PULL, wire.pull(1000, 0, number, what)) for number in range(1, 3000)]
        # Those that are refused are answered; those that are held are not.
        codes = refusals(peer, [peer.send(wire.ABSENT)])
        while peer.has_something():
            for code, times in refusals(peer, [0]).items():
                codes[code] = codes.get(code, 0) + times
        expect(codes.get(6, 0) > 0, f"none of {len(requests)} waiting pulls was refused: {codes}")


def pulls_that_are_remembered(server, hello):
    """A push may name a pull: those that none ever names are held within the limit, and go with their process."""
    what = wire.parts(wire.keyed_part(DEEP, range(0, NUM_ROWS, 16)))
    for generation in range(1, 6):
        with server.peer(hello, generation=generation) as peer:
            codes = refusals(peer, [peer.send(wire.PULL, wire.pull(0, 0, number, what)) for number in range(1, 500)])
            expect(codes.keys() == {0, 6} and codes[0] > 100, f"process {generation}: {codes}")


def slices_without_rows(server, hello):
    """The slices of a push that never ends are held within the limit, also those with nothing in them."""
    with server.peer(hello) as peer:
        try:
            peer.ask(wire.PUSH, wire.push(0, 0, 4000000000, wire.parts()))
            raise AssertionError("a push may have thousands of millions of slices")
        except Refused as error:
            expect(error.code == 3, error)
        codes = {}
        for first in range(0, 65000, 1000):
            slices = range(first, first + 1000)
            asked = [peer.send(wire.PUSH, wire.push(0, slice, 65536, wire.parts(), samples=0)) for slice in slices]
            for code, times in refusals(peer, asked).items():
                codes[code] = codes.get(code, 0) + times
        expect(codes.keys() <= {0, 6}, codes)


def slices_of_gradients(server, hello):
    """The rows of a push that never ends are held within the limit, and steps to come are refused."""
    keys = range(0, NUM_ROWS, 4)
    what = wire.parts(wire.keyed_part(DEEP, keys))
    rows = bytes(len(keys) * ROW_BYTES)
    with server.peer(hello, trainers=2) as peer:
        codes = {}
        for slice in range(400):
            for code, times in refusals(peer, [peer.send(wire.PUSH, wire.push(0, slice, 401, what, rows=rows))]).items():
                codes[code] = codes.get(code, 0) + times
        expect(codes.keys() == {0, 6}, codes)
        codes = refusals(peer, [peer.send(wire.PUSH, wire.push(step, 0, 1, what, rows=rows)) for step in range(2, 50)])
        expect(codes.keys() == {3}, codes)


def states_of_trainers(server, hello):
    """What trainers tell of themselves is held within the limit: chunks of steps that never end are refused beyond it, and
    those of steps that end replace those before."""
    state = wire.parts() + wire.chunk(random.Random(0).randbytes(8 * MEBIBYTE))
    codes = {}
    for rank in range(3):
        with server.peer(hello, trainers=4, rank=rank) as peer:
            asked = [peer.send(wire.PUSH, wire.push(0, slice, 65536, state, flags=wire.CHUNK)) for slice in range(10)]
            for code, times in refusals(peer, asked).items():
                codes[code] = codes.get(code, 0) + times
    expect(codes.keys() == {0, 6} and codes[0] >= 3, codes)


def states_that_are_replaced(server, hello):
    """A trainer may tell its state with every step."""
    with server.peer(hello) as peer:
        for step in range(40):
            state = wire.parts() + wire.chunk(random.Random(step).randbytes(8 * MEBIBYTE))
            for slice in range(2):
                peer.ask(wire.PUSH, wire.push(step, slice, 2, state if slice == 0 else wire.parts(),
                                              flags=wire.CHUNK if slice == 0 else 0))


def gatherings(server, hello):
    """What trainers give to gatherings that never end is counted."""
    codes = {}
    for rank in range(200):
        with server.peer(hello, trainers=201, rank=rank) as peer:
            given = peer.send(wire.GATHER, wire.gift(0, bytes([1]) + bytes(MEBIBYTE)))
            asked = peer.send(wire.ABSENT)
            answered, code = 0, 0  # 0: it is held
            while answered != asked:
                _, flags, answered, body = peer.read()
                if answered == given and flags & wire.ERROR:
                    (code,) = struct.unpack("<I", body[:4])
            codes[code] = codes.get(code, 0) + 1
    expect(codes.keys() == {0, 6} and codes[0] > 8, codes)


def refused_with(peer, kind, body):
    """The code with which a request is refused; 0: the connection has ended."""
    try:
        peer.ask(kind, body)
    except Refused as error:
        return error.code
    except Ended:
        return 0
    raise AssertionError(f"{len(body)} bytes of kind {kind} were taken")


def gifts_in_slices(server, hello):
    """What trainers give each other comes in slices that follow each other, none longer than 9 MiB, or it is refused; what
    all gave is told from anywhere on, as often as somebody asks."""
    with server.peer(hello, trainers=2, rank=0) as one, server.peer(hello, trainers=2, rank=1) as other:
        for piece, code in ((wire.gift(0, b"x", first=5), 3), (wire.gift(0, b"", rest=1), 3),
                            (wire.gift(0, b"x", rest=1 << 28), 3), (wire.gift(0, b"x", first=(1 << 64) - 1), 3),
                            (wire.gift(0, b"x", rest=200 * MEBIBYTE), 6)):
            expect(refused_with(one, wire.GATHER, piece) == code, f"not refused with {code}: {piece[:24]}")
        gifts = [bytes([1]) + random.Random(rank).randbytes(2 * MEBIBYTE) for rank in range(2)]
        for peer, given in ((one, gifts[0]), (other, gifts[1])):
            for first in range(0, len(given), MEBIBYTE):
                piece = given[first : first + MEBIBYTE]
                sent = peer.send(wire.GATHER, wire.gift(0, piece, first, len(given) - first - len(piece)))
        whole = b"".join(gifts)
        sizes = struct.pack("<IQQ", 2, *map(len, gifts))
        expect(other.answer(sent) == sizes + whole, "another answer than was given")
        for first in list(range(0, len(whole), MEBIBYTE)) * 20:
            expect(one.ask(wire.GATHERED, struct.pack("<QQ", 0, first)) == whole[first:], f"other bytes from {first} on")
        for number, first in ((0, len(whole)), (0, (1 << 64) - 1), (1, 0), (1 << 63, 0)):
            expect(refused_with(one, wire.GATHERED, struct.pack("<QQ", number, first)) == 3, f"not refused: {number} {first}")
        refused_with(one, wire.GATHER, wire.gift(1, bytes(9 * MEBIBYTE)))


def checkpoint_requests_that_wait(server, hello):
    """Who asks for a checkpoint, or for files of one, that never comes is held within the limit, and no longer than its
    connection is there."""
    count = 1000  # a connection; at 1024 that are not answered, it is not read
    bodies = {wire.CHECKPOINT: struct.pack("<q", -1), wire.PART: struct.pack("<Q", 1000)}
    for kind, body in bodies.items():
        requests = b"".join(wire.frame(kind, body, 1000000 + request) for request in range(count))

        def ask_and_go():
            """Returns the code of the first answer, as refusals() does: 0 when all requests wait, as the last alone is answered."""
            with server.peer(hello) as peer:
                peer.send_bytes(requests)
                return refusals(peer, [peer.send(wire.ABSENT)])

        while ask_and_go() != {0: 1}:
            pass  # the server has not yet seen that the connections of the other kind have ended
        first, peers = server.peak(), []
        for _ in range(120):
            codes = ask_and_go()
            expect(codes == {0: 1}, f"requests of kind {kind} outlive their connections: {codes}")
        expect(server.peak() - first <= 8 * MEBIBYTE, f"{server.peak() - first} bytes for one connection after the other")
        codes = {}
        for _ in range(40):
            peers.append(server.peer(hello))
            peers[-1].send_bytes(requests)
            asked = peers[-1].send(wire.ABSENT)
            answered = 0
            while answered != asked:
                _, flags, answered, answer = peers[-1].read()
                code = struct.unpack("<I", answer[:4])[0] if flags & wire.ERROR else 0
                codes[code] = codes.get(code, 0) + 1
        held = count * len(peers) - codes.get(6, 0)
        expect(codes.keys() == {0, 6} and 20000 < held <= 32768, f"{held} requests of kind {kind} are held: {codes}")
        for peer in peers:
            peer.socket.close()


def checkpoints_that_are_paths(server, hello):
    """A hello names a checkpoint, and no file of the server: it learns neither of one nor of where checkpoints are."""
    # One that is there, and damaged: a stranger cannot tell it from one that is not.
    damaged = os.path.join(os.path.dirname(server.errors), "checkpoints", "checkpoints_that_are_paths", "step-000000007")
    os.makedirs(damaged)
    with open(os.path.join(damaged, "MANIFEST.json"), "w") as file:
        file.write("secret")
    names = ("../../../etc/passwd", "/etc/passwd", "/nowhere", "..", ".", "/", "step-000000001/..", "step-000000001", "step-000000007",
             "step-9")
    told = {}
    for name in names:
        with server.peer() as peer:
            try:
                peer.hello(hello, run=5, recovers=True, checkpoint=name)
                raise AssertionError(f"a run went on from {name}")
            except Refused as error:
                told.setdefault(str(error).replace(f"'{name}'", "NAME"), []).append(name)
    expect(sorted(map(len, told.values())) == [2, len(names) - 2], told)
    expect(not any(word in text for text in told for word in ("directory", "MANIFEST", "secret", "checkpoints", "cannot open")), told)


def too_many_trainers(server, hello):
    """A run has at most 1024 trainers."""
    for trainers in (1025, 65536, 1 << 31, 1 << 62, -1, 0):
        with server.peer() as peer:
            try:
                peer.hello(hello, trainers=trainers)
                raise AssertionError(f"{trainers} trainers were greeted")
            except (Refused, Ended):
                pass


def frames_that_never_end(server, hello):
    """Bodies that are announced and do not come take only what has come."""
    header = wire.frame(wire.HELLO, bytes(4 * MEBIBYTE), 1)[:48]
    peers = [peer for peer in server.peers(500 * [None]) if peer]
    for peer in peers:
        try:
            peer.send_what_fits(header + bytes(4096))
        except (OSError, Ended):
            pass
    for peer in peers:
        peer.socket.close()


def bodies_of_many_connections(server, hello):
    """Of two peers with forty connections each, which announce bodies that do not come, each has a quarter of the room for
    bodies, and an honest job beside them never waits."""
    trainer = server.peer(hello)
    beginning = wire.frame(wire.PULL, bytes(4 * MEBIBYTE), 1)[:48] + bytes(4096)
    attackers = server.peers(40 * ("127.0.0.1", "127.0.0.2"), hello, beside=[trainer], role="read")
    for peer in attackers:
        peer.send_what_fits(beginning)
    what, rows = wire.parts(wire.keyed_part(WIDE, range(NUM_ROWS))), bytes(NUM_ROWS * ROW_BYTES)
    begin, kept = time.monotonic(), 0
    while kept < 20 and time.monotonic() - begin < 30:
        trainer.ask(wire.PUSH, wire.push(kept, 0, 1, what, rows=rows))
        kept += 1
    print(f"  {kept} of 20 pushes of {len(rows) // MEBIBYTE} MiB are taken beside {len(attackers)} connections")
    expect(kept == 20, "the job waits for peers that send nothing")
    for peer in [trainer, *attackers]:
        peer.socket.close()


def longest_messages(server, hello):
    """While a trainer sends the longest messages that there are, one after the other, others are served meanwhile."""
    keys, ranges = wire.parts(wire.keyed_part(DEEP, range(NUM_ROWS))), [wire.range_part(WIDE, 0, NUM_ROWS)]
    rows = bytes(4 * NUM_ROWS * ROW_BYTES)
    messages = {
        "pulls of 65536 keys": (wire.PULL, lambda step: wire.pull(step, 0, 0, keys)),
        "pulls of 16 MiB": (wire.PULL, lambda step: wire.pull(step, 1, 0, wire.parts(*ranges * 8))),
        "pushes of 65536 keys": (wire.PUSH, lambda step: wire.push(step, 0, 1, keys, rows=rows[: NUM_ROWS * ROW_BYTES])),
        "loads of 8 MiB": (wire.LOAD, lambda _: wire.parts(*ranges * 4) + bytes(-len(wire.parts(*ranges * 4)) % 64) + rows),
        "questions for keys": (wire.KEYS, lambda _: struct.pack("<IIQI", DEEP, 0, 0, (1 << 32) - 1)),
    }
    trainer, other = server.peer(hello), server.peer(hello, role="read")
    step = 0
    for name, (kind, body) in messages.items():
        enough = threading.Event()
        done = []

        def ask():
            nonlocal step
            while not enough.is_set():
                trainer.ask(kind, body(step))
                step += kind == wire.PUSH
                done.append(step)

        thread = threading.Thread(target=ask)
        thread.start()
        waits = []
        while len(waits) < 20 or len(done) < 3:
            begin = time.monotonic()
            other.ask(wire.ABSENT)
            waits.append(time.monotonic() - begin)
            expect(thread.is_alive(), f"{name} are refused")
        enough.set()
        thread.join()
        print(f"  beside {len(done)} {name}, {len(waits)} small requests waited for {1000 * max(waits):.0f} ms at most")
        expect(max(waits) < 4, f"{name} keep the server from others")
    for peer in (trainer, other):
        peer.socket.close()


def answers_that_nobody_takes(server, hello):
    """Who asks for answers and does not take them is not given more than there is, and keeps neither other readers nor the
    trainer waiting.  This server does not end their connections meanwhile, as its request_timeout is long."""
    hello["job"]["cluster"]["request_timeout"] = LONG
    trainer, reader = server.peer(hello), server.peer(hello, role="read")
    whole = wire.pull(0, 1, 0, wire.parts(*[wire.range_part(WIDE, 0, NUM_ROWS)] * 8))  # 16 MiB
    some, what = wire.pull(0, 1, 0, wire.parts(wire.range_part(WIDE, 0, 16))), wire.parts(wire.keyed_part(DEEP, range(4096)))
    step, times = 0, []

    def work():
        nonlocal step
        begin = time.monotonic()
        for _ in range(5):
            expect(len(reader.ask(wire.PULL, whole)) == 8 * NUM_ROWS * ROW_BYTES, "another answer")
            for _ in range(20):
                expect(len(reader.ask(wire.PULL, some)) == 16 * ROW_BYTES, "another answer")
            for _ in range(5):
                trainer.ask(wire.PULL, wire.pull(step, 0, 0, what))
                trainer.ask(wire.PUSH, wire.push(step, 0, 1, what, rows=bytes(4096 * ROW_BYTES)))
                step += 1
        times.append(time.monotonic() - begin)

    def begin_work():
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        thread.join(LONG / 3)

    begin_work()
    idle = []
    for _ in range(64):
        idle.append(Peer(server.port, receive_buffer=4096))
        idle[-1].hello(hello, role="read")
        for _ in range(16):
            idle[-1].send_what_fits(wire.frame(wire.PULL, whole, 1))
    begin_work()
    expect(len(times) == 2, "an honest reader, or the trainer, waits for those that take nothing")
    print(f"  honest work took {times[0]:.2f} s, and {times[1]:.2f} s beside {len(idle)} readers that take nothing")
    for peer in [trainer, reader, *idle]:
        peer.socket.close()


def shares_of_a_hundred(server, hello):
    """Of 100 readers that all pull 8 MiB again and again, the slowest gets half of a fair share."""
    answer_bytes = 4 * NUM_ROWS * ROW_BYTES
    request = wire.pull(0, 1, 0, wire.parts(*[wire.range_part(WIDE, 0, NUM_ROWS)] * 4))
    trainer = server.peer(hello)  # readers are let in when one has come
    peers = server.peers(100 * [None], hello, beside=[trainer], role="read")
    taken = [0] * len(peers)
    enough = 4 * answer_bytes * len(peers)

    def pull_again_and_again(index):
        peer = peers[index]
        try:
            while sum(taken) < enough:
                peer.send(wire.PULL, request)
                for come in peer.pass_over():
                    if sum(taken) < enough:
                        taken[index] += come
        except (OSError, Ended):
            pass  # it had its share, or is told to end

    threads = [threading.Thread(target=pull_again_and_again, args=(index,)) for index in range(len(peers))]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 300
    while sum(taken) < enough and time.monotonic() < deadline:
        time.sleep(0.05)
    for peer in peers:
        peer.socket.shutdown(2)
    for thread in threads:
        thread.join()
    trainer.socket.close()
    fair = sum(taken) / len(taken)
    print(f"  the slowest of {len(taken)} got {min(taken) / fair:.2f} of a fair share")
    expect(sum(taken) >= enough, f"they got {sum(taken)} of {enough} bytes in five minutes")
    expect(min(taken) >= fair / 2, f"{min(taken)} of {fair} bytes")


def readers_take_all_connections(server, hello):
    """A trainer finds a place whatever readers do."""
    server.peer(hello).socket.close()
    readers = [reader for reader in server.peers(700 * [None], hello, role="read") if reader]
    expect(len(readers) <= 600, f"only {700 - len(readers)} of 700 readers were refused")
    with server.peer(hello):
        pass
    for reader in readers:
        reader.socket.close()


def random_parts(random_source):
    """Parts of which many are legal, and some are of another parameter, of too many rows, or cut."""
    each = []
    for _ in range(random_source.choice((0, 1, 1, 1, 3, 50))):
        parameter = random_source.choice((DEEP, DEEP, WIDE, 1, 3, 4, 5, 6, 1 << 31))
        if random_source.random() < 0.5:
            keys = sorted(random_source.sample(range(NUM_ROWS + 10), random_source.choice((0, 1, 10, 1000))))
            each.append(wire.keyed_part(parameter, keys))
        else:
            first = random_source.choice((0, 0, 1, NUM_ROWS - 1, NUM_ROWS, 1 << 63, (1 << 64) - 1))
            each.append(wire.range_part(parameter, first, random_source.choice((0, 1, 100, NUM_ROWS, (1 << 64) - 1))))
    return wire.parts(*each)


def random_message(random_source):
    """A message of any type, of which about half are well formed."""
    step = random_source.choice((0, 0, 0, 1, 2, 3, 100, (1 << 64) - 1))
    number = random_source.choice((0, 1, 2, 3, (1 << 64) - 1))
    kind = random_source.choice(wire.REQUESTS)
    body = b""
    if kind == wire.PULL:
        body = wire.pull(step, random_source.choice((0, 1, 1, 2)), number, random_parts(random_source))
    elif kind == wire.PUSH:
        slices = random_source.choice((0, 1, 1, 1, 2, 4000000000))
        body = wire.push(step, random_source.choice((0, 0, 1, 2)), slices, random_parts(random_source),
                         pulled=random_source.choice((0, 0, number)), flags=random_source.choice((0, 0, 1, 2, 4, 8, 255)),
                         row_type=random_source.choice((0, 0, 0, 1, 3, 5, 6, 7)),
                         rows=random_source.randbytes(random_source.choice((0, 32, 64, 320, 32000))))
    elif kind in (wire.LOAD, wire.STORED_ROWS):
        body = random_parts(random_source)
        body += bytes(-len(body) % 64) + bytes(random_source.choice((0, 32, 320)))
    elif kind == wire.RETURN_ROWS:
        keys = sorted(random_source.sample(range(NUM_ROWS), 10))
        body = struct.pack("<QII", number, 1, DEEP) + wire.key_list(keys)
        body += random_source.randbytes(random_source.choice((0, 10 * ROW_BYTES, 20 * ROW_BYTES)))
        body += random_source.choice((b"", random_parts(random_source)))  # keys of the next step
    elif kind == wire.COMMIT:
        body = struct.pack("<QI", step, 2) + struct.pack("<dd", 1.0, float("nan"))
    elif kind == wire.GATHER:
        data = random_source.choice((b"\x01", b"\x02", b"")) + bytes(1000)
        body = wire.gift(number, data, random_source.choice((0, 0, 1001, 2002)), random_source.choice((0, 0, 1001, 1 << 40)))
    elif kind == wire.GATHERED:
        body = struct.pack("<QQ", number, random_source.choice((0, 1000, 1 << 63)))
    elif kind == wire.KEYS:
        body = struct.pack("<IIQI", DEEP, 0, 0, 1000)
    elif kind == wire.ROW_REPORT:
        body = struct.pack("<I", DEEP)
    elif kind == wire.SAVE_LEASE:
        body = struct.pack("<QB", number, random_source.randrange(6)) + b"pass-00000"
    elif kind == wire.CHECKPOINT:
        body = struct.pack("<q", random_source.choice((-1, 0, 5)))
    elif kind == wire.PART:
        body = struct.pack("<Q", step)
    elif kind == wire.PART_PIECE:
        body = struct.pack("<QQI", step, 0, 1 << 18) + b"../../etc/passwd"
    elif kind == wire.STATE_CHUNK:
        body = struct.pack("<I", random_source.choice((0, 1, (1 << 32) - 1)))
    elif kind == wire.OPTIMIZERS:
        body = bytes([1])
    elif kind == wire.RUN_END:
        body = random_source.choice((b"{}", b'{"job": {}}', b'{"passes": 1, "run": 1}', b"[" * 1000))
    damage = random_source.random()
    if damage < 0.15:
        body = body[: random_source.randrange(len(body) + 1)]
    elif damage < 0.3 and body:
        body = bytearray(body)
        body[random_source.randrange(len(body))] ^= 1 << random_source.randrange(8)
        body = bytes(body)
    return kind, body


def say_anything(server, hello, seed, go_on, **changes):
    """Says messages of all kinds in any order, over several connections, for as long as go_on() says.  Returns how many."""
    random_source = random.Random(seed)
    said, peers = 0, []
    while go_on():
        try:
            if len(peers) < 4 or random_source.random() < 0.02:
                if len(peers) >= 4:
                    peers.pop(random_source.randrange(len(peers))).socket.close()
                peers.append(Peer(server.port))
                if random_source.random() < 0.9:
                    own = {key: value(random_source) for key, value in changes.items()}
                    peers[-1].send(wire.HELLO, json.dumps({**hello, **own}).encode())
            peer = random_source.choice(peers)
            kind, body = random_message(random_source)
            peer.send(kind, body)
            said += 1
            while peer.has_something():
                peer.read()
        except (Ended, OSError):
            peers = [each for each in peers if each is not peer]
    for peer in peers:
        peer.socket.close()
    return said


def anything_in_any_order(server, hello):
    """Ten thousand messages of trainers of several ranks, generations and runs: the server outlives them."""
    said = [0]

    def go_on():
        said[0] += 1
        return said[0] <= 10000

    say_anything(server, hello, 1, go_on,
                 rank=lambda r: r.randrange(3), trainers=lambda r: r.choice((2, 2, 2, 3)),
                 max_trainers=lambda r: r.choice((0, 0, 0, 3)),
                 generation=lambda r: r.choice((1, 1, 2, 3)), run=lambda r: r.choice((0, 0, 0, 7)),
                 known=lambda r: r.random() < 0.3, recovers=lambda r: r.random() < 0.2,
                 role=lambda r: r.choice(("train", "train", "read")), going=lambda r: r.random() < 0.2)


# What peers do that take a trainer's place; each has a server of its own.
AS_TRAINERS = (pull_of_one_range_many_times, pulls_for_a_step_that_never_comes, pulls_that_are_remembered,
               slices_without_rows, slices_of_gradients, states_of_trainers, states_that_are_replaced, gatherings, gifts_in_slices, checkpoint_requests_that_wait,
               checkpoints_that_are_paths, too_many_trainers, frames_that_never_end, bodies_of_many_connections, longest_messages,
               answers_that_nobody_takes, shares_of_a_hundred, readers_take_all_connections, anything_in_any_order)

# Those that take long, and are about nothing that is different on a server with other flags.
PLAIN_ONLY = (gatherings, checkpoint_requests_that_wait, shares_of_a_hundred)

# Flags of their servers.
FLAGS = {"answers_that_nobody_takes": ("--set", f"cluster.request_timeout={LONG}")}

# Those whose servers have checkpoints in any case.
WITH_CHECKPOINTS = ("checkpoint_requests_that_wait", "checkpoints_that_are_paths")


def start_server(folder, name, flags):
    """A server with these flags, and with a folder for checkpoints, if it needs one, that is new."""
    needs = name in WITH_CHECKPOINTS or "--durability" in flags
    return Server(folder, *flags, *FLAGS.get(name, ()), *(("--checkpoint-dir", os.path.join(folder, "checkpoints", name)) if needs else ()))


def train(trainer, server, model):
    """Trains the job's data to the model, a folder, and returns its bytes."""
    subprocess.run([*trainer, "--servers", f"127.0.0.1:{server.port}", "--save-dir", model], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300)
    with open(os.path.join(model, "pass-00000", "model.safetensors"), "rb") as file:
        return file.read()


def honest_job_beside_readers(folder, trainer, hello, flags):
    """An honest job has the bits of an undisturbed one, whatever readers say meanwhile."""
    server = start_server(folder, "undisturbed", flags)
    undisturbed = train(trainer, server, os.path.join(folder, "undisturbed"))
    server.end()
    server = start_server(folder, "disturbed", flags)
    ended = threading.Event()
    said = []

    def attack(seed):
        said.append(say_anything(server, hello, seed, lambda: not ended.is_set(), role=lambda r: "read"))

    threads = [threading.Thread(target=attack, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    try:
        disturbed = train(trainer, server, os.path.join(folder, "disturbed"))
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    expect(disturbed == undisturbed, "the model is another one")
    expect(server.peak() <= server.MAX_RESIDENT, f"{server.peak() // MEBIBYTE} MiB")
    print(f"  the same model beside {sum(said)} messages of readers, {server.peak() // MEBIBYTE} MiB")
    server.end()


def main():
    folder, trainer = sys.argv[1], sys.argv[2:]
    flags = []
    if "--" in trainer:
        flags = trainer[trainer.index("--") + 1 :]
        trainer = trainer[: -len(flags) - 1]
    hello = wire.hello_of_trainer(trainer)
    if "--tls-cert" in flags:
        authority = flags[flags.index("--tls-cert") + 1]
        Peer.tls = ssl.create_default_context(cafile=authority)
        trainer += ["--tls-ca", authority]
    for attack in AS_TRAINERS:
        if flags and attack in PLAIN_ONLY:
            continue
        print(attack.__name__.replace("_", " "), flush=True)
        server = start_server(folder, attack.__name__, flags)
        begin = time.monotonic()
        attack(server, copy.deepcopy(hello))
        # It is there, and serves who comes next.
        with server.peer() as peer:
            expect(json.loads(peer.ask(wire.DESCRIBE))["ports"] == [server.port], "it does not describe itself")
        peak = server.peak()
        print(f"  {peak // MEBIBYTE} MiB of {server.MAX_RESIDENT // MEBIBYTE}, {time.monotonic() - begin:.1f} s", flush=True)
        expect(peak <= server.MAX_RESIDENT, f"the server has taken {peak // MEBIBYTE} MiB")
        server.end()
    print("an honest job beside readers that say anything", flush=True)
    honest_job_beside_readers(folder, trainer, hello, flags)


if __name__ == "__main__":
    main()
