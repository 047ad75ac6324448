"""Which call of the C library fails: the order that fail_calls.c reads, and what each call may really answer."""
import contextlib
import errno
import mmap
import os
import struct

CALLS = {name: i + 1 for i, name in enumerate(
    "socket connect send recv read write open epoll_ctl epoll_wait poll accept malloc fsync".split())}
# What each may really answer.
ERRORS = [("socket", "EMFILE"), ("connect", "ECONNREFUSED"), ("connect", "EINTR"), ("send", "ECONNRESET"), ("send", "EINTR"),
          ("recv", "ECONNRESET"), ("recv", "EINTR"), ("read", "EINTR"), ("read", "EIO"), ("write", "ENOSPC"), ("write", "EINTR"),
          ("open", "EMFILE"), ("epoll_ctl", "ENOMEM"), ("epoll_wait", "EINTR"), ("epoll_wait", "ENOMEM"), ("poll", "EINTR"),
          ("accept", "EMFILE"), ("accept", "ECONNABORTED"), ("fsync", "EIO"), ("malloc", "ENOMEM")]


class Order:
    """struct order of fail_calls.c, for the process that was started last under reaches()."""

    def __init__(self, directory, library):
        self.directory, self.library, self.process_n = directory, library, 0

    def renew(self):
        self.process_n += 1
        path = self.directory / f"order-{self.process_n}"
        path.write_bytes(bytes(20))
        os.environ.update(FAIL_CALLS=str(path))
        with open(path, "r+b") as f:
            self.memory = mmap.mmap(f.fileno(), 20)

    def give(self, call, nth, error):
        self.memory[:] = struct.pack("5i", 0, nth, getattr(errno, error), 0, 0)
        self.memory[0:4] = struct.pack("i", CALLS[call])

    def take_back(self):
        """True: the call has failed."""
        self.memory[0:4] = struct.pack("i", 0)
        return struct.unpack("5i", self.memory[:])[4] == 1

    @contextlib.contextmanager
    def reaches(self):
        """What is started meanwhile obeys, and nobody who did before."""
        self.renew()
        os.environ["LD_PRELOAD"] = self.library
        try:
            yield
        finally:
            del os.environ["LD_PRELOAD"]


def tell(what, failed):
    if os.environ.get("FAULT_SWEEP_TELL"):
        print(what, "" if failed else "(there are not so many)", flush=True)
