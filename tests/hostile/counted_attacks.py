"""What a trainer that trains rows itself may say of the keys of its next step, with their counts, and means no good: it alone
is told of an error, what a server holds for it stays within --max-memory, and an honest trainer beside it keeps its bits.

usage: counted_attacks.py FOLDER TRAINER...   runs ps-serve of the path on FOLDER/job.json, with rows that have a policy
"""

import os
import struct
import subprocess
import sys
import threading
import time

import wire
from attacked import MEBIBYTE, Server, expect
from wire import Ended, Refused

# Parameters of the job with these flags, in the order of the model's.  A key gets a row when it has been shown twice.
DEEP, SCORE = 0, 1
JOB = ("--set", "data.dim=4294967296", "--set", """model.layers=[
  {"name": "deep", "type": "fc", "input": "features", "size": 8, "sparse_update": true,
   "weight": {"rows": {"admission": {"count": 2}, "expire": {"unseen": 1}, "shrink_steps": 4}}, "bias": false},
  {"name": "score", "type": "fc", "input": "deep", "size": 2, "activation": "softmax"}]""")
DIM = 1 << 32
MOST_KEYS = 65536  # of a message


def varints(counts):
    listed = b"".join(wire.varint(shows) + wire.varint(clicks) for shows, clicks in counts)
    return struct.pack("<I", len(listed)) + listed


def counted_part(parameter, keys, counts=None):
    """Keys, each shown once unless there are counts."""
    keys = list(keys)
    return struct.pack("<IB", parameter, 2) + wire.key_list(keys) + varints(counts or len(keys) * [(1, 0)])


def announcement(number, *parts):
    """The message with this number, which returns no rows and names the keys of the next step."""
    return struct.pack("<QI", number, 0) + wire.parts(*parts)


def keys_of(answer):
    """The keys of the only list in an answer."""
    count, size = struct.unpack("<II", answer[:8])
    keys, key, shift, step = [], -1, 0, 0
    for byte in answer[8 : 8 + size]:
        step |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            key += step + 1
            keys.append(key)
            shift = step = 0
    expect(len(keys) == count and len(answer) == 8 + size, f"{len(keys)} keys of {count}")
    return keys


def report(peer):
    """The numbers of rows, and of keys that wait for one."""
    return struct.unpack("<QQ", peer.ask(wire.ROW_REPORT, struct.pack("<I", DEEP))[:16])


