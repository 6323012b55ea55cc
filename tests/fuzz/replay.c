/*
 * Runs a target over files, or over all files of folders, in the order of their names: a fuzz target as a test, with
 * any compiler. The name of each file is printed first, so that the last one tells where the process ended. A folder in
 * which there is no file, or one that is not there, is a failure: nothing was tested.
 *
 *     replay FILE-OR-FOLDER...
 *
 * SPDX-License-Identifier: MIT
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"

static unsigned long files;

static void *read_all(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    struct stat state;
    void *bytes;

    FUZZ_HOLDS(file != NULL && fstat(fileno(file), &state) == 0, "%s: cannot be read", path);
    *size = (size_t)state.st_size;
    bytes = malloc(*size > 0 ? *size : 1);
    FUZZ_HOLDS(bytes != NULL && fread(bytes, 1, *size, file) == *size, "%s: cannot be read", path);
    fclose(file);
    return bytes;
}

static void replay_file(const char *path)
{
    size_t size;
    void *bytes = read_all(path, &size);

    printf("%s\n", path);
    LLVMFuzzerTestOneInput(bytes, size);
    free(bytes);
    files++;
}

static int no_dot(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void replay(const char *path)
{
    struct stat state;
    struct dirent **entries;
    int count;

    FUZZ_HOLDS(stat(path, &state) == 0, "%s: is not there", path);
    if (!S_ISDIR(state.st_mode)) {
        replay_file(path);
        return;
    }
    count = scandir(path, &entries, no_dot, alphasort);
    FUZZ_HOLDS(count >= 0, "%s: cannot be listed", path);
    for (int i = 0; i < count; i++) {
        char *inside;

        FUZZ_HOLDS(asprintf(&inside, "%s/%s", path, entries[i]->d_name) > 0, "no memory for a name");
        replay(inside);
        free(inside);
        free(entries[i]);
    }
    free(entries);
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    alarm(300); /* an input on which something never ends */
    LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    FUZZ_HOLDS(argc > 1, "no file or folder is named");
    for (int i = 1; i < argc; i++) {
        unsigned long before = files;

        replay(argv[i]);
        FUZZ_HOLDS(files > before, "%s: there is no file in it", argv[i]);
    }
    printf("%lu files\n", files);
    return 0;
}
