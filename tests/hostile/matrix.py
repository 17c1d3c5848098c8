"""Who is served what: every token, with every certificate, asks for everything, of servers, compute trainers and trainers
without servers that ask for either or both.

usage: matrix.py FOLDER PAGE ADDRESS TRAINER...   runs the programs of the path on FOLDER/job.json, with the files of
matrix_test.sh, and expects what PAGE, ps-wire(5), grants; ADDRESS is this test's alone
"""

import base64
import concurrent.futures
import functools
import hashlib
import hmac
import http.client
import os
import re
import signal
import socket
import ssl
import struct
import subprocess
import sys
import time

import wire
from wire import Ended, Peer, Refused

AUTHENTICATION = 7  # the code of errors
ROLES = {"status": 0, "read": 1, "train": 2, "admin": 3}

# What a server asks for, and what peers show.
CERTIFICATES_ASKED = ("none", "own", "both")  # no TLS; its own is shown; and peers have to show one
CERTIFICATES = ("plain", "none", "self-signed", "other", "expired", "right")  # plain: without TLS
TOKENS = ("none", "wrong", "expired train", "status", "read", "train", "admin", "read as admin", "status as train")
BEARERS = ("none", "wrong", "expired status", "status", "read", "train", "admin")
# From whom servers take what, by type: all but describe, hello and run_end.
SERVER_ROLES = {}
# Texts that a stranger must not get: of the job, its parameters and its pages.
SECRETS = (b"attacked", b"deep", b"pskit_", b"shard", b"ports")


class Lost(Exception):
    """The connection came to an end before it was let in."""


def roles_of_page(page):
    """From whom ps-wire(5) says that each type comes, by type."""
    with open(page) as file:
        found = re.findall(r"^\.It (\d+) Ta \w+ Ta [^T]* Ta (.*)$", file.read(), re.MULTILINE)
    return {int(kind): role for kind, role in found}


class Port:
    """A program whose port makes these demands; secrets are by role."""

    REQUESTS = wire.REQUESTS  # all that may be said there
    LET_IN = ("read", "train", "admin")  # tokens
    PATHS = {"/": 200, "/metrics": 200, "/livez": 200, "/readyz": 200, "/status.json": 200, "/elsewhere": 404}
    OPERATOR_PATHS = {"/checkpoint": 409, "/shrink": 409, "/end": 202}
    host = "127.0.0.1"

    def __init__(self, folder, certificates, secrets):
        self.folder, self.certificates, self.secrets = folder, certificates, secrets

    def flags(self):
        flags = []
        if self.certificates != "none":
            flags += ["--tls-cert", "server.crt", "--tls-key", "server.key"]
        if self.certificates == "both":
            flags += ["--tls-ca", "ca.crt"]
        if self.secrets:
            flags += ["--token-file", "tokens"]
        return flags

    def write_tokens(self, beginning=""):
        """Writes the token file with the secrets whose names begin so, which have a role behind it."""
        with open(os.path.join(self.folder, "tokens"), "w") as file:
            for name, secret in self.secrets.items():
                if name.startswith(beginning) and name.removeprefix(beginning) in ROLES:
                    file.write(f"{name.removeprefix(beginning)} {secret.hex()}\n")

    def start(self, name, command):
        self.errors = os.path.join(self.folder, f"{name}.err")
        with open(self.errors, "w") as errors:
            return subprocess.Popen([*command, *self.flags()], cwd=self.folder, stdout=subprocess.PIPE, stderr=errors, text=True)

    def said(self):
        with open(self.errors) as file:
            return file.read()

    def lets_in_certificate(self, certificate):
        if self.certificates == "none":
            return certificate == "plain"
        return certificate == "right" or (self.certificates == "own" and certificate != "plain")

    def lets_in_token(self, token):
        return token in self.LET_IN if self.secrets else token == "none"

    def status_of_page(self, bearer, basic, method, path):
        """What a peer gets whose certificate is right."""
        operates = path in self.OPERATOR_PATHS
        if self.secrets and (bearer != ("admin" if operates else "status") or (operates and basic)):
            return 401
        if method != ("POST" if operates else "GET"):
            return 405
        if operates:
            return self.OPERATOR_PATHS[path] if self.secrets else 403
        return self.PATHS[path]

    def ask_to_end(self):
        """As an operator, where there are tokens; by a signal else."""
        if not self.secrets:
            return self.process.terminate()
        certificate = "plain" if self.certificates == "none" else "right"
        status, answer, _ = ask_page(self, certificate, "admin", False, "POST", "/end")
        expect((status, answer) == (202, b'{"asked":"end"}\n'), "the end", status, answer)


