//go:build !linux

package guestrt

import (
	"errors"
	"time"
)

// meter measures nothing: no worker starts here.
type meter struct{}

func newMeter(int) (meter, error) { return meter{}, errors.ErrUnsupported }

func (meter) cpu() (time.Duration, bool) { return 0, false }
func (meter) memory() (uint64, bool)     { return 0, false }
func (meter) close()                     {}
