package runs

import "testing"

// deepCall uses about as much stack as a call does on its way to a tool.
//
//go:noinline
func deepCall(n int) int {
	var frame [256]byte
	frame[n%len(frame)] = byte(n)
	if n == 0 {
		return 0
	}
	return deepCall(n-1) + int(frame[(n*7)%len(frame)])
}

// BenchmarkCallWorkers compares calls on kept goroutines with calls on new ones.
func BenchmarkCallWorkers(b *testing.B) {
	done := make(chan struct{})
	do := func(callJob) []callJob {
		deepCall(40)
		done <- struct{}{}
		return nil
	}
	b.Run("kept", func(b *testing.B) {
		end := make(chan struct{})
		defer close(end)
		w := newCallWorkers(end, do)
		for b.Loop() {
			w.perform([]callJob{{}})
			<-done
		}
	})
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			go do(callJob{})
			<-done
		}
	})
}
