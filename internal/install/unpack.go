package install

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/internal/trust"
	"github.com/quoinhq/quoin/plugins/manifest"
)

const (
	// maxTrailer bounds what may follow the last entry: the padding of tar.
	maxTrailer = 1 << 20
	// maxEntryHead bounds what tar says of one entry, on average.
	maxEntryHead = 4 << 10
	// maxRatio is how many times the bytes of an archive may come out of it, beyond
	// freeBytes. Programs come out as three times as much.
	maxRatio  = 30
	freeBytes = 16 << 20
)

// unpackedPlugin says what was unpacked.
type unpackedPlugin struct {
	// ID is the plugin's, and the name of the folder.
	ID   string
	Sums trust.Sums
}

// unpack reads an archive and writes the plugin to a new folder in dir, named by
// its id. What stands in that folder then is what its plugin.sum lists, and its
// signature, if it has one, is good; the caller judges who the signer is. On an
// error the folder may be there in part.
func unpack(r io.Reader, dir string) (*unpackedPlugin, error) {
	return unpackWithin(r, dir, limits{files: trust.MaxContentsFiles, bytes: trust.MaxContentsBytes})
}

// limits bound an archive by what comes out of it.
type limits struct {
	files int // and folders
	bytes int64
}

// errUnfolds: an archive says more of its files than there can be to say.
var errUnfolds = errors.New("it unfolds to more than a plugin may have")

// bounded is a reader that fails where a limit is crossed.
type bounded struct {
	r    io.Reader
	left int64
	in   *counted // what it is unfolded from
	out  int64
}

// counted counts what is read.
type counted struct {
	r io.Reader
	n int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 || b.out > freeBytes+maxRatio*b.in.n {
		return 0, errUnfolds
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	b.out += int64(n)
	return n, err
}

// unpacking is the state of one Unpack.
type unpacking struct {
	dir     *os.Root
	limits  limits
	id      string
	written map[string]string // SHA-256 by path
	folded  map[string]string // path by its lower-case form
	folders map[string]bool   // below the plugin's own
	sealed  map[string][]byte
}

func unpackWithin(r io.Reader, dir string, l limits) (_ *unpackedPlugin, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	u := &unpacking{dir: root, limits: l, written: map[string]string{}, folded: map[string]string{}, folders: map[string]bool{}, sealed: map[string][]byte{}}
	packed := &counted{r: r}
	in := bufio.NewReader(packed) // gzip takes no more of it than is its own
	zr, err := gzip.NewReader(in)
	if err != nil {
		return nil, fmt.Errorf("not an archive of a plugin: %w; make one with: quoin plugin pack", err)
	}
	zr.Multistream(false)
	plain := &bounded{r: zr, left: l.bytes + int64(l.files+2)*maxEntryHead + maxTrailer, in: packed}
	tr := tar.NewReader(plain)
	for {
		header, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("the archive is damaged: %w", err)
		}
		if err := u.entry(header, tr); err != nil {
			return nil, err
		}
	}
	if err := checkEnd(plain, in); err != nil {
		return nil, err
	}
	sums, err := u.check()
	if err != nil {
		return nil, err
	}
	return &unpackedPlugin{ID: u.id, Sums: sums}, nil
}

// checkEnd reads the padding to the end, which also checks the checksum of gzip.
func checkEnd(zr io.Reader, in *bufio.Reader) error {
	rest, err := io.ReadAll(io.LimitReader(zr, maxTrailer+1))
	if err != nil {
		return fmt.Errorf("the archive is damaged: %w", err)
	}
	if len(rest) > maxTrailer || len(bytes.Trim(rest, "\x00")) > 0 {
		return errors.New("the archive goes on after its last file; make it with: quoin plugin pack")
	}
	if _, err := in.ReadByte(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the archive in its file; make it with: quoin plugin pack")
	}
	return nil
}

// entry unpacks one file.
func (u *unpacking) entry(h *tar.Header, content io.Reader) error {
	if h.Typeflag != tar.TypeReg || isSparse(h) {
		return fmt.Errorf("the archive holds %.200q, which is not a regular file; make it with: quoin plugin pack", h.Name)
	}
	id, name, _ := strings.Cut(h.Name, "/")
	if err := trust.CheckContentsPath(name); err != nil {
		return fmt.Errorf("the archive holds %.200q: %w", h.Name, err)
	}
	if err := u.folder(id); err != nil {
		return err
	}
	if err := u.claim(name); err != nil {
		return err
	}
	if len(u.written)+len(u.sealed) == u.limits.files+2 {
		return fmt.Errorf("the archive holds more than %d files", u.limits.files)
	}
	if h.Size > u.limits.bytes {
		return fmt.Errorf("what the archive holds is larger than allowed: %.200q alone has %d bytes, %d are left", h.Name, h.Size, u.limits.bytes)
	}
	u.limits.bytes -= h.Size
	if name == trust.SumsName || name == trust.SignatureName {
		return u.keep(name, content)
	}
	return u.write(name, h.FileInfo().Mode().Perm()&0o100 != 0, content)
}

