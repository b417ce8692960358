package install

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/internal/trust"
	"github.com/quoinhq/quoin/plugins/manifest"
)

// Packed says what Pack has packed.
type Packed struct {
	Manifest manifest.Manifest
	Contents trust.Contents
	// Signer is the key that signed them; zero if they are not signed.
	Signer trust.PublicKey
	// SHA256 is the hash of the archive, in hex.
	SHA256 string
	// Bytes is the archive's size.
	Bytes int64
}

// ArchiveName is what an archive of a plugin is usually called.
func ArchiveName(m manifest.Manifest) string { return m.ID + "-" + m.Version + ArchiveExtension }

// ArchiveExtension ends the names of archives.
const ArchiveExtension = ".tar.gz"

// Pack writes the plugin in dir to w, signed if key is not nil. Every platform's
// binary has to be there, and be what the manifest's sha256 says; that the plugin
// works is for others to find out. It may be packed on any platform.
func Pack(w io.Writer, dir string, key *trust.PrivateKey) (*Packed, error) {
	m, err := manifest.Read(dir)
	if err != nil {
		return nil, err
	}
	contents, err := trust.ReadContents(dir, m)
	if err != nil {
		return nil, err
	}
	if err := checkSums(m, contents); err != nil {
		return nil, err
	}
	p := &Packed{Manifest: m, Contents: contents}
	sums := contents.Text()
	sealed := map[string][]byte{trust.SumsName: sums}
	if key != nil {
		p.Signer = key.Public()
		sealed[trust.SignatureName] = key.Sign(sums).Text()
	}
	sum := sha256.New()
	counted := &counter{w: io.MultiWriter(w, sum)}
	if err := writeArchive(counted, dir, p, sealed); err != nil {
		return nil, err
	}
	p.SHA256, p.Bytes = hex.EncodeToString(sum.Sum(nil)), counted.n
	return p, nil
}

// checkSums holds the binaries against the manifest's own checksums.
func checkSums(m manifest.Manifest, c trust.Contents) error {
	for platform, binary := range m.Binaries() {
		if want, got := m.SHA256[platform], c.Sum(binary); want != "" && want != got {
			return &manifest.Error{Field: "sha256", Problem: fmt.Sprintf("%s has the checksum %s, not %s as it says for %s", binary, got, want, platform),
				Fix: "correct it, or build the binary again"}
		}
	}
	return nil
}

// writeArchive writes the archive: what is sealed first, so that it is known before the
// rest is read.
func writeArchive(w io.Writer, dir string, p *Packed, sealed map[string][]byte) error {
	zw := gzip.NewWriter(w)
	tw := tar.NewWriter(zw)
	for _, name := range []string{trust.SumsName, trust.SignatureName} {
		text, ok := sealed[name]
		if !ok {
			continue
		}
		if err := writeEntry(tw, p.Manifest.ID+"/"+name, 0o644, int64(len(text)), strings.NewReader(string(text))); err != nil {
			return err
		}
	}
	for _, f := range p.Contents {
		if err := writeFile(tw, dir, p.Manifest, f); err != nil {
			return err
		}
	}
	return errors.Join(tw.Close(), zw.Close())
}

// writeFile writes one file of the plugin, which must still be what was hashed.
func writeFile(tw *tar.Writer, dir string, m manifest.Manifest, f trust.FileSum) (err error) {
	in, err := os.Open(filepath.Join(dir, filepath.FromSlash(f.Path)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	mode := int64(0o644)
	for _, binary := range m.Binaries() {
		if binary == f.Path {
			mode = 0o755
		}
	}
	sum := sha256.New()
	if err := writeEntry(tw, m.ID+"/"+f.Path, mode, info.Size(), io.TeeReader(in, sum)); err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	if hex.EncodeToString(sum.Sum(nil)) != f.SHA256 {
		return fmt.Errorf("%s has changed while it was packed; pack the plugin again", f.Path)
	}
	return nil
}

func writeEntry(tw *tar.Writer, name string, mode, size int64, content io.Reader) error {
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: size, Format: formatFor(name)}
	if err := tw.WriteHeader(header); err != nil {
		return err
	}
	_, err := io.Copy(tw, content)
	return err
}

// formatFor is the plainest format that can hold a name: it says no more than
// there is to say.
func formatFor(name string) tar.Format {
	plain := !slices.ContainsFunc([]byte(name), func(b byte) bool { return b >= 0x80 })
	if plain && len(name) <= 100 {
		return tar.FormatUSTAR
	}
	return tar.FormatPAX
}

// counter counts what is written.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}
