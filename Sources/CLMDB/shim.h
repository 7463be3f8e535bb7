#include <lmdb.h>

/// Prefetches memory that is about to be read into the processor's cache.
static inline void tandem_prefetch(const void *start, size_t bytes) {
    for (size_t at = 0; at < bytes; at += 64) __builtin_prefetch((const char *)start + at);
}
