//go:build linux && (amd64 || arm64)

package quickjs

import (
	"bytes"
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/quoinhq/quoin/guestrt/engine"
	"github.com/quoinhq/quoin/guestrt/wire"
)

// span is a run of arena pages.
type span struct{ first, n uintptr }

// rehearse runs the smallest cell once, which proves that the prelude can run
// one, and remembers which pages every cell changes.
func (e *Engine) rehearse() error {
	vm, err := e.New(engine.Options{})
	if err != nil {
		return err
	}
	r, err := vm.Load(engine.Cell{Source: []byte("async()=>1"), FileName: "cell.js", Config: []byte(`{"file":"cell.js","namespaces":[],"limits":{}}`)},
		time.Now().Add(10*time.Second))
	if err != nil {
		return err
	}
	if r.Status != wire.StatusDone {
		return fmt.Errorf("quickjs: open: the prelude cannot run a cell: %+v", r.Err)
	}
	e.hot = nil
	for i := uintptr(0); i < uintptr(ctl().used()/pageSize); i++ {
		page := bytesAt(arenaBase+i*pageSize, pageSize)
		if off := int(i * pageSize); off < len(e.view) && bytes.Equal(page, e.view[off:off+pageSize]) {
			continue
		}
		if n := len(e.hot); n > 0 && e.hot[n-1].first+e.hot[n-1].n == i {
			e.hot[n-1].n++
			continue
		}
		e.hot = append(e.hot, span{i, 1})
	}
	return vm.Discard()
}

// Warm copies the pages that every cell changes before there is one, which
// halves the time the next VM takes to its first result and costs some 150 KB
// until then. It is for the idle time of a waiting worker; it fails with
// engine.ErrBusy while a VM is alive and does nothing on kernels before 5.14.
func (e *Engine) Warm() error {
	switch {
	case e.closed:
		return fmt.Errorf("quickjs: warm: %w: the engine is closed", engine.ErrDead)
	case e.vm != nil:
		return fmt.Errorf("quickjs: warm: %w", engine.ErrBusy)
	}
	for _, s := range e.hot {
		_, _, errno := syscall.Syscall(syscall.SYS_MADVISE, arenaBase+s.first*pageSize, s.n*pageSize, unix.MADV_POPULATE_WRITE)
		if errno == unix.EINVAL {
			return nil
		}
		if errno != 0 {
			return fmt.Errorf("quickjs: warm: %w", errno)
		}
	}
	return nil
}
