package install

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/internal/trust"
	"github.com/quoinhq/quoin/plugins/manifest"
)

func writeTree(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

const weatherManifest = `{"id": "weather", "version": "1.2.0", "protocol": 1, "command": {"linux/amd64": "./bin/linux", "windows/amd64": "bin/windows.exe"}, "files": ["data"]}`

// weather makes a plugin's folder for two platforms, with files that are not the
// plugin's.
func weather(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	writeTree(t, dir, map[string]string{
		"plugin.json": weatherManifest, "bin/linux": "ELF", "bin/windows.exe": "MZ", "data/a.txt": "a",
		"data/" + strings.Repeat("long-", 30) + "é": "b", "main.go": "package main", ".git/HEAD": "ref",
	})
	return dir
}

func pack(t testing.TB, dir string, key *trust.PrivateKey) ([]byte, *Packed) {
	t.Helper()
	var b bytes.Buffer
	p, err := Pack(&b, dir, key)
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), p
}

func newKey(t testing.TB) *trust.PrivateKey {
	t.Helper()
	k, err := trust.NewPrivateKey()
	if err != nil {
		t.Fatal(err)
	}
	return &k
}

// Equal plugins make equal archives, wherever they lie and however old they are.
func TestPackIsReproducible(t *testing.T) {
	one, other, key := weather(t), weather(t), newKey(t)
	err := filepath.WalkDir(other, func(at string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		old := time.Date(1999, 1, 2, 3, 4, 5, 6, time.UTC)
		return first(os.Chtimes(at, old, old), os.Chmod(at, 0o640))
	})
	if err != nil {
		t.Fatal(err)
	}
	writeTree(t, other, map[string]string{"notes": "not the plugin's"})
	for _, k := range []*trust.PrivateKey{nil, key} {
		a, p := pack(t, one, k)
		b, _ := pack(t, other, k)
		if !bytes.Equal(a, b) {
			t.Errorf("signed %v: %d and %d bytes that differ", k != nil, len(a), len(b))
		}
		sum := sha256.Sum256(a)
		if p.SHA256 != hex.EncodeToString(sum[:]) || p.Bytes != int64(len(a)) || ArchiveName(p.Manifest) != "weather-1.2.0.tar.gz" {
			t.Errorf("%+v of %d bytes", p, len(a))
		}
	}
	writeTree(t, other, map[string]string{"data/a.txt": "changed"})
	a, _ := pack(t, one, nil)
	if b, _ := pack(t, other, nil); bytes.Equal(a, b) {
		t.Error("another plugin makes the same archive")
	}
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// What was packed comes out again: all of the plugin and nothing else.
func TestPackAndUnpack(t *testing.T) {
	key := newKey(t)
	packed, p := pack(t, weather(t), key)
	dir := t.TempDir()
	u, err := unpack(bytes.NewReader(packed), dir)
	if err != nil {
		t.Fatal(err)
	}
	if u.ID != "weather" || u.Sums.Signer() != key.Public() {
		t.Errorf("%q signed by %v", u.ID, u.Sums.Signer())
	}
	own := filepath.Join(dir, "weather")
	m, err := manifest.Read(own)
	if err != nil {
		t.Fatal(err)
	}
	got, err := trust.ReadContents(own, m)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p.Contents, got); diff != "" {
		t.Error(diff)
	}
	var names []string
	for _, f := range got {
		names = append(names, f.Path)
	}
	if text := strings.Join(names, " "); strings.Contains(text, "main.go") || strings.Contains(text, ".git") || len(names) != 5 {
		t.Errorf("packed %s", text)
	}
	seal, err := trust.ReadSums(own)
	if err != nil || seal.Signer() != key.Public() {
		t.Errorf("%v, %v", seal, err)
	}
	if info, err := os.Stat(filepath.Join(own, "bin", "linux")); err != nil || runtime.GOOS != "windows" && info.Mode().Perm()&0o100 == 0 {
		t.Errorf("the binary: %v, %v", info.Mode(), err)
	}
	if info, err := os.Stat(filepath.Join(own, "data", "a.txt")); err != nil || info.Mode().Perm()&0o100 != 0 && runtime.GOOS != "windows" {
		t.Errorf("a file: %v, %v", info.Mode(), err)
	}
}

