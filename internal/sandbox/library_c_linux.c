//go:build quickjs_c

#define _GNU_SOURCE
#include "library_c_linux.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stddef.h>

// Each arena of malloc reserves 64 MiB of addresses, and a thread gets one of its own
// by a mapping that no filter of ours allows. This runs before there is a thread.
__attribute__((constructor)) static void one_arena(void) { mallopt(M_ARENA_MAX, 1); }

int quoin_thread_stacks(unsigned long bytes) {
	pthread_attr_t attributes;
	int failure = pthread_attr_init(&attributes);
	if (failure != 0) {
		return failure;
	}
	failure = pthread_attr_setstacksize(&attributes, bytes);
	if (failure == 0) {
		failure = pthread_setattr_default_np(&attributes);
	}
	pthread_attr_destroy(&attributes);
	return failure;
}

// In a static executable, printf brings in what loads character sets as shared code,
// and that brings in all of dlopen. These stand in for it: there is no such code.
__attribute__((weak)) void *__libc_dlopen_mode(const char *name, int mode) { return NULL; }
__attribute__((weak)) void *__libc_dlsym(void *handle, const char *name) { return NULL; }
__attribute__((weak)) int __libc_dlclose(void *handle) { return 0; }
