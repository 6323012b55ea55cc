/* A program that knows weir/redis.h from what was installed. Nobody is where it asks: so it falls back, and says so. */
#include <weir/redis.h>

int main(void)
{
    const weir_rule rule = {.algorithm = WEIR_LOG, .limit = 1, .window_ns = WEIR_DAY, .meter = WEIR_PER_REQUEST};
    weir_redis_options options = weir_redis_options_default();
    weir_redis *limiter;
    weir_decision decision;
    weir_request request = weir_request_for("alice", 5);
    options.url = "unix:///nowhere/redis.sock";
    options.when_unreached = WEIR_UNREACHED_FALLBACK;
    if (weir_redis_open(&limiter, &rule, 1, &options) != 0)
        return 1;
    if (weir_redis_take(limiter, &request, WEIR_NOW, NULL) != 1)
        return 2;
    if (weir_redis_take(limiter, &request, WEIR_NOW, &decision) != 0)
        return 3;
    if (decision.flags != (WEIR_REDIS_UNREACHED | WEIR_REDIS_FALLBACK))
        return 4;
    return weir_redis_close(limiter) == 0 ? 0 : 5;
}
