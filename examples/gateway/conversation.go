package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"sync"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/modeltools"
)

// conversation is all that another process needs to continue: what was said, in the
// words of the provider's API, and the calls that have no answer yet.
type conversation struct {
	ID       string              `json:"id"`
	Provider modeltools.Provider `json:"provider"`
	// Items are the messages so far, as the provider takes them.
	Items []json.RawMessage `json:"items"`
	// Calls are the calls of the model's last reply, until all of them are answered.
	Calls []call `json:"calls,omitempty"`
	// ModelsTurn says that the last item is for the model to reply to.
	ModelsTurn bool `json:"modelsTurn,omitempty"`
}

// call is one tool call of a model.
type call struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // the model's: perhaps no JSON
	// Started says that the call has been handed to the host. Making it again could
	// repeat its effects.
	Started bool `json:"started,omitempty"`
	// Output is what the program has put out before it was suspended.
	Output []codemode.Output `json:"output,omitempty"`
	// Answer is what the model is told, once Answered.
	Answer   string `json:"answer,omitempty"`
	Failed   bool   `json:"failed,omitempty"`
	Answered bool   `json:"answered,omitempty"`
}

// session says to the host who asks. The turn is the model's call: after a crash, the run
// of a call is found by it.
func (c *conversation) session(callID string) host.Session {
	return host.Session{AgentID: "gateway", SessionID: c.ID, TurnID: callID}
}

var (
	errBusy         = errors.New("this conversation is busy: wait until it has answered")
	errUnknown      = errors.New("there is no such conversation")
	conversationID  = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)
	errConversation = errors.New("the id of a conversation is 1 to 64 of a-z, 0-9 and -, and does not start with -")
)

// maxConversation bounds the file of a conversation, in bytes.
const maxConversation = 32 << 20

// conversations keeps conversations as files of a directory. One user at a time has one
// of them.
type conversations struct {
	dir string

	mu   sync.Mutex
	held map[string]bool
}

func openConversations(dir string) (*conversations, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return &conversations{dir: dir, held: map[string]bool{}}, nil
}

// hold keeps others away from a conversation until release.
func (s *conversations) hold(id string) (release func(), err error) {
	if !conversationID.MatchString(id) {
		return nil, errConversation
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[id] {
		return nil, errBusy
	}
	s.held[id] = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.held, id)
	}, nil
}

// load reads a conversation. Its error is errUnknown if it does not exist.
func (s *conversations) load(id string) (*conversation, error) {
	if !conversationID.MatchString(id) {
		return nil, errConversation
	}
	f, err := os.Open(s.path(id))
	if errors.Is(err, os.ErrNotExist) {
		return nil, errUnknown
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxConversation+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxConversation {
		return nil, fmt.Errorf("%s is larger than %d bytes: start another conversation", f.Name(), maxConversation)
	}
	var c conversation
	if err := json.Unmarshal(b, &c); err != nil || c.ID != id {
		return nil, fmt.Errorf("%s is not the conversation %q: %w", f.Name(), id, errors.Join(err, errUnknown))
	}
	return &c, nil
}

// save writes a conversation so that a crash leaves the old one or the new one.
func (s *conversations) save(c *conversation) (err error) {
	b, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if len(b) > maxConversation {
		return fmt.Errorf("the conversation is larger than %d bytes: start another", maxConversation)
	}
	f, err := os.CreateTemp(s.dir, ".new-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return os.Rename(f.Name(), s.path(c.ID))
}

func (s *conversations) remove(id string) error {
	err := os.Remove(s.path(id))
	if errors.Is(err, os.ErrNotExist) {
		return errUnknown
	}
	return err
}

func (s *conversations) path(id string) string { return filepath.Join(s.dir, id+".json") }
