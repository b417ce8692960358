// Sets how large the stacks of threads are that are started from now on. The result is
// an error number.
int quoin_thread_stacks(unsigned long bytes);