// isSparse reports an entry that unfolds to more than it holds.
func isSparse(h *tar.Header) bool {
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return h.Typeflag == tar.TypeGNUSparse
}

// folder makes the plugin's folder at the first entry; all others must be in it.
func (u *unpacking) folder(id string) error {
	if u.id != "" && u.id == id {
		return nil
	}
	if u.id != "" {
		return fmt.Errorf("the archive holds the folders %q and %.80q; an archive is of one plugin", u.id, id)
	}
	if !manifest.IsID(id) {
		return fmt.Errorf("the archive holds the folder %.80q, which is not named like a plugin; make it with: quoin plugin pack", id)
	}
	u.id = id
	return u.dir.Mkdir(id, 0o755)
}

// claim refuses a path that was there before, also where capitals do not count, and
// one that takes too many folders.
func (u *unpacking) claim(name string) error {
	folded := strings.ToLower(name)
	if other, taken := u.folded[folded]; taken {
		return fmt.Errorf("the archive holds %q and %q, which are the same file on some systems", other, name)
	}
	u.folded[folded] = name
	for dir := path.Dir(name); dir != "." && !u.folders[dir]; dir = path.Dir(dir) {
		if u.folders[dir] = true; len(u.folders) > u.limits.files {
			return fmt.Errorf("the archive holds more than %d folders", u.limits.files)
		}
	}
	return nil
}

// keep remembers a file that speaks of the others, and writes it too.
func (u *unpacking) keep(name string, content io.Reader) error {
	const most = 16 << 20 // what lists may have is for their readers to say
	text, err := io.ReadAll(io.LimitReader(content, most))
	if err != nil {
		return fmt.Errorf("the archive is damaged: %w", err)
	}
	u.sealed[name] = text
	return u.create(name, 0o644, bytes.NewReader(text))
}

// write writes a file of the plugin while it is hashed.
func (u *unpacking) write(name string, executable bool, content io.Reader) error {
	mode := os.FileMode(0o644)
	if executable {
		mode = 0o755
	}
	sum := sha256.New()
	if err := u.create(name, mode, io.TeeReader(content, sum)); err != nil {
		return err
	}
	u.written[name] = hex.EncodeToString(sum.Sum(nil))
	return nil
}

// create makes a new file below the plugin's folder.
func (u *unpacking) create(name string, mode os.FileMode, content io.Reader) (err error) {
	at := u.id + "/" + name
	if err := u.dir.MkdirAll(path.Dir(at), 0o755); err != nil {
		return err
	}
	out, err := u.dir.OpenFile(at, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if _, err := io.Copy(out, content); err != nil {
		return fmt.Errorf("unpacking %s: %w", at, err)
	}
	return nil
}

// check compares what was unpacked with plugin.sum, and that with its signature.
func (u *unpacking) check() (trust.Sums, error) {
	if u.id == "" {
		return trust.Sums{}, errors.New("the archive is empty; make one with: quoin plugin pack")
	}
	if u.sealed[trust.SumsName] == nil {
		return trust.Sums{}, fmt.Errorf("the archive has no %s; make it with: quoin plugin pack", trust.SumsName)
	}
	sums, err := trust.ParseSums(u.sealed[trust.SumsName], u.sealed[trust.SignatureName])
	if err != nil {
		return trust.Sums{}, err
	}
	var got trust.Contents
	for name, sum := range u.written {
		got = append(got, trust.FileSum{Path: name, SHA256: sum})
	}
	slices.SortFunc(got, func(a, b trust.FileSum) int { return strings.Compare(a.Path, b.Path) })
	return sums, differ(sums.Contents, got)
}

// differ reports the first file that is not as it is listed.
func differ(listed, got trust.Contents) error {
	for _, f := range listed {
		switch sum := got.Sum(f.Path); {
		case sum == "":
			return fmt.Errorf("the archive lacks %s, which %s lists with sha256:%s; get it again", f.Path, trust.SumsName, f.SHA256)
		case sum != f.SHA256:
			return fmt.Errorf("%s in the archive is sha256:%s, but %s says sha256:%s; get it again", f.Path, sum, trust.SumsName, f.SHA256)
		}
	}
	for _, f := range got {
		if listed.Sum(f.Path) == "" {
			return fmt.Errorf("the archive holds %s, which %s does not list; make it with: quoin plugin pack", f.Path, trust.SumsName)
		}
	}
	return nil
}
