package resourceserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// discover asks the issuer's metadata where its keys are.
func (k *keySource) discover(ctx context.Context) (string, error) {
	addresses, err := metadataAddresses(k.config.Issuer)
	if err != nil {
		return "", err
	}
	var failures []error
	for _, address := range addresses {
		found, err := k.metadata(ctx, address)
		if err == nil {
			return found, nil
		}
		failures = append(failures, err)
	}
	return "", errors.Join(failures...)
}

// metadataAddresses returns the places where an issuer may have its metadata: the places of
// RFC 8414, then the place of OpenID Connect Discovery.
func metadataAddresses(issuer string) ([]string, error) {
	u, err := url.Parse(issuer)
	if err != nil {
		return nil, err
	}
	path := strings.TrimSuffix(u.Path, "/")
	var out []string
	for _, p := range []string{"/.well-known/oauth-authorization-server" + path, "/.well-known/openid-configuration" + path, path + "/.well-known/openid-configuration"} {
		at := *u
		at.Path = p
		if s := at.String(); len(out) == 0 || out[len(out)-1] != s {
			out = append(out, s)
		}
	}
	return out, nil
}

// metadata reads where the keys are from one document, which must be of the issuer.
func (k *keySource) metadata(ctx context.Context, address string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	resp, err := k.client.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }() // all that counts has been read
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", address, resp.Status)
	}
	var doc struct {
		Issuer  string `json:"issuer"`
		JWKSURI string `json:"jwks_uri"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&doc); err != nil {
		return "", fmt.Errorf("%s: %w", address, err)
	}
	if doc.Issuer != k.config.Issuer {
		return "", fmt.Errorf("%s is of another issuer than %s", address, k.config.Issuer)
	}
	if err := checkURL(doc.JWKSURI); err != nil {
		return "", fmt.Errorf("%s: jwks_uri %w", address, err)
	}
	return doc.JWKSURI, nil
}
