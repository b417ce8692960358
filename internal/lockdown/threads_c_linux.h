// Starts and ends to handle the signal by which threads are called. The results are
// error numbers.
int quoin_threads_start(void);
void quoin_threads_end(void);

// Has another thread make a system call. One call is under way at a time. A thread that
// has ended meanwhile has nothing to do; one that does not come to it is an error.
int quoin_thread_call(int thread, long number, long a, long b, long c);
