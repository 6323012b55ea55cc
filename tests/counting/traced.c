/*
 * Runs the paths, weir's and the baselines', for lines.c, which looks on through valgrind.
 *
 *   traced where     prints what addresses mean
 *   traced record    runs them all, at the speed of the machine, and before each counted call writes down where things
 *                    stand: the arena. All of a limiter is there.
 *   traced replay    reads that and makes the counted calls alone, a store to traced_mark before each and after it;
 *                    then prints a row for each path. Under valgrind, the rest would take a minute.
 *
 * Linked statically, and so not position-independent: addresses are the same in every process.
 *
 * All memory comes from the arena, the baselines' too: what the C library's allocator does on its own lines is counted
 * for nobody.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../src/sync/rcu.h"
#include "arena.h"
#include "baselines.h"
#include "scenes.h"

volatile uint64_t traced_mark;

/* The linker's: all variables of the program lie between them. */
extern unsigned char __data_start, _end;

/* --- the C library's allocation --- */

void *malloc(size_t size)
{
    return arena_allocate(16, size);
}

void *calloc(size_t count, size_t size)
{
    return arena_allocate(16, count * size); /* nothing in the arena is given out twice: it is zero */
}

void *realloc(void *memory, size_t size)
{
    void *made = arena_allocate(16, size);
    if (made && memory) /* some of what follows is copied as well */
        memcpy(made, memory, size);
    return made;
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return arena_allocate(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    *memory = arena_allocate(alignment, size);
    return *memory ? 0 : ENOMEM;
}

void free(void *memory)
{
    (void)memory;
}

/* --- */

/* --- record and replay --- */

/* Where things stand before a counted call; what the subject has of the arena follows. */
struct stand {
    unsigned subject, path, distance;
    void *state;
    size_t from, used;
    uint64_t keys[2][SCENE_BATCH];
};

static struct scene_subject subject_of(unsigned number)
{
    return number < SCENE_WEIR_KINDS ? scene_weir(number) : baseline(number - SCENE_WEIR_KINDS);
}

static struct stand stand; /* of the subject that is recorded */

static void put(const void *from, size_t size)
{
    if (fwrite(from, 1, size, stdout) != size)
        exit(1);
}

static void nothing(void)
{
}

static void record_one(const struct scene_subject *subject, const struct scene_path *path,
                       uint64_t keys[2][SCENE_BATCH])
{
    stand.path = (unsigned)(path - scene_paths);
    stand.distance = arena_distance;
    stand.state = subject->state;
    stand.used = arena_used;
    memcpy(stand.keys, keys, sizeof stand.keys);
    put(&stand, sizeof stand);
    put(arena + stand.from, stand.used - stand.from);
    for (unsigned i = 0; i < 2; i++)
        scene_call(subject, path, keys[i]);
}

static void record(void)
{
    scene_watcher = (struct scene_watcher){nothing, nothing};
    arena_used = 1 << 16; /* before that stands what the C library has asked for to make this thread */
    for (arena_distance = 0; arena_distance < ARENA_LINE; arena_distance += ARENA_STEP)
        for (stand.subject = 0; stand.subject < SCENE_WEIR_KINDS + baseline_count; stand.subject++) {
            struct scene_subject subject = subject_of(stand.subject);
            stand.from = arena_used;
            scene_run(&subject, record_one);
        }
    fflush(stdout);
}

static void mark(void)
{
    traced_mark = traced_mark + 1;
}

static bool get(void *to, size_t size)
{
    for (size_t got = 0; got < size;) {
        ssize_t more = read(STDIN_FILENO, (unsigned char *)to + got, size - got);
        if (more <= 0)
            return false;
        got += (size_t)more;
    }
    return true;
}

static void replay(void)
{
    scene_watcher = (struct scene_watcher){mark, mark};
    weiri_rcu_enter(); /* a thread's first section makes it known to liburcu */
    weiri_rcu_leave();
    while (get(&stand, sizeof stand) && get(arena + stand.from, stand.used - stand.from)) {
        struct scene_subject subject = subject_of(stand.subject);
        subject.state = stand.state;
        arena_used = stand.used;
        arena_distance = stand.distance;
        for (unsigned i = 0; i < 2; i++)
            scene_call(&subject, &scene_paths[stand.path], stand.keys[i]);
        printf("%s\t%s\t%u\n", subject.name, scene_paths[stand.path].name, scene_decisions(&scene_paths[stand.path]));
    }
}

/*
 * A thread with a stack at one place: helpers of a migration begin where their stack tells them, and keys would stand
 * elsewhere in every build. And while there is another thread, the C library takes its locks with atomic operations.
 */
static void *const stack = (void *)UINT64_C(0x200000000);
enum { STACK = 1 << 20 };

static void *run(void *body)
{
    ((void (*)(void))(uintptr_t)body)();
    return NULL;
}

static int in_thread(void (*body)(void))
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    if (mmap(stack, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != stack ||
        pthread_attr_setstack(&attributes, stack, STACK) != 0)
        return 1;
    return pthread_create(&thread, &attributes, run, (void *)(uintptr_t)body) || pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
    static char buffer[1 << 16]; /* or the C library would take it from the arena */
    const char *what = argc == 2 ? argv[1] : "";
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    if (strcmp(what, "record") == 0)
        return in_thread(record);
    if (strcmp(what, "replay") == 0)
        return in_thread(replay);
    if (strcmp(what, "where") != 0)
        return 2;
    printf("%p %p %p %p %p\n", (const void *)&traced_mark, (void *)arena, (void *)(arena + ARENA_SIZE),
           (void *)&__data_start, (void *)&_end);
    return 0;
}
