package confine

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// system are directories of programs and libraries. Some are links on most systems.
var system = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}

// systemFiles are files and directories of /etc without secrets, which programs need.
var systemFiles = []string{
	"alternatives", "bash.bashrc", "ca-certificates", "ca-certificates.conf", "debian_version", "default/locale",
	"fonts", "inputrc", "java-", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "locale.alias", "locale.conf",
	"localtime", "lsb-release", "magic", "magic.mime", "manpath.config", "mime.types", "netconfig", "os-release", "papersize",
	"perl", "pki/ca-trust", "pki/tls/certs", "profile", "profile.d", "protocols", "python3", "rpc", "services", "shells",
	"skel", "ssl/cert.pem", "ssl/certs", "ssl/openssl.cnf", "terminfo", "timezone", "vim", "xattr.conf",
}

// devices are the files of /dev.
var devices = []string{"null", "zero", "full", "random", "urandom", "tty"}

// credentials are where programs keep secrets, below a home.
var credentials = []string{
	".ssh", ".gnupg", ".aws", ".azure", ".config/gcloud", ".config/gh", ".config/hub", ".config/op", ".config/rclone",
	".config/git/credentials", ".config/containers/auth.json", ".config/sops", ".kube", ".docker", ".netrc", ".npmrc", ".yarnrc",
	".pypirc", ".git-credentials", ".cargo/credentials", ".cargo/credentials.toml", ".m2/settings.xml", ".gradle/gradle.properties",
	".gem/credentials", ".terraform.d", ".terraformrc", ".vault-token", ".password-store", ".pgpass", ".my.cnf", ".boto", ".s3cfg",
	".local/share/keyrings", ".mozilla", ".config/google-chrome", ".config/chromium", ".bash_history", ".zsh_history",
	".python_history", ".node_repl_history", ".psql_history", ".mysql_history",
}

// apart are trees that the sandbox has of its own: nothing of them can be shown.
var apart = []string{"/proc", "/sys", "/dev", "/run", "/var/run"}

// planFor reads the machine and says what a root is built from.
func planFor(o Options) (plan, error) {
	var p plan
	if err := p.addSystem(); err != nil {
		return plan{}, err
	}
	homes := homes()
	grants, err := grantsOf(o, homes)
	if err != nil {
		return plan{}, err
	}
	p.Mounts = append(p.Mounts, grants...)
	if err := p.hide(o.Deny, homes); err != nil {
		return plan{}, err
	}
	// What lies on top comes later. Paths of one mount are in front of those below it.
	slices.SortStableFunc(p.Mounts, func(a, b mount) int { return cmp.Compare(a.Path, b.Path) })
	p.Mounts = slices.CompactFunc(p.Mounts, func(a, b mount) bool { return a.Path == b.Path })
	return p, nil
}

func (p *plan) addSystem() error {
	for _, dir := range system {
		info, err := os.Lstat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(dir)
			if err != nil {
				return err
			}
			p.Links = append(p.Links, symlink{dir, target})
		case info.IsDir():
			p.Mounts = append(p.Mounts, mount{Path: dir})
		}
	}
	for _, name := range systemFiles {
		if err := p.addSystemFile(filepath.Join("/etc", name)); err != nil {
			return err
		}
	}
	for _, name := range devices {
		p.Mounts = append(p.Mounts, mount{Path: "/dev/" + name, File: true, Device: true})
	}
	return nil
}

// addSystemFile adds a file of /etc, or a link if it is one to a system directory.
func (p *plan) addSystemFile(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		if err != nil {
			return err
		}
		p.Links = append(p.Links, symlink{path, target})
	default:
		p.Mounts = append(p.Mounts, mount{Path: path, File: !info.IsDir()})
	}
	return nil
}

// grantsOf resolves the directories of the options and refuses what would give the
// machine away.
func grantsOf(o Options, homes []string) ([]mount, error) {
	var grants []mount
	for _, path := range o.Write {
		m, err := grant(path, true)
		if err != nil {
			return nil, err
		}
		if m.File {
			return nil, fmt.Errorf("%s is to be writable in the sandbox: it is not a directory", path)
		}
		if err := checkWritable(m.Path, homes); err != nil {
			return nil, err
		}
		grants = append(grants, m)
	}
	for _, path := range o.Read {
		m, err := grant(path, false)
		if err != nil {
			return nil, err
		}
		grants = append(grants, m)
	}
	for _, g := range grants {
		for _, path := range credentialsOf(homes) {
			if within(g.Path, path) {
				return nil, fmt.Errorf("%s cannot be shown in the sandbox: %s holds credentials", g.Path, path)
			}
		}
	}
	return withoutNested(grants)
}

func grant(path string, write bool) (mount, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return mount{}, err
	}
	if !filepath.IsAbs(real) {
		return mount{}, fmt.Errorf("%s is not an absolute path", path)
	}
	info, err := os.Lstat(real)
	if err != nil {
		return mount{}, err
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return mount{}, fmt.Errorf("%s is neither a directory nor a file", path)
	}
	for _, tree := range apart {
		if within(tree, real) || within(real, tree) {
			return mount{}, fmt.Errorf("%s cannot be shown in the sandbox, which has a %s of its own: name directories that do not hold it", path, tree)
		}
	}
	return mount{Path: real, File: !info.IsDir(), Write: write}, nil
}

