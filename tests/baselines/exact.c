/*
 * Each baseline keeps the exact limit from several threads (B): in each turn the time stands still, and all threads
 * call some hot keys in turn, and now and then a new one, more often than the limit allows; each hot key is accepted
 * exactly as often as its limit says. Time goes on so far from turn to turn that everything has expired, so that the
 * threads meet the keys' old entries while the insertions of the new keys drop them.
 */
#include "../threads/common.h"

#include "../../bench/baselines/lfht.h"
#include "../../bench/baselines/locked.h"

enum { THREADS = 4, HOT = 16, LIMIT = 100, TURNS = 100, NEW_EVERY = 4 };

#define WINDOW WEIR_SECOND

typedef int (*take)(void *of, const void *key, size_t size, uint64_t cost, uint64_t now, weir_decision *decision);

typedef struct shared {
    take take;
    void *of;
    uint64_t turns;
    pthread_barrier_t turn;
    _Atomic uint64_t accepted[TURNS][HOT];
} shared;

static void hammer(void *of, unsigned index)
{
    shared *all = of;
    uint64_t number = (uint64_t)(index + 1) << 32;
    for (uint64_t turn = 0; turn < all->turns; turn++) {
        const uint64_t now = (turn + 1) * 10 * WINDOW;
        pthread_barrier_wait(&all->turn);
        for (unsigned i = 0; i < LIMIT * HOT; i++) {
            const test_key hot = key_number(i / LIMIT);
            all->accepted[turn][i / LIMIT] += all->take(all->of, hot.bytes, hot.size, 1, now, NULL) == 1;
            if (i % NEW_EVERY != 0)
                continue;
            const test_key fresh = key_number(number++);
            want_equal("verdict of a new key", 1,
                       (uint64_t)all->take(all->of, fresh.bytes, fresh.size, 1, now, NULL));
        }
    }
}

static void exact(const char *name, void *of, take take_it)
{
    shared all = {.take = take_it, .of = of, .turns = scaled(TURNS, 20)};
    all.turns = all.turns < TURNS ? all.turns : TURNS;
    pthread_barrier_init(&all.turn, NULL, THREADS);
    run_threads(THREADS, hammer, &all);
    for (uint64_t turn = 0; turn < all.turns; turn++)
        for (unsigned key = 0; key < HOT; key++)
            want_equal(name, LIMIT, all.accepted[turn][key]);
    pthread_barrier_destroy(&all.turn);
}

static int take_locked(void *of, const void *key, size_t size, uint64_t cost, uint64_t now, weir_decision *decision)
{
    return locked_take(of, key, size, cost, now, decision);
}

static int take_lfht(void *of, const void *key, size_t size, uint64_t cost, uint64_t now, weir_decision *decision)
{
    return lfht_take(of, key, size, cost, now, decision);
}

int main(void)
{
    const weir_rule rules[] = {
        {.algorithm = WEIR_LOG, .limit = LIMIT, .window_ns = WINDOW, .meter = WEIR_PER_REQUEST},
        {.algorithm = WEIR_COUNTER, .limit = LIMIT, .window_ns = WINDOW, .meter = WEIR_PER_REQUEST},
    };
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned bits = 0; bits <= 6; bits += 6) {
            locked *limiter = locked_open(bits, &rules[i], 1, 0);
            exact(bits == 0 ? "accepted by the mutex" : "accepted by the shards", limiter, take_locked);
            locked_close(limiter);
        }
    }
    lfht *limiter = lfht_open(&rules[1], 1000, 0);
    exact("accepted by the lfht", limiter, take_lfht);
    lfht_close(limiter);
    return 0;
}
