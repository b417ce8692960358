package oauth

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"github.com/quoinhq/quoin/host/codemode"
)

// Server is a server on the network that may want a sign-in.
type Server struct {
	Name, URL string
	// PerUser has each agent and session key sign in.
	PerUser bool
	// ClientID and ClientSecret are the credentials of a client that is registered with
	// Issuer.
	ClientID     string
	ClientSecret func() (string, error)
	Issuer       string
	// ClientMetadataURL is the address of a client id metadata document.
	ClientMetadataURL string
	// Scopes are asked for instead of those that the server names.
	Scopes []string
	// CallbackPort is where Login listens; 0 is a free port.
	CallbackPort int
	// PrivateNetwork lets endpoints have private addresses.
	PrivateNetwork bool
}

// Owner is who consents. The zero Owner is the host.
type Owner struct {
	User                bool
	AgentID, SessionKey string
	// SessionID is the id of a session that names neither: only the id tells it from others.
	SessionID string
}

// OwnerOf returns the owner of the sign-in that the calls of a session use.
func (s *Server) OwnerOf(c codemode.Session) Owner {
	if !s.PerUser {
		return Owner{}
	}
	o := Owner{User: true, AgentID: c.AgentID, SessionKey: c.SessionKey}
	if o.AgentID == "" && o.SessionKey == "" {
		o.SessionID = c.SessionID
	}
	return o
}

// id names the files of one server and owner.
func (s *Server) id(o Owner) string {
	return hashed("grant", s.Name, s.URL, s.ClientID, fmt.Sprint(o.User), o.AgentID, o.SessionKey, o.SessionID)
}

// hashed returns a name for a file, made of parts that may say too much.
func hashed(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p) // a hash does not fail
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Check says what keeps a server from being signed in to.
func (s *Server) Check() error {
	u, err := url.Parse(s.URL)
	if err != nil {
		return errors.New("its address is not one")
	}
	if u.Scheme != "https" && !isLoopback(u.Hostname()) {
		return errors.New("tokens are sent over https, or to this machine; its address is neither")
	}
	if s.ClientMetadataURL != "" {
		m, err := url.Parse(s.ClientMetadataURL)
		if err != nil || m.Scheme != "https" || m.Host == "" || strings.Trim(m.Path, "/") == "" || m.Fragment != "" || m.User != nil {
			return errors.New("clientMetadataUrl must be an https address with a path")
		}
	}
	return nil
}

// isLoopback reports whether a name or address is one of this machine's own.
func isLoopback(name string) bool {
	if strings.EqualFold(name, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(strings.Trim(name, "[]"))
	return err == nil && ip.Unmap().IsLoopback()
}

// hostPort is where the server of a URL listens.
func hostPort(u *url.URL) string {
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "http":
		port = "80"
	default:
		port = "443"
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}