class Server(Port):
    """ps-serve.  One that asks for tokens has begun with others, which have expired since: SIGHUP made it read new ones."""

    def __init__(self, folder, certificates, secrets):
        super().__init__(folder, certificates, secrets)
        if secrets:
            self.write_tokens("expired ")
        self.process = self.start("serve", ["ps-serve", "job.json", "--port", "0", "--status-port", "0"])
        line = self.process.stdout.readline()
        assert line, self.said()
        ready = wire.json.loads(line)
        self.port, self.pages = ready["ports"][0], ready["status_port"]
        if secrets:
            self.write_tokens()
            self.process.send_signal(signal.SIGHUP)
            while "Read the tokens and certificates again" not in self.said():
                assert self.process.poll() is None, self.said()
                time.sleep(0.01)

    def end(self):
        self.ask_to_end()
        status = self.process.wait(60)
        assert status == 0, f"the server ended with {status}"

    def check_peer(self, certificate, token, hello):
        """Whoever is let in hears what there is, and does what the token and the hello grant: nothing before a hello."""
        trains = not self.secrets or ROLES.get(token, 0) >= ROLES["train"]
        reader = wire.json.dumps({**wire.json.loads(hello), "role": "read"}).encode()
        with SecurePeer(self, certificate, token) as peer:
            expect(code_of(peer, wire.DESCRIBE) == 0, "no description")
            for kind in SERVER_ROLES:
                expect(code_of(peer, kind) == AUTHENTICATION, kind, "before a hello")
            expect(code_of(peer, wire.RUN_END, hello) == (0 if trains else AUTHENTICATION), "the end of the run")
            expect(code_of(peer, wire.HELLO, hello) == (0 if trains else AUTHENTICATION), "the hello of a trainer")
            for kind in SERVER_ROLES:
                expect((code_of(peer, kind) == AUTHENTICATION) != trains, kind, "after the hello of a trainer")
        with SecurePeer(self, certificate, token) as peer:
            expect(code_of(peer, wire.HELLO, reader) == 0, "the hello of a reader")
            for kind, role in SERVER_ROLES.items():
                expect((code_of(peer, kind) == AUTHENTICATION) == role.startswith("trainers"), kind, "after the hello of a reader")
            expect(code_of(peer, wire.ABSENT) == 0, "a reader's question")


class Compute(Port):
    """ps-train --role compute in front of a server with the same demands."""

    REQUESTS = range(wire.READER_HELLO, wire.NO_DATA + 1)
    LET_IN = ("train", "admin")

    def __init__(self, folder, certificates, secrets):
        super().__init__(folder, certificates, secrets)
        self.server = Server(folder, certificates, secrets)
        self.process = self.start("compute", ["ps-train", "job.json", "--role", "compute", "--servers",
                                              f"127.0.0.1:{self.server.port}", "--port", "0", "--port-file", "compute.port"])
        assert self.process.stdout.readline(), self.said()
        with open(os.path.join(folder, "compute.port")) as file:
            self.port = int(file.readline())

    def end(self):
        self.process.terminate()
        status = self.process.wait(60)
        assert status in (-signal.SIGTERM, 128 + signal.SIGTERM), f"the compute trainer ended with {status}: {self.said()}"
        self.server.end()

    def check_peer(self, certificate, token, hello):
        with SecurePeer(self, certificate, token) as peer:
            for kind in self.REQUESTS[1:]:
                expect(code_of(peer, kind) == AUTHENTICATION, kind, "before a hello")
            expect(code_of(peer, wire.READER_HELLO, hello) == 0, "the hello of a reader")
            # The end of a run would be taken; a batch has nothing in it, or its reader has come again.
            expect(code_of(peer, wire.BATCH) not in (0, AUTHENTICATION), "a batch")


