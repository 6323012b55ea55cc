/*
 * shared: a server process that shares its limit with others. Each line that comes in is a user who asks, each line
 * that goes out is the answer: 5 an hour for each user, from however many of these processes, on however many machines.
 *
 *     cc shared.c -o shared $(pkg-config --cflags --libs weir-redis)
 *     ./shared east redis://127.0.0.1:6379
 *
 * examples/shared.sh runs two of them over a redis-server of its own, which it then kills.
 */
#include <weir/redis.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *who_decided(const weir_decision *decision)
{
    if (decision->flags & WEIR_REDIS_FALLBACK)
        return "by this process alone, Redis is not there";
    if (decision->flags & WEIR_REDIS_REMEMBERED)
        return "Redis said so a moment ago";
    return "by Redis";
}

static void answer(weir_redis *limiter, const char *name, const char *user)
{
    weir_request request = weir_request_for(user, strlen(user));
    weir_decision decision;
    int verdict = weir_redis_take(limiter, &request, WEIR_NOW, &decision);
    if (verdict < 0)
        printf("%s: %s: error: %s\n", name, user, strerror(-verdict));
    else if (verdict == 1)
        printf("%s: %s: accepted, %" PRIu64 " left (%s)\n", name, user, decision.remaining, who_decided(&decision));
    else
        printf("%s: %s: refused (%s)\n", name, user, who_decided(&decision));
}

int main(int argc, char **argv)
{
    const weir_rule rule = {
        .limit = 5, .window_ns = WEIR_HOUR, .algorithm = WEIR_LOG, .meter = WEIR_PER_REQUEST,
    };
    weir_redis_options options = weir_redis_options_default();
    weir_redis *limiter;
    char user[256], wrong[256] = "";
    if (argc != 3) {
        fprintf(stderr, "usage: shared NAME URL\n");
        return 2;
    }
    options.url = argv[2];
    options.prefix = "shared-example";
    options.when_unreached = WEIR_UNREACHED_FALLBACK;
    options.fallback_permille = 500; /* two processes: each lets half of the limit through while Redis is away */
    options.connect_timeout_ns = options.command_timeout_ns = 2 * WEIR_SECOND; /* a server takes less */
    options.remember_ns = WEIR_MINUTE;
    options.error = wrong;
    options.error_size = sizeof wrong;
    int error = weir_redis_open(&limiter, &rule, 1, &options);
    if (error) {
        fprintf(stderr, "shared: %s: %s\n", strerror(-error), wrong);
        return 1;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    while (fgets(user, sizeof user, stdin)) {
        user[strcspn(user, "\n")] = '\0';
        answer(limiter, argv[1], user);
    }
    return weir_redis_close(limiter) == 0 ? 0 : 1;
}
