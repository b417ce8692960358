//go:build linux && (amd64 || arm64)

package quickjs

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/quoinhq/quoin/guestrt/internal/engine"
)

// programHeader is an ELF64 program header. Its kind and place count here.
type programHeader struct {
	kind, _       uint32
	offset, vaddr uint64
	_, _, _, _    uint64 // physical address, size in the file, in memory, alignment
}

const (
	kindLoad   = 1
	kindPhdr   = 6
	elfHeader  = 64 // bytes; the program headers follow it
	auxPhdr    = 3
	auxPhnum   = 5
	maxHeaders = 1024
)

// checkPageSize fails on kernels with pages that are not whole pages of images, or are
// larger than what the arena keeps room for.
func checkPageSize() error {
	if n := unix.Getpagesize(); n%pageSize != 0 || n > maxKernelPage {
		return fmt.Errorf("quickjs: open: %w: the kernel has pages of %d bytes, at most %d are served", engine.ErrUnsupported, n, maxKernelPage)
	}
	return nil
}

// checkFixedAddresses fails unless this executable runs at the addresses it
// was linked for, which makes function pointers in images valid.
func checkFixedAddresses() error {
	aux, err := unix.Auxv()
	if err != nil {
		return fmt.Errorf("quickjs: open: %w: no auxiliary vector: %v", engine.ErrUnsupported, err)
	}
	var addr, n uintptr
	for _, kv := range aux {
		switch kv[0] {
		case auxPhdr:
			addr = kv[1]
		case auxPhnum:
			n = kv[1]
		}
	}
	if addr == 0 || n > maxHeaders {
		return fmt.Errorf("quickjs: open: %w: no program headers", engine.ErrUnsupported)
	}
	if !loadedWhereLinked(unsafe.Slice(at[programHeader](addr), n), uint64(addr)) {
		return fmt.Errorf("quickjs: open: %w: the executable is position independent; build it with -buildmode=exe", engine.ErrUnsupported)
	}
	return nil
}

// loadedWhereLinked reports whether an executable with program headers at addr
// was loaded at the addresses in them. Not every linker lists the headers
// themselves; the segment that starts with the ELF header tells as well.
func loadedWhereLinked(headers []programHeader, addr uint64) bool {
	for _, h := range headers {
		if h.kind == kindPhdr && h.vaddr == addr || h.kind == kindLoad && h.offset == 0 && h.vaddr+elfHeader == addr {
			return true
		}
	}
	return false
}
