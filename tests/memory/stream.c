/*
 * Guarantee F over a long stream of keys that never come back: memory stays within what the keys explain that are
 * alive, or were within the last sweep, whoever sweeps:
 *
 *   caller    manual time, bounded sweeps now and then, retired memory freed by the library itself
 *   nobody    manual time, no sweep at all: a full segment drops its expired keys before it grows
 *   janitor   real time, several threads, a window of milliseconds
 *
 * Ten million keys in all. Prints the largest resident size of each part, where the kernel tells it.
 *
 * SPDX-License-Identifier: MIT
 */
#include <unistd.h>

#include "../threads/heap.h"

#include "limiter/limiter.h"

enum { ASKERS = 2, SAMPLE = 1000 };

#define WINDOW   (10 * WEIR_MILLISECOND)
#define LATENESS WEIR_MILLISECOND
#define RETIRED  (UINT64_C(1) << 20) /* before somebody frees; a thirty-second of what lives where that is more */

static _Atomic uint64_t keys_made;

/* Forgets the largest resident size so far; false where the kernel will not. */
static bool forget_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    bool done = file && fputs("5", file) >= 0;
    if (file)
        done = fclose(file) == 0 && done;
    return done;
}

static uint64_t peak_kib(void)
{
    char line[256];
    uint64_t kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof(line), file))
        (void)sscanf(line, "VmHWM: %" SCNu64, &kib);
    if (file)
        fclose(file);
    return kib;
}

static void tell(const char *name, const rule_set *set, uint64_t keys, uint64_t bound, const test_heap *heap,
                 bool reset)
{
    printf("stream: %s, %s: %" PRIu64 " keys, at most %" PRIu64 " KiB in use, bound %" PRIu64
           " KiB, peak resident %" PRIu64 " KiB%s\n",
           name, set->name, keys, heap->peak / 1024, bound / 1024, peak_kib(), reset ? "" : " (of the whole program)");
}

static void take_new(weir *limiter, uint64_t number, uint64_t now)
{
    test_key key = key_number(number);
    weir_request request = request_for(&key, 1);
    int verdict = weir_take(limiter, &request, now, NULL);
    if (verdict != 1)
        failed("key %" PRIu64 ": wanted a new key accepted, got %d", number, verdict);
}

/* Bytes for so many keys, dead ones included: section 5 F, with what is retired on top. */
static uint64_t bytes_for(const rule_set *set, uint64_t keys)
{
    uint64_t node = set->inline_state ? 0 : 192 + 8 * set->rules[0].buckets + 16;
    uint64_t live = 65536 + keys * (160 + node + 6);
    return live + (live / 32 > RETIRED ? live / 32 : RETIRED) + RETIRED / 2;
}

/*
 * One key a microsecond. A key is held for two windows and the lateness at most, and until something looks at its
 * segment again: a sweep of 2 keys for each that comes is through the table in less time than that; without any, a
 * segment may be full of dead keys and half empty later.
 */
static void manual_stream(enum kind kind, uint64_t keys, bool sweep)
{
    test_heap heap = {0};
    rule_set set = rule_set_of(kind, 3, WINDOW);
    weir_options options = weir_options_manual();
    options.max_lateness_ns = LATENESS;
    heap_use(&heap, &options);
    bool reset = forget_peak();
    weir *limiter = opened(&set, &options);
    uint64_t held = (2 * WINDOW + LATENESS) / WEIR_MICROSECOND * 2, bound = bytes_for(&set, sweep ? held : 2 * held);
    for (uint64_t number = 0; number < keys; number++) {
        uint64_t now = 1000 * WEIR_SECOND + number * WEIR_MICROSECOND;
        take_new(limiter, number, now);
        if (number % SAMPLE != 0)
            continue;
        if (sweep && weir_sweep(limiter, now, 2 * SAMPLE) < 0)
            failed("weir_sweep failed");
        if (heap.bytes > bound)
            failed("%s, %s: wanted at most %" PRIu64 " bytes after %" PRIu64 " keys, got %" PRIu64, set.name,
                   sweep ? "bounded sweeps" : "no sweep", bound, number + 1, heap.bytes);
    }
    keys_made += keys;
    tell(sweep ? "bounded sweeps" : "no sweep", &set, keys, bound, &heap, reset);
    closed_clean(limiter, &heap, set.name);
}