// A plugin that is not whole, or not what it says, is not packed.
func TestPackRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(dir string)
		part   string
	}{
		"no manifest":  {func(dir string) { must(t, os.Remove(filepath.Join(dir, "plugin.json"))) }, "plugin.json"},
		"bad manifest": {func(dir string) { writeTree(t, dir, map[string]string{"plugin.json": "{}"}) }, `"command": missing`},
		"no binary":    {func(dir string) { must(t, os.Remove(filepath.Join(dir, "bin", "windows.exe"))) }, "windows.exe"},
		"no files":     {func(dir string) { must(t, os.RemoveAll(filepath.Join(dir, "data"))) }, "data"},
		"another sum": {func(dir string) {
			writeTree(t, dir, map[string]string{"plugin.json": strings.Replace(weatherManifest, `"files"`, `"sha256": {"linux/amd64": "`+strings.Repeat("a", 64)+`"}, "files"`, 1)})
		}, "bin/linux has the checksum"},
	} {
		dir := weather(t)
		tt.change(dir)
		if _, err := Pack(io.Discard, dir, nil); err == nil || !strings.Contains(err.Error(), tt.part) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// entry is one entry of an archive made by hand.
type entry struct {
	tar.Header
	text string
}

func file(name, text string) entry {
	return entry{tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644}, text}
}

// archiveOf makes an archive by hand, with a plugin.sum that is true of the regular
// files below x/ unless one is given.
func archiveOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	zw := gzip.NewWriter(&b)
	tw := tar.NewWriter(zw)
	for _, e := range entries {
		if e.Typeflag == tar.TypeReg && e.Size == 0 {
			e.Size = int64(len(e.text))
		}
		must(t, tw.WriteHeader(&e.Header))
		if _, err := io.WriteString(tw, e.text); err != nil {
			t.Fatal(err)
		}
	}
	must(t, tw.Close())
	must(t, zw.Close())
	return b.Bytes()
}

func sums(files ...string) entry {
	var b strings.Builder
	for i := 0; i < len(files); i += 2 {
		sum := sha256.Sum256([]byte(files[i+1]))
		fmt.Fprintf(&b, "%x  %s\n", sum, files[i])
	}
	return file("x/plugin.sum", b.String())
}

