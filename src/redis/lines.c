/* Calls of an event loop that follow their slots. */
#include "redis/lines.h"

#include <errno.h>
#include <stdlib.h>

/* ---- Connections ---- */

static weiri_redis_line *make_line(weiri_redis_lines *lines)
{
    weiri_redis_line *line = malloc(sizeof *line);
    if (!line || weiri_redis_line_open(line, lines->limiter, NULL, &lines->loop) != 0) {
        free(line);
        return NULL;
    }
    line->lines = lines;
    line->next = lines->first;
    lines->first = line;
    return line;
}

/* The node's. NULL: no memory. */
static weiri_redis_line *line_to(weiri_redis_lines *lines, weiri_redis_node *node)
{
    weiri_redis_line *spare = NULL;
    for (weiri_redis_line *line = lines->first; line; line = line->next) {
        if (line->node == node)
            return line;
        if (!line->node)
            spare = line;
    }
    if (!spare)
        spare = make_line(lines);
    if (spare) {
        weiri_redis_node_keep(lines->limiter->cluster, node);
        spare->node = node;
        spare->server = node->server;
    }
    return spare;
}

static void detach(weiri_redis_lines *lines, weiri_redis_line *line)
{
    weiri_redis_line_hang_up(line);
    weiri_redis_node_leave(lines->limiter->cluster, line->node);
    line->node = NULL;
    line->server = NULL;
}

/* After a new map: nodes that it does not name are left, later where calls are under way to one. */
static void look_through(weiri_redis_lines *lines)
{
    uint64_t map = weiri_redis_cluster_map(lines->limiter->cluster);
    bool busy = false;
    if (map == lines->map)
        return;
    for (weiri_redis_line *line = lines->first; line; line = line->next) {
        if (!line->node || weiri_redis_node_is_listed(lines->limiter->cluster, line->node))
            continue;
        if (weiri_redis_line_is_idle(line))
            detach(lines, line);
        else
            busy = true;
    }
    if (!busy)
        lines->map = map;
}

/* Puts a call on the node's connection. False: it could not be had, which is counted. */
static bool put(weiri_redis_lines *lines, weiri_redis_node *node, weiri_redis_call *call)
{
    weiri_redis_tally nothing = {0};
    weiri_redis_text why = {.text = ""};
    call->admitted = weiri_redis_server_admit(node->server);
    if (!call->admitted)
        return false;
    call->rounds = 0;
    weiri_redis_line *line = line_to(lines, node);
    if (line && weiri_redis_line_ask(line, call))
        return true;
    if (line) {
        weiri_redis_line_refuse(line, call->admitted);
        return false;
    }
    weiri_redis_server_abandon(node->server, call->admitted);
    weiri_redis_say(&why, "no memory for a connection (%s)", node->server->name);
    weiri_redis_count(lines->limiter, &nothing, &why);
    return false;
}

/* To its slot's node. */
static bool route(weiri_redis_lines *lines, weiri_redis_call *call)
{
    weiri_redis_cluster *cluster = lines->limiter->cluster;
    weiri_redis_job *job = &call->job;
    call->map = weiri_redis_cluster_route(cluster, &job, 1);
    weiri_redis_node *node = job->node;
    job->node = NULL;
    bool gone = put(lines, node, call);
    weiri_redis_node_leave(cluster, node);
    if (!gone)
        weiri_redis_cluster_doubt(cluster, call->map);
    return gone;
}

/* ---- The map ---- */

static uint64_t time_of_call(const weiri_redis_lines *lines)
{
    const weiri_redis_server *seed = &lines->limiter->server;
    return seed->connect_timeout + seed->command_timeout;
}

static weiri_redis_call *map_call(const weiri_redis_lines *lines)
{
    weiri_redis_call *call = calloc(1, sizeof *call);
    if (call) {
        call->fetches = true;
        call->limit = lines->fetch_end;
    }
    return call;
}

/* Asks the next node for the map. False: there is none to ask, and the fetch is over. */
static bool ask_next(weiri_redis_lines *lines)
{
    weiri_redis_node *node;
    bool may = !lines->closing && weiri_redis_now() < lines->fetch_end;
    while (may && (node = weiri_redis_fetch_next(&lines->fetch))) {
        weiri_redis_call *call = map_call(lines);
        if (call && put(lines, node, call))
            return true;
        free(call);
    }
    weiri_redis_fetch_end(&lines->fetch);
    lines->fetching = false;
    return false;
}

/* False: it would have been fetched, and no node could be asked. */
static bool refresh(weiri_redis_lines *lines, const weiri_redis_node *first)
{
    if (lines->fetching || lines->closing || !weiri_redis_fetch_begin(&lines->fetch, lines->limiter->cluster, first))
        return true;
    lines->fetching = true;
    lines->fetch_end = weiri_redis_now() + time_of_call(lines);
    return ask_next(lines);
}

/* ---- Calls that wait for a map ---- */

static void arm(weiri_redis_lines *lines)
{
    uint64_t now = weiri_redis_now(), limit = lines->unrouted.first ? lines->unrouted.first->limit : UINT64_MAX;
    if (limit == UINT64_MAX)
        lines->loop.arm(lines->timer, UINT64_MAX);
    else
        lines->loop.arm(lines->timer, limit > now ? limit - now : 0);
}

static void deny(weiri_redis_calls *calls, weiri_redis_call *call)
{
    call->job.fate = WEIRI_REDIS_DENIED;
    weiri_redis_calls_add(calls, call);
}

/* The fetch is over: who waited goes on, or is added to `ended`. Where a node answered and knew of no map, as one that
 * is in no cluster does, the URL's is asked. */
