package pipeline

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/view"
)

// keptValues are values that were too large for the results of their runs. A later
// program of the same session reads them as files, so that no model has to repeat calls
// to see what they have returned. They are in memory alone, and the oldest make room.
// Their names can be guessed, so that nothing is kept for callers that name neither an
// agent nor a session: any of them would read it.
type keptValues struct {
	mu    sync.Mutex
	last  uint64
	list  []keptValue // oldest first
	bytes int
}

type keptValue struct {
	name    string
	owner   codemode.Session
	value   json.RawMessage
	expires time.Time
}

// Bounds of what is kept: of one session in number, and of all of them in bytes.
const (
	maxKeptOfSession = 4
	maxKeptBytes     = 64 << 20
)

// prefixKept is where programs find kept values with API.read.
const prefixKept = "kept/"

// put keeps a value until expires, and returns the path of its file; "" if it is too
// large, or if its owner has no identity.
func (k *keptValues) put(owner codemode.Session, value json.RawMessage, expires time.Time) (path string) {
	if len(value) > maxKeptBytes || owner.Identity() == "" {
		return ""
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	own := 0
	for _, v := range k.list {
		if v.owner.Owns(owner) {
			own++
		}
	}
	k.drop(func(v *keptValue) bool {
		if v.owner.Owns(owner) && own >= maxKeptOfSession {
			own--
			return true
		}
		return !time.Now().Before(v.expires)
	})
	over := k.bytes + len(value) - maxKeptBytes
	k.drop(func(v *keptValue) bool {
		if over <= 0 {
			return false
		}
		over -= len(v.value)
		return true
	})
	k.last++
	name := strconv.FormatUint(k.last, 10) + ".json"
	k.list = append(k.list, keptValue{name, owner, slices.Clone(value), expires})
	k.bytes += len(value)
	return prefixKept + name
}

// drop removes the values that a function chooses, oldest first. The caller holds mu.
func (k *keptValues) drop(chosen func(*keptValue) bool) {
	k.list = slices.DeleteFunc(k.list, func(v keptValue) bool {
		if !chosen(&v) {
			return false
		}
		k.bytes -= len(v.value)
		return true
	})
}

// file serves a kept value of a session, and what is said of it.
func (k *keptValues) file(caller codemode.Session, path string) (data []byte, found bool) {
	name, ok := strings.CutPrefix(path, prefixKept)
	if !ok {
		return nil, false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, v := range k.list {
		switch {
		case !v.owner.Owns(caller) || !time.Now().Before(v.expires):
		case name == v.name:
			return v.value, true
		case name == v.name+view.SuffixEntry:
			return view.Encode(view.DeclarationEntry{Path: prefixKept + v.name, Description: "A value that was too large for its result.", Bytes: len(v.value)}), true
		}
	}
	return nil, false
}
