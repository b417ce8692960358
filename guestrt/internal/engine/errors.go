package engine

import (
	"errors"
	"fmt"
)

// Why an image was refused, a VM could not be made or can no longer be used.
// Errors of an engine wrap these; match them with errors.Is.
var (
	// ErrForeignBuild: another executable made the image.
	ErrForeignBuild = errors.New("the image was made by another guest build")
	// ErrForeignEngine: another engine, engine version or guest prelude made the image.
	ErrForeignEngine = errors.New("the image was made by another engine")
	// ErrForeignArch: the image was made for another platform or heap address.
	ErrForeignArch = errors.New("the image was made for another platform")
	// ErrFormat: the bytes are not an image, or an image of another format version.
	ErrFormat = errors.New("unknown image format")
	// ErrCorrupt: the image is truncated or damaged.
	ErrCorrupt = errors.New("the image is damaged")
	// ErrTooLarge: the image, or the heap it describes, exceeds a cap.
	ErrTooLarge = errors.New("the image is too large")
	// ErrUnsupported: the engine cannot work on this platform or in this executable.
	ErrUnsupported = errors.New("the engine is not supported here")
	// ErrBusy: a VM of this engine is alive already.
	ErrBusy = errors.New("the engine has a live VM")
	// ErrMemory: the process has no memory left for what the engine needs next to
	// the guest's heap.
	ErrMemory = errors.New("the process is out of memory")
	// ErrDead: the VM was discarded, has ended or has failed.
	ErrDead = errors.New("the VM is dead")
	// ErrLimits: the limits leave no room for the guest to start.
	ErrLimits = errors.New("the limits are too small for a guest")
	// ErrUnknownCall: a settlement names a call that the guest has not issued
	// or that is settled already.
	ErrUnknownCall = errors.New("no such pending call")
)

// TooLargeError says how large an image would be that was not to be so large.
type TooLargeError struct{ Bytes int }

// Error names the size.
func (e *TooLargeError) Error() string { return fmt.Sprintf("%v: %d bytes", ErrTooLarge, e.Bytes) }

// Unwrap returns ErrTooLarge.
func (e *TooLargeError) Unwrap() error { return ErrTooLarge }
