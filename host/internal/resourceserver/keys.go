package resourceserver

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/time/rate"
)

const (
	fetchTimeout = 5 * time.Second
	refreshEvery = 15 * time.Minute
	retryEvery   = 10 * time.Second // how often a fetch may be caused by tokens
	maxKeyAge    = 24 * time.Hour   // of keys that cannot be fetched again
	maxDocument  = 1 << 20          // bytes of a key set or of metadata
)

// keySource keeps the issuer's keys.
type keySource struct {
	ctx    context.Context // ends what the library started
	config Config
	client *http.Client
	clock  func() time.Time
	retry  time.Duration

	fetched atomic.Int64 // when a key set arrived last, in Unix nanoseconds
	failed  atomic.Bool  // the last fetch failed

	mu       sync.Mutex
	attempts *rate.Limiter
	keys     keyfunc.Keyfunc // nil until the address of the key set is known
}

func newKeySource(ctx context.Context, c Config, base http.RoundTripper, clock func() time.Time, retry time.Duration) *keySource {
	return &keySource{
		ctx: ctx, config: c, clock: clock, retry: retry,
		client: &http.Client{
			Transport:     bounded{base},
			Timeout:       fetchTimeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		attempts: rate.NewLimiter(rate.Every(retry), 1),
	}
}

// find returns the key that a token names.
func (k *keySource) find(ctx context.Context, token *jwt.Token) (any, error) {
	keys, err := k.open()
	if err != nil {
		return nil, err
	}
	key, err := keys.KeyfuncCtx(ctx)(token)
	if k.clock().Sub(time.Unix(0, k.fetched.Load())) > maxKeyAge {
		return nil, errUnavailable
	}
	if errors.Is(err, jwkset.ErrKeyNotFound) && k.failed.Load() {
		return nil, errUnavailable // it may be a new key
	}
	return key, err
}

// open returns the keys, after it has found out where they are.
func (k *keySource) open() (keyfunc.Keyfunc, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.keys != nil {
		return k.keys, nil
	}
	if !k.attempts.Allow() {
		return nil, errUnavailable
	}
	ctx, cancel := context.WithTimeout(k.ctx, 3*fetchTimeout) // not the request's: others wait for it too
	defer cancel()
	address := k.config.JWKSURL
	if address == "" {
		var err error
		if address, err = k.discover(ctx); err != nil {
			k.config.Logger.Warn("the identity provider's metadata cannot be had; its tokens are refused", "issuer", k.config.Issuer, "error", err)
			return nil, errUnavailable
		}
	}
	keys, err := k.keysAt(address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnavailable, err)
	}
	k.keys = keys
	return keys, nil
}

// keysAt fetches the key set at an address and keeps it fresh.
func (k *keySource) keysAt(address string) (keyfunc.Keyfunc, error) {
	remote, err := jwkset.NewStorageFromHTTP(address, jwkset.HTTPClientStorageOptions{
		Client: k.client, Ctx: k.ctx, HTTPTimeout: fetchTimeout, RefreshInterval: refreshEvery,
		Storage:                   &arrivals{MemoryJWKSet: jwkset.NewMemoryStorage(), source: k},
		NoErrorReturnFirstHTTPReq: true,
		RefreshErrorHandler: func(_ context.Context, err error) {
			k.failed.Store(true)
			k.config.Logger.Warn("the identity provider's keys cannot be fetched", "issuer", k.config.Issuer, "error", err)
		},
	})
	if err != nil {
		return nil, err
	}
	storage, err := jwkset.NewHTTPClient(jwkset.HTTPClientOptions{
		HTTPURLs: map[string]jwkset.Storage{address: remote}, RateLimitWaitMax: fetchTimeout,
		RefreshUnknownKID: rate.NewLimiter(rate.Every(k.retry), 1),
	})
	if err != nil {
		return nil, err
	}
	return keyfunc.New(keyfunc.Options{Ctx: k.ctx, Storage: storage, UseWhitelist: []jwkset.USE{jwkset.UseSig, ""}})
}

// arrivals notes when a key set has arrived.
type arrivals struct {
	*jwkset.MemoryJWKSet
	source *keySource
}

// KeyReplaceAll implements jwkset.Storage. The library calls it with a whole new set.
func (a *arrivals) KeyReplaceAll(ctx context.Context, keys []jwkset.JWK) error {
	a.source.fetched.Store(a.source.clock().UnixNano())
	a.source.failed.Store(false)
	return a.MemoryJWKSet.KeyReplaceAll(ctx, keys)
}

// bounded cuts what an answer may have.
type bounded struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := cmp.Or(b.base, http.DefaultTransport).RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body := http.MaxBytesReader(nil, resp.Body, maxDocument)
	text := bufio.NewReader(body)
	const mark = "\ufeff" // some servers put it before their JSON
	if start, err := text.Peek(len(mark)); err == nil && string(start) == mark {
		_, _ = text.Discard(len(mark)) // it is there
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{text, body}
	return resp, nil
}
