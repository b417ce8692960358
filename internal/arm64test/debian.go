package main

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
)

// suite is the release of Debian that emulator and kernels are taken from.
const suite = "trixie"

const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

// kernels are Debian's packages by the size of their pages.
var kernels = map[string]string{"4k": "linux-image-arm64", "16k": "linux-image-arm64-16k"}

// distribution is what was fetched: a kernel, and trees with the emulator and the C
// compiler, each with every library that it needs.
type distribution struct {
	root, kernel, compiler string
}

// debian returns what dir has, after it has fetched what is missing.
func debian(ctx context.Context, dir string, o options, out io.Writer) (distribution, error) {
	meta, known := kernels[o.kernel]
	if !known {
		return distribution{}, fmt.Errorf("a kernel with pages of %s; 4k and 16k exist", o.kernel)
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return distribution{}, fmt.Errorf("the emulator is for Linux on amd64, this is %s on %s; on arm64, make test runs the tests themselves", runtime.GOOS, runtime.GOARCH)
	}
	dir = filepath.Join(dir, suite)
	d := distribution{root: filepath.Join(dir, "emulator"), kernel: filepath.Join(dir, "kernel-"+o.kernel), compiler: filepath.Join(dir, "compiler")}
	if o.update {
		if err := os.RemoveAll(dir); err != nil {
			return d, err
		}
	}
	a, err := newAPT(dir)
	if err != nil {
		return d, err
	}
	const process = "usr/bin/qemu-aarch64"
	emulator, kernel := exists(filepath.Join(d.root, process)), exists(d.kernel)
	compiler := !o.native || exists(d.compiler)
	if !emulator || !kernel || !compiler {
		fmt.Fprintln(out, "test-arm64: fetching from Debian "+suite)
		err = a.get(ctx, "-q", "update")
	}
	if !emulator && err == nil {
		err = a.install(ctx, d.root, "qemu-system-arm")
		if err == nil {
			err = a.take(ctx, "qemu-user", "./"+process, filepath.Join(d.root, process))
		}
	}
	if !kernel && err == nil {
		err = a.kernel(ctx, d.kernel, meta+":arm64")
	}
	if !compiler && err == nil {
		err = a.install(ctx, d.compiler, "gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross")
	}
	return d, err
}

// command is one of the emulator's programs, run with its own libraries.
func (d distribution) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	usr := filepath.Join(d.root, "usr")
	args = append([]string{"--library-path", filepath.Join(usr, "lib", "x86_64-linux-gnu"), filepath.Join(usr, "bin", program)}, args...)
	return exec.CommandContext(ctx, filepath.Join(usr, "lib64", "ld-linux-x86-64.so.2"), args...)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// apt is an apt-get that knows Debian only, takes nothing for installed, and keeps all
// that it has in a directory of ours.
type apt struct{ dir, config string }

func newAPT(dir string) (apt, error) {
	a := apt{dir: dir, config: filepath.Join(dir, "apt.conf")}
	for _, tool := range []string{"apt-get", "dpkg-deb"} {
		if _, err := exec.LookPath(tool); err != nil {
			return a, fmt.Errorf("the emulator comes from Debian by apt-get and dpkg-deb: %w", err)
		}
	}
	if _, err := os.Stat(keyring); err != nil {
		return a, fmt.Errorf("the keys of Debian's archive are missing; install the package debian-archive-keyring: %w", err)
	}
	for _, sub := range []string{"lists/partial", "archives/partial"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return a, err
		}
	}
	source := filepath.Join(dir, "debian.sources")
	settings := []string{
		"Dir::State " + dir, "Dir::State::status " + filepath.Join(dir, "status"), "Dir::State::lists " + filepath.Join(dir, "lists"),
		"Dir::Cache " + dir, "Dir::Etc::sourcelist " + source, "Dir::Etc::sourceparts " + filepath.Join(dir, "none"),
		"APT::Architecture " + runtime.GOARCH, "APT::Architectures:: " + runtime.GOARCH, "APT::Architectures:: arm64",
		"APT::Install-Recommends false", "APT::Sandbox::User root", "Acquire::Languages none",
		"Acquire::IndexTargets::deb::DEP-11::DefaultEnabled false", "DPkg::Post-Invoke \"\"",
	}
	var text strings.Builder
	for _, s := range settings {
		name, value, _ := strings.Cut(s, " ")
		fmt.Fprintf(&text, "%s %q;\n", name, strings.Trim(value, `"`))
	}
	archive, err := mirror()
	if err != nil {
		return a, err
	}
	sources := fmt.Sprintf("Types: deb\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: %s\n", archive, suite, keyring)
	return a, errors.Join(os.WriteFile(filepath.Join(dir, "status"), nil, 0o644),
		os.WriteFile(source, []byte(sources), 0o644), os.WriteFile(a.config, []byte(text.String()), 0o644))
}

