package wire

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
)

func idle() *Report { return &Report{TimerMillis: -1} }

// TestReportsAreChecked forges one field of a valid report at a time.
func TestReportsAreChecked(t *testing.T) {
	guestErr := func() *GuestError {
		return &GuestError{Name: "E", Code: CodeInternal, Reason: ReasonGuestException, Phase: PhaseGuest}
	}
	request := func(r Request) *Report {
		m := idle()
		m.Requests = []Request{r}
		return m
	}
	output := func(o Output) *Report {
		m := idle()
		m.Output = []Output{o}
		return m
	}
	for name, m := range map[string]*Report{
		"status unknown":        {Status: 3, TimerMillis: -1},
		"value while idle":      {Value: []byte("1"), TimerMillis: -1},
		"done without value":    {Status: StatusDone, TimerMillis: -1},
		"failed without error":  {Status: StatusFailed, TimerMillis: -1},
		"error while idle":      {Err: guestErr(), TimerMillis: -1},
		"value is no JSON":      {Status: StatusDone, Value: []byte("{"), TimerMillis: -1},
		"value is no UTF-8":     {Status: StatusDone, Value: []byte("\"\xff\""), TimerMillis: -1},
		"timer negative":        {TimerMillis: -2},
		"pending huge":          {TimerMillis: -1, Pending: MaxPending + 1},
		"timer too late":        {TimerMillis: MaxTimerMillis + 1},
		"CPU time overflows":    {TimerMillis: -1, CPUMicros: math.MaxInt64/1000 + 1},
		"CPU time at its most":  {TimerMillis: -1, CPUMicros: math.MaxUint64},
		"heap huge":             {TimerMillis: -1, HeapBytes: MaxHeap + 1},
		"heap peak huge":        {TimerMillis: -1, HeapPeakBytes: math.MaxUint64},
		"method unknown":        request(Request{ID: 1, Method: "exec"}),
		"arguments are no JSON": request(Request{ID: 1, Method: MethodCall, Args: []byte("{]")}),
		"target is no UTF-8":    request(Request{ID: 1, Method: MethodCall, Target: "\xff"}),
		"target too long":       request(Request{ID: 1, Method: MethodCall, Target: strings.Repeat("x", MaxTarget+1)}),
		"path too long":         request(Request{ID: 1, Method: MethodNamespace, Path: make([]string, MaxPathSegments+1)}),
		"ids repeat":            {TimerMillis: -1, Requests: []Request{{ID: 4, Method: MethodYield}, {ID: 4, Method: MethodYield}}},
		"ids descend":           {TimerMillis: -1, Requests: []Request{{ID: 4, Method: MethodYield}, {ID: 3, Method: MethodYield}}},
		"too many requests":     {TimerMillis: -1, Requests: ascending(MaxRequests + 1)},
		"output kind unknown":   output(Output{"image", []byte("1")}),
		"output is no JSON":     output(Output{OutputJSON, []byte("nope")}),
		"output is empty":       output(Output{OutputJSON, nil}),
		"text is no string":     output(Output{OutputText, []byte("1")}),
		"code unknown":          {Status: StatusFailed, Err: &GuestError{Code: "ok", Phase: PhaseGuest}, TimerMillis: -1},
		"reason unknown":        {Status: StatusFailed, Err: &GuestError{Code: CodeInternal, Reason: "run_busy", Phase: PhaseGuest}, TimerMillis: -1},
		"phase unknown":         {Status: StatusFailed, Err: &GuestError{Code: CodeInternal}, TimerMillis: -1},
	} {
		b, err := Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(Worker, TypeReport, b); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestJSONOfAReportIsCompact: white space around and between the tokens of guest
// data is gone once it is decoded, and no field keeps another's memory alive.
func TestJSONOfAReportIsCompact(t *testing.T) {
	blanks := strings.Repeat(" ", 20_000)
	padded := func(doc string) []byte { return []byte(blanks + strings.ReplaceAll(doc, ",", ","+blanks) + "\n\t\r") }
	b, err := Encode(&Report{
		Status: StatusDone, Value: padded(`[1,"a  b"]`), TimerMillis: -1,
		Requests: []Request{{ID: 1, Method: MethodCall, Target: "t", Args: padded(`{"a":1,"b":2}`)}},
		Output:   []Output{{OutputText, padded(`"aaa"`)}, {OutputJSON, padded(`{"c":[1,2]}`)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	m, err := Decode(Worker, TypeReport, b)
	if err != nil {
		t.Fatal(err)
	}
	clear(b)
	r := m.(*Report)
	for _, field := range []struct{ got, want string }{
		{string(r.Value), `[1,"a  b"]`},
		{string(r.Requests[0].Args), `{"a":1,"b":2}`},
		{string(r.Output[0].JSON), `"aaa"`},
		{string(r.Output[1].JSON), `{"c":[1,2]}`},
	} {
		if field.got != field.want {
			t.Errorf("decoded %.60q, want %q", field.got, field.want)
		}
	}
	if n := cap(r.Output[0].JSON); n > 64 {
		t.Errorf("five bytes of output hold %d", n)
	}
}

// TestLimitOfAType bounds what is received before it has arrived.
func TestLimitOfAType(t *testing.T) {
	var sent bytes.Buffer
	if err := NewConn(Host, stream{nil, &sent}).Send(&Image{Data: make([]byte, 3*MaxFrame)}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		of   Type
		most int
		ok   bool
	}{
		{TypeImage, ImageBytes(3 * MaxFrame), true},
		{TypeImage, ImageBytes(3*MaxFrame) - 1, false},
		{TypeImage, 10, false},
		{TypeImage, 0, true},
		{TypeReport, 10, true},
	} {
		rest := bytes.NewReader(sent.Bytes())
		conn := NewConn(Worker, stream{rest, nil})
		conn.Limit(c.of, c.most)
		_, err := conn.Receive()
		if c.ok != (err == nil) || err != nil && !errors.Is(err, ErrMalformed) {
			t.Errorf("%v of at most %d: %v", c.of, c.most, err)
		}
		if c.of == TypeImage && c.most == 10 && rest.Len() < 2*MaxFrame {
			t.Errorf("%d bytes were read for a limit of 10", sent.Len()-rest.Len())
		}
	}
}

func ascending(n int) []Request {
	list := make([]Request, n)
	for i := range list {
		list[i] = Request{ID: uint64(i + 1), Method: MethodYield}
	}
	return list
}

func TestTheLargestReportPasses(t *testing.T) {
	m := &Report{TimerMillis: MaxTimerMillis, Pending: MaxRequests, Requests: ascending(MaxRequests)}
	b, err := Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Decode(Worker, TypeReport, b); err != nil {
		t.Error(err)
	}
}

func TestErrorTextIsClipped(t *testing.T) {
	long := strings.Repeat("é", MaxErrorText)
	b, err := Encode(&Report{Status: StatusFailed, TimerMillis: -1,
		Err: &GuestError{Name: "\xff", Message: "a" + long, Stack: long, Code: CodeTimeout, Phase: PhaseGuest}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := Decode(Worker, TypeReport, b)
	if err != nil {
		t.Fatal(err)
	}
	e := m.(*Report).Err
	if len(e.Message) != MaxErrorText-1 || len(e.Stack) != MaxErrorText || e.Name != "\uFFFD" {
		t.Errorf("name %q, message of %d and stack of %d bytes", e.Name, len(e.Message), len(e.Stack))
	}
}

func TestFaultsAndLayersAreChecked(t *testing.T) {
	for _, m := range []Message{
		&Fault{Code: "fine"},
		&Fault{Code: CodeInternal, Reason: "because"},
		&Ready{Version: Version, Layers: []Layer{{Name: "seccomp", State: "maybe"}}},
		&Ready{Version: Version, Layers: make([]Layer, MaxLayers+1)},
		&NeedFile{Path: strings.Repeat("x", MaxPathBytes+1)},
		&NeedFile{Path: "\xff"},
	} {
		b, err := Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(Worker, m.Type(), b); !errors.Is(err, ErrMalformed) {
			t.Errorf("%#v: %v", m, err)
		}
	}
}

func TestAForeignHelloIsUnderstoodAsSuch(t *testing.T) {
	b, err := Encode(&Hello{Version: Version + 1, Required: true})
	if err != nil {
		t.Fatal(err)
	}
	m, err := Decode(Host, TypeHello, append(b, "and what that version adds"...))
	if err != nil || m.(*Hello).Version != Version+1 {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := Decode(Host, TypeHello, b[:3]); !errors.Is(err, ErrMalformed) {
		t.Errorf("half a version: %v", err)
	}
}

func TestLimitsFillTheirDefaults(t *testing.T) {
	want := Limits{MemoryBytes: 64 << 20, MaxValueBytes: 8 << 20, MaxNodes: 1_000_000, MaxDepth: 200, MaxOutputItems: 10_000}
	if got := (Limits{}).Filled(); got != want {
		t.Errorf("got %+v", got)
	}
	own := Limits{1, 2, 3, 4, 5}
	if got := own.Filled(); got != own {
		t.Errorf("given limits become %+v", got)
	}
}
