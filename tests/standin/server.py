"""The server: what the model is asked is kept, and answered as a script says."""

import json
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Protocol

JsonObject = dict[str, Any]
INPUT_TOKENS = 100
OUTPUT_TOKENS = 20
OK = 200


@dataclass(frozen=True)
class ToolCall:
    """A tool the model asks the program to run; some take a text instead of named values."""

    name: str
    given: JsonObject | str


@dataclass(frozen=True)
class Reply:
    """What the model server answers to one request, once ``wait`` is over and after ``delay`` seconds.

    A ``status`` other than 200 sends ``body``, or the dialect's own with ``text`` as message. ``failure``,
    a code and a message, ends a stream that began well; ``dropped`` is one that just stops.
    """

    text: str = ""
    tools: tuple[ToolCall, ...] = ()
    status: int = OK
    body: JsonObject | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    failure: tuple[str, str] | None = None
    dropped: bool = False
    delay: float = 0.0
    wait: Callable[[], object] | None = None


class Dialect(Protocol):
    """What one model server speaks, and what the program that speaks with it is told and asked to do."""

    # The agent's name in git-blackbird, and where its program sends requests.
    agent: str
    path: str
    # Who the program is to the server: somebody with a key, or with a subscription, which has limits.
    key: Mapping[str, str]
    subscription: Mapping[str, str]

    def events(self, reply: Reply, model: str) -> Iterator[JsonObject]:
        """Return the stream of a reply, each event with its ``type`` where the dialect has types."""
        ...

    def error_body(self, reply: Reply) -> JsonObject:
        """Say an error as this server does."""
        ...

    def said_by_user(self, request: JsonObject) -> list[str]:
        """Return the texts of the user's side in a request, oldest first."""
        ...

    def environ(self, url: str, home: Path) -> dict[str, str]:
        """Return the variables, less the login, with which the program talks to ``url`` and to nobody else.

        Puts the configuration it needs into ``home``.
        """
        ...

    def writes(self, path: Path, text: str) -> ToolCall:
        """Create a file."""
        ...

    def reads(self, path: Path) -> ToolCall:
        """Read a file."""
        ...

    def edits(self, path: Path, old: str, new: str) -> tuple[Reply, ...]:
        """Replace a line of a file, in as many replies as the program wants for it."""
        ...

    def shell(self, command: str) -> ToolCall:
        """Run a shell command."""
        ...

    def answers(self, answer: JsonObject) -> Reply:
        """Return the answer that a schema asks for."""
        ...

    def schema_in(self, request: JsonObject) -> JsonObject | None:
        """Return the schema that a request holds the answer to."""
        ...

    def usage_limit(self, resets_at: int) -> Reply:
        """Refuse because the subscription is used up until then, in seconds since the epoch."""
        ...


@dataclass
class StandIn:
    """The script still to be told and the requests that came; ``strays`` are those of another kind.

    ``answered`` are the requests whose whole answer was sent: what a provider would bill.
    ``parts`` are scripts for the requests that hold a text, however they come between the others.
    """

    dialect: Dialect
    url: str = ""
    replies: list[Reply] = field(default_factory=list)
    parts: dict[str, list[Reply]] = field(default_factory=dict)
    requests: list[JsonObject] = field(default_factory=list)
    answered: list[JsonObject] = field(default_factory=list)
    strays: list[str] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)

    def tell(self, *replies: Reply | str) -> None:
        """Add to the script; past its end every answer is ``Done.``"""
        self.replies += map(_reply_of, replies)

    def tell_part(self, text: str, *replies: Reply | str) -> None:
        """Add to the script of the requests in which the user's side says this."""
        self.parts.setdefault(text, []).extend(map(_reply_of, replies))

    def take(self, request: JsonObject) -> Reply:
        self.requests.append(request)
        script = next((self.parts[part] for part in self._parts_of(request)), self.replies)
        return script.pop(0) if script else Reply(text="Done.")

    def asked(self, part: str) -> list[JsonObject]:
        """Return the requests in which the user's side says this, oldest first."""
        return [request for request in self.requests if part in "\n".join(self.dialect.said_by_user(request))]

    def _parts_of(self, request: JsonObject) -> Iterator[str]:
        said = "\n".join(self.dialect.said_by_user(request)) if self.parts else ""
        return (part for part in self.parts if part in said)

    def prompts(self) -> list[str]:
        """Return the text of what the user's side said in the last request, oldest first."""
        return self.dialect.said_by_user(self.requests[-1])

    def environ(self, home: Path) -> dict[str, str]:
        """Return the variables with which the program talks to us, with a key, and to nobody else."""
        return {**self._environ(home), **self.dialect.key}

    def subscriber_environ(self, home: Path) -> dict[str, str]:
        """Return the variables with which the program talks to us as a subscriber's."""
        return {**self._environ(home), **self.dialect.subscription}

    def _environ(self, home: Path) -> dict[str, str]:
        home.mkdir(parents=True, exist_ok=True)
        loopback = "127.0.0.1,localhost"
        return {"NO_PROXY": loopback, "no_proxy": loopback, **self.dialect.environ(self.url, home)}


def _reply_of(reply: Reply | str) -> Reply:
    return Reply(text=reply) if isinstance(reply, str) else reply


@contextmanager
def serve(dialect: Dialect) -> Iterator[StandIn]:
    """Serve on a free port of the loopback until the block ends."""
    standin = StandIn(dialect)

    class Handler(_Handler):
        book = standin

    server = _Server(("127.0.0.1", 0), Handler)
    standin.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield standin
    finally:
        standin.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of programs that were killed while they spoke; anything else is a fault of ours."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    book: StandIn

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class's name
        """Stay quiet."""

    def do_HEAD(self) -> None:
        self._turn_away()

    def do_GET(self) -> None:
        self._turn_away()

    def do_POST(self) -> None:
        asked = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.partition("?")[0] != self.book.dialect.path:
            self._turn_away()
            return
        request = json.loads(asked)
        reply = self.book.take(request)
        if reply.wait is not None:
            reply.wait()
        self.book.closing.wait(reply.delay)
        try:
            if reply.status == OK:
                self._stream(reply, str(request.get("model", "")))
                self.book.answered.append(request)
            else:
                self._refuse(reply)
        except ConnectionError:
            self.close_connection = True

    def _turn_away(self) -> None:
        self.book.strays.append(f"{self.command} {self.path}")
        self.send_response(404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _refuse(self, reply: Reply) -> None:
        body = json.dumps(reply.body or self.book.dialect.error_body(reply)).encode()
        self.send_response(reply.status)
        fixed = {"Content-Type": "application/json", "Content-Length": str(len(body))}
        for name, value in {**fixed, "x-should-retry": "false", **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, reply: Reply, model: str) -> None:
        self.send_response(OK)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()
        for event in self.book.dialect.events(reply, model):
            name = f"event: {event['type']}\n" if "type" in event else ""
            self.wfile.write(f"{name}data: {json.dumps(event)}\n\n".encode())
            if reply.dropped:
                break
        self.close_connection = True
