"""Who is served what: every token, with every certificate, asks for everything, of servers that ask for either or both.

usage: matrix.py FOLDER TRAINER...   runs ps-serve of the path on FOLDER/job.json, with the files of matrix_test.sh
"""

import base64
import concurrent.futures
import functools
import hashlib
import hmac
import http.client
import os
import ssl
import struct
import subprocess
import sys

import wire
from wire import Ended, Peer, Refused

AUTHENTICATION = 7  # the code of errors
ROLES = {"status": 0, "read": 1, "train": 2, "admin": 3}

# What a server asks for, and what peers show.
CERTIFICATES_ASKED = ("none", "own", "both")  # no TLS; its own is shown; and peers have to show one
CERTIFICATES = ("plain", "none", "self-signed", "other", "expired", "right")  # plain: without TLS
TOKENS = ("none", "wrong", "status", "read", "train", "admin", "read as admin", "status as train")
BEARERS = ("none", "wrong", "status", "read", "train", "admin")
PATHS = {"/": 200, "/metrics": 200, "/livez": 200, "/readyz": 200, "/status.json": 200, "/elsewhere": 404}
# All but describe and hello; 28 is none.
MESSAGES = [kind for kind in wire.REQUESTS if kind not in (wire.DESCRIBE, wire.HELLO, 28)]
# Texts that a stranger must not get: of the job, its parameters and its pages.
SECRETS = (b"attacked", b"deep", b"pskit_", b"shard", b"ports")


class Lost(Exception):
    """The connection came to an end before it was let in."""


class Server:
    """ps-serve with these ports' demands; secrets are by role."""

    def __init__(self, folder, certificates, secrets):
        self.folder, self.certificates, self.secrets = folder, certificates, secrets
        flags = []
        if certificates != "none":
            flags += ["--tls-cert", "server.crt", "--tls-key", "server.key"]
        if certificates == "both":
            flags += ["--tls-ca", "ca.crt"]
        if secrets:
            flags += ["--token-file", "tokens"]
        with open(os.path.join(folder, "serve.err"), "w") as errors:
            self.process = subprocess.Popen(
                ["ps-serve", "job.json", "--port", "0", "--status-port", "0", *flags], cwd=folder,
                stdout=subprocess.PIPE, stderr=errors, text=True)
        line = self.process.stdout.readline()
        assert line, open(os.path.join(folder, "serve.err")).read()
        ready = wire.json.loads(line)
        self.port, self.pages = ready["ports"][0], ready["status_port"]

    def end(self):
        self.process.terminate()
        status = self.process.wait(60)
        assert status == 0, f"the server ended with {status}"

    def lets_in_certificate(self, certificate):
        if self.certificates == "none":
            return certificate == "plain"
        return certificate == "right" or (self.certificates == "own" and certificate != "plain")

    def lets_in_token(self, token):
        return token in ("read", "train", "admin") if self.secrets else token == "none"

    def lets_in_bearer(self, bearer):
        return bearer == "status" or not self.secrets


class SecurePeer(Peer):
    """A connection that shows a certificate and a token."""

    def __init__(self, server, certificate, token):
        super().__init__(server.port)
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
            peer.send(wire.HELLO, hello)
            for kind in wire.REQUESTS:
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


def check_peer(server, certificate, token, hello):
    """Whoever is let in hears what there is, and does what the token grants: nothing before a hello."""
    trains = not server.secrets or ROLES.get(token, 0) >= ROLES["train"]
    reader = wire.json.dumps({**wire.json.loads(hello), "role": "read"}).encode()
    with SecurePeer(server, certificate, token) as peer:
        expect(code_of(peer, wire.DESCRIBE) == 0, "no description")
        for kind in MESSAGES:
            expect(code_of(peer, kind) == AUTHENTICATION, kind, "before a hello")
        expect(code_of(peer, wire.HELLO, hello) == (0 if trains else AUTHENTICATION), "the hello of a trainer")
    with SecurePeer(server, certificate, token) as peer:
        expect(code_of(peer, wire.HELLO, reader) == 0, "the hello of a reader")
        expect(code_of(peer, wire.ABSENT) == 0, "a reader's question")
        expect(code_of(peer, wire.END_RUN) == AUTHENTICATION, "a reader ends the run")


def check_connection(server, hello, certificate, token):
    admitted = server.lets_in_certificate(certificate) and server.lets_in_token(token)
    (check_peer if admitted else check_stranger)(server, certificate, token, hello)
    return admitted


def authorization(server, bearer, basic):
    """The header's value; secrets are sent as the token file has them."""
    digits = (server.secrets.get(bearer) or os.urandom(32)).hex()
    return "Basic " + base64.b64encode(b"me:" + digits.encode()).decode() if basic else "Bearer " + digits


def check_page(server, certificate, bearer, path, basic):
    if certificate == "plain":
        connection = http.client.HTTPConnection("127.0.0.1", server.pages, timeout=30)
    else:
        context = tls_context(server.folder, certificate)
        connection = http.client.HTTPSConnection("127.0.0.1", server.pages, timeout=30, context=context)
    headers = {} if bearer == "none" else {"Authorization": authorization(server, bearer, basic)}
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        status, page = answer.status, answer.read()
    except (OSError, http.client.HTTPException) as error:
        expect(not isinstance(error, TimeoutError), "nobody ends it")
        status, page = None, b""
    finally:
        connection.close()
    admitted = server.lets_in_certificate(certificate)
    served = admitted and server.lets_in_bearer(bearer)
    expect(status == (PATHS[path] if served else 401 if admitted else None), "status", status)
    if not served:
        expect(not any(secret in page for secret in SECRETS), "a stranger is told", page)
    if status == 401:
        expect("Bearer" in answer.headers.get_all("WWW-Authenticate")[0], answer.headers)
    return served


def check_server(server, hello):
    """Returns how many cells of the table there are, and how many were served."""
    keeper = SecurePeer(server, "plain" if server.certificates == "none" else "right", "train" if server.secrets else "none")
    keeper.ask(wire.HELLO, hello)  # readers are let in when a trainer has come
    cells = [(functools.partial(check_connection, server, hello), certificate, token) for certificate in CERTIFICATES for token in TOKENS]
    for certificate in CERTIFICATES:
        for bearer in BEARERS:
            for number, path in enumerate(PATHS):
                cells.append((functools.partial(check_page, server), certificate, bearer, path, number % 2 == 1))

    def check(cell):
        try:
            return cell[0](*cell[1:])
        except Exception as error:
            shown = ", ".join(str(each) for each in cell[1:])
            raise AssertionError(f"{cell[0].func.__name__}: {shown}: {error!r}") from error

    with concurrent.futures.ThreadPoolExecutor(48) as pool:
        served = list(pool.map(check, cells))
    keeper.socket.close()
    return len(cells), sum(served)


def main():
    folder, trainer = sys.argv[1], sys.argv[2:]
    hello = wire.json.dumps(wire.hello_of_trainer(trainer)).encode()
    with open(os.path.join(folder, "tokens")) as tokens:
        secrets = {role: bytes.fromhex(secret) for role, secret in map(str.split, tokens)}
    for certificates in CERTIFICATES_ASKED:
        for asked in ({}, secrets):
            server = Server(folder, certificates, asked)
            count, served = check_server(server, hello)
            print(f"certificates {certificates}, tokens {'asked for' if asked else 'none'}: "
                  f"{served} of {count} served", flush=True)
            server.end()


if __name__ == "__main__":
    main()
