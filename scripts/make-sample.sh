#!/bin/sh
# Writes examples/sample.log: a made-up morning of a web server in the Combined Log Format, the same on every machine.
#   scripts/make-sample.sh >examples/sample.log
# Addresses are from the documentation ranges. What is in it, for a limit of 100 in 60 s a client:
#   203.0.113.66      an abuser: 2 to 5 requests a second for three minutes
#   198.51.100.10     late in one minute and early in the next: the counter lets through what the log refuses
#   198.51.100.20     early in one minute and just past the window: the log refuses none, the counter does
#   198.51.100.30     just below the limit, evenly: the log refuses none, the buckets a little, the counter less
#   2001:db8::        three IPv6 clients, one of them bursting
#   192.0.2.0/24      some two hundred quiet clients
# and two lines out of order, two that are no log lines, odd requests and quotes.
set -eu

LC_ALL=C awk '
# Park and Miller. Every product stays below 2^53, so that any awk computes the same.
function random(n) { state = (state * 16807) % 2147483647; return state % n }

# An event: second of the morning, and whose. `order` keeps events of one second in the order they were made.
function add(second, client, kind) {
    count++
    when[count] = second; who[count] = client; what[count] = kind
    at[second] = at[second] " " count
}

function evenly(client, first, last, number,    i) {
    for (i = 0; i < number; i++) add(first + int(i * (last - first) / number), client, "page")
}

function stamp(second,    s) {
    s = 28800 + second
    return sprintf("14/Mar/2025:%02d:%02d:%02d +0000", int(s / 3600), int(s / 60) % 60, s % 60)
}

function path(kind,    n) {
    if (kind == "login") return "POST /login HTTP/1.1"
    n = random(10)
    if (n < 4) return "GET /articles/" random(500) " HTTP/1.1"
    if (n < 7) return "GET /static/" random(40) ".css HTTP/1.1"
    if (n < 9) return "GET /api/v1/items?page=" random(30) " HTTP/1.1"
    return "HEAD / HTTP/1.0"
}

function line(i,    client, request, status, bytes, browser, n) {
    client = who[i]
    request = path(what[i])
    n = random(40)
    status = what[i] == "login" ? 401 : n == 0 ? 404 : n == 1 ? 304 : 200
    bytes = status == 304 || request ~ /^HEAD/ ? "-" : 200 + random(48000)
    if (what[i] == "silent") { request = "-"; status = 408; bytes = "-" }
    browser = browsers[(length(client) * 7 + substr(client, length(client)) * 3) % 4 + 1]
    return client " - - [" stamp(when[i]) "] \"" request "\" " status " " bytes " \"-\" \"" browser "\""
}

BEGIN {
    state = 20250314
    browsers[1] = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
    browsers[2] = "Mozilla/5.0 (compatible; \\\"quoted\\\" crawler)"
    browsers[3] = "curl/8.5.0"
    browsers[4] = "feed reader 2.1 \\\\"

    for (i = 0; i < 180; i++) {                       # the abuser
        for (n = 2 + random(4); n > 0; n--) add(300 + i, "203.0.113.66", "login")
    }
    for (i = 0; i < 4; i++) {
        evenly("198.51.100.10", 105 + 240 * i, 118 + 240 * i, 90)  # :45 to :58, then :05 to :18
        evenly("198.51.100.10", 125 + 240 * i, 138 + 240 * i, 60)
    }
    for (i = 0; i < 4; i++) {
        evenly("198.51.100.20", 61 + 240 * i, 69 + 240 * i, 90)    # :01 to :09, then :10 to :18, a minute on
        evenly("198.51.100.20", 130 + 240 * i, 138 + 240 * i, 60)
    }
    evenly("198.51.100.30", 200, 500, 498)            # 99.6 a minute
    evenly("2001:db8::c0:ffee", 700, 712, 130)
    for (i = 0; i < 1000; i++) if (random(100) < 12) add(i, "2001:db8:0:1::" 1 + random(2), "page")

    for (i = 0; i < 520; i++) {                       # the quiet ones
        client = 1 + random(210)
        add(random(1200), "192.0.2." client, random(60) ? "page" : "silent")
    }

    for (second = 0; second < 1200; second++) {
        n = split(at[second], events, " ")
        for (i = 1; i <= n; i++) {
            text = line(events[i])
            written++
            if (written == 700 || written == 1900) { held = text; held_until = written + 25; continue }
            print text
            if (held != "" && written >= held_until) { print held; held = "" }
            if (written == 1200) print "192.0.2.77 - - [14/Mar/2025:08:"
            if (written == 2400) print "-- log rotated --"
        }
    }
}'
