//go:build linux

package trust

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/plugins/manifest"
)

func TestKeyFiles(t *testing.T) {
	name := filepath.Join(t.TempDir(), "key.pem")
	key := testKey(t)
	if err := key.WriteFile(name); err != nil {
		t.Fatal(err)
	}
	if err := key.WriteFile(name); !os.IsExist(err) {
		t.Errorf("a key was replaced: %v", err)
	}
	back, err := ReadPrivateKey(name)
	if err != nil || back.Public() != key.Public() {
		t.Fatalf("%v, %v", back.Public(), err)
	}
	parsed, err := ParsePublicKey(key.Public().String())
	if err != nil || parsed != key.Public() {
		t.Errorf("%v, %v", parsed, err)
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o620, 0o602, 0o610, 0o601, 0o644} {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadPrivateKey(name); err == nil || !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("a key of mode %v: %v", mode, err)
		}
	}
	if os.Geteuid() == 0 {
		const another = 1234
		if err := errors.Join(os.Chmod(name, 0o600), os.Chown(name, another, -1)); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadPrivateKey(name); err == nil || !strings.Contains(err.Error(), "belongs to user 1234") {
			t.Errorf("a key of another user: %v", err)
		}
	}
	for text, part := range map[string]string{
		"": "not a private key in PEM",
		"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n": "private key",
	} {
		other := filepath.Join(t.TempDir(), "k")
		writeFile(t, other, text)
		if _, err := ReadPrivateKey(other); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestPublicKeyMistakes(t *testing.T) {
	good := PublicKey{1}.String()
	for _, text := range []string{"", "ed25519:", good[:len(good)-1], strings.ToUpper(good), "rsa:" + good[8:], good + "\n", PublicKey{}.String()} {
		if k, err := ParsePublicKey(text); err == nil {
			t.Errorf("%q is %v", text, k)
		}
	}
}

// A signature is of one text by one key, and of nothing else.
func TestSignature(t *testing.T) {
	key, text := testKey(t), []byte("contents")
	sig := key.Sign(text)
	back, err := parseSignature(sig.Text())
	if err != nil || back != sig || !back.Verify(text) {
		t.Fatalf("%v, %v", back, err)
	}
	other := sig
	other.Key = testKey(t).Public()
	if sig.Verify([]byte("content")) || other.Verify(text) || sig.Verify(append([]byte(signedAs), text...)) {
		t.Error("a signature of something else was accepted")
	}
	for _, wrong := range []string{"", "x", strings.TrimSuffix(string(sig.Text()), "\n"), string(sig.Text()) + "\n", strings.Replace(string(sig.Text()), " 1\n", " 2\n", 1)} {
		if _, err := parseSignature([]byte(wrong)); err == nil {
			t.Errorf("accepted %q", wrong)
		}
	}
}

func TestContentsMistakes(t *testing.T) {
	for name, text := range map[string]string{
		"empty":          "",
		"no end":         sumA + "  a",
		"one space":      sumA + " a\n",
		"short sum":      "abc  a\n",
		"outside":        sumA + "  ../a\n",
		"absolute":       sumA + "  /a\n",
		"dot":            sumA + "  ./a\n",
		"no path":        sumA + "  \n",
		"twice":          sumA + "  a\n" + sumA + "  a\n",
		"out of order":   sumA + "  b\n" + sumA + "  a\n",
		"empty line":     sumA + "  a\n\n",
		"long path":      sumA + "  " + strings.Repeat("a", maxContentsPath+1) + "\n",
		"other platform": sumA + "  a\\b\n",
	} {
		if c, err := parseContents([]byte(text)); err == nil {
			t.Errorf("%s: accepted as %v", name, c)
		}
	}
}

// A link to a folder, a pipe, and names that are this package's are not contents.
func TestContentsOfOddFolders(t *testing.T) {
	withFile := func(file string) manifest.Manifest {
		return manifest.Manifest{ID: "x", Command: "./x", Files: []string{file}}
	}
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, manifest.Name), "{}")
	writeFile(t, filepath.Join(dir, "x"), "")
	writeFile(t, filepath.Join(dir, "sub", "a"), "")
	writeFile(t, filepath.Join(dir, SumsName), "")
	if err := os.Symlink(t.TempDir(), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for file, part := range map[string]string{"link": "link to a folder", SumsName: "not for plugins", "nowhere": "no such file"} {
		if _, err := ReadContents(dir, withFile(file)); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v", file, err)
		}
	}
	c, err := ReadContents(dir, withFile("./sub"))
	if err != nil || len(c) != 3 || c[1].Path != "sub/a" {
		t.Errorf("%v, %v", c, err)
	}
}

func FuzzParseContents(f *testing.F) {
	f.Add([]byte(sumA + "  a\n" + sumB + "  b/c\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parseContents(data)
		if err == nil && !bytes.Equal(c.Text(), data) {
			t.Errorf("%q reads as %q", data, c.Text())
		}
		if s, err := parseSignature(data); err == nil && !bytes.Equal(s.Text(), data) {
			t.Errorf("%q reads as %q", data, s.Text())
		}
	})
}
