//go:build linux && (amd64 || arm64)

package quickjs

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/quoinhq/quoin/guestrt/internal/engine"
)

// reserveArena maps n bytes of fresh memory at arenaBase. It fails when
// anything is mapped there already.
func reserveArena(n uint64) error {
	flags := unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_NORESERVE | unix.MAP_FIXED_NOREPLACE
	err := mapAt(arenaBase, n, flags, -1)
	if err == unix.EEXIST {
		return fmt.Errorf("quickjs: open: %w: the heap's address %#x is taken", engine.ErrBusy, arenaBase)
	}
	if err != nil {
		return fmt.Errorf("quickjs: open: reserve %d bytes at %#x: %w", n, arenaBase, err)
	}
	return nil
}

// mapAt maps readable and writable memory at exactly addr.
func mapAt(addr uintptr, n uint64, flags, fd int) error {
	got, _, errno := syscall.Syscall6(syscall.SYS_MMAP, addr, uintptr(n),
		unix.PROT_READ|unix.PROT_WRITE, uintptr(flags), uintptr(fd), 0)
	if errno != 0 {
		return errno
	}
	if got == addr {
		return nil
	}
	// A kernel without MAP_FIXED_NOREPLACE takes the address as a hint.
	if err := unmapArena(got, n); err != nil {
		return err
	}
	return unix.EEXIST
}

func unmapArena(addr uintptr, n uint64) error {
	if _, _, errno := syscall.Syscall(syscall.SYS_MUNMAP, addr, uintptr(n), 0); errno != 0 {
		return errno
	}
	return nil
}

// dropPages returns n bytes at addr to what they were when mapped: zeros, or
// the template.
func dropPages(addr uintptr, n uint64) error {
	if _, _, errno := syscall.Syscall(syscall.SYS_MADVISE, addr, uintptr(n), unix.MADV_DONTNEED); errno != 0 {
		return fmt.Errorf("quickjs: drop pages: %w", errno)
	}
	return nil
}

// shareTemplate moves the first n bytes of the arena into a sealed memfd, maps
// that copy-on-write in their place and returns a second, read-only view. No
// descriptor stays open.
func shareTemplate(n uint64) ([]byte, error) {
	fd, err := unix.MemfdCreate("quoin-template", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("quickjs: open: memfd: %w", err)
	}
	f := os.NewFile(uintptr(fd), "quoin-template")
	defer f.Close()
	if _, err := f.Write(bytesAt(arenaBase, uintptr(n))); err != nil {
		return nil, fmt.Errorf("quickjs: open: write template: %w", err)
	}
	seals := unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	if _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		return nil, fmt.Errorf("quickjs: open: seal template: %w", err)
	}
	if err := mapAt(arenaBase, n, unix.MAP_PRIVATE|unix.MAP_FIXED, fd); err != nil {
		return nil, fmt.Errorf("quickjs: open: map template: %w", err)
	}
	view, err := unix.Mmap(fd, 0, int(n), unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("quickjs: open: view template: %w", err)
	}
	return view, nil
}
