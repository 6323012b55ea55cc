#include "crew.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "measure.h"

struct bench_crew {
    const bench_crew_job *job;
    pthread_barrier_t barrier;
    _Atomic uint64_t start; /* ns; 0: nobody has started */
};

typedef struct member {
    pthread_t thread;
    bench_crew *crew;
    unsigned number;
    double begin, end, cpu_ns;
    uint64_t done;
} member;

bool bench_crew_goes_on(const bench_crew *crew)
{
    const uint64_t start = atomic_load_explicit(&crew->start, memory_order_relaxed);
    return bench_wall_ns() < (double)start + crew->job->seconds * 1e9;
}

static void settle(unsigned number)
{
    cpu_set_t allowed, own;
    if (sched_getaffinity(getpid(), sizeof allowed, &allowed) != 0)
        return;
    CPU_ZERO(&own);
    number %= (unsigned)CPU_COUNT(&allowed);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed) || number-- > 0)
            continue;
        CPU_SET(cpu, &own);
        pthread_setaffinity_np(pthread_self(), sizeof own, &own); /* where it fails, the scheduler chooses */
        return;
    }
}

/* Who comes first starts the time of all. */
static void start_time(bench_crew *crew, double now)
{
    uint64_t none = 0;
    atomic_compare_exchange_strong(&crew->start, &none, (uint64_t)now);
}

static void *take_part(void *argument)
{
    member *self = argument;
    const bench_crew_job *job = self->crew->job;
    if (job->threads > 1)
        settle(self->number);
    if (job->before)
        job->before(job->argument, self->number);
    if (job->threads > 1)
        pthread_barrier_wait(&self->crew->barrier);
    self->begin = bench_wall_ns();
    start_time(self->crew, self->begin);
    const double cpu = bench_cpu_ns();
    self->done = job->work(job->argument, self->number, self->crew);
    self->cpu_ns = bench_cpu_ns() - cpu;
    self->end = bench_wall_ns();
    return NULL;
}

static void add_up(const member *members, unsigned threads, bench_crew_result *result)
{
    double begin = members[0].begin, end = members[0].end;
    result->cpu_ns = 0;
    result->done = 0;
    for (unsigned i = 0; i < threads; i++) {
        begin = members[i].begin < begin ? members[i].begin : begin;
        end = members[i].end > end ? members[i].end : end;
        result->cpu_ns += members[i].cpu_ns;
        result->done += members[i].done;
        result->done_by[i] = members[i].done;
    }
    result->wall_ns = end - begin;
}

int bench_crew_run(const bench_crew_job *job, bench_crew_result *result)
{
    member members[BENCH_THREADS_MAX];
    bench_crew crew = {.job = job};
    for (unsigned i = 0; i < job->threads; i++)
        members[i] = (member){.crew = &crew, .number = i};
    if (job->threads == 1) {
        take_part(&members[0]);
    } else {
        pthread_barrier_init(&crew.barrier, NULL, job->threads);
        for (unsigned i = 0; i < job->threads; i++)
            if (pthread_create(&members[i].thread, NULL, take_part, &members[i]) != 0)
                return -1; /* those that run wait for ever; the process of its own is about to end */
        for (unsigned i = 0; i < job->threads; i++)
            pthread_join(members[i].thread, NULL);
        pthread_barrier_destroy(&crew.barrier);
    }
    add_up(members, job->threads, result);
    return 0;
}

double bench_crew_least(const bench_crew_result *result, unsigned threads)
{
    uint64_t least = UINT64_MAX;
    for (unsigned i = 0; i < threads; i++)
        least = result->done_by[i] < least ? result->done_by[i] : least;
    return result->done ? (double)least * threads / (double)result->done : 0;
}

double bench_crew_most(const bench_crew_result *result, unsigned threads)
{
    uint64_t most = 0;
    for (unsigned i = 0; i < threads; i++)
        most = result->done_by[i] > most ? result->done_by[i] : most;
    return result->done ? (double)most * threads / (double)result->done : 0;
}
