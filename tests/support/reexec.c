/*
 * Criterion runs each test in a new process of the same program, by execve. A program built for another machine starts
 * under a wrapper only, such as qemu-aarch64: meson tells which in MESON_EXE_WRAPPER, quoted for a shell. So there this
 * execve, which Criterion's library finds before the C library's, has a shell start the wrapper.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WORDS_MAX = 64 };

int execve(const char *path, char *const *argv, char *const *envp)
{
    /* $0 is `path`. */
    static const char script[] = "eval \"exec $MESON_EXE_WRAPPER \\\"\\$0\\\" \\\"\\$@\\\"\"";
    const char *words[WORDS_MAX] = {"sh", "-c", script, path};
    size_t count = 4;

    if (!getenv("MESON_EXE_WRAPPER"))
        return (int)syscall(SYS_execve, path, argv, envp);
    for (size_t i = 1; argv[0] && argv[i]; i++) {
        if (count == WORDS_MAX - 1) {
            errno = E2BIG;
            return -1;
        }
        words[count++] = argv[i];
    }
    return (int)syscall(SYS_execve, "/bin/sh", words, envp);
}
