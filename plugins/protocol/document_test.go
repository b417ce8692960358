package protocol

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/quoinhq/quoin/internal/hosttest"
	"github.com/quoinhq/quoin/plugins/protocol/protocolpb"
)

const document = "../../docs/reference/plugin-protocol.md"

// column returns what the document's table with that head says: the cells of one
// column by the first.
func column(t *testing.T, head string, n int) map[string]string {
	t.Helper()
	rows, err := hosttest.Table(document, head)
	if err != nil {
		t.Fatal(err)
	}
	said := make(map[string]string)
	for _, r := range rows {
		said[strings.TrimSuffix(r[0], " *(since 2)*")] = r[n]
	}
	return said
}

// TestTheProtocolDocument holds the tables of docs/reference/plugin-protocol.md to the code.
func TestTheProtocolDocument(t *testing.T) {
	same := func(what string, said, is map[string]string) {
		if d := cmp.Diff(is, said); d != "" {
			t.Errorf("%s: the document (+) is not the code (-):\n%s", what, d)
		}
	}
	file := protocolpb.File_plugin_proto
	same("kinds", column(t, "kind", 1), numbers(file.Enums().ByName("ErrorKind")))
	same("effects", column(t, "effect", 1), numbers(file.Enums().ByName("Effect")))
	same("codes", column(t, "code", 1), codeKinds(t))
	requests, replies := make(map[string]string), make(map[string]string)
	methods := file.Services().ByName("Plugin").Methods()
	for i := range methods.Len() {
		m := methods.Get(i)
		requests[string(m.Name())] = streamed(m.IsStreamingClient(), m.Input())
		replies[string(m.Name())] = streamed(m.IsStreamingServer(), m.Output())
	}
	same("requests", column(t, "method", 1), requests)
	same("replies", column(t, "method", 2), replies)
}

func streamed(stream bool, m protoreflect.MessageDescriptor) string {
	if stream {
		return "stream " + string(m.Name())
	}
	return string(m.Name())
}

func numbers(e protoreflect.EnumDescriptor) map[string]string {
	is := make(map[string]string)
	for i := range e.Values().Len() {
		v := e.Values().Get(i)
		is[string(v.Name())] = strconv.Itoa(int(v.Number()))
	}
	return is
}

// codeKinds are the codes of errors.go with the kinds that their comments name.
func codeKinds(t *testing.T) map[string]string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "errors.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	is := make(map[string]string)
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Code") {
			return true
		}
		code, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		kind, _, _ := strings.Cut(strings.TrimSpace(spec.Comment.Text()), ":")
		is[code] = strings.ToUpper(strings.TrimPrefix(kind, "Kind"))
		return true
	})
	return is
}

// TestTheLimitsInTheDocument compares them with the limits of this package.
func TestTheLimitsInTheDocument(t *testing.T) {
	said := column(t, "what", 1)
	for what, limit := range map[string]string{
		"a message, in either direction":                                    size(MaxMessageBytes),
		"JSON inside a message":                                             size(MaxMessageBytes) + " less " + size(messageSlack),
		"the window of a stream, and of the connection, on the host's side": size(windowBytes),
		"a storage key":                                                     size(MaxStorageKey),
		"a stored value":                                                    size(MaxStorageValue),
		"storage keys of a plugin":                                          strconv.Itoa(MaxStorageKeys),
		"keys and values of a plugin":                                       size(MaxStorageBytes),
		"keys of one list":                                                  strconv.Itoa(MaxStorageList),
	} {
		if said[what] != limit {
			t.Errorf("%s: the document says %q, the code %q; it knows %v", what, said[what], limit, slices.Sorted(maps.Keys(said)))
		}
	}
	if v := column(t, "variable", 1)[CookieKey]; !strings.HasPrefix(v, CookieValue+":") {
		t.Errorf("%s: the document says %q, the code %q", CookieKey, v, CookieValue)
	}
}

// size is a number of bytes in words.
func size(n int) string {
	switch {
	case n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}
