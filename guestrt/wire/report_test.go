package wire

import (
	"errors"
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
		"pending huge":          {TimerMillis: -1, Pending: 1 << 31},
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

func ascending(n int) []Request {
	list := make([]Request, n)
	for i := range list {
		list[i] = Request{ID: uint64(i + 1), Method: MethodYield}
	}
	return list
}

func TestTheLargestReportPasses(t *testing.T) {
	m := &Report{TimerMillis: 1 << 40, Pending: MaxRequests, Requests: ascending(MaxRequests)}
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
