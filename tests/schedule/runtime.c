#include "runtime.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "../../src/sync/rcu.h"
#include "../support/random.h"
#include "fiber.h"

enum {
    STEPS_MAX = 100000, /* more in one run, and it does not end */
    SWITCHES_MAX = 8,   /* chosen ones in a search, or changes of priority in a random run */
    CHOICES_MAX = 4096  /* that a random run can tell */
};

/* A switch that was chosen: before the point `step`, to `thread`. */
struct choice {
    uint64_t step;
    unsigned thread;
};

struct thread {
    struct fiber fiber;
    bool finished;
    bool waits;         /* has said that it waits */
    uint64_t seen;      /* what the others had done by its last access: it has found out about that */
    uint64_t steps;     /* its own */
    unsigned nesting;   /* read sections */
    uint64_t sections;  /* outermost ones begun */
    int64_t priority;   /* random runs */
};

static struct {
    const struct schedule_play *play;
    bool active;
    unsigned current;
    uint64_t step;     /* points passed */
    uint64_t working;  /* points that were not pauses */
    uint64_t longest;
    unsigned first;
    struct choice choices[CHOICES_MAX];
    unsigned choice_count, next_choice;
    bool random;
    uint64_t change_at[SWITCHES_MAX];
    unsigned change_count;
    int64_t lowest; /* priority */
    uint8_t *open;  /* exhaustive: at each step, the threads that could have been chosen instead */
    uint64_t open_from;
    struct thread thread[SCHEDULE_THREADS];
    struct thread outside; /* the test itself, before and after */
} world;

static struct thread *current(void)
{
    return world.active ? &world.thread[world.current] : &world.outside;
}

/* --- saying what went wrong --- */

static void print_schedule(void)
{
    if (!world.play)
        return;
    fprintf(stderr, "  WEIR_PLAY='%s' WEIR_SCHEDULE='%u", world.play->name, world.first);
    for (unsigned i = 0; i < world.choice_count; i++)
        fprintf(stderr, " %" PRIu64 ":%u", world.choices[i].step, world.choices[i].thread);
    fprintf(stderr, "'\n");
}

void schedule_failed(const char *format, ...)
{
    va_list arguments;
    world.active = false;
    fprintf(stderr, "FAILED: ");
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    print_schedule();
    fflush(NULL);
    _Exit(1);
}

static void crashed(int signal)
{
    world.active = false;
    fprintf(stderr, "FAILED: signal %d at point %" PRIu64 "\n", signal, world.step);
    print_schedule();
    _Exit(1);
}

#if FIBER_ASAN
void __sanitizer_set_death_callback(void (*callback)(void));
#endif

static void catch_crashes(void)
{
    static unsigned char stack[65536];
    static bool done;
    if (done)
        return;
    done = true;
#if FIBER_ASAN
    (void)stack;
    (void)crashed;
    __sanitizer_set_death_callback(print_schedule);
#else
    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
    struct sigaction action = {.sa_handler = crashed, .sa_flags = SA_ONSTACK};
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    sigaction(SIGABRT, &action, NULL);
#endif
}

/* --- who goes on --- */

static bool runnable(unsigned thread)
{
    const struct thread *self = &world.thread[thread];
    return !self->finished && !(self->waits && world.working - self->steps == self->seen);
}

static unsigned runnable_threads(void)
{
    unsigned mask = 0;
    for (unsigned i = 0; i < world.play->threads; i++)
        mask |= runnable(i) ? 1U << i : 0;
    return mask;
}

/* The running thread if it can and does not wait, else the next in turn. */
static unsigned in_turn(unsigned mask)
{
    unsigned waits = world.thread[world.current].waits;
    for (unsigned i = 0; i < world.play->threads; i++) {
        unsigned thread = (world.current + i + waits) % world.play->threads;
        if (mask >> thread & 1)
            return thread;
    }
    schedule_failed("nobody can go on, after %" PRIu64 " points", world.step);
}

static unsigned by_priority(unsigned mask)
{
    for (unsigned i = 0; i < world.change_count; i++)
        if (world.change_at[i] == world.step)
            world.thread[world.current].priority = --world.lowest;
    unsigned best = in_turn(mask);
    for (unsigned i = 0; i < world.play->threads; i++)
        if ((mask >> i & 1) && world.thread[i].priority > world.thread[best].priority)
            best = i;
    return best;
}

