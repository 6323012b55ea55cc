/*
 * gate: threads ask for users at a gate that lets each user through 5 times in any 10 seconds, and lets it carry 1,000
 * bytes a minute.
 *
 *     cc gate.c -o gate $(pkg-config --cflags --libs weir) -pthread
 */
#include <weir/weir.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { THREADS = 3, CALLS = 4 };

struct visitor {
    pthread_t thread;
    int number;
    weir *gate;
};

/* Retry-After counts whole seconds; rounded down it would send the client back too early. */
static uint64_t whole_seconds(uint64_t ns)
{
    return ns / WEIR_SECOND + (ns % WEIR_SECOND != 0);
}

static void ask(const struct visitor *visitor, const char *user, uint64_t bytes)
{
    weir_request request = weir_request_for(user, strlen(user));
    weir_decision decision;
    request.cost = bytes;
    int verdict = weir_take(visitor->gate, &request, WEIR_NOW, &decision);
    if (verdict < 0)
        printf("thread %d  %-6s %4" PRIu64 " bytes  error: %s\n", visitor->number, user, bytes, strerror(-verdict));
    else if (verdict > 0)
        printf("thread %d  %-6s %4" PRIu64 " bytes  accept, %" PRIu64 " left of %" PRIu64 "\n", visitor->number, user,
               bytes, decision.remaining, decision.limit);
    else if (decision.retry_after_ns == WEIR_NEVER)
        printf("thread %d  %-6s %4" PRIu64 " bytes  refuse for good: more than the limit\n", visitor->number, user,
               bytes);
    else
        printf("thread %d  %-6s %4" PRIu64 " bytes  refuse, Retry-After: %" PRIu64 "\n", visitor->number, user, bytes,
               whole_seconds(decision.retry_after_ns));
}

static void *visit(void *argument)
{
    const struct visitor *visitor = argument;
    for (int i = 0; i < CALLS; i++) {
        ask(visitor, "alice", 10);
        ask(visitor, "bob", 400);
    }
    ask(visitor, "carol", 2000);
    return NULL;
}

int main(void)
{
    const weir_rule rules[] = {
        {.algorithm = WEIR_LOG, .limit = 5, .window_ns = 10 * WEIR_SECOND, .meter = WEIR_PER_REQUEST},
        {.algorithm = WEIR_COUNTER, .limit = 1000, .window_ns = WEIR_MINUTE, .meter = WEIR_PER_COST},
    };
    char why[128] = "";
    weir_options options = weir_options_default();
    options.error = why;
    options.error_size = sizeof(why);

    weir *gate;
    int error = weir_open(&gate, rules, sizeof(rules) / sizeof(rules[0]), &options);
    if (error != 0) {
        fprintf(stderr, "gate: %s: %s\n", strerror(-error), why);
        return 1;
    }
    struct visitor visitors[THREADS];
    int started = 0;
    for (; started < THREADS; started++) {
        visitors[started] = (struct visitor){.number = started, .gate = gate};
        if (pthread_create(&visitors[started].thread, NULL, visit, &visitors[started]) != 0)
            break;
    }
    for (int i = 0; i < started; i++)
        pthread_join(visitors[i].thread, NULL);
    return weir_close(gate) != 0 || started < THREADS;
}
