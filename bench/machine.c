#include "commit.h"
#include "machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include <weir/weir.h>

#include "measure.h"

/* The value of the first line of a file that begins with `name`; "unknown". */
static void find_value(const char *path, const char *name, char *value, size_t size)
{
    char line[512];
    FILE *file = fopen(path, "r");
    snprintf(value, size, "unknown");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, name, strlen(name)) != 0)
            continue;
        const char *colon = strchr(line, ':');
        const char *start = colon ? colon + 1 + strspn(colon + 1, " \t") : line;
        snprintf(value, size, "%.*s", (int)strcspn(start, "\n"), start);
        break;
    }
    if (file)
        fclose(file);
}

/* Of "always [madvise] never" what is chosen. */
static void find_huge_pages(char *value, size_t size)
{
    char line[128];
    find_value("/sys/kernel/mm/transparent_hugepage/enabled", "", line, sizeof line);
    const char *open = strchr(line, '[');
    if (open)
        snprintf(value, size, "%.*s", (int)strcspn(open + 1, "]"), open + 1);
    else
        snprintf(value, size, "unknown");
}

bench_machine bench_machine_look(void)
{
    bench_machine machine = {.compiler = BENCH_COMPILER,
                             .flags = BENCH_FLAGS,
                             .buildtype = BENCH_BUILDTYPE,
                             .commit = BENCH_COMMIT,
                             .version = weir_version(),
                             .cores = sysconf(_SC_NPROCESSORS_ONLN),
                             .timer_ns = bench_timer_ns()};
    struct utsname system;
    struct tm utc;
    const time_t now = time(NULL);
    find_value("/proc/cpuinfo", "model name", machine.cpu, sizeof machine.cpu);
    find_value("/sys/devices/system/clocksource/clocksource0/current_clocksource", "", machine.clocksource,
               sizeof machine.clocksource);
    find_huge_pages(machine.huge_pages, sizeof machine.huge_pages);
    if (uname(&system) == 0) {
        snprintf(machine.kernel, sizeof machine.kernel, "%s %s", system.sysname, system.release);
        snprintf(machine.arch, sizeof machine.arch, "%.31s", system.machine);
    }
    if (getloadavg(&machine.load, 1) != 1)
        machine.load = -1;
    strftime(machine.time, sizeof machine.time, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    return machine;
}