// checkWritable refuses directories in which programs of the machine find what they
// run or trust.
func checkWritable(path string, homes []string) error {
	for _, home := range homes {
		if within(home, path) {
			return fmt.Errorf("%s cannot be writable in the sandbox, it holds the home directory %s: use a directory below the home", path, home)
		}
	}
	for _, dir := range append(system, "/etc", "/boot", "/var", "/opt") {
		if within(dir, path) || path == dir {
			return fmt.Errorf("%s cannot be writable in the sandbox, it holds %s: use a directory for the work alone", path, dir)
		}
	}
	for _, dir := range append(system, "/etc", "/boot") {
		if within(path, dir) {
			return fmt.Errorf("%s cannot be writable in the sandbox, it belongs to the system", path)
		}
	}
	return nil
}

// withoutNested leaves out what a writable directory has anyway. A command could move
// such a path, and a later start would resolve it to something else.
func withoutNested(grants []mount) ([]mount, error) {
	var kept []mount
	for _, g := range grants {
		inside := slices.ContainsFunc(grants, func(o mount) bool { return o.Write && o.Path != g.Path && within(g.Path, o.Path) })
		switch {
		case !inside:
			kept = append(kept, g)
		case !g.Write:
			return nil, fmt.Errorf("%s is to be readable and lies in a writable directory of the sandbox: leave it out", g.Path)
		}
	}
	return kept, nil
}

// credentialsOf are the paths of credentials below homes, without links.
func credentialsOf(homes []string) []string {
	var paths []string
	for _, home := range homes {
		for _, name := range credentials {
			paths = append(paths, resolve(filepath.Join(home, name)))
		}
	}
	return paths
}

// hide finds which paths must not be seen, and pins those that a command could move.
func (p *plan) hide(deny, homes []string) error {
	var hidden []string
	for _, path := range deny {
		hidden = append(hidden, filepath.Clean(path))
	}
	hidden = append(hidden, credentialsOf(homes)...)
	own, err := specialMounts()
	if err != nil {
		return err
	}
	hidden = append(hidden, own...)
	for _, path := range hidden {
		if err := p.hideOne(path); err != nil {
			return err
		}
	}
	slices.Sort(p.Hide)
	p.Hide = slices.Compact(p.Hide)
	return nil
}

// now is the plan with what is hidden at this moment.
func (p plan) now() (plan, error) {
	absent := p.absent
	p.Hide, p.absent = slices.Clone(p.Hide), nil
	for _, path := range absent {
		if err := p.hideOne(path); err != nil {
			return plan{}, err
		}
	}
	slices.Sort(p.Hide)
	p.Hide = slices.Compact(p.Hide)
	return p, nil
}

func (p *plan) hideOne(path string) error {
	path = resolve(path)
	in := p.mountOf(path)
	if in == nil {
		return nil
	}
	if in.Path == path {
		return fmt.Errorf("%s is denied in the sandbox and to be shown in it: leave one out", path)
	}
	_, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrPermission) && !in.Write:
		return nil // a command cannot reach it either
	case errors.Is(err, fs.ErrNotExist) && in.Write:
		return fmt.Errorf("%s is denied in the sandbox, does not exist, and could be made by a command, because %s is writable: make it, or use another directory", path, in.Path)
	case errors.Is(err, fs.ErrNotExist):
		p.absent = append(p.absent, path)
		return nil
	case err != nil:
		return err
	}
	p.Hide = append(p.Hide, path)
	if in.Write {
		p.pin(*in, filepath.Dir(path))
	}
	return nil
}

// pin makes mounts of the directories between a writable one and a hidden path.
func (p *plan) pin(in mount, dir string) {
	for ; dir != in.Path && within(dir, in.Path); dir = filepath.Dir(dir) {
		p.Mounts = append(p.Mounts, mount{Path: dir, Write: true, Pin: true})
	}
}

// resolve returns a path with the links resolved in the part that exists.
func resolve(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		return real
	}
	if dir := filepath.Dir(path); dir != path {
		return filepath.Join(resolve(dir), filepath.Base(path))
	}
	return path
}

// mountOf returns the innermost mount that shows a path.
func (p *plan) mountOf(path string) *mount {
	var found *mount
	for i, m := range p.Mounts {
		if !m.Pin && within(path, m.Path) && (found == nil || len(m.Path) > len(found.Path)) {
			found = &p.Mounts[i]
		}
	}
	return found
}

// within reports whether path is dir or below it.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// homes are the home directories of people and of the plugin's user.
func homes() []string {
	found := []string{"/root"}
	if home, err := os.UserHomeDir(); err == nil {
		found = append(found, filepath.Clean(home))
	}
	if f, err := os.Open("/etc/passwd"); err == nil {
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			fields := strings.Split(lines.Text(), ":")
			if len(fields) == 7 && (within(fields[5], "/home") || fields[2] == fmt.Sprint(os.Getuid())) {
				found = append(found, filepath.Clean(fields[5]))
			}
		}
		_ = f.Close() // it was only read
	}
	slices.Sort(found)
	return slices.DeleteFunc(slices.Compact(found), func(home string) bool {
		info, err := os.Stat(home)
		return home == "/" || home == "/home" || err != nil || !info.IsDir()
	})
}

// specialMounts are the mounts of the machine that show its processes and devices.
func specialMounts() ([]string, error) {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	special := []string{"proc", "sysfs", "cgroup", "cgroup2", "devtmpfs", "devpts", "debugfs", "tracefs", "securityfs", "bpf",
		"configfs", "binfmt_misc", "mqueue", "pstore", "efivarfs", "nsfs", "fusectl"}
	var found []string
	for line := range strings.Lines(string(b)) {
		before, after, _ := strings.Cut(line, " - ")
		fields, kind := strings.Fields(before), strings.Fields(after)
		const pointField = 4
		if len(fields) > pointField && len(kind) > 0 && slices.Contains(special, kind[0]) {
			found = append(found, unescape(fields[pointField]))
		}
	}
	return found, nil
}

// unescape reads a path as mountinfo writes it.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace
