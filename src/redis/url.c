/* Parsing of URLs (RFC 3986, as far as these two schemes go). The text is copied once and cut up where it stands; a
 * part is decoded in place, since decoding only shortens it. */
#include "redis/url.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PORT = 6379, PATH_MAX_BYTES = 107, HOST_MAX_BYTES = 255, DATABASE_MAX = 999999 };

struct parser {
    weiri_redis_url *url;
    char *error;
    size_t error_size;
};

/* Tells what is wrong at `place` of the copy. */
static __attribute__((format(printf, 3, 4))) int wrong(const struct parser *parser, const char *place,
                                                       const char *format, ...)
{
    char what[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    if (parser->error && parser->error_size > 0)
        snprintf(parser->error, parser->error_size, "options: url: character %zu: %s",
                 (size_t)(place - parser->url->store) + 1, what);
    return -EINVAL;
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* %41 becomes A. */
static int decode(const struct parser *parser, char *part)
{
    char *to = part;
    for (const char *from = part; *from; from++) {
        if (*from != '%') {
            *to++ = *from;
            continue;
        }
        int high = digit_of(from[1]);
        int low = high < 0 ? -1 : digit_of(from[2]);
        if (low < 0)
            return wrong(parser, from, "%% must be followed by two hexadecimal digits");
        if (high + low == 0)
            return wrong(parser, from, "%%00 cannot be part of it");
        *to++ = (char)(high * 16 + low);
        from += 2;
    }
    *to = '\0';
    return 0;
}

/* A whole number up to `max`, and nothing else. */
static int number(const struct parser *parser, const char *part, const char *name, unsigned max, unsigned *value)
{
    unsigned sum = 0;
    for (const char *c = part; *c; c++) {
        if (*c < '0' || *c > '9')
            return wrong(parser, c, "%s: a digit must stand here", name);
        sum = sum * 10 + (unsigned)(*c - '0');
        if (sum > max)
            return wrong(parser, part, "%s: must be at most %u", name, max);
    }
    if (!*part)
        return wrong(parser, part, "%s: a number must stand here", name);
    *value = sum;
    return 0;
}

/* Cuts off what stands before the last '@' before any '/'; *rest is what follows it. */
static int credentials(const struct parser *parser, char *part, char **rest)
{
    char *end = memrchr(part, '@', strcspn(part, "/"));
    *rest = part;
    if (!end)
        return 0;
    *end = '\0';
    *rest = end + 1;
    char *colon = strchr(part, ':');
    if (!colon)
        return wrong(parser, end, "a ':' and a password must stand before the '@'");
    *colon = '\0';
    int error = decode(parser, colon + 1);
    if (!error)
        error = decode(parser, part);
    parser->url->user = *part ? part : NULL;
    parser->url->password = colon + 1;
    return error;
}

/* Where the host ends: past the bracket of [::1]. */
static int host(const struct parser *parser, char *part, char **end)
{
    char *begin = part;
    *end = part + strcspn(part, ":");
    if (*part == '[') {
        char *bracket = strchr(part, ']');
        if (!bracket)
            return wrong(parser, part, "host: no ']' ends this address");
        *bracket = '\0';
        begin = part + 1;
        *end = bracket + 1;
        if (**end && **end != ':')
            return wrong(parser, *end, "a ':' and a port, or a '/', must stand here");
    }
    parser->url->host = begin;
    return 0;
}

static int tcp(const struct parser *parser, char *rest)
{
    weiri_redis_url *url = parser->url;
    char *slash = strchr(rest, '/');
    char *question = strchr(rest, '?');
    unsigned port = PORT;
    char *end;
    if (question)
        return wrong(parser, question, "redis:// takes no parameters");
    if (slash)
        *slash = '\0';
    int error = host(parser, rest, &end);
    if (!error && *end == ':') {
        error = number(parser, end + 1, "port", UINT16_MAX, &port);
        *end = '\0';
        if (!error && port == 0)
            error = wrong(parser, end + 1, "port: must be at least 1");
    }
    if (!error)
        error = decode(parser, (char *)url->host);
    if (!error && (!*url->host || strlen(url->host) > HOST_MAX_BYTES))
        error = wrong(parser, rest, "host: must have 1 to %d bytes", HOST_MAX_BYTES);
    if (!error && slash && slash[1])
        error = number(parser, slash + 1, "database", DATABASE_MAX, &url->database);
    url->port = (uint16_t)port;
    return error;
}

static int socket_path(const struct parser *parser, char *rest)
{
    weiri_redis_url *url = parser->url;
    char *question = strchr(rest, '?');
    if (*rest != '/')
        return wrong(parser, rest, "path: must begin with '/'");
    if (question) {
        *question = '\0';
        if (strncmp(question + 1, "db=", 3) != 0)
            return wrong(parser, question + 1, "the only parameter is db=, a database");
        int error = number(parser, question + 4, "database", DATABASE_MAX, &url->database);
        if (error)
            return error;
    }
    url->path = rest;
    int error = decode(parser, rest);
    if (!error && strlen(rest) > PATH_MAX_BYTES)
        error = wrong(parser, rest, "path: has %zu bytes, where a socket's has at most %d", strlen(rest),
                      PATH_MAX_BYTES);
    return error;
}

static int parse(const struct parser *parser)
{
    char *text = parser->url->store;
    bool is_unix = strncmp(text, "unix://", 7) == 0;
    char *part, *rest;
    if (strncmp(text, "rediss://", 9) == 0)
        return wrong(parser, text, "rediss: TLS is not spoken; a tunnel on this machine can (stunnel)");
    if (!is_unix && strncmp(text, "redis://", 8) != 0)
        return wrong(parser, text, "must begin with redis:// or unix://");
    part = text + (is_unix ? 7 : 8);
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c <= ' ' || *c == 0x7f)
            return wrong(parser, c, "spaces and control characters must be written as %%20 and the like");
    int error = credentials(parser, part, &rest);
    if (error)
        return error;
    return is_unix ? socket_path(parser, rest) : tcp(parser, rest);
}

int weiri_redis_url_open(weiri_redis_url *url, const char *text, char *error, size_t error_size)
{
    *url = (weiri_redis_url){.store = strdup(text)};
    if (!url->store)
        return -ENOMEM;
    int result = parse(&(struct parser){url, error, error_size});
    if (result)
        weiri_redis_url_close(url);
    return result;
}

void weiri_redis_url_close(weiri_redis_url *url)
{
    free(url->store);
    *url = (weiri_redis_url){0};
}

/* Copies a text, where there is one, to *end. */
static const char *keep(char **end, const char *text)
{
    const char *kept = *end;
    if (!text)
        return NULL;
    *end = stpcpy(*end, text) + 1;
    return kept;
}

int weiri_redis_url_beside(weiri_redis_url *url, const weiri_redis_url *like, const char *host, uint16_t port)
{
    size_t user = like->user ? strlen(like->user) + 1 : 0, password = like->password ? strlen(like->password) + 1 : 0;
    *url = (weiri_redis_url){.port = port, .store = malloc(strlen(host) + 1 + user + password)};
    char *end = url->store;
    if (!end)
        return -ENOMEM;
    url->host = keep(&end, host);
    url->user = keep(&end, like->user);
    url->password = keep(&end, like->password);
    return 0;
}