// hostile are archives that Unpack must refuse, and what it says.
func hostile(t testing.TB) map[string]struct {
	archive []byte
	part    string
} {
	link := func(kind byte, name, to string) entry {
		return entry{tar.Header{Typeflag: kind, Name: name, Linkname: to}, ""}
	}
	good := archiveOf(t, sums("a", "1"), file("x/a", "1"))
	signed, _ := pack(t, weather(t), newKey(t))
	type one = struct {
		archive []byte
		part    string
	}
	out := map[string]one{
		"nothing":            {nil, "not an archive"},
		"no gzip":            {[]byte("PK\x03\x04"), "not an archive"},
		"empty":              {archiveOf(t), "is empty"},
		"traversal":          {archiveOf(t, sums("a", "1"), file("x/../../evil", "1")), "not a path inside"},
		"traversal at once":  {archiveOf(t, file("../evil", "1")), "holds the folder"},
		"absolute":           {archiveOf(t, file("/etc/passwd", "1")), "holds the folder"},
		"backslash":          {archiveOf(t, file(`x/..\evil`, "1")), "not a path inside"},
		"drive":              {archiveOf(t, file(`x/c:evil`, "1")), "not a path inside"},
		"dot":                {archiveOf(t, file("x/./a", "1")), "not a path inside"},
		"no folder":          {archiveOf(t, file("plugin.json", "{}")), "not a path inside"},
		"control characters": {archiveOf(t, file("x/a\x1b[2J", "1")), "not a path inside"},
		"a folder's name":    {archiveOf(t, file("X Y/a", "1")), "not named like a plugin"},
		"two folders":        {archiveOf(t, file("x/a", "1"), file("y/a", "1")), `folders "x" and "y"`},
		"symbolic link":      {archiveOf(t, link(tar.TypeSymlink, "x/a", "/etc/passwd")), "not a regular file"},
		"link to a folder":   {archiveOf(t, link(tar.TypeSymlink, "x/d", ".."), file("x/d/evil", "1")), "not a regular file"},
		"hard link":          {archiveOf(t, link(tar.TypeLink, "x/a", "/etc/passwd")), "not a regular file"},
		"device":             {archiveOf(t, link(tar.TypeChar, "x/a", "")), "not a regular file"},
		"pipe":               {archiveOf(t, link(tar.TypeFifo, "x/a", "")), "not a regular file"},
		"folder entry":       {archiveOf(t, link(tar.TypeDir, "x/", "")), "not a regular file"},
		"twice":              {archiveOf(t, sums("a", "1"), file("x/a", "1"), file("x/a", "2")), "same file on some systems"},
		"twice by capitals":  {archiveOf(t, sums("a", "1"), file("x/a", "1"), file("x/A", "2")), "same file on some systems"},
		"file and folder":    {archiveOf(t, file("x/a", "1"), file("x/a/b", "2")), "a"},
		"no list":            {archiveOf(t, file("x/a", "1")), "no plugin.sum"},
		"list is wrong":      {archiveOf(t, sums("a", "2"), file("x/a", "1")), "a in the archive is sha256:"},
		"list is short":      {archiveOf(t, sums("a", "1"), file("x/a", "1"), file("x/b", "1")), "does not list"},
		"list is long":       {archiveOf(t, sums("a", "1", "b", "1"), file("x/a", "1")), "lacks b"},
		"list of nothing":    {archiveOf(t, sums(), file("x/a", "1")), "is empty"},
		"no signature":       {archiveOf(t, sums("a", "1"), file("x/plugin.sig", "mine"), file("x/a", "1")), "not a signature"},
		"another signature": {archiveOf(t, sums("a", "1"), file("x/plugin.sig", string(newKey(t).Sign([]byte("other")).Text())), file("x/a", "1")),
			"not of plugin.sum as it is"},
		"cut off":           {good[:len(good)-1], "damaged"},
		"cut in the middle": {signed[:len(signed)/2], "damaged"},
		"something behind":  {append(bytes.Clone(good), 'x'), "something follows"},
		"two archives":      {append(bytes.Clone(good), good...), "something follows"},
		"too large":         {archiveOf(t, sums("a", strings.Repeat("0", 4<<10)), file("x/a", strings.Repeat("0", 4<<10))), "larger than allowed"},
		"many small":        {archiveOf(t, file("x/a", strings.Repeat("0", 600)), file("x/b", strings.Repeat("0", 600))), "larger than allowed"},
		"many files":        {archiveOf(t, file("x/a", ""), file("x/b", ""), file("x/c", ""), file("x/d", ""), file("x/e", ""), file("x/f", ""), file("x/g", "")), "more than 4 files"},
	}
	out["sparse"] = one{sparse(t), "not a regular file"}
	out["many folders"] = one{archiveOf(t, file("x/1/2/3/4/5/a", "")), "more than 4 folders"}
	out["headers without end"] = one{headers(t, 2<<20), "unfolds to more"}
	var goesOn bytes.Buffer
	zw := gzip.NewWriter(&goesOn)
	tw := tar.NewWriter(zw)
	must(t, tw.Close())
	_, err := zw.Write(bytes.Repeat([]byte("x"), 2048))
	must(t, err)
	must(t, zw.Close())
	out["more than tar says"] = one{goesOn.Bytes(), "goes on after its last file"}
	return out
}

// sparse is an archive of a file that says of itself, as GNU tar does, that there is
// more of it than the archive holds. The package tar does not write such records.
func sparse(t testing.TB) []byte {
	t.Helper()
	var plain, b bytes.Buffer
	tw := tar.NewWriter(&plain)
	h := file("x/a", "1").Header
	h.Size, h.PAXRecords = 1, map[string]string{"QUO.sparse.realsize": "1000000000000"}
	must(t, tw.WriteHeader(&h))
	_, err := tw.Write([]byte("1"))
	must(t, first(err, tw.Close()))
	zw := gzip.NewWriter(&b)
	_, err = zw.Write(bytes.Replace(plain.Bytes(), []byte("QUO.sparse."), []byte("GNU.sparse."), 1))
	must(t, first(err, zw.Close()))
	return b.Bytes()
}

