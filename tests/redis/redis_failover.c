/*
 * A primary, its replica, and an address that changes hands: a link to a socket, which clients follow when they
 * connect.
 *
 * What can be asserted. The surviving history is the promoted replica's: what had reached it when it was promoted
 * (`begun`), and what it accepted since. It never holds more than the limit, so that of calls made after the old
 * primary was dead at most limit - begun are accepted, whatever was lost. Replication is asynchronous: an acceptance
 * that the old primary acknowledged and did not hand on is lost with it, and its charge is free again. So all
 * acceptances together may be the limit and those, which are counted here: accepted - limit, or up to as many more as
 * there were calls whose answer was lost with the old primary (WEIR_REDIS_UNKNOWN): these were refused by the policy,
 * and may be charged.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "asker.h"
#include "client.h"

enum { THREADS = 8, LIMIT = 1000, SOME = 200 };

static struct redis_server first, second;
static redisContext *to_first, *to_second;
static char address[128], url[160];

/* ---- servers ---- */

static void await_text(redisContext *link, const char *text)
{
    for (int waited = 0;; waited++) {
        redisReply *reply = redis_server_ask(link, "INFO replication");
        int found = strstr(reply->str, text) != NULL;
        freeReplyObject(reply);
        if (found)
            return;
        if (waited > 60000) {
            printf("never seen: %s\n", text);
            exit(1);
        }
        nanosleep(&(struct timespec){0, 1000000}, NULL); /* a server tells nobody */
    }
}

static void lead_to(const struct redis_server *server)
{
    char next[160];
    snprintf(next, sizeof next, "%s.next", address);
    CHECK_EQUAL(0, symlink(server->socket, next));
    CHECK_EQUAL(0, rename(next, address));
}

static void start_pair(void)
{
    redis_server_start(&first, (const char *const[]){"--repl-diskless-sync-delay", "0", NULL});
    redis_server_start(&second, NULL);
    to_first = redis_server_connect(&first);
    to_second = redis_server_connect(&second);
    REDIS_SERVER_TELL(to_second, "REPLICAOF 127.0.0.1 %u", first.port);
    await_text(to_second, "master_link_status:up");
    REDIS_SERVER_TELL(to_first, "SET a b");
    CHECK_EQUAL(1, redis_server_number(to_first, "WAIT 1 60000")); /* from now on each write is handed on at once */
    snprintf(address, sizeof address, "%s/address", second.directory);
    snprintf(url, sizeof url, "unix://%s", address);
    lead_to(&first);
}

static void stop_pair(void)
{
    redisFree(to_first);
    redisFree(to_second);
    redis_server_stop(&first);
    redis_server_stop(&second);
}

/* What is charged on the second one, asked directly. */
static uint64_t charged(void)
{
    struct asker asker;
    weir_rule rule = log_rule(LIMIT);
    weir_redis_options options = asker_options(false);
    weir_request request = weir_request_for("k", 1);
    weir_decision decision = {.remaining = 0};
    CHECK_EQUAL(0, asker_open_with(&asker, to_second, &rule, 1, &options));
    CHECK(asker_peek(&asker, &request, WEIR_NOW, &decision) >= 0);
    asker_close(&asker);
    return LIMIT - decision.remaining;
}

/* ---- load ---- */

struct load {
    weir_redis *limiter;
    atomic_long tickets;            /* so many calls may still begin */
    atomic_bool is_dead, enough;    /* the old primary; the load */
    atomic_ulong before, after;     /* accepted by Redis; after: by calls that began when it was dead */
    atomic_ulong refused, by_policy, unknown, wrong;
};

static bool take_ticket(struct load *load)
{
    while (!atomic_load(&load->enough)) {
        if (atomic_fetch_sub(&load->tickets, 1) > 0)
            return true;
        atomic_fetch_add(&load->tickets, 1);
        sched_yield();
    }
    return false;
}

static void *take_on(void *argument)
{
    struct load *load = argument;
    weir_request request = weir_request_for("k", 1);
    while (take_ticket(load)) {
        weir_decision decision;
        bool late = atomic_load(&load->is_dead);
        int verdict = weir_redis_take(load->limiter, &request, WEIR_NOW, &decision);
        atomic_fetch_add(&load->unknown, (decision.flags & WEIR_REDIS_UNKNOWN) != 0);
        if (decision.flags & WEIR_REDIS_UNREACHED)
            atomic_fetch_add(verdict == 0 ? &load->by_policy : &load->wrong, 1);
        else if (verdict == 1)
            atomic_fetch_add(late ? &load->after : &load->before, 1);
        else
            atomic_fetch_add(&load->refused, 1);
    }
    return NULL;
}

