package mcpserver

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/quoinhq/quoin/host"
)

// requestState is what a client carries from a result that asks for input to the call
// that brings it. It is sealed: a client can neither read nor make one.
type requestState struct {
	// Caller is the identity of the session that was asked.
	Caller string `json:"caller"`
	// Call is a digest of the tool and its arguments: the answers come with the same.
	Call string `json:"call"`
	// RunID is the run that waits for the answers.
	RunID string `json:"run"`
	// Approvals are the ids of the approvals that were put to the caller.
	Approvals []string `json:"approvals"`
	// Round counts how often the caller was asked.
	Round   int       `json:"round"`
	Expires time.Time `json:"expires"`
}

// Limits of the states that clients carry.
const (
	maxState      = 16 << 10 // bytes of a sealed one
	maxRounds     = 64       // how often one call asks its caller
	maxStateHours = 24
)

// What is wrong with a state. The messages are for the client's developer or user.
var (
	errForged  = errors.New("requestState is not one that this server has made: send back what it sent, unchanged")
	errExpired = errors.New("requestState has expired: call again without it")
	errMoved   = errors.New("requestState belongs to another session: the session that was asked has to answer")
	errOther   = errors.New("requestState belongs to another call: repeat the call that it came from, with the same arguments")
)

// stateLabel keeps what the same key seals for other purposes from being taken for a
// state.
var stateLabel = []byte("quoin mcp request state 1")

// newCipher returns a cipher with a key of this process alone.
func newCipher() (cipher.AEAD, error) {
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// sealState returns a state as clients carry it.
func (s *Server) sealState(st requestState) (string, error) {
	b, err := json.Marshal(st)
	if err != nil {
		return "", err
	}
	nonce := make([]byte, s.options.Cipher.NonceSize())
	if _, err := rand.Read(nonce); err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(s.options.Cipher.Seal(nonce, nonce, b, stateLabel)), nil
}

// openState returns the state that a caller has sent with a call.
func (s *Server) openState(sealed string, caller host.Session, call string, now time.Time) (st requestState, err error) {
	if len(sealed) > maxState {
		return st, errForged
	}
	b, err := base64.RawURLEncoding.DecodeString(sealed)
	size := s.options.Cipher.NonceSize()
	if err != nil || len(b) < size || base64.RawURLEncoding.EncodeToString(b) != sealed { // one state has one text
		return st, errForged
	}
	b, err = s.options.Cipher.Open(nil, b[:size], b[size:], stateLabel)
	if err != nil || json.Unmarshal(b, &st) != nil {
		return st, errForged
	}
	switch {
	case st.Caller != identity(caller):
		return st, errMoved
	case st.Call != call:
		return st, errOther
	case !now.Before(st.Expires):
		return st, errExpired
	}
	return st, nil
}

// callDigest tells calls apart: by tool and arguments.
func callDigest(tool string, arguments []byte) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s %s", len(tool), tool, arguments))
	return hex.EncodeToString(sum[:])
}