def lies(number):
    """Announcements that are refused."""
    some = list(range(1000, 1010))
    plain = counted_part(DEEP, some)
    yield "message 0", announcement(0, plain)
    for parameter in (SCORE, 2, 7, 1 << 31):
        yield f"keys of parameter {parameter}", announcement(number, counted_part(parameter, some))
    yield "a good slice before a bad one", announcement(number, plain, counted_part(SCORE, some))
    yield "keys without counts", announcement(number, wire.keyed_part(DEEP, some))
    yield "numbers of rows", announcement(number, wire.range_part(DEEP, 0, 10))
    yield "a form that there is not", announcement(number, struct.pack("<IB", DEEP, 4) + plain[5:])
    for counts in ((0, 0), (1, 2), (1 << 32, 0), ((1 << 64) - 1, 0), (1, (1 << 64) - 1), (1 << 64, 0)):
        yield f"a key with counts {counts}", announcement(number, counted_part(DEEP, some, 9 * [(1, 0)] + [counts]))
    for given in (0, 9, 11):
        yield f"{given} counts of 10 keys", announcement(number, counted_part(DEEP, some, [])[: -24] + varints(given * [(1, 0)]))
    yield "a key that the data cannot have", announcement(number, counted_part(DEEP, [0, DIM]))
    yield "keys that do not ascend", announcement(number, struct.pack("<IB", DEEP, 2) + struct.pack("<II", 2, 11) +
                                                  wire.varint(5) + wire.varint((1 << 64) - 1) + varints(2 * [(1, 0)]))
    yield "too many keys", announcement(number, counted_part(DEEP, range(MOST_KEYS + 1)))
    halves = [counted_part(DEEP, range(first, first + MOST_KEYS // 2 + 1)) for first in (0, MOST_KEYS)]
    yield "too many keys in two slices", announcement(number, *halves)
    yield "more slices than there are", struct.pack("<QI", number, 0) + struct.pack("<I", 1 << 31) + plain
    yield "keys that say that they are many", announcement(number, struct.pack("<IBII", DEEP, 2, (1 << 32) - 1, (1 << 32) - 1))
    whole = announcement(number, plain)
    for size in range(8, len(whole), 3):
        if size != 12:  # a message without keys
            yield f"{size} of {len(whole)} bytes", whole[:size]


def lies_among_true_announcements(server, hello):
    """Each lie is answered with an error, and changes nothing: rows come as the true announcements have it."""
    keys, told = list(range(100)), 0
    with server.peer(hello) as peer, server.peer(hello, role="read") as reader:
        for step in range(2):
            number = 10 * (step + 1)
            expect(keys_of(peer.ask(wire.RETURN_ROWS, announcement(number, counted_part(DEEP, keys)))) == keys, "other keys")
            for name, body in lies(number + 1):
                try:
                    peer.ask(wire.RETURN_ROWS, body)
                    raise AssertionError(f"{name}: it was taken")
                except Refused as error:
                    expect(error.code == 3, f"{name}: {error}")
                told += 1
            # Messages that come late are answered, and change nothing.
            for late in (1, number - 1, number):
                some = counted_part(DEEP, range(5000, 5100), 100 * [(1000, 0)])
                expect(len(keys_of(peer.ask(wire.RETURN_ROWS, announcement(late, some)))) == 100, "another answer")
            reader.ask(wire.ABSENT)
            peer.ask(wire.PUSH, wire.push(step, 0, 1, wire.parts()))
            rows, waiting = report(reader)
            expect((rows, waiting) == ((0, 100), (100, 0))[step], f"{rows} rows, and {waiting} keys wait after step {step}")
        # Counts of a key that comes again replace those before, and none are left over for a step without keys.
        peer.ask(wire.RETURN_ROWS, announcement(100, counted_part(DEEP, [7000, 7001], [(5, 0), (5, 0)])))
        peer.ask(wire.RETURN_ROWS, announcement(101, counted_part(DEEP, [6999, 7000])))
        for step in (2, 3):
            peer.ask(wire.PUSH, wire.push(step, 0, 1, wire.parts()))
        expect(report(reader)[0] == 101, f"{report(reader)}: 7001 alone was shown twice")
    print(f"  {told} lies")


def announcements_without_end(server, hello, blocks):
    """The keys of a step are held within the limit, in whatever order these blocks of them come and though all are to get
    rows, and a reader is served meanwhile.  Returns how many messages are refused."""
    slowest, codes = 0.0, {}
    with server.peer(hello) as peer, server.peer(hello, role="read") as reader:
        for number, block in enumerate(blocks, 1):
            keys = range(block * MOST_KEYS, (block + 1) * MOST_KEYS)
            body = announcement(number, counted_part(DEEP, keys, MOST_KEYS * [(1 << 31, 1)]))
            sent = peer.send(wire.RETURN_ROWS, body)
            begin = time.monotonic()
            reader.ask(wire.ABSENT)
            slowest = max(slowest, time.monotonic() - begin)
            try:
                peer.answer(sent)
                code = 0
            except Refused as error:
                code = error.code
            codes[code] = codes.get(code, 0) + 1
        peer.ask(wire.PUSH, wire.push(0, 0, 1, wire.parts()))
        print(f"  {codes}, then {report(reader)[0]} rows, {server.peak() // MEBIBYTE} MiB; a reader waited for "
              f"{1000 * slowest:.0f} ms at most", flush=True)
    expect(codes.keys() <= {0, 6} and codes.get(0, 0) > 0, codes)
    expect(slowest < 4, "announcements keep the server from others")
    return codes.get(6, 0)


def train(trainer, server, model):
    """Trains on a device to the model, a folder, and returns its bytes."""
    subprocess.run([*trainer, "--servers", f"127.0.0.1:{server.port}", "--save-dir", model, "--device", "emulated", "--set",
                    "device.rows=2048"], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, timeout=300)
    with open(os.path.join(model, "pass-00000", "model.safetensors"), "rb") as file:
        return file.read()


def honest_job_beside_announcements(folder, trainer, hello):
    """An honest job on a device has the bits of an undisturbed one, whoever else announces keys: readers, peers that have
    said no hello, and trainers of another job or of a rank that there is not."""
    models, said = [], []
    for name in ("undisturbed", "disturbed"):
        server = Server(folder, *JOB)
        ended = threading.Event()

        def attack(changes):
            told = 0
            while not ended.is_set():
                try:
                    with server.peer(hello if changes is not None else None, **(changes or {})) as peer:
                        for number in range(1, 50):
                            keys = range(number, 20000 + number)
                            peer.ask(wire.RETURN_ROWS, announcement(1000 + number, counted_part(DEEP, keys, 20000 * [(9, 9)])))
                            raise AssertionError(f"keys of {changes} were taken")
                except (Refused, Ended, OSError):
                    told += 1
            said.append(told)

        wrong = ({"role": "read"}, None, {"rank": 1}, {"job": {}})
        threads = [threading.Thread(target=attack, args=(changes,)) for changes in wrong if name == "disturbed"]
        for thread in threads:
            thread.start()
        try:
            models.append(train(trainer, server, os.path.join(folder, name)))
        finally:
            ended.set()
            for thread in threads:
                thread.join()
        server.end()
    expect(len(said) == len(wrong) and min(said) > 0, f"attacks ended: {said}")
    expect(models[0] == models[1], "the model is another one")
    print(f"  the same model beside {sum(said)} refusals")


def main():
    folder, trainer = sys.argv[1], [*sys.argv[2:], *JOB]
    hello = wire.hello_of_trainer(trainer)
    attacks = {
        "lies among true announcements": lies_among_true_announcements,
        "keys without end, ascending": lambda *to: expect(announcements_without_end(*to, range(30)), "all were taken"),
        "keys without end, descending": lambda *to: expect(announcements_without_end(*to, range(30, 0, -1)), "all were taken"),
        "the same keys again and again": lambda *to: expect(not announcements_without_end(*to, 30 * [7]), "they are held twice"),
    }
    for name, attack in attacks.items():
        print(name, flush=True)
        server = Server(folder, *JOB)
        attack(server, hello)
        expect(server.peak() <= server.MAX_RESIDENT, f"the server has taken {server.peak() // MEBIBYTE} MiB")
        server.end()
    print("an honest job on a device, beside announcements of others", flush=True)
    honest_job_beside_announcements(folder, trainer, hello)


if __name__ == "__main__":
    main()