// headers is an archive of headers that speak of a file which never comes: no entry
// stands between them that would be counted.
func headers(t testing.TB, size int) []byte {
	t.Helper()
	var one bytes.Buffer
	tw := tar.NewWriter(&one)
	must(t, tw.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "x/a", PAXRecords: map[string]string{"QUOIN.pad": strings.Repeat("0", 64<<10)}}))
	head := one.Bytes()[:one.Len()-512] // without the file's header
	var b bytes.Buffer
	zw := gzip.NewWriter(&b)
	for n := 0; n < size; n += len(head) {
		_, err := zw.Write(head)
		must(t, err)
	}
	must(t, zw.Close())
	return b.Bytes()
}

// Nothing that Pack has not made is unpacked, and nothing of it leaves the folder.
func TestUnpackRefuses(t *testing.T) {
	small := limits{files: 4, bytes: 1 << 10}
	for name, tt := range hostile(t) {
		t.Run(name, func(t *testing.T) {
			outer := t.TempDir()
			dir := filepath.Join(outer, "in")
			must(t, os.Mkdir(dir, 0o700))
			_, err := unpackWithin(bytes.NewReader(tt.archive), dir, small)
			if err == nil || !strings.Contains(err.Error(), tt.part) {
				t.Errorf("got %v, want something of %q", err, tt.part)
			}
			onlyInside(t, outer)
		})
	}
	dir := t.TempDir()
	if u, err := unpackWithin(bytes.NewReader(archiveOf(t, sums("a", "1"), file("x/a", "1"))), dir, small); err != nil || u.ID != "x" {
		t.Errorf("the archive that the others are made of: %v, %v", u, err)
	}
}

// onlyInside requires that outer holds "in" and nothing else, and "in" no links.
func onlyInside(t testing.TB, outer string) {
	t.Helper()
	entries, err := os.ReadDir(outer)
	if err != nil || len(entries) != 1 {
		t.Errorf("outside: %v, %v", entries, err)
	}
	err = filepath.WalkDir(outer, func(at string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && !e.Type().IsRegular() {
			t.Errorf("%s is a %v", at, e.Type())
		}
		return err
	})
	must(t, err)
}

// A bomb stops at the limit, not when it has gone off: what comes out is counted,
// not what goes in.
func TestUnpackStopsABomb(t *testing.T) {
	var b bytes.Buffer
	zw := gzip.NewWriter(&b)
	tw := tar.NewWriter(zw)
	must(t, tw.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "x/a", Mode: 0o644, Size: 1 << 40}))
	_, err := io.CopyN(tw, zeros{}, 1<<20)
	must(t, err)
	must(t, zw.Close())
	dir := t.TempDir()
	if _, err := unpack(&b, dir); err == nil || !strings.Contains(err.Error(), "larger than allowed") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "x", "a")); !os.IsNotExist(err) {
		t.Errorf("something was written: %v", err)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// FuzzUnpack is given what lies under the compression, and now and then that.
func FuzzUnpack(f *testing.F) {
	add := func(archive []byte) {
		f.Add(false, archive)
		zr, err := gzip.NewReader(bytes.NewReader(archive))
		if err != nil {
			return
		}
		plain, err := io.ReadAll(zr)
		if err == nil {
			f.Add(true, plain)
		}
	}
	for _, tt := range hostile(f) {
		add(tt.archive)
	}
	good, _ := pack(f, weather(f), newKey(f))
	add(good)
	add(archiveOf(f, sums("a", "1"), file("x/a", "1")))
	f.Fuzz(func(t *testing.T, plain bool, data []byte) {
		if plain {
			var b bytes.Buffer
			zw, err := gzip.NewWriterLevel(&b, gzip.NoCompression)
			must(t, err)
			_, err = zw.Write(data)
			must(t, err)
			must(t, zw.Close())
			data = b.Bytes()
		}
		outer := t.TempDir()
		dir := filepath.Join(outer, "in")
		must(t, os.Mkdir(dir, 0o700))
		u, err := unpackWithin(bytes.NewReader(data), dir, limits{files: 8, bytes: 1 << 16})
		onlyInside(t, outer)
		if err != nil {
			return
		}
		for _, listed := range u.Sums.Contents {
			b, err := os.ReadFile(filepath.Join(dir, u.ID, filepath.FromSlash(listed.Path)))
			if sum := sha256.Sum256(b); err != nil || hex.EncodeToString(sum[:]) != listed.SHA256 {
				t.Errorf("%s is not what is listed: %v", listed.Path, err)
			}
		}
	})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
