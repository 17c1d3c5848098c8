"""All that peers can make a server hold, at once: tables, pushes that wait, bodies that never end and answers that nobody
takes.  The server keeps to its memory, and a reader is still served.

usage: full_attacks.py FOLDER TRAINER...   runs ps-serve of the path on FOLDER/job.json, with keys without bounds
"""

import sys
import time

import wire
from attacked import MEBIBYTE, Server, expect
from wire import Peer, Refused

# The job with these flags has one sparse parameter, with rows of 8 floats, of 4,294,967,296 keys.
DEEP = 0
JOB = ("--set", "data.dim=4294967296", "--set", """model.layers=[
  {"name": "deep", "type": "fc", "input": "features", "size": 8, "sparse_update": true, "bias": false},
  {"name": "score", "type": "fc", "input": "deep", "size": 2, "activation": "softmax"}]""")
MOST_KEYS = 32768
ROW_BYTES = 8 * 4
EXHAUSTED = 6  # the code of errors


def keys_of_block(block):
    return wire.parts(wire.keyed_part(DEEP, range(block * MOST_KEYS, (block + 1) * MOST_KEYS)))


def code_of(peer, kind, body):
    """0: it was done."""
    try:
        peer.ask(kind, body)
    except Refused as error:
        return error.code
    return 0


def fill_tables(trainer, other):
    """Both trainers push steps of new keys until there is no room.  Returns the number of steps, each of MOST_KEYS rows."""
    rows = bytes(MOST_KEYS * ROW_BYTES)
    for step in range(1000):
        pushed = trainer.send(wire.PUSH, wire.push(step, 0, 1, keys_of_block(step), rows=rows))
        other_pushed = other.send(wire.PUSH, wire.push(step, 0, 1, wire.parts(), samples=0))
        try:
            trainer.answer(pushed)
        except Refused as error:
            expect(error.code == EXHAUSTED, error)
            return step
        other.answer(other_pushed)
    raise AssertionError("rows without end")


def fill_with_pushes(trainer, other, step):
    """Slices of a push that never ends, of keys that have rows, until several are refused.  Returns how many are held."""
    what, rows, sent = keys_of_block(0), bytes(MOST_KEYS * ROW_BYTES), 400
    for slice in range(sent):
        trainer.send(wire.PUSH, wire.push(step, slice, sent + 1, what, rows=rows))
        if slice % 20 == 0:
            other.say_alive()
    asked, refused = trainer.send(wire.ABSENT), 0
    while True:
        _, flags, answered, body = trainer.read()
        if answered == asked:
            break
        if flags & wire.ERROR:
            expect(body[0] == EXHAUSTED, body)
            refused += 1
    expect(0 < refused < sent, f"{refused} of {sent} slices were refused")
    return sent - refused


def main():
    folder, trainer = sys.argv[1], [*sys.argv[2:], *JOB]
    hello = wire.hello_of_trainer(trainer)
    server = Server(folder, *JOB)
    mine, other = (server.peer(hello, trainers=2, rank=rank) for rank in range(2))
    steps = fill_tables(mine, other)
    print(f"{steps * MOST_KEYS} rows: {server.peak() // MEBIBYTE} MiB", flush=True)
    held = fill_with_pushes(mine, other, steps)
    print(f"{held} slices of {MOST_KEYS} rows wait beside them: {server.peak() // MEBIBYTE} MiB", flush=True)
    beginning = wire.frame(wire.PULL, bytes(4 * MEBIBYTE), 1)[:48] + bytes(4096)
    begun = server.peers(40 * ("127.0.0.1", "127.0.0.2"), hello, beside=[mine, other], trainers=2, role="read")
    expect(all(begun), "a reader was refused")
    for peer in begun:
        peer.send_what_fits(beginning + bytes(3 * MEBIBYTE))
    print(f"{len(begun)} bodies that never end: {server.peak() // MEBIBYTE} MiB", flush=True)
    whole = wire.frame(wire.PULL, wire.pull(0, 1, 0, keys_of_block(0)), 1)
    idle = []
    for number in range(64):
        idle.append(Peer(server.port, receive_buffer=4096))
        idle[-1].hello({**hello, "trainers": 2}, role="read")
        for _ in range(16):
            idle[-1].send_what_fits(whole)
        if number % 8 == 0:
            mine.say_alive()
            other.say_alive()
    print(f"{len(idle)} readers that take nothing: {server.peak() // MEBIBYTE} MiB", flush=True)
    with server.peer(hello, trainers=2, role="read") as reader:
        begin = time.monotonic()
        some = wire.pull(0, 1, 0, wire.parts(wire.keyed_part(DEEP, range(16))))
        expect(len(reader.ask(wire.PULL, some)) == 16 * ROW_BYTES, "another answer")
        print(f"another reader is served in {1000 * (time.monotonic() - begin):.0f} ms", flush=True)
    expect(server.peak() >= server.MAX_MEMORY * 4 // 5, f"only {server.peak() // MEBIBYTE} MiB are used: the bound is not tried")
    expect(server.peak() <= server.MAX_RESIDENT, f"the server has taken {server.peak() // MEBIBYTE} MiB")
    for peer in [mine, other, *begun, *idle]:
        peer.socket.close()
    server.end()


if __name__ == "__main__":
    main()
