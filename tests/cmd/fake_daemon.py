# SPDX-License-Identifier: MIT
"""A simulated daemon that stores its requests and sends prepared answers: docs/spec/control-protocol.md."""
import json
import os
import socket
import threading

PIECE = 20000


class FakeDaemon:
    """Listens in its own runtime directory; `answers` has an object, or a function of the request, for each verb."""

    def __init__(self, directory):
        self.directory = directory
        os.makedirs(directory, mode=0o700, exist_ok=True)
        os.chmod(directory, 0o700)
        self.path = os.path.join(directory, "control.sock")
        self.requests = []
        self.answers = {}
        self.subscription = []  # The messages after the answer to `top`.
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(self.path)
        self.listener.listen(16)
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.listener.close()
        os.unlink(self.path)

    def take(self):
        """Returns the requests since the last call."""
        requests, self.requests = self.requests, []
        return requests

    def send(self, connection, answer):
        text = json.dumps(answer)
        if len(text) < PIECE:
            connection.send(text.encode())
            return
        while text:
            piece, text = text[:PIECE], text[PIECE:]
            connection.send(json.dumps({"more": bool(text), "part": piece}).encode())

    def answer(self, request):
        answer = self.answers.get(request["verb"], {"ok": True})
        if callable(answer):
            answer = answer(request)
        if answer.get("ok") and "session" in request:
            answer = {"session": request["session"], **answer}
        return answer

    def serve(self, connection):
        with connection:
            text = ""
            while True:
                data = connection.recv(1 << 20)
                if not data:
                    return
                request = json.loads(data)
                if "part" in request:
                    text += request["part"]
                    if request["more"]:
                        continue
                    request, text = json.loads(text), ""
                self.requests.append(request)
                self.send(connection, self.answer(request))
                if request["verb"] == "top":
                    for message in self.subscription:
                        self.send(connection, message() if callable(message) else message)
                    return

    def run(self):
        while True:
            try:
                connection = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.serve_quietly, args=(connection,), daemon=True).start()

    def serve_quietly(self, connection):
        try:
            self.serve(connection)
        except (BrokenPipeError, ConnectionResetError):
            pass
