/* How a fault is told, and signals that are faults. SPDX-License-Identifier: MIT */
#include "torture.h"

#include <execinfo.h>
#include <signal.h>
#include <ucontext.h>

enum { HANG_SECONDS = TEST_ASAN || TEST_TSAN ? 300 : 60 }; /* without a round that ends: a hang */

static const torture_round *in;

void fault_in(const torture_round *round_or_null)
{
    in = round_or_null;
    alarm(HANG_SECONDS);
}

void fault(const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    torture_print();
    failed("%s\n  in %s", text, in ? torture_describe(in) : "no round");
}

void fault_unless(const char *what, uint64_t wanted, uint64_t got)
{
    if (wanted != got)
        fault("%s: wanted %" PRIu64 ", got %" PRIu64, what, wanted, got);
}

#if !TEST_ASAN && !TEST_TSAN
/* The registers of the thread that faulted may hold the poison that it followed. */
static void look_at_registers(const ucontext_t *context)
{
#if defined(__x86_64__)
    for (unsigned i = 0; i < sizeof(context->uc_mcontext.gregs) / sizeof(context->uc_mcontext.gregs[0]); i++)
        if (poison_found((uint64_t)context->uc_mcontext.gregs[i]))
            return;
#elif defined(__aarch64__)
    for (unsigned i = 0; i < 31; i++)
        if (poison_found(context->uc_mcontext.regs[i]))
            return;
#endif
}

/* The process is lost, so this may do what a handler should not: at worst it says less. */
static void crashed(int signal, siginfo_t *info, void *context)
{
    void *frames[32];
    struct sigaction usual = {.sa_handler = SIG_DFL};
    sigaction(signal, &usual, NULL); /* the next fault, here, ends it */
    uint64_t age = poison_touched((uintptr_t)info->si_addr);
    if (age == UINT64_MAX)
        look_at_registers(context);
    backtrace_symbols_fd(frames, backtrace(frames, 32), STDERR_FILENO);
    if (age != UINT64_MAX)
        fault("signal %d: touched a block freed %" PRIu64 " grace periods ago", signal, age);
    fault("signal %d at %p%s", signal, info->si_addr, poison_total() ? ": poison was followed as a pointer" : "");
}

static void watch_crashes(void)
{
    struct sigaction action = {.sa_sigaction = crashed, .sa_flags = SA_SIGINFO | SA_NODEFER};
    void *frame[1];
    (void)backtrace(frame, 1); /* loads what it needs */
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    sigaction(SIGABRT, &action, NULL);
}
#else
static void watch_crashes(void) /* the sanitizer says where it was */
{
}
#endif

static void hangs(int signal)
{
    (void)signal;
    fault("no round has ended for %d s", HANG_SECONDS);
}

void fault_watch(void)
{
    struct sigaction action = {.sa_handler = hangs};
    sigaction(SIGALRM, &action, NULL);
    watch_crashes();
    fault_in(NULL);
}
