package node

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"

	"github.com/quoinhq/quoin/internal/mutualtls"
)

// tokenPrefix tells tokens from other texts, and versions of tokens apart.
const tokenPrefix = "quoin-node-1."

// secretBytes is the length of an invitation's secret.
const secretBytes = 32

// token is an invitation as it is handed over: the node's key, so that the gateway talks
// to that node and no other, and a secret that counts once.
type token struct {
	node   mutualtls.Fingerprint
	secret [secretBytes]byte
}

// String is the text to hand over.
func (t token) String() string {
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(append(t.node[:], t.secret[:]...))
}

// parseToken reads what String writes.
func parseToken(s string) (t token, err error) {
	text, ok := strings.CutPrefix(strings.TrimSpace(s), tokenPrefix)
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if !ok || err != nil || len(raw) != len(t.node)+secretBytes {
		return t, errors.New("the token is not whole: take all of what quoin node invite prints on the node")
	}
	copy(t.node[:], raw)
	copy(t.secret[:], raw[len(t.node):])
	return t, nil
}

// invitationName is the name of an invitation's file. Who reads the directory does not
// learn the secret.
func invitationName(secret []byte) string {
	return mutualtls.Fingerprint(sha256.Sum256(secret)).String()
}