static unsigned pick(void)
{
    unsigned mask = runnable_threads(), usual = in_turn(mask);
    if (world.random) {
        unsigned thread = by_priority(mask);
        if (thread != usual && world.choice_count < CHOICES_MAX)
            world.choices[world.choice_count++] = (struct choice){world.step, thread};
        return thread;
    }
    if (world.next_choice < world.choice_count && world.choices[world.next_choice].step == world.step) {
        unsigned thread = world.choices[world.next_choice++].thread;
        if (!(mask >> thread & 1))
            schedule_failed("thread %u cannot go on at point %" PRIu64, thread, world.step);
        return thread;
    }
    if (world.open && world.step > world.open_from)
        world.open[world.step] = (uint8_t)(mask & ~(1U << usual));
    return usual;
}

static void hand_on(void)
{
    if (++world.step >= STEPS_MAX)
        schedule_failed("no end after %d points", STEPS_MAX);
    unsigned next = pick();
    struct thread *self = &world.thread[world.current], *other = &world.thread[next];
    other->waits = false;
    world.current = next;
    if (self != other)
        fiber_switch(&self->fiber, &other->fiber, self->finished);
}

/* --- what the library calls --- */

void weiri_hook(enum weiri_access access, const void *place)
{
    (void)place;
    if (!world.active)
        return;
    struct thread *self = current();
    if (access == WEIRI_PAUSE) {
        self->waits = true;
        if (world.random)
            self->priority = --world.lowest;
    }
    hand_on();
    self->seen = world.working - self->steps;
    if (access != WEIRI_PAUSE) {
        self->steps++;
        world.working++;
    }
}

void weiri_rcu_enter(void)
{
    weiri_hook(WEIRI_STORE, NULL);
    struct thread *self = current();
    if (self->nesting++ == 0)
        self->sections++;
}

void weiri_rcu_leave(void)
{
    weiri_hook(WEIRI_STORE, NULL);
    if (current()->nesting-- == 0)
        schedule_failed("a read section is left that was not entered");
}

bool weiri_rcu_inside(void)
{
    return current()->nesting > 0;
}

bool weiri_rcu_can_wait(void)
{
    return true;
}

bool weiri_rcu_wait(void)
{
    uint64_t sections[SCHEDULE_THREADS];
    if (weiri_rcu_inside())
        schedule_failed("a grace period is waited for inside a read section");
    if (!world.active)
        return true;
    for (unsigned i = 0; i < SCHEDULE_THREADS; i++)
        sections[i] = world.thread[i].nesting > 0 ? world.thread[i].sections : 0;
    for (unsigned i = 0; i < SCHEDULE_THREADS; i++)
        while (sections[i] != 0 && world.thread[i].nesting > 0 && world.thread[i].sections == sections[i])
            weiri_hook(WEIRI_PAUSE, NULL);
    return true;
}

void weiri_rcu_before_fork(void) {}
void weiri_rcu_after_fork_in_parent(void) {}
void weiri_rcu_after_fork_in_child(void) {}

/* Linked in the place of these: a mutex whose holder is suspended is waited for by handing on, and the secret of a limiter
 * is the same in every run. */
int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
ssize_t __wrap_getrandom(void *buffer, size_t length, unsigned flags);

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
    if (!world.active)
        return __real_pthread_mutex_lock(mutex);
    weiri_hook(WEIRI_UPDATE, mutex);
    while (pthread_mutex_trylock(mutex) != 0)
        weiri_hook(WEIRI_PAUSE, mutex);
    return 0;
}

ssize_t __wrap_getrandom(void *buffer, size_t length, unsigned flags)
{
    (void)flags;
    memset(buffer, 0x5a, length);
    return (ssize_t)length;
}

/* --- runs --- */

static void thread_main(void *argument)
{
    unsigned self = (unsigned)((struct thread *)argument - world.thread);
    world.play->body(world.play->argument, self);
    if (world.thread[self].nesting != 0)
        schedule_failed("thread %u ends inside a read section", self);
    world.thread[self].finished = true;
    if (runnable_threads() != 0 || world.step == 0)
        hand_on();
    for (unsigned i = 0; i < world.play->threads; i++)
        if (!world.thread[i].finished)
            schedule_failed("thread %u waits for ever", i);
    world.active = false;
    fiber_switch(&world.thread[self].fiber, &world.outside.fiber, true);
}