// envMirror names a mirror of Debian's archive.
const envMirror = "QUOIN_DEBIAN_MIRROR"

// mirror is where Debian's archive is: what envMirror says, else what the machine's own
// apt-get uses.
func mirror() (string, error) {
	if m := os.Getenv(envMirror); m != "" {
		return m, nil
	}
	said, err := exec.Command("apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages").Output()
	if err != nil {
		return "", fmt.Errorf("apt-get indextargets: %w", err)
	}
	return mirrorIn(string(said))
}

// mirrorIn finds the mirror of Debian among archives, one a line.
func mirrorIn(archives string) (string, error) {
	for uri := range strings.Lines(archives) {
		if uri = strings.TrimSpace(uri); path.Base(uri) == "debian" {
			return uri, nil
		}
	}
	return "", fmt.Errorf("the apt-get of this machine knows no mirror of Debian: set %s to one", envMirror)
}

func (a apt) env() []string {
	return append(os.Environ(), "APT_CONFIG="+a.config, "LC_ALL=C")
}

func (a apt) get(ctx context.Context, args ...string) error {
	return command(ctx, a.env(), "apt-get", args...)
}

// install puts the files of packages, and of all they depend on, below root.
func (a apt) install(ctx context.Context, root string, names ...string) error {
	if err := a.get(ctx, append([]string{"-q", "-y", "--download-only", "install"}, names...)...); err != nil {
		return err
	}
	packages, err := filepath.Glob(filepath.Join(a.dir, "archives", "*.deb"))
	if err != nil {
		return err
	}
	partial := root + ".partial"
	if err := errors.Join(os.RemoveAll(root), os.RemoveAll(partial)); err != nil {
		return err
	}
	for _, p := range packages {
		if err := command(ctx, nil, "dpkg-deb", "-x", p, partial); err != nil {
			return err
		}
	}
	return errors.Join(os.Rename(partial, root), a.get(ctx, "clean"))
}

// kernel fetches the kernel that a package depends on. What that kernel depends on
// in turn would install it into a system.
func (a apt) kernel(ctx context.Context, path, meta string) error {
	cmd := exec.CommandContext(ctx, "apt-cache", "depends", meta)
	cmd.Env = a.env()
	said, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("apt-cache depends %s: %w", meta, err)
	}
	_, after, found := strings.Cut(string(said), "Depends: linux-image-")
	if !found {
		return fmt.Errorf("%s depends on no kernel; apt-cache says:\n%s", meta, said)
	}
	return a.take(ctx, "linux-image-"+strings.Fields(after)[0], "./boot/vmlinuz-", path)
}

// take fetches a package and copies its one file with a name that starts with prefix.
func (a apt) take(ctx context.Context, name, prefix, path string) error {
	download := exec.CommandContext(ctx, "apt-get", "-q", "download", name)
	download.Env, download.Dir = a.env(), filepath.Join(a.dir, "archives")
	if said, err := download.CombinedOutput(); err != nil {
		return fmt.Errorf("apt-get download %s: %w\n%s", name, err, said)
	}
	bare, _, _ := strings.Cut(name, ":")
	file, err := one(filepath.Join(a.dir, "archives", bare+"_*.deb"))
	if err != nil {
		return err
	}
	return errors.Join(takeFile(ctx, file, prefix, path), a.get(ctx, "clean"))
}

// one is the only file that matches.
func one(pattern string) (string, error) {
	found, err := filepath.Glob(pattern)
	if err == nil && len(found) != 1 {
		err = fmt.Errorf("%d files match %s, 1 expected", len(found), pattern)
	}
	if err != nil {
		return "", err
	}
	return found[0], nil
}

// takeFile copies one file out of a package, which may be many times larger.
func takeFile(ctx context.Context, file, prefix, path string) error {
	cmd := exec.CommandContext(ctx, "dpkg-deb", "--fsys-tarfile", file)
	stream, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	err = copyFile(tar.NewReader(stream), prefix, path)
	_, rest := io.Copy(io.Discard, stream)
	return errors.Join(err, rest, cmd.Wait())
}

func copyFile(files *tar.Reader, prefix, path string) error {
	for {
		h, err := files.Next()
		if err != nil {
			return fmt.Errorf("the package has no file %s: %w", prefix, err)
		}
		if h.Typeflag != tar.TypeReg || !strings.HasPrefix(h.Name, prefix) {
			continue
		}
		f, err := os.OpenFile(path+".partial", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, files)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
		return os.Rename(path+".partial", path)
	}
}

// command runs a program. The output counts only when the program fails.
func command(ctx context.Context, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = env
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}
