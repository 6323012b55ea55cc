/* The executions of a program under the model of Arm: see arm.h. */
#include "arm.h"

#include <string.h>

enum { EVENTS = 32, ANY = -1, NOBODY = -1 };

struct event {
    int thread, instruction; /* program order is that of instructions */
    int place;               /* NOBODY: a barrier */
    bool store;
    int value; /* stored; or which a load must return */
    int order;
    int loads; /* a store of a swap: its load; else NOBODY */
};

static struct event event[EVENTS];
static int events, thread, instruction;
static int from[EVENTS];                       /* of a load: the store it reads */
static int rank[EVENTS];                       /* of a store: its number in the coherence order of its place */
static uint32_t ordered[EVENTS], local[EVENTS]; /* bit j of element i: i before j */
static findings found;
static bool (*wrong)(void);

/* ---- programs ---- */

static int put(struct event new)
{
    new.thread = thread;
    new.instruction = instruction;
    event[events] = new;
    return events++;
}

int load_of(int place, int value, int order)
{
    instruction++;
    return put((struct event){.place = place, .value = value, .order = order, .loads = NOBODY});
}

int load(int place, int order)
{
    return load_of(place, ANY, order);
}

void store(int place, int value, int order)
{
    instruction++;
    put((struct event){.place = place, .store = true, .value = value, .order = order, .loads = NOBODY});
}

void barrier(void)
{
    instruction++;
    put((struct event){.place = NOBODY, .loads = NOBODY});
}

void swap(int place, int expected, int desired)
{
    int read = load_of(place, expected, A);
    instruction++;
    put((struct event){.place = place, .store = true, .value = desired, .order = L, .loads = read});
}

void swap_pair(int expected0, int expected1, int desired0, int desired1, int order)
{
    int read = load_of(X0, expected0, A);
    put((struct event){.place = X1, .value = expected1, .order = A, .loads = NOBODY});
    instruction++;
    put((struct event){.place = X0, .store = true, .value = desired0, .order = order, .loads = read});
    put((struct event){.place = X1, .store = true, .value = desired1, .order = order, .loads = read + 1});
}

int load_pair(int order)
{
    int read = load(X0, order);
    put((struct event){.place = X1, .value = ANY, .order = order, .loads = NOBODY});
    return read;
}

int got(int read)
{
    return event[from[read]].value;
}

void next_thread(void)
{
    thread++;
}

/* ---- the model ---- */

static bool program_order(int a, int b)
{
    return event[a].thread == event[b].thread && event[a].thread != NOBODY &&
           event[a].instruction < event[b].instruction;
}

static bool same_place(int a, int b)
{
    return event[a].place == event[b].place && event[a].place != NOBODY;
}

/* Two words of one 16-byte store. */
static bool one_access(int a, int b)
{
    return event[a].store && event[b].store && event[a].thread == event[b].thread && event[a].thread != NOBODY &&
           event[a].instruction == event[b].instruction;
}

/* rf, co or fr: a communicates with b. */
static bool communicates(int a, int b)
{
    if (!same_place(a, b))
        return false;
    if (event[a].store)
        return event[b].store ? rank[a] < rank[b] : from[b] == a;
    return event[b].store && rank[from[a]] < rank[b];
}

static bool locally_ordered(int a, int b)
{
    if (!program_order(a, b))
        return false;
    if (same_place(a, b) && event[b].store)
        return true;
    if ((event[a].order & (A | Q)) || (event[b].order & L) || ((event[a].order & L) && (event[b].order & A)))
        return true;
    for (int i = 0; i < events; i++)
        if (event[i].place == NOBODY && program_order(a, i) && program_order(i, b))
            return true;
    return false;
}

static bool cyclic(uint32_t relation[EVENTS])
{
    for (int k = 0; k < events; k++)
        for (int i = 0; i < events; i++)
            if (relation[i] >> k & 1)
                relation[i] |= relation[k];
    for (int i = 0; i < events; i++)
        if (relation[i] >> i & 1)
            return true;
    return false;
}

/* No store of another thread between the load and the store of a swap. */
static bool atomic(int written)
{
    int read = event[written].loads;
    for (int i = 0; read != NOBODY && i < events; i++)
        if (event[i].store && same_place(i, written) && event[i].thread != event[written].thread &&
            rank[from[read]] < rank[i] && rank[i] < rank[written])
            return false;
    return true;
}

static bool allowed(void)
{
    memset(ordered, 0, sizeof ordered);
    memset(local, 0, sizeof local);
    for (int a = 0; a < events; a++) {
        if (event[a].store && !atomic(a))
            return false;
        for (int b = 0; b < events; b++) {
            bool met = communicates(a, b);
            if (met || (program_order(a, b) && same_place(a, b)))
                local[a] |= UINT32_C(1) << b;
            if (!(met && event[a].thread != event[b].thread) && !locally_ordered(a, b))
                continue;
            for (int c = 0; c < events; c++)
                if (c == b || one_access(b, c))
                    ordered[a] |= UINT32_C(1) << c;
        }
    }
    return !cyclic(local) && !cyclic(ordered);
}

/* ---- every execution ---- */

static void choose_reads(int read)
{
    while (read < events && (event[read].store || event[read].place == NOBODY))
        read++;
    if (read == events) {
        if (allowed()) {
            found.executions++;
            found.wrong += wrong();
        }
        return;
    }
    for (int i = 0; i < events; i++)
        if (event[i].store && same_place(i, read) &&
            (event[read].value == ANY || event[read].value == event[i].value)) {
            from[read] = i;
            choose_reads(read + 1);
        }
}

static bool pairs_agree(void)
{
    for (int a = 0; a < events; a++)
        for (int b = 0; b < events; b++)
            for (int c = 0; c < events; c++)
                for (int d = 0; d < events; d++)
                    if (one_access(a, b) && one_access(c, d) && same_place(a, c) && same_place(b, d) && a != c &&
                        (rank[a] < rank[c]) != (rank[b] < rank[d]))
                        return false;
    return true;
}

/* Gives the stores of `place` and of those after it their ranks; the first `ranked` stores of it have theirs. */
static void choose_order(int place, int ranked)
{
    if (place == PLACES) {
        if (pairs_agree())
            choose_reads(0);
        return;
    }
    int left = 0;
    for (int i = 0; i < events; i++) {
        if (!event[i].store || event[i].place != place || rank[i] >= 0)
            continue;
        left++;
        if (ranked == 0 && event[i].thread != NOBODY)
            continue; /* what stood there at first comes first */
        rank[i] = ranked;
        choose_order(place, ranked + 1);
        rank[i] = NOBODY;
    }
    if (left == 0)
        choose_order(place + 1, 0);
}

findings search(void (*program)(int twin), int twin, bool (*is_wrong)(void))
{
    events = instruction = 0;
    thread = NOBODY;
    for (int place = 0; place < PLACES; place++)
        store(place, 0, PLAIN); /* what stands there at first */
    next_thread();
    program(twin);
    for (int i = 0; i < events; i++)
        rank[i] = NOBODY;
    found = (findings){0, 0};
    wrong = is_wrong;
    choose_order(0, 0);
    return found;
}
