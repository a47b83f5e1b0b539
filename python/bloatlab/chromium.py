"""Drives a headless Chromium over a pipe with the DevTools protocol: opens pages and evaluates expressions."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from typing import IO, Any

from bloatlab.errors import InputError

#: Names of the browser on PATH, in the order tried.
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
#: Options for a headless browser that is driven over a pipe and makes no requests of its own, such as updates.
ARGUMENTS = (
    "--headless",
    "--remote-debugging-pipe",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-prefers-reduced-motion",
)


class NoBrowser(InputError):  # noqa: N818  a missing browser is not an error in bloatlab
    """No Chromium on PATH; the message is one line for the user."""


class Page:
    """A page of the browser. Messages are JSON, each terminated by a zero byte."""

    def __init__(self, to: IO[bytes], back: io.BufferedReader) -> None:
        self._to, self._back = to, back
        self._next, self._session, self._held = 0, "", b""

    def open(self, address: str) -> None:
        """Opens an address and waits until it is loaded."""
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._call("Page.enable")
        self._call("Page.navigate", url=address)
        while self._message().get("method") != "Page.loadEventFired":
            pass

    def evaluate(self, expression: str) -> Any:
        """Evaluates an expression in the page and waits for its promise. Raises `InputError` if the page throws."""
        answer = self._call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            thrown = answer["exceptionDetails"].get("exception", {})
            text = str(thrown.get("description", answer["exceptionDetails"]["text"])).splitlines()[0]
            raise InputError(text.removeprefix("Error: "))
        return answer["result"].get("value")

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        self._next += 1
        message: dict[str, Any] = {"id": self._next, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        self._to.write(json.dumps(message).encode() + b"\0")
        self._to.flush()
        while (answer := self._message()).get("id") != self._next:
            pass
        if "error" in answer:
            raise InputError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def _message(self) -> dict[str, Any]:
        parts = [self._held]
        while b"\0" not in parts[-1]:
            if not (part := self._back.read1(1 << 20)):
                raise InputError("the browser ended before it answered")
            parts.append(part)
        text, _, self._held = b"".join(parts).partition(b"\0")
        return json.loads(text)


def browser() -> str:
    """Returns the path of Chromium or Chrome. Raises `NoBrowser`."""
    for name in NAMES:
        if found := shutil.which(name):
            return found
    raise NoBrowser(f"no Chromium on PATH (looked for {', '.join(NAMES)}): apt-get install chromium")


@contextmanager
def page(width: int = 1280, height: int = 900) -> Generator[Page]:
    """Opens a page in a fresh headless Chromium, and ends the process afterwards."""
    command = [browser(), *ARGUMENTS, f"--window-size={width},{height}"]
    if os.geteuid() == 0:
        command.append("--no-sandbox")  # as root, Chromium starts only without its sandbox
    (their_in, our_out), (our_in, their_out) = os.pipe(), os.pipe()

    def as_3_and_4() -> None:
        ends = os.dup(their_in), os.dup(their_out)
        os.dup2(ends[0], 3)
        os.dup2(ends[1], 4)

    with tempfile.TemporaryDirectory(prefix="bloatlab-", ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(  # noqa: S603 - `browser()` found this program on PATH
            [*command, f"--user-data-dir={profile}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            close_fds=False,
            preexec_fn=as_3_and_4,  # noqa: PLW1509 - Chromium expects the pipes at descriptors 3 and 4
        )
        os.close(their_in)
        os.close(their_out)
        try:
            with os.fdopen(our_out, "wb") as to, os.fdopen(our_in, "rb") as back:
                yield Page(to, back)
        finally:
            process.kill()
            process.wait()
