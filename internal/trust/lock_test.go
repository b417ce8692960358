//go:build linux

package trust

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/quoinhq/quoin/internal/durable"
)

// sumA and sumB are checksums of nothing in particular.
var sumA, sumB = strings.Repeat("a", 64), strings.Repeat("b", 64)

func testKey(t testing.TB) PrivateKey {
	t.Helper()
	k, err := NewPrivateKey()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// A lock reads back as itself, and its text is what people are told it is.
func TestLockText(t *testing.T) {
	key := PublicKey{1, 2, 3}
	lock := Lock{
		"weather": {Version: "2.0.0", Manifest: sumB, Binaries: map[string]string{"windows/amd64": sumB, "linux/amd64": sumA}, Files: sumA, Signer: key},
		"issues":  {Version: "1.0.0-rc.1", Manifest: sumA, Binaries: map[string]string{"linux/amd64": sumB}},
	}
	want := lockComment + `quoin.lock 1

plugin issues 1.0.0-rc.1
	plugin.json sha256:` + sumA + `
	linux/amd64 sha256:` + sumB + `

plugin weather 2.0.0
	plugin.json sha256:` + sumB + `
	files sha256:` + sumA + `
	linux/amd64 sha256:` + sumA + `
	windows/amd64 sha256:` + sumB + `
	signer ` + key.String() + `
`
	if diff := cmp.Diff(want, string(lock.Text())); diff != "" {
		t.Error(diff)
	}
	dir := t.TempDir()
	if none, err := ReadLock(dir); none != nil || err != nil {
		t.Errorf("without a lock: %v, %v", none, err)
	}
	for range 2 { // the second time in place of the first
		if err := WriteLock(dir, lock); err != nil {
			t.Fatal(err)
		}
	}
	back, err := ReadLock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(lock, back); diff != "" {
		t.Error(diff)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("writing left %v, %v", left, err)
	}
	if err := WriteLock(dir, Lock{"issues": {Version: "1"}}); err == nil {
		t.Error("an entry without checksums was written")
	}
}

// Everything that is not a lock is refused, with the line and what was expected.
func TestLockMistakes(t *testing.T) {
	head := "quoin.lock 1\nplugin issues 1.0.0\n"
	good := head + "\tplugin.json sha256:" + sumA + "\n\tlinux/amd64 sha256:" + sumB + "\n"
	if _, err := parseLock([]byte("# my own comment\r\n\n" + good)); err != nil {
		t.Errorf("a good lock: %v", err)
	}
	tests := []struct {
		name, text string
		parts      []string
	}{
		{"empty", "", []string{"quoin.lock:", `"quoin.lock 1" is missing`}},
		{"another version", "quoin.lock 2\n", []string{"line 1", `expected "quoin.lock 1"`, `"quoin.lock 2"`}},
		{"something else", "{}\n", []string{"line 1", "{}"}},
		{"cut off", good[:len(good)-5], []string{"cut off"}},
		{"binary", "\xff\xfe\n", []string{"UTF-8"}},
		{"too large", strings.Repeat("#\n", maxLockBytes/2+1), []string{"larger than"}},
		{"no plugin", "quoin.lock 1\n\tfiles sha256:" + sumA + "\n", []string{"line 2", "before the first"}},
		{"bad id", "quoin.lock 1\nplugin ../x 1\n", []string{"line 2", "plugin ID VERSION", "../x"}},
		{"bad version", "quoin.lock 1\nplugin x /\n", []string{"line 2", "plugin ID VERSION"}},
		{"no version", "quoin.lock 1\nplugin x\n", []string{"line 2", "plugin ID VERSION"}},
		{"twice", good + "plugin issues 2\n", []string{"line 5", "issues is listed twice"}},
		{"unknown line", good + "\tsize 5\n", []string{"line 5", "expected plugin.json, files, signer or a platform", "size"}},
		{"line twice", good + "\tlinux/amd64 sha256:" + sumA + "\n", []string{"line 5", "linux/amd64 is given twice"}},
		{"manifest twice", good + "\tplugin.json sha256:" + sumA + "\n", []string{"line 5", "plugin.json is given twice"}},
		{"short sum", head + "\tplugin.json sha256:abc\n", []string{"line 3", "64 lower-case hex digits", "abc"}},
		{"upper sum", head + "\tplugin.json sha256:" + strings.ToUpper(sumA) + "\n", []string{"line 3", "lower-case"}},
		{"another hash", head + "\tplugin.json sha1:abc\n", []string{"line 3", "sha256:"}},
		{"many words", head + "\tplugin.json sha256:" + sumA + " x\n", []string{"line 3", "3 words"}},
		{"bad key", good + "\tsigner ed25519:AAAA\n", []string{"line 5", "not a public key"}},
		{"no manifest", head + "\tlinux/amd64 sha256:" + sumA + "\n", []string{"issues has no line for plugin.json"}},
		{"no platform", head + "\tplugin.json sha256:" + sumA + "\n", []string{"issues has no line for a platform"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parseLock([]byte(tt.text))
			var wrong *LockError
			if !errors.As(err, &wrong) {
				t.Fatalf("got %v, want a *LockError", err)
			}
			wantParts(t, err.Error(), append(tt.parts, "quoin plugin pin --all")...)
		})
	}
}

// What cannot be read as a lock is an error, not the absence of one.
func TestUnreadableLock(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, LockName), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadLock(dir); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a folder: %v", err)
	}
}

func FuzzParseLock(f *testing.F) {
	f.Add([]byte(lockHeader + "\nplugin issues 1\n\tplugin.json sha256:" + sumA + "\n\tlinux/amd64 sha256:" + sumB + "\n"))
	f.Add(Lock{"a": {Version: "1", Manifest: sumA, Files: sumB, Binaries: map[string]string{"a/b": sumA}, Signer: PublicKey{9}}}.Text())
	f.Fuzz(func(t *testing.T, data []byte) {
		lock, err := parseLock(data)
		if err != nil {
			return
		}
		if err := lock.check(); err != nil {
			t.Errorf("accepted what cannot be written: %v", err)
		}
		back, err := parseLock(lock.Text())
		if err != nil || !bytes.Equal(back.Text(), lock.Text()) {
			t.Errorf("%q became %q (%v)", lock.Text(), back.Text(), err)
		}
	})
}

// TestALockIsOnDisk: the folder is synced too, or a power failure could bring the
// lock of before back.
func TestALockIsOnDisk(t *testing.T) {
	dir := t.TempDir()
	was := durable.Sync
	t.Cleanup(func() { durable.Sync = was })
	var synced []string
	durable.Sync = func(f *os.File) error {
		synced = append(synced, f.Name())
		return was(f)
	}
	if err := WriteLock(dir, Lock{}); err != nil {
		t.Fatal(err)
	}
	if len(synced) != 2 || synced[1] != dir {
		t.Errorf("synced %q, want the file and then %s", synced, dir)
	}
}

// wantParts checks that a text has every part.
func wantParts(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s\nlacks %q", text, part)
		}
	}
}

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}