static void route_all(weiri_redis_lines *lines, weiri_redis_calls *ended)
{
    bool may = lines->fetch.answered && !lines->closing;
    weiri_redis_call *call;
    if (!lines->unrouted.first)
        return;
    while ((call = weiri_redis_calls_take(&lines->unrouted)))
        if (!may || !route(lines, call))
            deny(ended, call);
    arm(lines);
}

static void look_at_time(void *argument)
{
    weiri_redis_lines *lines = argument;
    weiri_redis_calls ended = {0};
    uint64_t now = weiri_redis_now();
    while (lines->unrouted.first && lines->unrouted.first->limit <= now)
        deny(&ended, weiri_redis_calls_take(&lines->unrouted));
    if (lines->unrouted.first)
        arm(lines);
    weiri_redis_calls_answer(lines->limiter, &ended);
}

bool weiri_redis_lines_ask(weiri_redis_lines *lines, weiri_redis_call *call)
{
    call->limit = weiri_redis_now() + time_of_call(lines);
    look_through(lines);
    bool asked = refresh(lines, NULL), mapped = weiri_redis_cluster_map(lines->limiter->cluster) > 0;
    if (!mapped && lines->fetching) {
        weiri_redis_calls_add(&lines->unrouted, call);
        if (lines->unrouted.first == call)
            arm(lines);
        return true;
    }
    if ((mapped || asked) && route(lines, call))
        return true;
    (void)refresh(lines, NULL);
    return false;
}

/* ---- What became of calls ---- */

/* A call that was answered by MOVED or ASK. False: it does not go on. */
static bool send_on(weiri_redis_lines *lines, const weiri_redis_line *line, weiri_redis_call *call,
                    weiri_redis_node *next, weiri_redis_text *why)
{
    weiri_redis_job *job = &call->job;
    weiri_redis_tally tally = {.redirected = 1};
    weiri_redis_text nothing = {.text = ""};
    job->asking = job->fate == WEIRI_REDIS_FOR_ONCE;
    job->fate = WEIRI_REDIS_DENIED;
    if (!next)
        weiri_redis_say(why, "no memory for a node (%s)", line->server->name);
    else if (call->hops == WEIRI_REDIS_HOPS)
        weiri_redis_say(why, "sent on %d times, the last time by %s", WEIRI_REDIS_HOPS, line->server->name);
    else if (weiri_redis_now() >= call->limit)
        weiri_redis_say(why, "no time was left to ask (%s)", next->server->name);
    else {
        job->fate = WEIRI_REDIS_PENDING;
        call->hops++;
        call->map = weiri_redis_cluster_map(lines->limiter->cluster);
        weiri_redis_count(lines->limiter, &tally, &nothing);
        if (put(lines, next, call))
            return true;
        job->fate = WEIRI_REDIS_DENIED;
        weiri_redis_cluster_doubt(lines->limiter->cluster, call->map);
    }
    return false;
}

/* Leaves what the call uses. True: it is on another connection. */
static bool go_on(weiri_redis_lines *lines, const weiri_redis_line *line, weiri_redis_call *call,
                  weiri_redis_text *why)
{
    weiri_redis_cluster *cluster = lines->limiter->cluster;
    weiri_redis_node *next = call->job.next;
    bool moved = call->job.fate == WEIRI_REDIS_ELSEWHERE, once = call->job.fate == WEIRI_REDIS_FOR_ONCE;
    call->job.next = NULL;
    if (!moved && !once && call->report != WEIRI_REDIS_FAILED)
        return false;
    if (!once)
        weiri_redis_cluster_doubt(cluster, call->map);
    bool gone = (moved || once) && send_on(lines, line, call, next, why);
    (void)refresh(lines, moved ? next : NULL);
    weiri_redis_node_leave(cluster, next);
    return gone;
}

/* The call that fetched the map is over. */
static void end_map_call(weiri_redis_lines *lines, weiri_redis_call *call, weiri_redis_calls *ended)
{
    free(call);
    if (!ask_next(lines))
        route_all(lines, ended);
}

void weiri_redis_lines_sort_out(weiri_redis_lines *lines, weiri_redis_line *line)
{
    const weiri_redis_tally nothing = {0};
    weiri_redis_text why = {.text = ""};
    weiri_redis_calls ended = line->settled;
    weiri_redis_call *call;
    line->settled = (weiri_redis_calls){0};
    while ((call = weiri_redis_calls_take(&ended))) {
        if (call->fetches)
            end_map_call(lines, call, &line->settled);
        else if (!go_on(lines, line, call, &why))
            weiri_redis_calls_add(&line->settled, call);
    }
    if (why.text[0])
        weiri_redis_count(lines->limiter, &nothing, &why);
    if (!lines->closing)
        look_through(lines);
}

/* ---- Open and close ---- */

int weiri_redis_lines_open(weiri_redis_lines *lines, weir_redis *limiter, const weir_redis_loop *loop)
{
    *lines = (weiri_redis_lines){.limiter = limiter, .loop = *loop};
    lines->timer = loop->timer(loop->loop, look_at_time, lines);
    return lines->timer ? 0 : -ENOMEM;
}

void weiri_redis_lines_close(weiri_redis_lines *lines)
{
    weiri_redis_line *line;
    lines->closing = true;
    while ((line = lines->first)) {
        lines->first = line->next;
        weiri_redis_line_close(line);
        weiri_redis_node_leave(lines->limiter->cluster, line->node);
        free(line);
    }
    lines->loop.untimer(lines->timer);
}
