//go:build linux && (amd64 || arm64)

package quickjs

import (
	"bytes"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/quoinhq/quoin/guestrt/internal/engine"
	"github.com/quoinhq/quoin/internal/wire"
)

// keptAbove is how much memory above the template, in bytes, an arena keeps
// between VMs.
const keptAbove = 64 << 10

// reset makes the arena what the template is. Pages of the template that a VM
// has changed are written back, not dropped: they stay with the process, and the
// next VM need not fault on each of those that every cell changes. So a process
// holds at most the template and keptAbove bytes between VMs.
func (e *Engine) reset() error {
	end := uint64(len(e.view))
	page := uint64(unix.Getpagesize())
	kept := (min(max(ctl().used(), end), end+keptAbove) + page - 1) &^ (page - 1)
	for off := 0; off < len(e.view); off += pageSize {
		got, want := bytesAt(arenaBase+uintptr(off), pageSize), e.view[off:off+pageSize]
		if !bytes.Equal(got, want) {
			copy(got, want)
		}
	}
	clear(bytesAt(arenaBase+uintptr(end), uintptr(kept-end)))
	return dropPages(arenaBase+uintptr(kept), e.origin.reserve-kept)
}

// rehearse runs the smallest cell once. That proves that the prelude can run
// one, and leaves the pages that every cell changes with the process.
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
	return vm.Discard()
}
