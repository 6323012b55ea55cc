/*
 * Guarantee G: dlclose is safe. A program that is linked with nothing of weir loads it a thousand times and more, as
 * libweir.so or inside a plug-in that libweir.a was linked into; it uses it from threads, and lets go of it while
 * threads that have called live on, while threads are in the middle of calls, and with a limiter open that the janitor
 * sweeps. Forks and the ends of threads follow, which run what weir and liburcu have registered. There are 1,024 keys
 * of thread-specific data, so a key lost in each round would be noticed, as is every byte and mapping.
 *
 *   unload FILE
 *
 * SPDX-License-Identifier: MIT
 */
#include "../threads/heap.h"

#include <dlfcn.h>
#include <sys/wait.h>

enum { ROUNDS = 1100, TEAM = 2, STAYERS = 12, SECONDS = 240 };

/* What is looked up in the library. */
static typeof(&weir_open) open_limiter;
static typeof(&weir_close) close_limiter;
static typeof(&weir_take) take;
static typeof(&weir_options_default) default_options;

static const char *file;
static test_heap heap;
static weir *limiter;
static pthread_barrier_t turn, stayed; /* of main with the team, and with a stayer */
static pthread_mutex_t staying = PTHREAD_MUTEX_INITIALIZER; /* main's, for as long as the stayers stay */
static _Atomic uint64_t calls_made;

static void *load(void)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        failed("dlopen: %s", dlerror());
    open_limiter = (typeof(open_limiter))dlsym(library, "weir_open");
    close_limiter = (typeof(close_limiter))dlsym(library, "weir_close");
    take = (typeof(take))dlsym(library, "weir_take");
    default_options = (typeof(default_options))dlsym(library, "weir_options_default");
    if (!open_limiter || !close_limiter || !take || !default_options)
        failed("%s: not all functions are in it", file);
    return library;
}

static void open_swept(void)
{
    const weir_rule rule = {
        .limit = 3, .window_ns = WEIR_MILLISECOND, .algorithm = WEIR_LOG, .meter = WEIR_PER_REQUEST};
    weir_options options = default_options();
    options.max_lateness_ns = 0;
    options.sweep_interval_ns = WEIR_MILLISECOND;
    heap_use(&heap, &options);
    want_done("weir_open", open_limiter(&limiter, &rule, 1, &options));
}

static void call(uint64_t number)
{
    weir_request request = weir_request_for(&number, sizeof number);
    int verdict = take(limiter, &request, WEIR_NOW, NULL);
    if (verdict != 0 && verdict != 1)
        failed("weir_take: got %d", verdict);
    atomic_fetch_add(&calls_made, 1);
}

/* Calls, and outlives dlclose. */
static void *call_and_outlive(void *argument)
{
    for (uint64_t i = 0; i < 20; i++)
        call(i + (uintptr_t)argument);
    pthread_barrier_wait(&turn); /* the calls are made */
    pthread_barrier_wait(&turn); /* the library is let go of */
    return NULL;
}

/* Is in the middle of calls meanwhile. */
static void *call_throughout(void *argument)
{
    for (uint64_t i = 0; i < 20; i++)
        call(i);
    pthread_barrier_wait(&turn);
    while (!atomic_load((_Atomic bool *)argument))
        call(atomic_load(&calls_made) % 5000);
    pthread_barrier_wait(&turn);
    return NULL;
}

/* Has called once, and lives to the end of the program. */
static void *call_and_stay(void *unused)
{
    (void)unused;
    call(0);
    pthread_barrier_wait(&stayed);
    pthread_mutex_lock(&staying);
    pthread_mutex_unlock(&staying);
    return NULL;
}

static void fork_once(void)
{
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(7);
    if (child < 0 || waitpid(child, &status, 0) != child || status != 7 << 8)
        failed("wanted a fork after dlclose, and exit status 7");
}

static void unload(void *library)
{
    if (dlclose(library) != 0)
        failed("dlclose: %s", dlerror());
}

/* One round; `midway`: it is let go of in the middle of calls, the limiter open. */
static void one_round(bool midway)
{
    pthread_t team[TEAM];
    _Atomic bool enough = false;
    void *library = load();
    open_swept();
    for (uintptr_t i = 0; i < TEAM; i++)
        team[i] = midway ? thread_started(call_throughout, &enough) : thread_started(call_and_outlive, (void *)(i * 10));
    pthread_barrier_wait(&turn);
    if (midway) {
        uint64_t before = atomic_load(&calls_made);
        unload(library);
        while (atomic_load(&calls_made) < before + 2000)
            sched_yield();
        fork_once();
        atomic_store(&enough, true);
        pthread_barrier_wait(&turn);
        want_done("weir_close", close_limiter(limiter)); /* the code is there for as long as the process is */
    } else {
        want_done("weir_close", close_limiter(limiter));
        unload(library);
        pthread_barrier_wait(&turn);
    }
    for (unsigned i = 0; i < TEAM; i++)
        pthread_join(team[i], NULL);
    want_equal("bytes after weir_close", 0, heap.bytes);
}

static void start_stayer(pthread_t *thread)
{
    void *library = load();
    open_swept();
    *thread = thread_started(call_and_stay, NULL);
    pthread_barrier_wait(&stayed);
    want_done("weir_close", close_limiter(limiter));
    unload(library);
}

/* Keys of thread-specific data that can still be had. */
static unsigned keys_left(void)
{
    pthread_key_t keys[2048];
    unsigned count = 0;
    while (count < 2048 && pthread_key_create(&keys[count], NULL) == 0)
        count++;
    for (unsigned i = 0; i < count; i++)
        pthread_key_delete(keys[i]);
    return count;
}

/* Mappings of the library and of liburcu. */
static unsigned mappings(void)
{
    char line[4096];
    unsigned count = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    if (!maps)
        failed("/proc/self/maps: %s", strerror(errno));
    while (fgets(line, sizeof line, maps))
        count += strstr(line, "liburcu") || strstr(line, "libweir") || strstr(line, "plugin");
    fclose(maps);
    return count;
}

int main(int count, char **arguments)
{
    pthread_t stayers[STAYERS];
    uint64_t rounds = scaled(ROUNDS, 60);
    if (count != 2)
        failed("usage: unload FILE");
    file = arguments[1];
    alarm(SECONDS); /* whoever hangs is killed */
    pthread_barrier_init(&turn, NULL, TEAM + 1);
    pthread_barrier_init(&stayed, NULL, 2);
    pthread_mutex_lock(&staying);
    unsigned keys_before = keys_left();
    one_round(false);
    unsigned mapped = mappings();
    if (mapped == 0)
        failed("wanted the library to stay where threads have called it");
    for (uint64_t round = 0; round < rounds; round++) {
        if (round % (rounds / STAYERS) == 0 && round / (rounds / STAYERS) < STAYERS)
            start_stayer(&stayers[round / (rounds / STAYERS)]);
        one_round(round % 10 == 9);
        if (round % 20 == 0)
            fork_once();
    }
    pthread_mutex_unlock(&staying);
    for (unsigned i = 0; i < STAYERS; i++)
        pthread_join(stayers[i], NULL);
    fork_once();
    want_equal("mappings of the libraries after the rounds", mapped, mappings());
    want_equal("keys of thread-specific data: liburcu's", 1, keys_before - keys_left());
    want_equal("bytes", 0, heap.bytes);
    printf("unload: loaded and let go of %" PRIu64 " times, %" PRIu64 " calls\n", rounds + STAYERS + 1, calls_made);
    return 0;
}
