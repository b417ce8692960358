//go:build quickjs_c

#define _GNU_SOURCE
#include "threads_c_linux.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// The first real-time signal that the C library leaves to programs. The Go runtime
// never blocks it for long and installs no handler of its own for it.
#define SIGNAL SIGRTMIN

// A thread that does not answer for so many steps of ten milliseconds hangs.
enum { STEPS = 500, STEP = 10 * 1000 * 1000 };

static struct sigaction before;

// The call under way.
static struct {
	long number, a, b, c;
	int failure;
	_Atomic int made;
} call;

static void make_call(int signal, siginfo_t *info, void *context) {
	if (info->si_code != SI_TKILL || info->si_pid != getpid()) {
		return;
	}
	int kept = errno;
	call.failure = syscall(call.number, call.a, call.b, call.c, 0, 0, 0) == -1 ? errno : 0;
	atomic_store(&call.made, 1);
	syscall(SYS_futex, &call.made, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	errno = kept;
}

int quoin_threads_start(void) {
	struct sigaction action = {.sa_sigaction = make_call, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
	sigfillset(&action.sa_mask);
	return sigaction(SIGNAL, &action, &before) == -1 ? errno : 0;
}

void quoin_threads_end(void) { sigaction(SIGNAL, &before, NULL); }

int quoin_thread_call(int thread, long number, long a, long b, long c) {
	call.number = number;
	call.a = a;
	call.b = b;
	call.c = c;
	atomic_store(&call.made, 0);
	if (syscall(SYS_tgkill, getpid(), thread, SIGNAL) == -1) {
		return errno == ESRCH ? 0 : errno;
	}
	const struct timespec step = {.tv_nsec = STEP};
	for (int i = 0; i < STEPS; i++) {
		syscall(SYS_futex, &call.made, FUTEX_WAIT_PRIVATE, 0, &step, NULL, 0);
		if (atomic_load(&call.made)) {
			return call.failure;
		}
		if (syscall(SYS_tgkill, getpid(), thread, 0) == -1 && errno == ESRCH) {
			return 0;
		}
	}
	return ETIMEDOUT;
}
