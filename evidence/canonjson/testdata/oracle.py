"""Answers questions about JSON the way CPython does, for the tests of canonjson.

Requests and answers are one letter, a length of four bytes (big endian) and that
many bytes. Answers are ASCII, so that surrogates survive the transport.

L  a JSON document       -> A and the canonical text, or R when json.loads refuses it,
                            or D when CPython's own depth limit is met
F  doubles (big endian)  -> A and their repr, as a JSON array
"""

import json
import struct
import sys
import threading


def depth(value):
    """Levels of containers, counted without recursion."""
    deepest, level = 0, [value]
    while level:
        inner = []
        for v in level:
            if isinstance(v, dict):
                inner.extend(v.values())
            elif isinstance(v, list):
                inner.extend(v)
        if not any(isinstance(v, (dict, list)) for v in level):
            break
        deepest, level = deepest + 1, inner
    return deepest


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def answer(kind, body, limit):
    if kind == b"F":
        return b"A", canonical(list(struct.unpack(">%dd" % (len(body) // 8), body))).encode("ascii")
    try:
        value = json.loads(body)
        if depth(value) > limit:
            return b"D", b""
        return b"A", canonical(value).encode("ascii")
    except RecursionError:
        return b"D", b""
    except ValueError as error:  # JSONDecodeError, UnicodeDecodeError, the digit limit
        return b"R", repr(error).encode("ascii", "backslashreplace")


def serve():
    limit = int(sys.argv[1])
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    while True:
        head = requests.read(5)
        if len(head) < 5:
            return
        letter, text = answer(head[:1], requests.read(struct.unpack(">I", head[1:])[0]), limit)
        answers.write(letter + struct.pack(">I", len(text)) + text)
        answers.flush()


# A stack and a recursion limit well above the depth that Go accepts: then only the
# limit given on the command line decides.
sys.setrecursionlimit(20000)
threading.stack_size(256 << 20)
thread = threading.Thread(target=serve)
thread.start()
thread.join()
