/* What AddressSanitizer is told about the arena: only the payload of a block that is
   in use may be touched, and the allocator may touch all. Images do not know of it. */
#ifndef QUOIN_SANITIZE_H
#define QUOIN_SANITIZE_H

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define UNCHECKED __attribute__((no_sanitize("address")))
#define CONCEAL(p, n) __asan_poison_memory_region(p, n)
#define EXPOSE(p, n) __asan_unpoison_memory_region(p, n)
#define FORGET_FRAMES() __asan_handle_no_return() /* those that a panic of Go has left */

/* The worker has an environment that holds no options. Its first finding ends it. */
__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
    return "detect_leaks=0:handle_segv=0:use_sigaltstack=0:detect_stack_use_after_return=0";
}

__attribute__((visibility("default"))) const char *__ubsan_default_options(void) { return "print_stacktrace=1"; }
#else
#define UNCHECKED
#define CONCEAL(p, n)
#define EXPOSE(p, n)
#define FORGET_FRAMES()
#endif

#endif