static void run(unsigned first)
{
    const struct schedule_play *play = world.play;
    play->prepare(play->argument);
    world.step = world.working = 0;
    world.next_choice = 0;
    world.first = world.current = first;
    for (unsigned i = 0; i < SCHEDULE_THREADS; i++) {
        struct thread *thread = &world.thread[i];
        thread->finished = i >= play->threads;
        thread->waits = false;
        thread->steps = thread->seen = thread->nesting = 0;
        if (i < play->threads)
            fiber_prepare(&thread->fiber, i, thread_main, thread);
    }
    world.active = true;
    fiber_switch(&world.outside.fiber, &world.thread[first].fiber, false);
    if (world.step > world.longest)
        world.longest = world.step;
    play->check(play->argument);
}

static void begin(const struct schedule_play *play)
{
    catch_crashes();
    world.play = play;
    world.random = false;
    world.open = NULL;
    world.choice_count = world.change_count = 0;
    world.longest = 0;
}

struct search {
    unsigned switches; /* at most */
    uint64_t runs;
    unsigned first;
    uint8_t *open[SWITCHES_MAX]; /* STEPS_MAX each */
};

/* The run with the switches chosen so far, then each that has one more after them. */
static void explore(struct search *search, unsigned depth)
{
    uint64_t from = depth == 0 ? 0 : world.choices[depth - 1].step;
    world.choice_count = depth;
    world.open = depth < search->switches ? search->open[depth] : NULL;
    world.open_from = from;
    run(search->first);
    search->runs++;
    uint64_t end = world.step;
    for (uint64_t step = from + 1; depth < search->switches && step <= end; step++)
        for (unsigned thread = 0; thread < world.play->threads; thread++)
            if (search->open[depth][step] >> thread & 1) {
                world.choices[depth] = (struct choice){step, thread};
                explore(search, depth + 1);
            }
}

uint64_t schedule_exhaust(const struct schedule_play *play, unsigned switches)
{
    static uint8_t *open[SWITCHES_MAX];
    struct search search = {.switches = switches < SWITCHES_MAX ? switches : SWITCHES_MAX};
    for (unsigned i = 0; i < switches && i < SWITCHES_MAX; i++) {
        if (!open[i])
            open[i] = malloc(STEPS_MAX);
        if (!open[i])
            abort();
        search.open[i] = open[i];
    }
    begin(play);
    for (search.first = 0; search.first < play->threads; search.first++)
        explore(&search, 0);
    world.open = NULL;
    return search.runs;
}

void schedule_random(const struct schedule_play *play, unsigned depth, uint64_t runs, uint64_t seed)
{
    random_source random = random_from(seed, 0);
    uint64_t steps = 200; /* of a run; what the runs so far have had */
    begin(play);
    for (uint64_t i = 0; i < runs; i++) {
        world.random = true;
        world.choice_count = 0;
        world.change_count = depth - 1 < SWITCHES_MAX ? depth - 1 : SWITCHES_MAX;
        world.lowest = 0;
        for (unsigned j = 0; j < world.change_count; j++)
            world.change_at[j] = random_between(&random, 1, steps);
        for (unsigned j = 0; j < play->threads; j++)
            world.thread[j].priority = (int64_t)(random_below(&random, 1000000) + 1);
        run((unsigned)random_below(&random, play->threads));
        steps = world.longest;
    }
    world.random = false;
}

bool schedule_replay(const struct schedule_play *play, const char *schedule)
{
    int used = 0;
    unsigned first;
    begin(play);
    if (sscanf(schedule, "%u%n", &first, &used) != 1 || first >= play->threads)
        return false;
    struct choice choice;
    for (schedule += used; sscanf(schedule, " %" SCNu64 ":%u%n", &choice.step, &choice.thread, &used) == 2; schedule += used) {
        if (choice.thread >= play->threads || world.choice_count == CHOICES_MAX)
            return false;
        world.choices[world.choice_count++] = choice;
    }
    if (*schedule != '\0')
        return false;
    run(first);
    return true;
}

uint64_t schedule_stamp(void)
{
    return world.step;
}

uint64_t schedule_longest(void)
{
    return world.longest;
}
