/* Questions that follow their slots. */
#include <stdlib.h>

#include "redis/cluster.h"

/* A call of weiri_redis_cluster_ask. */
typedef struct journey {
    weiri_redis_cluster *cluster;
    weiri_redis_inquiry *inquiry;
    weiri_redis_node *moved_to; /* the last that a MOVED named; used */
    uint64_t map;               /* by which the questions under way were routed */
    bool doubt;                 /* something happened that tells against it */
} journey;

/* A job was answered by MOVED or ASK. */
static void redirect(void *argument, weiri_redis_job *job, const weiri_redis_place *place)
{
    journey *way = argument;
    bool moved = job->fate == WEIRI_REDIS_ELSEWHERE;
    job->next = weiri_redis_node_named(way->cluster, job->node, place, moved);
    if (!moved)
        return;
    way->doubt = true;
    weiri_redis_node_leave(way->cluster, way->moved_to);
    way->moved_to = job->next;
    if (job->next)
        weiri_redis_node_keep(way->cluster, job->next);
}

/* By node, those of one in their order. */
static int compare(const void *left, const void *right)
{
    const weiri_redis_job *a = *(weiri_redis_job *const *)left, *b = *(weiri_redis_job *const *)right;
    if (a->node->number != b->node->number)
        return a->node->number < b->node->number ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* How many at the front have one node. */
static size_t same_node(weiri_redis_job **jobs, size_t count)
{
    size_t same = 1;
    while (same < count && jobs[same]->node == jobs[0]->node)
        same++;
    return same;
}

static size_t count_nodes(weiri_redis_job **jobs, size_t count)
{
    size_t nodes = 0;
    for (size_t at = 0; at < count; at += same_node(jobs + at, count - at))
        nodes++;
    return nodes;
}

static void ask_one_by_one(journey *way, weiri_redis_job **jobs, size_t count)
{
    for (size_t at = 0, same; at < count; at += same) {
        same = same_node(jobs + at, count - at);
        weiri_redis_asking asking = weiri_redis_asking_of(way->inquiry, jobs[at]->node->server, jobs + at, same);
        weiri_redis_ask(&asking);
    }
}

/* Jobs of a server that could not be had stay PENDING. */
static void ask_nodes(journey *way, weiri_redis_job **jobs, size_t count)
{
    if (count > 1)
        qsort(jobs, count, sizeof *jobs, compare);
    size_t nodes = count_nodes(jobs, count);
    weiri_redis_asking *askings = nodes > 1 ? calloc(nodes, sizeof *askings) : NULL;
    if (!askings) {
        ask_one_by_one(way, jobs, count);
        return;
    }
    for (size_t i = 0, at = 0, same; i < nodes; i++, at += same) {
        same = same_node(jobs + at, count - at);
        askings[i] = weiri_redis_asking_of(way->inquiry, jobs[at]->node->server, jobs + at, same);
    }
    weiri_redis_ask_all(askings, nodes);
    free(askings);
}

/* Its node could not be had: has the slot another one by now? */
static void look_again(journey *way, weiri_redis_job *job)
{
    job->next = weiri_redis_node_of_slot(way->cluster, job->slot);
    if (job->next != job->node)
        return;
    weiri_redis_node_leave(way->cluster, job->next);
    job->next = NULL;
}

/* Where a job goes next; it stays PENDING only where it goes on. */
static void go_on(journey *way, weiri_redis_job *job, bool may)
{
    bool redirected = job->fate == WEIRI_REDIS_ELSEWHERE || job->fate == WEIRI_REDIS_FOR_ONCE;
    if (job->fate == WEIRI_REDIS_PENDING && !job->asking) /* else the slot's owner would name the same node again */
        look_again(way, job);
    job->asking = job->fate == WEIRI_REDIS_FOR_ONCE;
    if (redirected || job->fate == WEIRI_REDIS_PENDING) {
        if (redirected && !job->next)
            weiri_redis_say(&way->inquiry->why, "no memory for a node (%s)", job->node->server->name);
        else if (job->next && !may)
            weiri_redis_say(&way->inquiry->why, "sent on %d times, the last time by %s", WEIRI_REDIS_HOPS,
                            job->node->server->name);
        job->fate = job->next && may ? WEIRI_REDIS_PENDING : WEIRI_REDIS_DENIED;
        way->inquiry->tally.redirected += redirected && job->fate == WEIRI_REDIS_PENDING;
    }
    weiri_redis_node_leave(way->cluster, job->node);
    job->node = job->next;
    job->next = NULL;
    if (job->fate == WEIRI_REDIS_PENDING)
        return;
    weiri_redis_node_leave(way->cluster, job->node);
    job->node = NULL;
}

/* After one round: brings those that go on to the front, and returns how many. */
static size_t sort_out(journey *way, weiri_redis_job **jobs, size_t count, bool may)
{
    size_t kept = 0;
    bool stuck = false;
    for (size_t i = 0; i < count; i++) {
        enum weiri_redis_fate fate = jobs[i]->fate;
        stuck |= fate == WEIRI_REDIS_PENDING;
        way->doubt |= fate == WEIRI_REDIS_PENDING || fate == WEIRI_REDIS_DENIED || fate == WEIRI_REDIS_LOST;
    }
    if (way->doubt)
        weiri_redis_cluster_doubt(way->cluster, way->map);
    way->doubt = false;
    if (stuck)
        (void)weiri_redis_cluster_refresh(way->cluster, way->inquiry, way->moved_to);
    for (size_t i = 0; i < count; i++) {
        weiri_redis_job *job = jobs[i];
        go_on(way, job, may);
        if (job->fate != WEIRI_REDIS_PENDING)
            continue;
        jobs[i] = jobs[kept];
        jobs[kept++] = job;
    }
    return kept;
}

/* The first map. False: there is none, and nobody to ask. */
static bool fetch_first(journey *way)
{
    return weiri_redis_cluster_map(way->cluster) > 0 || weiri_redis_cluster_refresh(way->cluster, way->inquiry, NULL);
}

void weiri_redis_cluster_ask(weiri_redis_cluster *cluster, weiri_redis_inquiry *inquiry, weiri_redis_job **jobs,
                             size_t count)
{
    journey way = {.cluster = cluster, .inquiry = inquiry};
    inquiry->redirect = redirect;
    inquiry->argument = &way;
    for (size_t i = 0; i < count; i++) {
        const weir_request *request = jobs[i]->question.request;
        jobs[i]->slot = weiri_redis_slot(inquiry->rules, request->key, request->key_len);
    }
    if (!fetch_first(&way)) {
        for (size_t i = 0; i < count; i++)
            jobs[i]->fate = WEIRI_REDIS_DENIED;
        return;
    }
    for (unsigned hop = 0; count > 0; hop++) {
        way.map = weiri_redis_cluster_route(cluster, jobs, count);
        ask_nodes(&way, jobs, count);
        count = sort_out(&way, jobs, count, hop < WEIRI_REDIS_HOPS);
    }
    (void)weiri_redis_cluster_refresh(cluster, inquiry, way.moved_to);
    weiri_redis_node_leave(cluster, way.moved_to);
}
