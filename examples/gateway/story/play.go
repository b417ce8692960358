package story

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/quoinhq/quoin/examples/gateway/scripted"
)

// Stage is where a story is played.
type Stage struct {
	// Gateway is the command of the gateway, and Env its environment.
	Gateway []string
	Env     []string
	// Plugins has the plugins issues and calendar.
	Plugins string
	// Provider is the API that the gateway speaks to the model.
	Provider string
	// Out gets what a person would see.
	Out io.Writer
}

// What the gateway prints when it waits for a line.
const (
	promptLine     = "you> "
	promptDecision = "allow? [y/N] "
)

const key = "scripted-key"

// Play holds the conversation. The gateway is killed when it asks for the first approval;
// another process continues, and the person allows both.
func Play(ctx context.Context, s Stage) (err error) {
	state, err := os.MkdirTemp("", "quoin-story-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(state)) }()
	model := &scripted.Endpoint{Script: script, Key: key}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: model, ReadHeaderTimeout: 10 * time.Second}
	go server.Serve(l) // until Close
	defer server.Close()

	s.Gateway = append(s.Gateway, "chat", "-provider", s.Provider, "-model", "scripted", "-state", filepath.Join(state, "gateway"), "-plugins", s.Plugins, "-base-url", baseURL(s.Provider, l.Addr().String()))
	s.Env = append(s.Env, "OPENAI_API_KEY="+key, "ANTHROPIC_API_KEY="+key)
	err = errors.Join(s.untilKilled(ctx), s.untilDone(ctx), model.Problems())
	if err == nil && model.Requests() != len(script) {
		err = fmt.Errorf("the model was asked %d times, expected %d", model.Requests(), len(script))
	}
	return err
}

func baseURL(provider, address string) string {
	if provider == "anthropic" {
		return "http://" + address
	}
	return "http://" + address + "/v1"
}

// untilKilled plays the first process.
func (s Stage) untilKilled(ctx context.Context) error {
	g, err := s.start(ctx)
	if err != nil {
		return err
	}
	err = errors.Join(g.await(promptLine), g.enter(lines[0]), g.await(promptLine), g.enter(lines[1]), g.await(promptDecision))
	fmt.Fprintf(s.Out, "\n\n(the gateway's process is killed, and started again)\n\n")
	return errors.Join(err, g.kill())
}

// untilDone plays the second: the question is asked again.
func (s Stage) untilDone(ctx context.Context) error {
	g, err := s.start(ctx)
	if err != nil {
		return err
	}
	err = errors.Join(
		g.await(promptDecision), g.enter("y"),
		g.await(promptDecision), g.enter("y"),
		g.await(promptLine), g.enter(lines[2]), g.await(promptLine))
	fmt.Fprintln(s.Out)
	if err != nil {
		return errors.Join(err, g.kill())
	}
	return g.end()
}

// process is a running gateway.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout io.Reader
	stderr bytes.Buffer
	show   io.Writer
	failed bool // a step has failed; those after it do nothing
}

func (s Stage) start(ctx context.Context) (*process, error) {
	p := &process{show: s.Out, cmd: exec.CommandContext(ctx, s.Gateway[0], s.Gateway[1:]...)}
	p.cmd.Env, p.cmd.Stderr = s.Env, &p.stderr
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if p.stdout, err = p.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	return p, p.cmd.Start()
}

// await shows what the gateway prints up to a prompt.
func (p *process) await(prompt string) error {
	if p.failed {
		return nil
	}
	var seen []byte
	one := make([]byte, 1)
	for !bytes.HasSuffix(seen, []byte(prompt)) {
		if _, err := io.ReadFull(p.stdout, one); err != nil {
			p.failed = true
			return fmt.Errorf("the gateway ended before it printed %q: %w\n%s\n%s", prompt, err, seen, &p.stderr)
		}
		seen = append(seen, one[0])
		if _, err := p.show.Write(one); err != nil {
			return err
		}
	}
	return nil
}

// enter types a line.
func (p *process) enter(line string) error {
	if p.failed {
		return nil
	}
	fmt.Fprintln(p.show, line)
	_, err := fmt.Fprintln(p.stdin, line)
	return err
}

// kill ends the process as a crash does.
func (p *process) kill() error {
	if err := p.cmd.Process.Kill(); err != nil {
		return err
	}
	var exit *exec.ExitError
	if err := p.cmd.Wait(); !errors.As(err, &exit) {
		return fmt.Errorf("the gateway was killed and ended with %w", err)
	}
	return nil
}

// end closes the input, after which the gateway ends by itself.
func (p *process) end() error {
	err := p.stdin.Close()
	_, cerr := io.Copy(io.Discard, p.stdout)
	err = errors.Join(err, cerr)
	if werr := p.cmd.Wait(); werr != nil {
		err = errors.Join(err, fmt.Errorf("the gateway ended with %w\n%s", werr, &p.stderr))
	}
	return err
}
