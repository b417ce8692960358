package documents

import "github.com/quoinhq/quoin/internal/hosttest"

// LookOften has watchers look at the directory ten times as often.
func (d *Dir) LookOften() { d.times = hosttest.Tenth(defaultTimes) }
