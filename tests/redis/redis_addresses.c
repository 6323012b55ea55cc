/* A name with several addresses, as a resolver of the test's own tells them: which are tried, and for how long. */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client.h"
#include "stub.h"

enum { ADDRESSES = 3 };

/* What the name stands for. */
static uint16_t ports[ADDRESSES];
static unsigned count;

/* In the place of the system's. */
int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **result)
{
    (void)service;
    *result = NULL;
    if (strcmp(node, "many.invalid") != 0 || hints->ai_socktype != SOCK_STREAM)
        return EAI_NONAME;
    for (unsigned i = count; i-- > 0;) {
        struct addrinfo *made = calloc(1, sizeof *made);
        struct sockaddr_in *address = calloc(1, sizeof *address);
        if (!made || !address)
            exit(1);
        *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(ports[i])};
        address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        *made = (struct addrinfo){.ai_family = AF_INET, .ai_socktype = SOCK_STREAM, .ai_next = *result,
                                  .ai_addr = (struct sockaddr *)address, .ai_addrlen = sizeof *address};
        *result = made;
    }
    return 0;
}

void freeaddrinfo(struct addrinfo *at)
{
    while (at) {
        struct addrinfo *next = at->ai_next;
        free(at->ai_addr);
        free(at);
        at = next;
    }
}

static void accept_all(struct stub *stub, int fd, unsigned number)
{
    (void)number;
    while (stub_read(stub, fd))
        stub_send(fd, "*5\r\n:1\r\n:0\r\n:1\r\n:0\r\n:5\r\n");
}

/* Greets slowly: so there must be time left, though the connection itself takes none on one machine. */
static void greet_and_accept(struct stub *stub, int fd, unsigned number)
{
    (void)number;
    if (!stub_read(stub, fd))
        return;
    usleep(20 * 1000);
    stub_send(fd, "+OK\r\n");
    accept_all(stub, fd, number);
}

/* Takes, until time sufficed: on a busy machine it may not. */
static void expect_in_time(weir_redis *limiter)
{
    unsigned flags = 1, tries = 0;
    for (; flags != 0 && tries < 20; tries++)
        flags = client_taken(limiter, "k", 1).flags;
    CHECK_EQUAL(0, flags);
    CHECK_EQUAL(tries - 1, client_stats(limiter).failures);
    CHECK_EQUAL(1, client_stats(limiter).connects);
}

static void an_address_that_does_not_answer_leaves_time_for_the_next(void)
{
    struct stub stub;
    struct stub_deaf deaf;
    stub_deaf_open(&deaf);
    uint16_t silent = deaf.port;
    stub_start(&stub, greet_and_accept);
    for (unsigned last = 0; last < ADDRESSES; last++) { /* so many do not answer */
        for (unsigned i = 0; i < last; i++)
            ports[i] = silent;
        ports[last] = stub.port;
        count = last + 1;
        weir_redis_options options = client_options("redis://many.invalid:1/1");
        options.connect_timeout_ns = WEIR_SECOND;
        options.breaker_failures = UINT32_MAX;
        weir_redis *limiter = client_open(&options, 5);
        expect_in_time(limiter);
        CHECK_EQUAL(0, weir_redis_close(limiter));
    }
    stub_stop(&stub);
    stub_deaf_close(&deaf);
}

static void an_address_that_refuses_is_passed_over_and_the_last_error_is_told(void)
{
    struct stub stub;
    stub_start(&stub, accept_all);
    ports[0] = ports[1] = stub_nobody();
    ports[2] = stub.port;
    count = 3;
    weir_redis_options options = client_options("redis://many.invalid:1");
    weir_redis *limiter = client_open(&options, 5);
    CHECK_EQUAL(0, client_taken(limiter, "k", 1).flags);
    CHECK_EQUAL(0, weir_redis_close(limiter));
    count = 2;
    unsigned before = descriptors();
    limiter = client_open(&options, 5);
    CHECK_EQUAL(WEIR_REDIS_UNREACHED, client_taken(limiter, "k", 1).flags);
    CHECK(is_error(limiter, "connect: Connection refused", "many.invalid:1"));
    CHECK_EQUAL(before, descriptors());
    CHECK_EQUAL(0, weir_redis_close(limiter));
    stub_stop(&stub);
}

int main(void)
{
    an_address_that_does_not_answer_leaves_time_for_the_next();
    an_address_that_refuses_is_passed_over_and_the_last_error_is_told();
    return checks_end();
}
