package drive

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

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

// TestABatchIsPerformedAtOnce: calls that wait for each other, those that came out of
// others included, all have goroutines.
func TestABatchIsPerformedAtOnce(t *testing.T) {
	t.Parallel()
	const calls = 16
	end := make(chan struct{})
	defer close(end)
	var all sync.WaitGroup
	all.Add(3 * calls)
	meet := map[int]*sync.WaitGroup{1: {}, 2: {}}
	for _, m := range meet {
		m.Add(calls)
	}
	quick := make([]int, calls) // 0: returns at once
	var given atomic.Bool
	w := newCallWorkers(end, func(round int) (next []int) {
		defer all.Done()
		if m := meet[round]; m != nil {
			m.Done()
			m.Wait()
		}
		if round == 1 && !given.Swap(true) {
			return append(slices.Repeat([]int{2}, calls), quick...)
		}
		return nil
	})
	w.perform(nil)
	w.perform(slices.Repeat([]int{1}, calls))
	all.Wait()
}
