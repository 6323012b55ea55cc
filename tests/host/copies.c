/*
 * Guarantees F and G: several copies of weir in a process. Two plug-ins that libweir.a was linked into and libweir.so,
 * each with weir to itself, fork together: threads decide in every copy while the process forks, and each child decides
 * in every copy, finds the grants of its parent, and opens and closes. Then a plug-in whose constructor makes another
 * one's first weir_open, while a thread makes it too: neither waits for the other's lock; and a record of another
 * version, which weir_open must refuse once it is in use.
 *
 *   copies FILE FILE...             the copies; all but the last are opened before the first fork
 *   copies --constructor FILE FILE  a copy, and the plug-in whose constructor calls it
 *   copies --foreign FILE           a copy, in a program that claims to have another release in it
 *
 * SPDX-License-Identifier: MIT
 */
#include "../threads/common.h"

#include <dlfcn.h>
#include <sys/wait.h>

enum { COPIES_MAX = 4, LIMIT = 5, HANG = 20 };

/* What is looked up in a copy. */
typedef struct test_copy {
    typeof(&weir_open) open;
    typeof(&weir_close) close;
    typeof(&weir_take) take;
    typeof(&weir_options_default) options;
    weir *limiter;
} test_copy;

static test_copy copies[COPIES_MAX];
static unsigned in_use;
static _Atomic bool enough;
static _Atomic uint64_t calls[COPIES_MAX];

/* A record of a release to come, as src/sync/copies.h has it: in use where its first word is not NULL. */
void *foreign_record;
__asm__(".pushsection .note.weir, \"a\", %note\n"
        ".balign 4\n"
        ".long 5, 8, 999\n"
        ".asciz \"weir\"\n"
        ".balign 4\n"
        ".quad foreign_record - .\n"
        ".popsection\n");

static void load(test_copy *copy, const char *file)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        failed("dlopen: %s", dlerror());
    copy->open = (typeof(copy->open))dlsym(library, "weir_open");
    copy->close = (typeof(copy->close))dlsym(library, "weir_close");
    copy->take = (typeof(copy->take))dlsym(library, "weir_take");
    copy->options = (typeof(copy->options))dlsym(library, "weir_options_default");
    if (!copy->open || !copy->close || !copy->take || !copy->options)
        failed("%s: not all functions are in it", file);
}

static int try_open(const test_copy *copy, weir **limiter, char *error, size_t size)
{
    const weir_rule rule = {
        .limit = LIMIT, .window_ns = WEIR_HOUR, .algorithm = WEIR_LOG, .meter = WEIR_PER_REQUEST};
    weir_options options = copy->options();
    options.error = error;
    options.error_size = size;
    return copy->open(limiter, &rule, 1, &options);
}

static int take(const test_copy *copy, uint64_t number)
{
    weir_request request = weir_request_for(&number, sizeof number);
    return copy->take(copy->limiter, &request, WEIR_NOW, NULL);
}

/* Uses up a key in a copy that is open. */
static void fill(const test_copy *copy, uint64_t number, unsigned used)
{
    for (unsigned i = used; i < LIMIT; i++)
        want_equal("verdict with room left", 1, (uint64_t)take(copy, number));
    want_equal("verdict when used up", 0, (uint64_t)take(copy, number));
}

/* Decides about keys 1000 and up, new ones all the time. */
static void *decide(void *argument)
{
    test_copy *mine = argument;
    for (uint64_t i = 0; !atomic_load(&enough); i++) {
        if (take(mine, 1000 + i % 20000) < 0)
            failed("weir_take failed");
        atomic_fetch_add(&calls[mine - copies], 1);
    }
    return NULL;
}

static void in_child(unsigned round)
{
    alarm(HANG);
    for (unsigned i = 0; i < in_use; i++) {
        weir *another;
        want_equal("the parent's grants", 0, (uint64_t)take(&copies[i], 0));
        fill(&copies[i], 1 + round, 0);
        want_done("weir_open in the child", try_open(&copies[i], &another, NULL, 0));
        want_done("weir_close in the child", copies[i].close(another));
        want_done("weir_close of the parent's in the child", copies[i].close(copies[i].limiter));
    }
    _exit(7);
}

