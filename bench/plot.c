#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "report.h"

int bench_plot(const char *directory, const bench_rows *rows)
{
    (void)rows;
    if (mkdir(directory, 0777) != 0 && errno != EEXIST) {
        fprintf(stderr, "weir-bench: cannot make the directory %s: %s\n", directory, strerror(errno));
        return -1;
    }
    return 0;
}
