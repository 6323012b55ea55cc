/* URLs: what each part becomes, and what is said of each that is wrong. */
#include <errno.h>
#include <string.h>

#include "check.h"
#include "redis/url.h"

static int same(const char *wanted, const char *got)
{
    return wanted == got || (wanted && got && strcmp(wanted, got) == 0);
}

/* What a good URL says. */
struct good {
    const char *text, *host, *path, *user, *password;
    unsigned port, database;
};

static const struct good goods[] = {
    {"redis://127.0.0.1:6379/0", "127.0.0.1", NULL, NULL, NULL, 6379, 0},
    {"redis://host", "host", NULL, NULL, NULL, 6379, 0},
    {"redis://host/", "host", NULL, NULL, NULL, 6379, 0},
    {"redis://host:1/15", "host", NULL, NULL, NULL, 1, 15},
    {"redis://:secret@host:65535", "host", NULL, NULL, "secret", 65535, 0},
    {"redis://me:secret@host", "host", NULL, "me", "secret", 6379, 0},
    {"redis://m%65:%40%2f%3A%25@host/2", "host", NULL, "me", "@/:%", 6379, 2},
    {"redis://me:a:b@host", "host", NULL, "me", "a:b", 6379, 0},
    {"redis://[::1]", "::1", NULL, NULL, NULL, 6379, 0},
    {"redis://:p@[fe80::1]:7000/3", "fe80::1", NULL, NULL, "p", 7000, 3},
    {"unix:///run/redis.sock", NULL, "/run/redis.sock", NULL, NULL, 0, 0},
    {"unix:///run/a%20b%3f@c?db=7", NULL, "/run/a b?@c", NULL, NULL, 0, 7},
    {"unix://me:p%40@/run/redis.sock", NULL, "/run/redis.sock", "me", "p@", 0, 0},
};

static void a_good_url_is_taken_apart(void)
{
    for (size_t i = 0; i < sizeof goods / sizeof *goods; i++) {
        const struct good *good = &goods[i];
        weiri_redis_url url;
        char error[160] = "";
        CHECK_EQUAL(0, weiri_redis_url_open(&url, good->text, error, sizeof error));
        int right = same(good->host, url.host) && same(good->path, url.path) && same(good->user, url.user) &&
                    same(good->password, url.password) && good->port == url.port && good->database == url.database;
        CHECK(right);
        if (!right)
            printf("  %s: %s\n", good->text, error);
        weiri_redis_url_close(&url);
        CHECK(url.store == NULL);
    }
}

struct bad {
    const char *text, *error;
};

#define LONG_50  "12345678901234567890123456789012345678901234567890"
#define LONG_250 LONG_50 LONG_50 LONG_50 LONG_50 LONG_50

static const struct bad bads[] = {
    {"", "character 1: must begin with redis:// or unix://"},
    {"http://host", "character 1: must begin with redis:// or unix://"},
    {"rediss://host", "character 1: rediss: TLS is not spoken; a tunnel on this machine can (stunnel)"},
    {"redis://", "character 9: host: must have 1 to 255 bytes"},
    {"redis://:6379", "character 9: host: must have 1 to 255 bytes"},
    {"redis://" LONG_250 "123456", "character 9: host: must have 1 to 255 bytes"},
    {"redis://host:", "character 14: port: a number must stand here"},
    {"redis://host:0", "character 14: port: must be at least 1"},
    {"redis://host:65536", "character 14: port: must be at most 65535"},
    {"redis://host:12x", "character 16: port: a digit must stand here"},
    {"redis://host/x", "character 14: database: a digit must stand here"},
    {"redis://host/-1", "character 14: database: a digit must stand here"},
    {"redis://host/1000000", "character 14: database: must be at most 999999"},
    {"redis://host?db=1", "character 13: redis:// takes no parameters"},
    {"redis://secret@host", "character 15: a ':' and a password must stand before the '@'"},
    {"redis://:%4@host", "character 10: % must be followed by two hexadecimal digits"},
    {"redis://:a%zz@host", "character 11: % must be followed by two hexadecimal digits"},
    {"redis://:%00@host", "character 10: %00 cannot be part of it"},
    {"redis://a b", "character 10: spaces and control characters must be written as %20 and the like"},
    {"redis://[::1", "character 9: host: no ']' ends this address"},
    {"redis://[::1]x", "character 14: a ':' and a port, or a '/', must stand here"},
    {"unix://run/redis.sock", "character 8: path: must begin with '/'"},
    {"unix:///a?x=1", "character 11: the only parameter is db=, a database"},
    {"unix:///a?db=", "character 14: database: a number must stand here"},
    {"unix:///a%2", "character 10: % must be followed by two hexadecimal digits"},
    {"unix:///" LONG_50 LONG_50 "1234567", "character 8: path: has 108 bytes, where a socket's has at most 107"},
};

static void a_bad_url_is_refused_with_what_and_where(void)
{
    for (size_t i = 0; i < sizeof bads / sizeof *bads; i++) {
        weiri_redis_url url;
        char error[200] = "", wanted[200];
        snprintf(wanted, sizeof wanted, "options: url: %s", bads[i].error);
        CHECK_EQUAL(-EINVAL, weiri_redis_url_open(&url, bads[i].text, error, sizeof error));
        CHECK(url.store == NULL);
        CHECK(strcmp(wanted, error) == 0);
        if (strcmp(wanted, error) != 0)
            printf("  %s: %s\n", bads[i].text, error);
        CHECK_EQUAL(-EINVAL, weiri_redis_url_open(&url, bads[i].text, NULL, 0));
    }
}

int main(void)
{
    a_good_url_is_taken_apart();
    a_bad_url_is_refused_with_what_and_where();
    return checks_end();
}
