"""The server: ``POST /v1/messages`` answered as a script says, every request kept."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

INPUT_TOKENS = 100
OUTPUT_TOKENS = 20


@dataclass(frozen=True)
class ToolCall:
    """A tool the model asks the program to run."""

    name: str
    input: dict[str, Any]


@dataclass(frozen=True)
class Reply:
    """What the model answers to one request, after ``delay`` seconds."""

    text: str = ""
    tools: tuple[ToolCall, ...] = ()
    status: int = 200
    delay: float = 0.0


@dataclass
class StandIn:
    """The script still to be told and the requests that came."""

    url: str = ""
    replies: list[Reply] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)

    def tell(self, *replies: Reply | str) -> None:
        """Add to the script; past its end every answer is ``Done.``"""
        self.replies += [Reply(text=reply) if isinstance(reply, str) else reply for reply in replies]

    def take(self, request: dict[str, Any]) -> Reply:
        self.requests.append(request)
        return self.replies.pop(0) if self.replies else Reply(text="Done.")

    def prompts(self) -> list[str]:
        """Give the text of what the user's side said in the last request, oldest first."""
        messages = self.requests[-1]["messages"]
        return [text for entry in messages if entry["role"] == "user" for text in _texts(entry["content"])]

    def environ(self, config_dir: Path) -> dict[str, str]:
        """Give the variables with which the program talks to us, and to nobody else."""
        return {
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_API_KEY": "dummy",
            "CLAUDE_CONFIG_DIR": str(config_dir),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "0",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_TELEMETRY": "1",
        }


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [block["text"] for block in content if block["type"] == "text"]


@contextmanager
def serve() -> Iterator[StandIn]:
    """Serve on a free port of the loopback until the block ends."""
    standin = StandIn()

    class Handler(_Handler):
        book = standin

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
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


class _Handler(BaseHTTPRequestHandler):
    book: StandIn

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class's name
        """Stay quiet."""

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.end_headers()

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        reply = self.book.take(request)
        self.book.closing.wait(reply.delay)
        try:
            if reply.status == 200:
                self._stream(reply, str(request.get("model", "")))
            else:
                self._refuse(reply)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _refuse(self, reply: Reply) -> None:
        kinds = {400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error"}
        error = {"type": kinds.get(reply.status, "api_error"), "message": reply.text}
        body = json.dumps({"type": "error", "error": error}).encode()
        self.send_response(reply.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("x-should-retry", "false")
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, reply: Reply, model: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for event in _events(reply, model):
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        self.close_connection = True


def _events(reply: Reply, model: str) -> Iterator[dict[str, Any]]:
    usage = {"input_tokens": INPUT_TOKENS, "output_tokens": 1}
    message = {"id": f"msg_{time.monotonic_ns()}", "type": "message", "role": "assistant", "model": model}
    yield {
        "type": "message_start",
        "message": message | {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage},
    }
    for index, (block, delta) in enumerate(_blocks(reply)):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    reason = "tool_use" if reply.tools else "end_turn"
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": reason, "stop_sequence": None},
        "usage": {"output_tokens": OUTPUT_TOKENS},
    }
    yield {"type": "message_stop"}


def _blocks(reply: Reply) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    if reply.text:
        yield {"type": "text", "text": ""}, {"type": "text_delta", "text": reply.text}
    for call in reply.tools:
        block = {"type": "tool_use", "id": f"toolu_{time.monotonic_ns()}", "name": call.name, "input": {}}
        yield block, {"type": "input_json_delta", "partial_json": json.dumps(call.input)}
