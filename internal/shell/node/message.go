package node

import (
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/quoinhq/quoin/internal/shell/command"
	"github.com/quoinhq/quoin/internal/shell/execution"
	"github.com/quoinhq/quoin/internal/shell/settings"
	"github.com/quoinhq/quoin/internal/text"
)

// Job is a command line for a node.
type Job struct {
	// Line is the command line, byte for byte.
	Line string `json:"line"`
	// Dir is the working directory, as an absolute path on the node. Defaults to the
	// node's own choice.
	Dir string `json:"dir,omitempty"`
	// Env are variables in addition to the node's.
	Env map[string]string `json:"env,omitempty"`
	// Allow is the gateway's allow-list, which counts in addition to the node's. Nil
	// when the gateway does not go by one: its security mode is full.
	Allow *AllowList `json:"allow,omitempty"`
	// Approval is what a person at the gateway has approved, if one has. Judge does not
	// look at it.
	Approval *Approval `json:"approval,omitempty"`
}

// AllowList is the allow-list of a configuration.
type AllowList struct {
	Allow []string        `json:"allow,omitempty"`
	Rules []settings.Rule `json:"rules,omitempty"`
}

// Approval is a person's.
type Approval struct {
	// Subject is the subject of the Verdict that the person saw.
	Subject string `json:"subject"`
	// Remembered says that the person saw an earlier job, so that what was judged runs,
	// and not the bytes of this one.
	Remembered bool `json:"remembered,omitempty"`
}

// Verdict is what a node says of a command line.
type Verdict struct {
	// Judgement is by each allow-list that counts.
	command.Judgement
	// Security and Ask are the node's own policy. The gateway cannot relax it.
	Security settings.Security
	Ask      settings.Ask
	// Dir is the directory in which the command would run.
	Dir string
}

// protocol is the version of the messages below. Gateway and worker speak the same one.
const protocol = 1

// request is the first message of a gateway: what to judge, and whether it is to run.
type request struct {
	Job      Job             `json:"job"`
	Run      bool            `json:"run,omitempty"`
	Terminal *execution.Size `json:"terminal,omitempty"`
	Network  bool            `json:"network,omitempty"` // if the node lets it pass
}

// order is a later one. An empty one says that the gateway is still there.
type order struct {
	Write      []byte          `json:"write,omitempty"` // the next one waits until this is answered
	CloseInput bool            `json:"closeInput,omitempty"`
	Resize     *execution.Size `json:"resize,omitempty"`
	Interrupt  bool            `json:"interrupt,omitempty"`
	Kill       bool            `json:"kill,omitempty"`
}

// report is a message of a worker: one of its fields is set.
type report struct {
	Hello       *hello          `json:"hello,omitempty"` // the first one
	Verdict     *Verdict        `json:"verdict,omitempty"`
	Started     int             `json:"started,omitempty"` // the number of the process
	Data        []byte          `json:"data,omitempty"`
	Written     *written        `json:"written,omitempty"`
	EndOfOutput bool            `json:"endOfOutput,omitempty"`
	Exit        *execution.Exit `json:"exit,omitempty"` // nothing is left of the process
	Failure     *failure        `json:"failure,omitempty"`
}

// hello says what has answered.
type hello struct {
	Quoin    string `json:"quoin"`
	Protocol int    `json:"protocol"`
}

// written answers a write: how much of it was taken, and why not all.
type written struct {
	Bytes int    `json:"bytes"`
	Error string `json:"error,omitempty"`
}

// failure is an error that crosses the connection.
type failure struct {
	Code    string `json:"code,omitempty"`
	Message string `json:"message"`
}

// The errors that both sides know.
var (
	// ErrRefused is what the node's policy refuses, whatever a person says.
	ErrRefused = errors.New("the node refuses the command")
	// ErrApproval is about a command that a person has to approve, as it is now.
	ErrApproval = errors.New("the command needs an approval")
)

var failureCodes = map[string]error{"refused": ErrRefused, "approval": ErrApproval}

func failureOf(err error) *failure {
	f := &failure{Message: message(err.Error())}
	for code, kind := range failureCodes {
		if errors.Is(err, kind) {
			f.Code = code
		}
	}
	return f
}

// message is a text of the other side that a person reads.
func message(s string) string { return text.Printable(text.Shorten(s, maxTextBytes)) }

// The bounds of what one side sends the other.
const (
	maxMessageBytes = 256 << 10
	maxTextBytes    = 4 << 10
	maxWriteBytes   = 32 << 10 // of one write
)

// stream is one end of a connection. One goroutine receives, several send.
type stream struct {
	limit io.LimitedReader // so that no message of the other side fills the memory
	in    *json.Decoder

	mu  sync.Mutex
	out *json.Encoder
}

func newStream(in io.Reader, out io.Writer) *stream {
	s := &stream{limit: io.LimitedReader{R: in}, out: json.NewEncoder(out)}
	s.in = json.NewDecoder(&s.limit)
	return s
}

func (s *stream) send(v any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Encode(v)
}

// errProtocol is about what the other side must not say.
var errProtocol = errors.New("the answer is not in the protocol")

func (s *stream) receive(v any) error {
	s.limit.N = maxMessageBytes
	err := s.in.Decode(v)
	if _, unread := errors.AsType[*json.SyntaxError](err); unread || s.limit.N <= 0 && err != nil {
		return errProtocol
	}
	if _, other := errors.AsType[*json.UnmarshalTypeError](err); other {
		return errProtocol
	}
	return err
}
