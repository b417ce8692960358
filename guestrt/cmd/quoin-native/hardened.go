package main

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// hardening are the options that make errors of memory in C code harder to use.
func hardening() []string {
	flags := []string{"-fstack-protector-strong", "-fstack-clash-protection", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=3"}
	switch target() {
	case "amd64":
		flags = append(flags, "-fcf-protection=full")
	case "arm64":
		flags = append(flags, "-mbranch-protection=standard")
	}
	return flags
}

// linkHardening are the hardening flags of the linker.
const linkHardening = "-z,noexecstack,-z,relro,-z,now"

// unwanted are functions of the C library that start programs or load code. Nothing in
// a worker calls them, and nothing that takes one over shall find them.
var unwanted = []string{"popen", "system", "fork", "vfork", "_Fork", "execve", "execv", "execvp", "execvpe", "execl", "execlp",
	"execle", "fexecve", "posix_spawn", "posix_spawnp", "dlopen", "dlsym", "dlmopen", "_dl_open"}

// wanted are the functions by which hardened code finds out that it was attacked.
var wanted = map[string]string{
	"__stack_chk_fail": "a stack protector",
	"__chk_fail":       "checked copies (_FORTIFY_SOURCE)",
}

// checkHardening says in what an executable is not as the options want it. The named
// function is one that was compiled with them.
func checkHardening(path, function string) error {
	f, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it was only read
	symbols, err := f.Symbols()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	errs := append(checkSegments(f), checkFunctions(symbols)...)
	if err := checkBranches(f, symbols, function); err != nil {
		errs = append(errs, err)
	}
	for i := range errs {
		errs[i] = fmt.Errorf("%s %w", filepath.Base(path), errs[i])
	}
	return errors.Join(errs...)
}

// checkSegments looks at what of the file becomes memory, and how.
func checkSegments(f *elf.File) (errs []error) {
	if f.Type != elf.ET_EXEC {
		errs = append(errs, errors.New("is position independent, and images need code at fixed addresses: link it with -no-pie"))
	}
	kinds := map[elf.ProgType]elf.ProgFlag{}
	for _, p := range f.Progs {
		kinds[p.Type] |= p.Flags
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_W != 0 && p.Flags&elf.PF_X != 0 {
			errs = append(errs, errors.New("has memory that is both writable and executable"))
		}
	}
	if _, has := kinds[elf.PT_INTERP]; has {
		errs = append(errs, errors.New("is linked dynamically: link it with -static"))
	}
	if flags, has := kinds[elf.PT_GNU_STACK]; !has || flags&elf.PF_X != 0 {
		errs = append(errs, errors.New("has an executable stack: link it with -z noexecstack"))
	}
	if _, has := kinds[elf.PT_GNU_RELRO]; !has {
		errs = append(errs, errors.New("has addresses of functions in writable memory: link it with -z relro -z now"))
	}
	return errs
}

func checkFunctions(symbols []elf.Symbol) (errs []error) {
	has := map[string]bool{}
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC {
			has[s.Name] = true
		}
	}
	for _, name := range unwanted {
		if has[name] {
			errs = append(errs, fmt.Errorf("contains %s", name))
		}
	}
	for name, what := range wanted {
		if !has[name] {
			errs = append(errs, fmt.Errorf("has no %s: no code of it calls %s", what, name))
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errs
}

// entries are the instructions at the start of a function with checked callers.
var entries = map[elf.Machine][][]byte{
	elf.EM_X86_64:  {{0xf3, 0x0f, 0x1e, 0xfa}},                           // endbr64
	elf.EM_AARCH64: {{0x3f, 0x23, 0x03, 0xd5}, {0x5f, 0x24, 0x03, 0xd5}}, // paciasp, bti c
}

func checkBranches(f *elf.File, symbols []elf.Symbol, function string) error {
	i := slices.IndexFunc(symbols, func(s elf.Symbol) bool { return s.Name == function })
	if i < 0 {
		return fmt.Errorf("has no function %s", function)
	}
	code := make([]byte, 4)
	for _, p := range f.Progs {
		if at := symbols[i].Value - p.Vaddr; p.Type == elf.PT_LOAD && symbols[i].Value >= p.Vaddr && at < p.Filesz {
			if _, err := p.ReadAt(code, int64(at)); err != nil {
				return err
			}
		}
	}
	if !slices.ContainsFunc(entries[f.Machine], func(e []byte) bool { return bytes.Equal(e, code) }) {
		return fmt.Errorf("has functions without a mark at their start: %s starts with %x", function, code)
	}
	return nil
}