class Ranks(Port):
    """Two trainers without servers: the second comes when all others have tried."""

    HELLO, GAVE_UP, LEAVES = 64, 69, 70
    port = 7164  # that of an address without one
    REQUESTS = range(HELLO, LEAVES + 1)
    LET_IN = ("train", "admin")

    def __init__(self, folder, certificates, secrets):
        super().__init__(folder, certificates, secrets)
        self.processes = [self.start_rank(0)]
        while True:
            try:
                socket.create_connection((self.host, self.port), 30).close()
                return
            except ConnectionRefusedError:
                assert self.processes[0].poll() is None, self.said()
                time.sleep(0.01)

    def start_rank(self, rank):
        return self.start(f"rank-{rank}", [
            "ps-train", "job.json", "--data", "train.txt", "--save-dir", "", "--set", "train.strategy.type=all_reduce", "--set",
            "cluster.trainer_timeout=600", "--set", "model.layers.0.sparse_update=false", "--peers", self.host,
            "--trainers", "2", "--rank", str(rank)])

    def end(self):
        self.processes.append(self.start_rank(1))
        for process in self.processes:
            process.stdout.read()
            status = process.wait(300)
            assert status == 0, f"a trainer ended with {status}: {self.said()}"

    def check_peer(self, certificate, token, _):
        for kind in set(self.REQUESTS) - {self.HELLO, self.GAVE_UP}:
            with SecurePeer(self, certificate, token) as peer:
                try:
                    peer.send(kind)
                    raise AssertionError(f"{peer.read()} is the answer to {kind} of nobody")
                except Ended:
                    pass
        with SecurePeer(self, certificate, token) as peer:
            another = struct.pack("<IIIQQHH", 1, 1, 2, 0, 7, 1, 0) + struct.pack("<H", 5) + b"mnist"
            peer.send(self.HELLO, another)
            kind, _, _, body = peer.read()
            expect(kind == self.GAVE_UP and struct.unpack("<I", body[:4])[0] != AUTHENTICATION, "a rank of another job", kind, body)


class Trainer(Port):
    """A trainer without servers, which reads a FIFO and shows its pages meanwhile."""

    PATHS = {"/": 200, "/livez": 200, "/readyz": 200, "/status.json": 200, "/metrics": 404, "/elsewhere": 404}
    OPERATOR_PATHS = {"/checkpoint": 409, "/shrink": 202, "/end": 202}

    def __init__(self, folder, certificates, secrets):
        super().__init__(folder, certificates, secrets)
        data = os.path.join(folder, "data")
        if not os.path.exists(data):
            os.mkfifo(data)
        self.process = self.start("trainer", ["ps-train", "job.json", "--data", "data", "--save-dir", "", "--passes", "1",
                                              "--status-port", "0"])
        while not (shown := re.search(r"The status page is at \w+://[^/]*:(\d+)/", self.said())):
            assert self.process.poll() is None, self.said()
            time.sleep(0.01)
        self.pages = int(shown[1])

    def end(self):
        assert self.process.poll() is None, self.said()
        if self.secrets:
            self.ask_to_end()
            status = self.process.wait(60)
            assert status == 128 + signal.SIGTERM, f"the trainer ended with {status}: {self.said()}"
            return
        with open(os.path.join(self.folder, "data"), "w") as data, open(os.path.join(self.folder, "train.txt")) as examples:
            data.write(examples.read())
        self.process.stdout.read()
        status = self.process.wait(300)
        assert status == 0, f"the trainer ended with {status}: {self.said()}"


