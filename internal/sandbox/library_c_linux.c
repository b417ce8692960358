//go:build quickjs_c

#define _GNU_SOURCE
#include "library_c_linux.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>

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
