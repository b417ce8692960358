package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/quoinhq/quoin/plugins/protocol/protocolpb"
)

// node runs a program of testdata and returns the lines it prints.
func node(t *testing.T, program, input string) []string {
	t.Helper()
	needNode(t)
	cmd := exec.CommandContext(t.Context(), "node", "testdata/"+program)
	cmd.Stdin = strings.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.Bytes())
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

// TestTheMessagesAreThoseOfTheProtocol, but for hooks, which this plugin has not.
func TestTheMessagesAreThoseOfTheProtocol(t *testing.T) {
	var written map[string]map[string]json.RawMessage
	if err := json.Unmarshal([]byte(node(t, "messages.mjs", "")[0]), &written); err != nil {
		t.Fatal(err)
	}
	file := protocolpb.File_plugin_proto
	for i := range file.Messages().Len() {
		m := file.Messages().Get(i)
		name := string(m.Name())
		if strings.Contains(name, "ToolCall") || name == "ApprovalRequest" {
			continue
		}
		fields := make(map[string]string)
		for j := range m.Fields().Len() {
			f := m.Fields().Get(j)
			fields[f.JSONName()] = fmt.Sprintf(`[%d,%q,%q]`, f.Number(), kindOf(f), labelOf(f))
		}
		for field, want := range fields {
			if got := string(written[name][field]); got != want {
				t.Errorf("%s.%s is %s in messages.mjs; the protocol says %s", name, field, got, want)
			}
		}
		if len(written[name]) != len(fields) || written[name] == nil {
			t.Errorf("%s has %d fields in messages.mjs; the protocol says %d", name, len(written[name]), len(fields))
		}
	}
	for table, enum := range map[string]protoreflect.EnumDescriptor{
		"Kind": file.Enums().ByName("ErrorKind"), "Effect": file.Enums().ByName("Effect"),
	} {
		numbers := make(map[string]string)
		for i := range enum.Values().Len() {
			v := enum.Values().Get(i)
			word := string(v.Name())[strings.LastIndexByte(string(v.Name()), '_')+1:]
			numbers[word] = fmt.Sprint(v.Number())
		}
		for word, number := range written[table] {
			if numbers[word] != string(number) {
				t.Errorf("%s.%s is %s in messages.mjs; the protocol says %q", table, word, number, numbers[word])
			}
		}
	}
}

// kindOf is a field's type as messages.mjs writes it.
func kindOf(f protoreflect.FieldDescriptor) string {
	switch f.Kind() {
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.BoolKind:
		return f.Kind().String()
	case protoreflect.MessageKind:
		if f.IsMap() {
			return f.MapValue().Kind().String()
		}
		return string(f.Message().Name())
	}
	return "int"
}

func labelOf(f protoreflect.FieldDescriptor) string {
	switch {
	case f.IsMap():
		return "map"
	case f.IsList():
		return "repeated"
	case f.HasOptionalKeyword():
		return "optional"
	}
	return ""
}

// TestTheCodecAgreesWithAnother on messages, and on what is not a message.
func TestTheCodecAgreesWithAnother(t *testing.T) {
	messages := []proto.Message{
		&protocolpb.DescribeResponse{},
		&protocolpb.DescribeResponse{Id: "a", Tools: []*protocolpb.Tool{
			{Name: "ü", ReadOnly: true, Parameters: []byte(`{}`), Examples: []*protocolpb.Example{{}, {Input: []byte("1")}}}, {},
		}, Namespaces: []*protocolpb.Namespace{{RequiredTools: []string{"", "b"}}}},
		&protocolpb.ConfigureRequest{DataDir: "/d", Secrets: map[string]string{"key": "value", "none": ""}, Protocol: 2},
		&protocolpb.CallToolsRequest{Call: &protocolpb.CallToolRequest{Input: bytes.Repeat([]byte("x"), 1<<17)}, TimeoutUs: -5, Number: 1 << 52},
		&protocolpb.HealthResponse{RunningCalls: 128, Error: &protocolpb.Error{Kind: 3, Effect: 2, Retryable: true}},
		&protocolpb.HostRequest{Number: 1, Request: &protocolpb.HostRequest_Set{Set: &protocolpb.StorageSet{Key: "k", Revision: new(uint64)}}},
		&protocolpb.HostRequest{Number: 2, Request: &protocolpb.HostRequest_List{List: &protocolpb.StorageList{}}},
	}
	var lines []string
	for _, m := range messages {
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%s %x", m.ProtoReflect().Descriptor().Name(), b))
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 { // no messages at all, or nearly: an answer is enough
		b := []byte{10, 1, 'a', 34, 6, 10, 1, 'b', 66, 1, 0, 98, 3, 200, 1, 5}
		for range 1 + random.IntN(4) {
			b[random.IntN(len(b))] = byte(random.Uint32())
		}
		lines = append(lines, fmt.Sprintf("DescribeResponse %x", b[:random.IntN(len(b)+1)]))
	}
	answers := node(t, "messages.mjs", strings.Join(lines, "\n")+"\n")[1:]
	if len(answers) != len(lines) {
		t.Fatalf("%d answers to %d messages", len(answers), len(lines))
	}
	for i, m := range messages {
		b, err := hex.DecodeString(answers[i])
		if err != nil {
			t.Errorf("%v: %s", m, answers[i])
			continue
		}
		back := m.ProtoReflect().New().Interface()
		if err := proto.Unmarshal(b, back); err != nil || !proto.Equal(m, back) {
			t.Errorf("%.200v became %.200v, %v", m, back, err)
		}
	}
}
