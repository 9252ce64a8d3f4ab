"""A server on this machine that answers as it is told, and fails as it is told."""

import json
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Fault = str | None
"""`429`, `500`, `cut`, `nonsense`, `slow`, another status, or None."""


@dataclass
class Stub:
    """What a server does, and what it has seen.

    Args:
        answer: the reply to a request's body, in JSON.
        fault: what happens to a request, by its body and by how often it has come before.
        delay: seconds before the reply, by the body; different ones change the order of replies.
        held_after: requests after so many replies are never answered.
    """

    answer: Callable[[Any], Any]
    fault: Callable[[Any, int], Fault] = lambda body, before: None
    delay: Callable[[Any], float] = lambda body: 0.0
    held_after: float = math.inf
    url: str = ""
    seen: Counter[str] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    paths: set[str] = field(default_factory=set)
    at_once: int = 0
    most_at_once: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)
    closing: threading.Event = field(default_factory=threading.Event)

    @property
    def requests(self) -> int:
        """How many requests have come."""
        return self.seen.total()


def texts_of(body: Any) -> str:
    """The text that a prompt of the default templates asks about."""
    lines = body["messages"][-1]["content"].splitlines()
    return next(line for line in reversed(lines) if ": " in line).partition(": ")[2]


def completion(
    text: str, top: Mapping[str, float] | None = None, tokens: int | None = None
) -> dict[str, Any]:
    """A chat completion of one token, with the probabilities of others at its position."""
    choice: dict[str, Any] = {"message": {"role": "assistant", "content": text}}
    if top is not None:
        logprobs = {token: math.log(share) for token, share in top.items() if share > 0}
        alternatives = [{"token": token, "logprob": value} for token, value in logprobs.items()]
        content = {"token": text, "logprob": logprobs[text], "top_logprobs": alternatives}
        choice["logprobs"] = {"content": [content]}
    usage = {} if tokens is None else {"usage": {"total_tokens": tokens}}
    return {"choices": [choice], **usage}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # connections are kept
    disable_nagle_algorithm = True
    stub: Stub

    def do_POST(self) -> None:
        stub = self.stub
        content = self.rfile.read(int(self.headers["Content-Length"]))
        body = json.loads(content)
        key = json.dumps(body, sort_keys=True)
        with stub.lock:
            fault = stub.fault(body, stub.seen[key])
            stub.seen[key] += 1
            stub.headers.append({name.lower(): value for name, value in self.headers.items()})
            stub.paths.add(self.path)
            stub.at_once += 1
            stub.most_at_once = max(stub.most_at_once, stub.at_once)
            held = stub.answered.total() >= stub.held_after
            if fault is None and not held:
                stub.answered[key] += 1
            if fault is not None:
                stub.faults[fault] += 1
        try:
            if held:
                stub.closing.wait()
                self.close_connection = True
                return
            time.sleep(stub.delay(body))
        finally:
            with stub.lock:  # before the reply, after which the client may send another
                stub.at_once -= 1
        self._reply(fault, body)

    def _reply(self, fault: Fault, body: Any) -> None:
        if fault == "cut":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{")
            self.close_connection = True
        elif fault == "nonsense":
            self._send(200, b"<html>busy</html>")
        elif fault == "429":
            self._send(429, b"{}", {"Retry-After": "0.01"})
        elif fault in ("slow", None):
            time.sleep(0.05 if fault else 0)
            self._send(200, json.dumps(self.stub.answer(body)).encode())
        else:
            said = {"error": {"message": f"refused: {self.headers['Authorization']}"}}
            self._send(int(fault), json.dumps(said).encode())

    def _send(self, status: int, content: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        pass


class _Server(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # clients are killed on purpose


@contextmanager
def serving(stub: Stub) -> Iterator[Stub]:
    """Run a server in a thread."""
    handler = type("Handler", (_Handler,), {"stub": stub})
    with _Server(("127.0.0.1", 0), handler) as server:
        stub.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield stub
        finally:
            stub.closing.set()
            server.shutdown()
            thread.join()
