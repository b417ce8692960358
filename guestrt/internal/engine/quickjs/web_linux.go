//go:build linux && (amd64 || arm64)

package quickjs

import (
	"crypto/sha256"
	"encoding/json"
	"math/rand/v2"
	"strings"

	"github.com/quoinhq/quoin/guestrt/internal/engine/weburl"
	"github.com/quoinhq/quoin/guestrt/internal/prelude"
)

// maxPath bounds the path of a virtual file, in bytes.
const maxPath = 1024

// file returns the text of a virtual file.
func (v *vm) file(path string) (data []byte, found bool) {
	if v.files == nil {
		return nil, false
	}
	return v.files(path)
}

// script returns the text that native.extra evaluates: an extra of the prelude's, or a
// saved program, which the host has.
func (v *vm) script(name string) (text string, found bool) {
	if !strings.HasPrefix(name, prelude.ProgramFolder) {
		return prelude.Extra(name)
	}
	data, found := v.file(name)
	return string(data), found
}

// newRandom makes the source of a VM's crypto object. It is no part of an image:
// a guest that is restored draws from a new seed.
func newRandom(seed [32]byte) *rand.ChaCha8 {
	return rand.NewChaCha8(sha256.Sum256(append([]byte("crypto\x00"), seed[:]...)))
}

// fillRandom fills a part of a buffer of the guest's.
func (v *vm) fillRandom(part []byte) {
	v.drawn += uint64(len(part))
	if _, err := v.random.Read(part); err != nil {
		panic("quickjs: ChaCha8 cannot fail: " + err.Error())
	}
}

// urlParts is a JSON array of the parts of a URL: href, base, part, value. The last
// three may be nil.
func urlParts(args [4]*string) (text []byte, ok bool) {
	if args[0] == nil {
		return nil, false
	}
	var parts weburl.Parts
	if args[2] != nil && args[3] != nil {
		parts, ok = weburl.Change(*args[0], *args[2], *args[3])
	} else {
		parts, ok = weburl.Parse(*args[0], args[1])
	}
	if !ok {
		return nil, false
	}
	text, err := json.Marshal(parts)
	if err != nil {
		panic("quickjs: strings cannot be encoded: " + err.Error())
	}
	return text, true
}
