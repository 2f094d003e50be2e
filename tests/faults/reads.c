/* Makes the reads of a process give less than they were asked for, or fail. Loaded with LD_PRELOAD by test_reads.py.

   READS_BELOW    the folder whose files are concerned
   READS_FAIL     SHORT, or the number of an error
   READS_EVERY    every n-th read of a file below the folder is concerned */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_uint reads;

static int concerns(int descriptor) {
    const char *below = getenv("READS_BELOW");
    char link[64], path[PATH_MAX];
    if (below == NULL) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0 || strncmp(path, below, strlen(below)) != 0) return 0;
    const char *every = getenv("READS_EVERY");
    return atomic_fetch_add(&reads, 1) % (every ? (unsigned)atoi(every) : 1) == 0;
}

/* The number of bytes to read instead; -1 with errno if the read fails. */
static ssize_t wanted(int descriptor, size_t size) {
    if (size < 2 || !concerns(descriptor)) return (ssize_t)size;
    const char *fail = getenv("READS_FAIL");
    if (strcmp(fail, "SHORT") == 0) return (ssize_t)(size / 2);
    errno = atoi(fail);
    return -1;
}

ssize_t read(int descriptor, void *data, size_t size) {
    static ssize_t (*real)(int, void *, size_t);
    if (real == NULL) real = dlsym(RTLD_NEXT, "read");
    ssize_t most = wanted(descriptor, size);
    return most < 0 ? -1 : real(descriptor, data, (size_t)most);
}

ssize_t pread64(int descriptor, void *data, size_t size, off64_t offset) {
    static ssize_t (*real)(int, void *, size_t, off64_t);
    if (real == NULL) real = dlsym(RTLD_NEXT, "pread64");
    ssize_t most = wanted(descriptor, size);
    return most < 0 ? -1 : real(descriptor, data, (size_t)most, offset);
}

ssize_t pread(int descriptor, void *data, size_t size, off_t offset) {
    return pread64(descriptor, data, size, offset);
}
