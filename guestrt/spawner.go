package guestrt

import "runtime"

// spawner starts children on one operating system thread. A child that asks to
// die with its parent dies when the thread that started it exits, and the Go
// runtime ends threads at will; this one lives until stop, which must come after
// the last child's end.
type spawner struct {
	jobs chan func()
	done chan struct{}
}

func newSpawner() *spawner {
	s := &spawner{jobs: make(chan func()), done: make(chan struct{})}
	go s.loop()
	return s
}

func (s *spawner) loop() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(s.done)
	relaxTimerSlack()
	for job := range s.jobs {
		job()
	}
}

// do runs f on the thread and returns when it has.
func (s *spawner) do(f func()) {
	ran := make(chan struct{})
	s.jobs <- func() {
		defer close(ran)
		f()
	}
	<-ran
}

// stop ends the thread. No do may be in flight or follow.
func (s *spawner) stop() {
	close(s.jobs)
	<-s.done
}