/* A fork, when every copy has decided since the last one. */
static void fork_once(unsigned round)
{
    int status;
    for (unsigned i = 0; i < in_use; i++)
        for (uint64_t before = atomic_load(&calls[i]); atomic_load(&calls[i]) == before;)
            sched_yield();
    alarm(HANG);
    pid_t child = fork();
    if (child == 0)
        in_child(round);
    if (child < 0 || waitpid(child, &status, 0) != child || status != 7 << 8)
        failed("fork %u with %u copies: wanted exit status 7", round, in_use);
}

static void fork_together(int count, char **files)
{
    const uint64_t forks = scaled(50, 10);
    pthread_t threads[COPIES_MAX];
    if (count < 2 || count > COPIES_MAX)
        failed("wanted 2 to %d files", COPIES_MAX);
    for (int i = 0; i < count; i++)
        load(&copies[i], files[i]);
    for (int i = 1; i < count; i++)
        if (copies[i].open == copies[0].open)
            failed("%s is no copy of its own", files[i]);
    for (unsigned round = 0; round < forks; round++) {
        unsigned wanted = (unsigned)count - (round < forks / 2); /* the last joins when others have forked */
        for (; in_use < wanted; in_use++) {
            alarm(HANG);
            want_done("weir_open", try_open(&copies[in_use], &copies[in_use].limiter, NULL, 0));
            fill(&copies[in_use], 0, 0);
            threads[in_use] = thread_started(decide, &copies[in_use]);
        }
        fork_once(round);
    }
    atomic_store(&enough, true);
    for (unsigned i = 0; i < in_use; i++) {
        pthread_join(threads[i], NULL);
        fill(&copies[i], 0, LIMIT);
        want_done("weir_close", copies[i].close(copies[i].limiter));
    }
    printf("copies: %u copies, %" PRIu64 " forks\n", in_use, forks);
}

/* --- the constructor --- */

static _Atomic bool loading;
static _Atomic pid_t beside; /* the thread that makes its first weir_open meanwhile */

/* The plug-in's constructor calls this. */
void call_from_constructor(void);

static void open_and_close(void)
{
    weir *limiter;
    want_done("weir_open", try_open(&copies[0], &limiter, NULL, 0));
    want_done("weir_close", copies[0].close(limiter));
}

/* Does the thread sleep, which here means that it waits for a lock? */
static bool sleeps(pid_t thread)
{
    char name[64], line[512] = "";
    snprintf(name, sizeof name, "/proc/self/task/%d/stat", (int)thread);
    FILE *file = fopen(name, "r");
    if (!file)
        return false;
    char *end = fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
    fclose(file);
    return end && strncmp(end, ") S", 3) == 0;
}

void call_from_constructor(void)
{
    atomic_store(&loading, true);
    while (atomic_load(&beside) == 0)
        sched_yield();
    /* Until it is as far as the loader's lock; where it never takes it, there is nothing to be seen. */
    for (unsigned i = 0; i < 10000 && !sleeps(atomic_load(&beside)); i++)
        sched_yield();
    open_and_close();
}

static void *open_beside(void *unused)
{
    while (!atomic_load(&loading))
        sched_yield();
    atomic_store(&beside, gettid());
    open_and_close();
    return unused;
}

static void open_from_constructor(const char *file, const char *caller)
{
    load(&copies[0], file);
    alarm(HANG);
    pthread_t thread = thread_started(open_beside, NULL);
    if (!dlopen(caller, RTLD_NOW))
        failed("dlopen: %s", dlerror());
    pthread_join(thread, NULL);
    if (!atomic_load(&loading))
        failed("%s: wanted a constructor that calls", caller);
}

/* --- another release --- */

static void open_beside_another_release(const char *file)
{
    char error[200] = "";
    weir *limiter;
    load(&copies[0], file);
    foreign_record = &foreign_record;
    int result = try_open(&copies[0], &limiter, error, sizeof error);
    want_equal("-weir_open beside another release", EBUSY, (uint64_t)-result);
    if (limiter || !strstr(error, "another release"))
        failed("wanted no limiter, and words on another release; got \"%s\"", error);
    foreign_record = NULL; /* there, but not in use */
    open_and_close();
}

int main(int count, char **arguments)
{
    if (count == 4 && strcmp(arguments[1], "--constructor") == 0)
        open_from_constructor(arguments[2], arguments[3]);
    else if (count == 3 && strcmp(arguments[1], "--foreign") == 0)
        open_beside_another_release(arguments[2]);
    else
        fork_together(count - 1, arguments + 1);
    return 0;
}