static void await(atomic_ulong *count, unsigned long until)
{
    while (atomic_load(count) < until)
        sched_yield();
}

static void begin_load(struct load *load, pthread_t *threads)
{
    weir_redis_options options = client_options(url);
    options.remember_keys = 0;
    options.backoff_min_ns = options.backoff_max_ns = 1;
    load->limiter = client_open(&options, LIMIT);
    atomic_store(&load->tickets, 2 * SOME);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, take_on, load);
    await(&load->before, SOME); /* the rest of the tickets is used meanwhile */
}

static void end_load(struct load *load, pthread_t *threads, uint64_t begun)
{
    await(&load->refused, atomic_load(&load->refused) + THREADS); /* by the promoted one: it is full */
    atomic_store(&load->enough, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    unsigned long before = atomic_load(&load->before), after = atomic_load(&load->after);
    unsigned long unknown = atomic_load(&load->unknown), all = before + after;
    CHECK_EQUAL(LIMIT, charged());
    CHECK(after > 0 && begun + after <= LIMIT);
    CHECK(LIMIT - begun - after <= THREADS); /* those that were under way when it died may be the new one's */
    CHECK(all + unknown >= LIMIT);           /* each charge that survived belongs to one of these */
    CHECK_EQUAL(0, atomic_load(&load->wrong));
    CHECK_EQUAL(0, client_stats(load->limiter).breaker_open);
    printf("  accepted %lu before and %lu after, unknown %lu, by policy %lu; %ju had reached the replica; "
           "acknowledged and lost: %lu to %lu\n",
           before, after, unknown, atomic_load(&load->by_policy), (uintmax_t)begun, all > LIMIT ? all - LIMIT : 0,
           all + unknown - LIMIT);
    CHECK_EQUAL(0, weir_redis_close(load->limiter));
}

static void await_error(weir_redis *limiter, const char *begin)
{
    char error[256];
    do {
        sched_yield();
        (void)weir_redis_error(limiter, error, sizeof error);
    } while (strncmp(error, begin, strlen(begin)) != 0);
}

/* The fault "failover never recovers": between its primary's death and its promotion the replica is asked, and says
 * READONLY. */
static void a_replica_that_takes_over_is_asked_as_soon_as_it_is_promoted(void)
{
    static struct load load;
    pthread_t threads[THREADS];
    start_pair();
    begin_load(&load, threads);
    lead_to(&second); /* connections to the first one go on */
    redis_server_kill(&first);
    atomic_store(&load.is_dead, true);
    atomic_store(&load.tickets, 1L << 40);
    await_error(load.limiter, "READONLY ");
    await_text(to_second, "master_link_status:down"); /* it has read all that was sent to it */
    uint64_t begun = charged();
    CHECK(begun > 0);
    REDIS_SERVER_TELL(to_second, "REPLICAOF NO ONE");
    end_load(&load, threads, begun);
    stop_pair();
}

/* The old primary does not know, and goes on accepting what the new one will never hear of. */
static void what_the_old_primary_accepts_after_the_promotion_is_lost_and_the_new_one_keeps_its_limit(void)
{
    static struct load load;
    pthread_t threads[THREADS];
    start_pair();
    begin_load(&load, threads);
    REDIS_SERVER_TELL(to_second, "REPLICAOF NO ONE");
    uint64_t begun = charged();
    atomic_fetch_add(&load.tickets, SOME);
    await(&load.before, begun + SOME / 2);
    redis_server_kill(&first);
    atomic_store(&load.is_dead, true); /* before anybody comes to the new one */
    lead_to(&second);
    atomic_store(&load.tickets, 1L << 40);
    end_load(&load, threads, begun);
    CHECK(atomic_load(&load.before) >= begun + SOME / 2); /* these were lost */
    stop_pair();
}

int main(void)
{
    NEEDS_REDIS();
    a_replica_that_takes_over_is_asked_as_soon_as_it_is_promoted();
    what_the_old_primary_accepts_after_the_promotion_is_lost_and_the_new_one_keeps_its_limit();
    return checks_end();
}
