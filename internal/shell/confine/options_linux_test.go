package confine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestOptionsThatAreRefused: a directory that would give the machine away is no directory
// of a sandbox.
func TestOptionsThatAreRefused(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(dir, "home")
	t.Setenv("HOME", home)
	link := filepath.Join(dir, "link")
	for _, err := range []error{
		os.MkdirAll(filepath.Join(home, ".ssh"), 0o700), os.MkdirAll(filepath.Join(home, "work"), 0o700),
		os.Symlink("/etc", link), os.WriteFile(filepath.Join(dir, "file"), nil, 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	work := filepath.Join(home, "work")
	for name, c := range map[string]struct {
		options Options
		names   string
	}{
		"all of the machine":         {Options{Write: []string{"/"}}, "/proc"},
		"the system":                 {Options{Write: []string{"/usr"}}, "/usr"},
		"a part of the system":       {Options{Write: []string{"/usr/bin"}}, "/usr/bin"},
		"settings by a link":         {Options{Write: []string{link}}, "/etc"},
		"the home":                   {Options{Write: []string{home}}, "home directory"},
		"what holds the home":        {Options{Write: []string{dir}}, "home directory"},
		"processes":                  {Options{Read: []string{"/proc"}}, "/proc"},
		"devices":                    {Options{Read: []string{"/dev/pts"}}, "/dev"},
		"all of the machine to read": {Options{Read: []string{"/"}}, "/proc"},
		"what is not there":          {Options{Read: []string{dir + "/nowhere"}}, "nowhere"},
		"a file to write":            {Options{Write: []string{dir + "/file"}}, "not a directory"},
		"denied and shown":           {Options{Write: []string{work}, Deny: []string{work}}, "leave one out"},
		"denied and to be made":      {Options{Write: []string{work}, Deny: []string{work + "/.env"}}, "does not exist"},
		"keys":                       {Options{Read: []string{home + "/.ssh"}}, ".ssh"},
		"below keys":                 {Options{Write: []string{home + "/.ssh/work"}}, ".ssh"},
		"to read in what to write":   {Options{Write: []string{work}, Read: []string{work + "/x"}}, work + "/x"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, made := range []string{home + "/.ssh/work", work + "/x"} {
				if err := os.MkdirAll(made, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			o := c.options
			o.MemoryBytes, o.Processes, o.FileBytes = 1<<30, 64, 1<<20
			l, err := New(o)
			if err == nil {
				t.Fatal("it was accepted", l.Close())
			}
			if !strings.Contains(err.Error(), c.names) {
				t.Errorf("%v; want %q", err, c.names)
			}
		})
	}
}

// TestASandboxHasBounds: without them a command would not start, or not always.
func TestASandboxHasBounds(t *testing.T) {
	for _, o := range []Options{{}, {MemoryBytes: 1 << 30, Processes: 64}, {MemoryBytes: -1, Processes: 64, FileBytes: 1}} {
		if l, err := New(o); err == nil || !strings.Contains(err.Error(), "bounds") {
			t.Errorf("%+v: %v, %v", o, l, err)
		}
	}
}

// TestWhatIsHidden: credentials and denied paths are hidden where a directory would show
// them, and nothing on the way to one can be moved.
func TestWhatIsHidden(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", dir+"/home")
	for _, made := range []string{"home/.ssh", "home/.config/gh", "home/work/a/b/secret", "home/elsewhere"} {
		if err := os.MkdirAll(filepath.Join(dir, made), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(dir+"/home/elsewhere", dir+"/home/.aws"); err != nil {
		t.Fatal(err)
	}
	p, err := planFor(Options{Read: []string{dir}, Deny: []string{dir + "/home/work/a/b/secret", dir + "/home/later"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{dir + "/home/.config/gh", dir + "/home/.ssh", dir + "/home/elsewhere", dir + "/home/work/a/b/secret"}
	if hidden := slices.DeleteFunc(p.Hide, func(path string) bool { return !within(path, dir) }); !slices.Equal(hidden, want) {
		t.Errorf("%q, want %q", hidden, want)
	}
	p, err = planFor(Options{Write: []string{dir + "/home/work"}, Deny: []string{dir + "/home/work/a/b/secret"}})
	if err != nil {
		t.Fatal(err)
	}
	var pins []string
	for _, m := range p.Mounts {
		if m.Pin {
			pins = append(pins, m.Path)
		}
	}
	if want := []string{dir + "/home/work/a", dir + "/home/work/a/b"}; !slices.Equal(pins, want) {
		t.Errorf("pinned %q, want %q", pins, want)
	}
}

func TestWhichLayersAreNeeded(t *testing.T) {
	all := slices.Clone(layerNames)
	for _, off := range append(all, "") {
		var layers []Layer
		for _, name := range all {
			layers = append(layers, Layer{Name: name, On: name != off, Detail: "a reason"})
		}
		for _, required := range []bool{true, false} {
			r, err := newReport(layers, required)
			refused := off != "" && (required || slices.Contains(indispensable, off))
			if (err != nil) != refused || (r.Tier == "A") != (off == "") {
				t.Errorf("without %q, required %v: tier %s, %v", off, required, r.Tier, err)
			}
			if err != nil && !strings.Contains(err.Error(), off+" (a reason)") {
				t.Errorf("without %q: %v", off, err)
			}
		}
	}
	if _, err := newReport(nil, false); err == nil {
		t.Error("a report without layers is accepted")
	}
}

// TestAClaimIsChecked: the kernel says that this process is no sandbox.
func TestAClaimIsChecked(t *testing.T) {
	if err := verify(os.Getpid()); err == nil {
		t.Error("this process passes for a sandbox")
	}
}
