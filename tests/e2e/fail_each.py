#!/usr/bin/env python3
"""Runs programs again and again, each time with another call of the system that fails: tests/support/fail_nth.cc.

usage: fail_each.py POINTS LIBRARY JOB.json DATA

POINTS calls of each kind are tried, the first and the last among them, or the one in the middle, and the first
FAIL_FIRST besides.  A run must end with the right result and status 0, or with a message of its own and a status that
the manual names, 6 where memory or descriptors lack; never by a signal, never by waiting for ever, never with the
status 1 of an internal error, and never with words of a sanitizer.  LIBRARY is "" for programs that are linked with
it.  Reads PS_BIN, FAIL_FIRST and, to do less, FAIL_KINDS and FAIL_CASES; works in the current folder.
"""
import collections
import os
import shutil
import signal
import subprocess
import sys
import time

KINDS = "memory", "large_memory", "exceptions", "descriptors", "writes", "syncs", "renames", "connects", "threads"
MEMORY = KINDS[:3]
LONGEST = 120  # seconds of a run: far more than any timeout of the jobs
NAMED = range(2, 9)  # statuses of ps(7) that say why

points, library, job, data = int(sys.argv[1]), *sys.argv[2:5]
programs = os.environ["PS_BIN"]
first = int(os.environ.get("FAIL_FIRST", 0))
asked_kinds = os.environ.get("FAIL_KINDS", "").split() or KINDS
asked_cases = os.environ.get("FAIL_CASES", "").split()


def failing(kind, nth):
    preloaded = {"LD_PRELOAD": library} if library else {}
    return dict(os.environ, FAIL_KIND=kind, FAIL_NTH=str(nth), FAIL_COUNT=os.path.abspath("count"), **preloaded)


def run(command, environment=None):
    """Returns the status, or None for a run that had to be killed, and the messages."""
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        _, errors = process.communicate(timeout=LONGEST)
        return process.returncode, errors
    except subprocess.TimeoutExpired:
        process.kill()
        return None, process.communicate()[1]


def ended_well(program, status, errors, kind=""):
    if "Sanitizer" in errors or "runtime error:" in errors:
        return False
    if status == 0:
        return True
    if (kind in MEMORY or kind == "descriptors") and program != "ps-serve" and status != 6:
        return False
    last = errors.strip().split("\n")[-1]
    return status in NAMED and last.startswith(program + ": ")


def file_bytes(path):
    if not os.path.exists(path):
        return None
    with open(path, "rb") as file:
        return file.read()


def clear(*folders):
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def train_command(*flags):
    return [f"{programs}/ps-train", job, "--data", data, "--passes", "2", "--save-dir", "out", "--threads", "2",
            "--progress", "never", *flags]


class Train:
    """A job in one process, with checkpoints."""
    program, kinds = "ps-train", KINDS

    def run(self, environment):
        clear("out", "checkpoints")
        flags = "--checkpoint-dir", "checkpoints", "--set", "checkpoint.steps=2"
        status, errors = run(train_command(*flags), environment)
        return status, errors, file_bytes("out/pass-00001/model.safetensors")


class Convert:
    """A checkpoint made a model."""
    program, kinds = "ps-ckpt2model", KINDS

    def __init__(self):
        clear("out", "given")
        flags = "--checkpoint-dir", "given", "--set", "checkpoint.steps=2"
        status, errors = run(train_command(*flags))
        assert status == 0, errors

    def run(self, environment):
        clear("converted")
        os.mkdir("converted")
        output = "converted/model.safetensors"
        status, errors = run([f"{programs}/ps-ckpt2model", "given", "--output", output], environment)
        return status, errors, file_bytes(output)


def start_server(environment=None, flags=()):
    """Starts a server of the job, whose messages go to serve.err."""
    clear("out", "served")
    if os.path.exists("port"):
        os.remove("port")
    command = [f"{programs}/ps-serve", job, "--host", "127.0.0.1", "--port", "0", "--port-file", "port",
               "--checkpoint-dir", "served", "--set", "checkpoint.steps=2", *flags]
    with open("serve.err", "w") as errors:
        return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=errors)


def listens(server):
    """Waits until the server has written its port, or has ended."""
    while not os.path.exists("port") or os.path.getsize("port") == 0:
        if server.poll() is not None:
            return False
        time.sleep(0.005)
    return True


def train_at_server(environment=None):
    with open("port") as file:
        address = "127.0.0.1:" + file.readline().strip()
    return run(train_command("--servers", address, "--set", "cluster.server_timeout=3"), environment)


class TrainAtServer:
    """A trainer of a server, which nothing happens to."""
    program, kinds = "ps-train", KINDS

    def run(self, environment):
        server = start_server()
        assert listens(server), file_bytes("serve.err")
        status, errors = train_at_server(environment)
        server.kill()
        server.wait()
        return status, errors, file_bytes("out/pass-00001/model.safetensors")


class Serve:
    """A server, and a trainer of its job, which nothing happens to.  The trainer must end, too."""
    program, kinds, flags = "ps-serve", KINDS, ()

    def run(self, environment):
        server = start_server(environment, self.flags)
        model = None
        if listens(server):
            status, messages = train_at_server()
            if not ended_well("ps-train", status, messages):
                server.kill()
                server.wait()
                return status, messages, None
            if status == 0:
                model = file_bytes("out/pass-00001/model.safetensors")
        if server.poll() is None:
            server.send_signal(signal.SIGTERM)
        try:
            status = server.wait(LONGEST)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
            status = None
        with open("serve.err") as file:
            errors = file.read()
        if status == -signal.SIGTERM and ended_well("ps-serve", 6, errors):
            return 6, errors, model  # it was ending by itself, as it has said, when the signal came
        if status in (0, 143) and model is None:
            return 6, errors + "\nps-serve: its trainer has ended with an error", None
        return (0 if status == 143 else status), errors, model


class ServeLog(Serve):
    """The same, of a server that writes each push to a log before it answers."""
    flags = "--durability", "log"


def numbers(count):
    spread = {1 + i * (count - 1) // (points - 1) for i in range(points)} if points > 1 else {(count + 1) // 2}
    return sorted(n for n in spread | set(range(1, first + 1)) if 1 <= n <= count)


def tell(case, kind, nth, status, errors, differs):
    """A fault is told with its last message, or all that a sanitizer says."""
    sanitizer = max(errors.find("ERROR: "), errors.find("runtime error: "))
    words = errors[sanitizer:sanitizer + 6000] if sanitizer >= 0 else errors.strip().split("\n")[-1][:300]
    bits = ", other bits" if differs else ""
    print(f"BAD: {type(case).__name__} with FAIL_KIND={kind} FAIL_NTH={nth}: status {status}{bits}, {words}", flush=True)


def try_all(case, kind):
    """Returns the number of faults."""
    status, errors, expected = case.run(failing(kind, 0))
    assert status == 0 and expected, (case.program, status, errors)
    with open("count") as file:
        count = int(file.read())
    bad = 0
    ends = collections.Counter()
    for nth in numbers(count):
        status, errors, result = case.run(failing(kind, nth))
        ends[status] += 1
        differs = status == 0 and result != expected
        if differs or not ended_well(case.program, status, errors, kind):
            bad += 1
            tell(case, kind, nth, status, errors, differs)
    print(f"{type(case).__name__}: {sum(ends.values())} of {count} {kind}: ends by status {dict(ends)}", flush=True)
    return bad


faults = 0
for make in Train, Convert, TrainAtServer, Serve, ServeLog:
    if asked_cases and make.__name__ not in asked_cases:
        continue
    case = make()
    for kind in case.kinds:
        if kind in asked_kinds and (kind != "exceptions" or not library):
            faults += try_all(case, kind)
sys.exit(faults > 0)