class SecurePeer(Peer):
    """A connection that shows a certificate and a token."""

    def __init__(self, server, certificate, token):
        super().__init__(server.port, host=server.host)
        self.socket.settimeout(30)
        if certificate != "plain":
            try:
                self.socket = tls_context(server.folder, certificate).wrap_socket(self.socket)
            except OSError as error:
                raise Lost(str(error)) from error
        if token != "none":
            self.prove(server, token)

    def read_some(self, most):
        try:
            data = self.socket.recv(most)
        except ssl.SSLError as error:
            raise Ended(str(error)) from error
        except ConnectionResetError as error:
            raise Ended(str(error)) from error
        if not data:
            raise Ended("end of the connection")
        return data

    def prove(self, server, token):
        """ps-wire(5), Authentication: throws Lost unless the server takes the token and proves that it knows it."""
        name, _, claimed = token.partition(" as ")
        secret = server.secrets.get(name) or os.urandom(32)
        access = ROLES[claimed or name] if name in ROLES else ROLES["train"]
        hello = b"PSkAuth1" + struct.pack("<Q", access) + os.urandom(32)
        try:
            self.send_bytes(hello)
            challenge = self._take(40)
            proof = hmac.new(secret, b"pskit client" + hello + challenge, hashlib.sha256).digest()
            self.send_bytes(proof)
            answer = self._take(40)
        except (Ended, OSError) as error:
            raise Lost(str(error)) from error
        if answer[0] != 1:
            assert answer == bytes(40), answer
            raise Lost("a wrong token")
        assert answer[8:] == hmac.new(secret, b"pskit server" + hello + challenge, hashlib.sha256).digest()


def tls_context(folder, certificate):
    context = ssl.create_default_context(cafile=os.path.join(folder, "ca.crt"))
    context.check_hostname = False
    if certificate != "none":
        name = os.path.join(folder, certificate)
        context.load_cert_chain(name + ".crt", name + ".key")
    return context


def expect(condition, *text):
    if not condition:
        raise AssertionError(text)


def code_of(peer, kind, body=b""):
    """0: it was answered."""
    try:
        peer.ask(kind, body)
    except Refused as error:
        return error.code
    return 0


def check_stranger(server, certificate, token, hello):
    """Whoever is not let in says everything, and gets nothing but the end and a notice of code 7."""
    received = b""
    try:
        with SecurePeer(server, certificate, token) as peer:
            peer.send(server.REQUESTS[1] if isinstance(server, Server) else server.REQUESTS[0], hello)
            for kind in server.REQUESTS:
                peer.send(kind)
            while True:
                received += peer.read_some(1 << 16)
    except (Lost, Ended, OSError) as error:
        expect(not isinstance(error, TimeoutError), "nobody ends it")
    if received[:4] == wire.MAGIC:
        _, _, kind, _, _, _, size, _ = wire.HEADER.unpack(received[: wire.HEADER.size])
        body = received[wire.HEADER.size + 8 :]
        expect(kind == wire.NOTICE and len(body) == size, "a stranger is answered", kind)
        expect(struct.unpack("<I", body[:4])[0] == AUTHENTICATION, body)
    expect(not any(secret in received for secret in SECRETS), "a stranger is told", received)


def check_connection(server, hello, certificate, token):
    admitted = server.lets_in_certificate(certificate) and server.lets_in_token(token)
    if admitted:
        server.check_peer(certificate, token, hello)
    else:
        check_stranger(server, certificate, token, hello)
    return admitted


def authorization(server, bearer, basic):
    """The header's value; secrets are sent as the token file has them."""
    digits = (server.secrets.get(bearer) or os.urandom(32)).hex()
    return "Basic " + base64.b64encode(b"me:" + digits.encode()).decode() if basic else "Bearer " + digits


def ask_page(server, certificate, bearer, basic, method, path):
    """Returns status, page and headers; None for the status where no answer comes."""
    if certificate == "plain":
        connection = http.client.HTTPConnection("127.0.0.1", server.pages, timeout=30)
    else:
        context = tls_context(server.folder, certificate)
        connection = http.client.HTTPSConnection("127.0.0.1", server.pages, timeout=30, context=context)
    headers = {} if bearer == "none" else {"Authorization": authorization(server, bearer, basic)}
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read(), answer.headers
    except (OSError, http.client.HTTPException) as error:
        expect(not isinstance(error, TimeoutError), "nobody ends it")
        return None, b"", {}
    finally:
        connection.close()


def check_page(server, certificate, bearer, basic, method, path):
    expected = server.status_of_page(bearer, basic, method, path) if server.lets_in_certificate(certificate) else None
    if (method, path, expected) == ("POST", "/end", 202):
        return True  # ask_to_end does it when all others have asked
    status, page, headers = ask_page(server, certificate, bearer, basic, method, path)
    expect(status == expected, "status", status, "expected", expected)
    served = expected not in (None, 401, 403, 405)
    if not served:
        expect(not any(secret in page for secret in SECRETS), "a stranger is told", page)
    operates = path in server.OPERATOR_PATHS
    if status == 401:
        ways = [way.split()[0] for way in headers.get_all("WWW-Authenticate")]
        expect(ways == (["Bearer"] if operates else ["Bearer", "Basic"]), ways)
    if status == 403:
        expect(b"--token-file" in page, page)
    if status == 405:
        expect(headers["Allow"] == ("POST" if operates else "GET, HEAD"), headers)
    return served


