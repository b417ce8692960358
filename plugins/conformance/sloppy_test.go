//go:build linux

package conformance

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/quoinhq/quoin/plugins/protocol"
	"github.com/quoinhq/quoin/plugins/protocol/protocolpb"
	"github.com/quoinhq/quoin/sdk"
)

// TestMain lets the test binary be the plugins under test.
func TestMain(m *testing.M) {
	switch id := filepath.Base(os.Getenv(protocol.EnvPluginDir)); id {
	case ".": // no plugin
	case "good", "bad":
		sdk.Serve(testPlugin(id))
		return
	default:
		sloppyMain()
		return
	}
	os.Exit(m.Run())
}

// sloppyMain is a plugin that gets by, and does everything else wrong.
func sloppyMain() {
	if os.Getenv("PLUGIN_UNIX_SOCKET_DIR") == "" {
		return // says nothing and succeeds
	}
	fmt.Fprintln(os.Stderr, `{"message": "not what a host reads"}`)
	certificate := selfSigned()
	listener, err := net.Listen("unix", filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "s"))
	if err != nil {
		panic(err)
	}
	s := grpc.NewServer(
		grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{certificate}})), // of whatever client
		grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
			if method, _ := grpc.MethodFromServerStream(stream); strings.Contains(method, "Shutdown") {
				os.Exit(3)
			}
			return status.Error(codes.Internal, "what?")
		}),
	)
	protocolpb.RegisterPluginServer(s, &sloppy{})
	version, _, _ := strings.Cut(os.Getenv("PLUGIN_PROTOCOL_VERSIONS"), ",")
	fmt.Printf("1|%s|unix|%s|grpc|%s\n", version, listener.Addr(), base64.RawStdEncoding.EncodeToString(certificate.Certificate[0]))
	if err := s.Serve(listener); err != nil {
		panic(err)
	}
}

// selfSigned is a certificate as a plugin makes one.
func selfSigned() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotAfter: time.Now().Add(time.Hour),
		BasicConstraintsValid: true, IsCA: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

type sloppy struct {
	protocolpb.UnimplementedPluginServer
	described, called, running atomic.Int64
}

func (s *sloppy) Describe(_ context.Context, r *protocolpb.DescribeRequest) (*protocolpb.DescribeResponse, error) {
	if len(r.ProtoReflect().GetUnknown()) > 0 {
		return nil, status.Error(codes.InvalidArgument, "a field is unknown")
	}
	return &protocolpb.DescribeResponse{
		Id: "sloppy", Version: "1.0.0", Description: fmt.Sprint("asked ", s.described.Add(1)),
		Tools: []*protocolpb.Tool{
			{Name: "tool", Description: "A tool.", Parameters: []byte(`{"type":"object"}`)},
			{Name: "other", Description: "Another.", Parameters: []byte(`{"type":"object","properties":{"a":{}}}`), Output: []byte(`{"type":"object","properties":{"a":{}}}`)},
		},
		Namespaces: []*protocolpb.Namespace{{
			Id: "sloppy", GlobalName: "Sloppy", Description: "Sloppy.", RequiredTools: []string{"tool", "other"},
			Scope: []byte(`{"kind":"object","entries":{"f":{"kind":"call","tool":"tool","mapping":{"kind":"function","mapper":"f"}},
				"g":{"kind":"call","tool":"other","returns":"Job"}},
				"classes":{"Job":{"key":"id","methods":{"poll":{"kind":"call","tool":"other","mapping":{"kind":"positional","positional":["id"]}},
					"map":{"kind":"call","tool":"tool","mapping":{"kind":"function","mapper":"of a method"}}}}}}`),
		}},
	}, nil
}

func (s *sloppy) Configure(context.Context, *protocolpb.ConfigureRequest) (*protocolpb.ConfigureResponse, error) {
	return &protocolpb.ConfigureResponse{}, nil
}

func (s *sloppy) MapInput(context.Context, *protocolpb.MapInputRequest) (*protocolpb.MapInputResponse, error) {
	return &protocolpb.MapInputResponse{Input: []byte(`5`)}, nil
}

func (s *sloppy) Health(context.Context, *protocolpb.HealthRequest) (*protocolpb.HealthResponse, error) {
	return &protocolpb.HealthResponse{RunningCalls: s.running.Load()}, nil
}

func (s *sloppy) Drain(context.Context, *protocolpb.DrainRequest) (*protocolpb.DrainResponse, error) {
	return &protocolpb.DrainResponse{}, nil
}

// CallTool answers everything, and once more.
func (s *sloppy) CallTool(r *protocolpb.CallToolRequest, stream grpc.ServerStreamingServer[protocolpb.CallToolEvent]) error {
	return errors.Join(stream.Send(s.answer(0)), stream.Send(s.answer(0)))
}

