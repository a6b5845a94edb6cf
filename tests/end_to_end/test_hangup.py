"""SIGHUP while weir serve starts ends nothing: it is ignored before the first static object is made, until files are read again.

A library that is loaded before the program sends it at moments of the start, as no other process could hit them.
"""
import os
import shutil
import subprocess
import unittest

from server import Folder, Server, run, sanitized

LIBRARY = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <unistd.h>

static void at(const char* moment) {
  const char* wanted = getenv("HANGUP_AT");
  if (!wanted || strcmp(wanted, moment) != 0) return;
  unsetenv("HANGUP_AT");
  if (write(2, "hangup now\n", 11) < 0) abort();
  raise(SIGHUP);
}

// What the program's own static objects call, the first of them: libraries' come before.
int __cxa_atexit(void (*ends)(void*), void* object, void* of) {
  int (*real)(void (*)(void*), void*, void*) = (int (*)(void (*)(void*), void*, void*))dlsym(RTLD_NEXT, "__cxa_atexit");
  Dl_info its, programs;
  if (!of || (dladdr(of, &its) && dladdr((void*)getauxval(AT_ENTRY), &programs) && its.dli_fbase == programs.dli_fbase))
    at("statics");
  return real(ends, object, of);
}

// What main calls first, after it has said what becomes of SIGHUP.
sighandler_t signal(int number, sighandler_t what) {
  sighandler_t (*real)(int, sighandler_t) = (sighandler_t (*)(int, sighandler_t))dlsym(RTLD_NEXT, "signal");
  if (number == SIGXFSZ) at("main");
  return real(number, what);
}

static int open_at(const char* name, const char* path, int flags, int mode) {
  int (*real)(const char*, int, ...) = (int (*)(const char*, int, ...))dlsym(RTLD_NEXT, name);
  size_t size = strlen(path);
  if (size > 9 && strcmp(path + size - 9, "weir.conf") == 0) at("flags");
  if (size > 11 && strcmp(path + size - 11, "limits.yaml") == 0) at("limits");
  return real(path, flags, mode);
}
int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  int mode = va_arg(rest, int);
  va_end(rest);
  return open_at("open", path, flags, mode);
}
// What a fortified program calls.
int __open_2(const char* path, int flags) { return open_at("__open_2", path, flags, 0); }
int __open64_2(const char* path, int flags) { return open_at("__open64_2", path, flags, 0); }
int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  int mode = va_arg(rest, int);
  va_end(rest);
  return open_at("open64", path, flags, mode);
}

int listen(int socket, int backlog) {
  int (*real)(int, int) = (int (*)(int, int))dlsym(RTLD_NEXT, "listen");
  at("listens");
  return real(socket, backlog);
}
"""
LIMITS = "version: 1\nlimits:\n  all: { by: [], rate: 10/h }\nroutes:\n  - { limits: [all] }\n"


@unittest.skipIf(sanitized() or not shutil.which("cc"), "a library is loaded before those of the program")
class Hangup(unittest.TestCase):
    def test_at_each_moment_of_the_start(self):
        with Folder() as folder:
            library = folder.file("hangup.so")
            subprocess.run(["cc", "-shared", "-fPIC", "-o", library, folder.file("hangup.c", LIBRARY), "-ldl"], check=True, timeout=60)
            config = folder.file("weir.conf", "threads = 1\n")
            os.chmod(config, 0o600)
            limits = folder.file("limits.yaml", LIMITS)
            for moment in ("statics", "main", "flags", "limits", "listens"):
                with self.subTest(moment):
                    with Server("--config", config, "--limits", limits, env={"LD_PRELOAD": library, "HANGUP_AT": moment}) as server:
                        server.says("hangup now")
                        with server.client() as client:
                            self.assertEqual(client.ask("PING"), "PONG")


if __name__ == "__main__":
    run()