def check_cells(server, cells):
    """Returns how many cells of the table there are, and how many were served."""

    def check(cell):
        try:
            return cell[0](*cell[1:])
        except Exception as error:
            shown = ", ".join(str(each) for each in cell[1:])
            raise AssertionError(f"{type(server).__name__}: {cell[0].func.__name__}: {shown}: {error!r}") from error

    with concurrent.futures.ThreadPoolExecutor(48) as pool:
        served = list(pool.map(check, cells))
    return len(cells), sum(served)


def connections(server, hello):
    return [(functools.partial(check_connection, server, hello), certificate, token) for certificate in CERTIFICATES for token in TOKENS]


def page_requests(port):
    requests = [(number % 2 == 1, "GET", path) for number, path in enumerate(port.PATHS)]
    requests += [(False, "POST", path) for path in ("/", "/elsewhere")]
    requests += [(False, method, path) for method in ("GET", "POST") for path in port.OPERATOR_PATHS]
    requests += [(True, "POST", "/end")]  # as a browser sends a password for another site
    return [(functools.partial(check_page, port), certificate, bearer, *request)
            for certificate in CERTIFICATES for bearer in BEARERS for request in requests]


def check_server(server, hello):
    keeper = SecurePeer(server, "plain" if server.certificates == "none" else "right", "train" if server.secrets else "none")
    keeper.ask(wire.HELLO, hello)  # readers are let in when a trainer has come
    counts = check_cells(server, connections(server, hello) + page_requests(server))
    keeper.socket.close()
    return counts


def hello_of_reader(folder):
    """What an honest reader says first to a compute trainer; this process meets it in place of one."""
    server = Server(folder, "none", {})
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(60)
        reader = subprocess.Popen(
            ["ps-train", "job.json", "--data", "train.txt", "--role", "reader", "--servers", f"127.0.0.1:{server.port}",
             "--compute", f"127.0.0.1:{listener.getsockname()[1]}"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            peer = Peer.accept(listener)
            with peer:
                kind, _, _, hello = peer.read()
                assert kind == wire.READER_HELLO, kind
        finally:
            reader.kill()
            reader.wait()
    server.end()
    return hello


def main():
    folder, page, Ranks.host, trainer = *sys.argv[1:4], sys.argv[4:]
    SERVER_ROLES.update({kind: role for kind, role in roles_of_page(page).items() if kind in wire.REQUESTS[2:-1]})
    assert len(SERVER_ROLES) == len(wire.REQUESTS) - 4, SERVER_ROLES  # 28 is none
    hello = wire.json.dumps(wire.hello_of_trainer(trainer)).encode()
    reader_hello = hello_of_reader(folder)
    with open(os.path.join(folder, "tokens")) as tokens:
        secrets = {role: bytes.fromhex(secret) for role, secret in map(str.split, tokens)}
    secrets |= {f"expired {role}": os.urandom(32) for role in ROLES}
    for certificates in CERTIFICATES_ASKED:
        for asked in ({}, secrets):
            told = []
            server = Server(folder, certificates, asked)
            told.append(("servers", *check_server(server, hello)))
            server.end()
            pages = Trainer(folder, certificates, asked)
            told.append(("pages of trainers", *check_cells(pages, page_requests(pages))))
            pages.end()
            # Trainers that are connected to know each other by an authority.
            for port, said in ((Compute, reader_hello), (Ranks, b"")) if certificates != "own" else ():
                trainers = port(folder, certificates, asked)
                told.append((port.__name__, *check_cells(trainers, connections(trainers, said))))
                trainers.end()
            print(f"certificates {certificates}, tokens {'asked for' if asked else 'none'}: "
                  + ", ".join(f"{name}: {served} of {count} served" for name, count, served in told), flush=True)


if __name__ == "__main__":
    main()