typedef struct stream {
    rule_set set;
    weir *limiter;
    test_heap heap;
    uint64_t keys;            /* of one thread */
    _Atomic uint64_t made;    /* of all */
    _Atomic uint64_t most;    /* keys that came within the longest time a key is held, at most so far */
} stream;

/* What lives is what came within two windows and the lateness; the clock tells how much that was. Four times that leave
 * room for a janitor that is not scheduled for a while: the segments then drop keys themselves. */
static uint64_t janitor_bound(const stream *self)
{
    return bytes_for(&self->set, 4 * atomic_load(&self->most) + 4 * SAMPLE * ASKERS) + 6 * RETIRED;
}

static uint64_t retired_of(const weir *limiter)
{
    return weiri_load_relaxed_64(&limiter->memory.retired_bytes);
}

/* What is in use, but for what is retired, is within the bound: both are looked at again, for they are not of one time.
 * The retired waits for the janitor, which a busy machine may keep from running: so it is given time. */
static void expect_within(stream *self, uint64_t bound)
{
    int looks = 0, tries = 0;
    while (self->heap.bytes > bound + retired_of(self->limiter) && looks < 1000)
        looks++;
    if (looks == 1000)
        failed("%s, janitor: wanted at most %" PRIu64 " bytes in use, got %" PRIu64 ", and %" PRIu64 " of them retired",
               self->set.name, bound, self->heap.bytes, retired_of(self->limiter));
    while (self->heap.bytes > bound && tries++ < 20000)
        usleep(1000);
    if (tries > 20000)
        failed("%s, janitor: wanted at most %" PRIu64 " bytes in the end, got %" PRIu64, self->set.name, bound,
               self->heap.bytes);
}

static void stream_work(void *shared, unsigned index)
{
    enum { MARKS = 256 };
    stream *self = shared;
    uint64_t time_at[MARKS] = {0}, made_at[MARKS] = {0}, oldest = 0;
    for (uint64_t n = 0, mark = 0; n < self->keys; n++) {
        take_new(self->limiter, n * ASKERS + index, WEIR_NOW);
        if (n % SAMPLE != 0)
            continue;
        uint64_t now = weir_now(self->limiter), made = atomic_fetch_add(&self->made, SAMPLE) + SAMPLE;
        time_at[mark % MARKS] = now;
        made_at[mark % MARKS] = made;
        while (oldest < mark && (now - time_at[oldest % MARKS] > 2 * WINDOW + LATENESS || mark - oldest >= MARKS - 1))
            oldest++;
        uint64_t alive = made - made_at[oldest % MARKS], most = atomic_load(&self->most);
        while (alive > most && !atomic_compare_exchange_weak(&self->most, &most, alive))
            continue;
        mark++;
        expect_within(self, janitor_bound(self));
    }
}

static void janitor_stream(enum kind kind, uint64_t keys)
{
    stream self = {.set = rule_set_of(kind, 3, WINDOW), .keys = keys / ASKERS};
    weir_options options = weir_options_default();
    options.max_lateness_ns = LATENESS;
    options.sweep_interval_ns = WEIR_MILLISECOND;
    heap_use(&self.heap, &options);
    bool reset = forget_peak();
    self.limiter = opened(&self.set, &options);
    run_threads(ASKERS, stream_work, &self);
    keys_made += self.keys * ASKERS;
    tell("janitor", &self.set, self.keys * ASKERS, janitor_bound(&self), &self.heap, reset);
    closed_clean(self.limiter, &self.heap, self.set.name);
}

int main(void)
{
    manual_stream(KIND_COUNTER, scaled(3000000, 60000), true);
    manual_stream(KIND_COUNTER, scaled(2000000, 60000), false);
    manual_stream(KIND_LOG, scaled(500000, 60000), true);
    manual_stream(KIND_TWO, scaled(500000, 60000), false);
    janitor_stream(KIND_COUNTER, scaled(3000000, 20000));
    janitor_stream(KIND_LOG, scaled(500000, 20000));
    janitor_stream(KIND_BUCKETS, scaled(500000, 20000));
    printf("stream: %" PRIu64 " keys\n", keys_made);
    return 0;
}
