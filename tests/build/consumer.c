/* A program that knows weir from what was installed: the third call is refused, for what is left of a second. */
#include <weir/weir.h>

#include <string.h>

int main(void)
{
    const weir_rule rule = {.algorithm = WEIR_LOG, .limit = 2, .window_ns = WEIR_SECOND, .meter = WEIR_PER_REQUEST};
    weir_options options = weir_options_manual();
    weir *limiter;
    weir_decision decision;
    weir_request request = weir_request_for("alice", 5);
    if (strcmp(weir_version(), EXPECTED_VERSION) != 0)
        return 1;
    if (weir_open(&limiter, &rule, 1, &options) != 0)
        return 2;
    if (weir_take(limiter, &request, 0, NULL) != 1 || weir_take(limiter, &request, 1, &decision) != 1)
        return 3;
    if (weir_take(limiter, &request, 2, &decision) != 0 || decision.retry_after_ns != WEIR_SECOND - 2)
        return 4;
    return weir_close(limiter) == 0 ? 0 : 5;
}