// CallTools counts by itself, and lets waiting calls wait whatever happens.
func (s *sloppy) CallTools(stream grpc.BidiStreamingServer[protocolpb.CallToolsRequest, protocolpb.CallToolEvent]) error {
	for number := uint64(1); ; number++ {
		r, err := stream.Recv()
		if err != nil {
			return nil
		}
		if strings.Contains(string(r.GetCall().GetInput()), "wait") {
			s.running.Add(1)
			<-time.After(time.Duration(r.GetTimeoutUs()) * time.Microsecond)
		}
		if r.GetCall().GetCallId() == "call-wire" {
			number++ // only where no host would break the conversation off
		}
		if err := stream.Send(s.answer(number)); err != nil {
			return err
		}
	}
}

// answer is a different result each time.
func (s *sloppy) answer(number uint64) *protocolpb.CallToolEvent {
	return &protocolpb.CallToolEvent{Number: number, Event: &protocolpb.CallToolEvent_Result{Result: fmt.Append(nil, s.called.Add(1))}}
}

// install makes a plugin's folder in which the test binary plays the plugin.
func install(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "sloppy")
	manifest := fmt.Sprintf(`{"id": "sloppy", "version": "1.0.0", "protocol": %d, "command": "./plugin"}`, protocol.Version)
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "plugin.json"), []byte(manifest), 0o600),
		os.Symlink(self, filepath.Join(dir, "plugin"))); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestASloppyPluginIsFoundOut(t *testing.T) {
	call := func(input string) Call { return Call{Tool: "tool", Input: json.RawMessage(input)} }
	whatever, waiting := call(`{}`), call(`{"wait": true}`)
	report, err := Check(t.Context(), install(t), &Options{
		CallTimeout: 10 * time.Second,
		Declaration: &Declaration{
			BadConfig: []json.RawMessage{json.RawMessage(`{"a": 1}`)},
			Result:    &whatever, Failure: &Failure{Call: whatever, Code: "no"}, Waiting: &waiting, Progress: &whatever,
			Large: &Large{Call: whatever, Bytes: 1000}, Once: &whatever, Storage: &whatever,
			Mappings: []Mapping{{Namespace: "sloppy", Mapper: "f", Input: json.RawMessage(`{}`)}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(report.Problems(), "\n")
	for _, want := range []string{
		"a client without a certificate was answered",
		"a client with another's certificate was answered",
		"to a host that speaks versions 9999,2 the plugin says that it speaks 9999",
		"to a host that speaks versions 9999 the plugin says that it speaks 9999",
		"the plugin ends with exit status 0",
		"the plugin says nothing on standard error",
		`came up with the configuration {"a": 1}`,
		"Describe says something else the second time",
		"Describe with unknown fields failed",
		"which does not exist, was answered with",
		"wrong inputs are refused: calling tool with [] succeeded",
		"unknown names are refused: calling a tool that does not exist succeeded",
		"large inputs arrive: calling a tool that does not exist with 15.9 MB",
		"the declared failure of tool succeeded",
		"reported none before its result",
		"the declared large result of tool has 1 bytes",
		"two calls of tool with the same idempotency key returned",
		"when Drain had returned after cancelled calls, Health counted 2 running calls",
		"an event of call 1 on a stream has the number 2",
		"a call that ran out of time was answered with result",
		"storage of tool has asked nothing of its host",
		"the mapping function f of namespace sloppy made 5 of []; expected an object",
		"the mapping function of a method of namespace sloppy made 5 of []; expected an object",
		`g of namespace sloppy does not fit tool other: class "Job" has the key "id", which the tool's output schema does not have`,
		`Job.prototype.poll of namespace sloppy does not fit tool other: positional field "id" is not in the tool's input schema; it has: a`,
		"made 5; declared is {}",
		"calling tool while draining succeeded",
		"Drain returned (0 left, <nil>) while a call was running",
		"the plugin ended with exit status 3",
		"after its standard input had ended the plugin has not ended",
		`starts like one that a host can read, but is not an object with "@message"`,
		"after the event that ended a call of no_such_tool came something else",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("not reported: %s", want)
		}
	}
	if t.Failed() {
		t.Logf("reported:\n%s", all)
	}
}

func TestADeclarationIsRead(t *testing.T) {
	d, err := parseDeclaration([]byte(`{"failure": {"tool": "a", "input": {}, "code": "b"}, "large": {"tool": "c", "bytes": 7}}`))
	if err != nil || d.Failure.Tool != "a" || d.Failure.Code != "b" || d.Large.Bytes != 7 {
		t.Errorf("%+v, %v", d, err)
	}
	for _, bad := range []string{``, `[]`, `{"fialure": {}}`, `{} {}`} {
		if d, err := parseDeclaration([]byte(bad)); err == nil {
			t.Errorf("%s was read as %+v", bad, d)
		}
	}
}

// TestTheDocumentsDeclaration is one.
func TestTheDocumentsDeclaration(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/plugin-protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	_, suite, _ := strings.Cut(string(text), "## The conformance suite")
	_, block, _ := strings.Cut(suite, "```json\n")
	block, _, _ = strings.Cut(block, "```")
	d, err := parseDeclaration([]byte(block))
	if err != nil || d.Waiting == nil || len(d.Mappings) != 1 {
		t.Errorf("%+v, %v", d, err)
	}
}
