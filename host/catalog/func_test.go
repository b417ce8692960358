package catalog_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/quoinhq/quoin/host/catalog"
)

type orderInput struct {
	Item  string   `json:"item" jsonschema:"what to order"`
	Count int      `json:"count,omitempty" min:"1" max:"9" default:"2"`
	Notes []string `json:"notes,omitempty"`
}

type orderOutput struct {
	Item  string   `json:"item"`
	Count int      `json:"count"`
	Notes []string `json:"notes"`
}

// TestFuncInfersSchemas: a plugin's tool of the same types has the same schemas and checks,
// defaults are filled in, and a nil slice is a list.
func TestFuncInfersSchemas(t *testing.T) {
	order := catalog.Func(catalog.Tool{Name: "order", Description: "Orders."}, func(_ context.Context, in orderInput) (orderOutput, error) {
		if in.Item == "nothing" {
			return orderOutput{}, errors.New("there is nothing to order")
		}
		return orderOutput(in), nil
	})
	if err := catalog.Check(order); err != nil {
		t.Fatal(err)
	}
	const want = `{"type":"object","properties":{"item":{"type":"string","description":"what to order"},` +
		`"count":{"type":"integer","default":2,"minimum":1,"maximum":9},"notes":{"type":"array","items":{"type":"string"}}},` +
		`"required":["item"],"additionalProperties":false}`
	if got := string(order.Parameters); !sameJSON(t, got, want) {
		t.Errorf("the schema of the input is %s", got)
	}
	c, err := catalog.New([]catalog.Tool{order}, catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	id := c.Tools()[0].ID()
	for _, bad := range []string{`{}`, `{"item":"x","count":10}`, `{"item":"x","more":1}`} {
		if err := c.ValidateInput(id, json.RawMessage(bad)); !errors.Is(err, catalog.InvalidInput) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	got, err := order.Invoke(context.Background(), catalog.Invocation{Input: json.RawMessage(`{"item":"tea"}`)})
	if err != nil || string(got) != `{"count":2,"item":"tea","notes":[]}` && string(got) != `{"item":"tea","count":2,"notes":[]}` {
		t.Errorf("got %s, %v", got, err)
	}
	if err := c.ValidateOutput(id, got); err != nil {
		t.Error(err)
	}
	if _, err := order.Invoke(context.Background(), catalog.Invocation{Input: json.RawMessage(`{"item":"nothing"}`)}); err == nil || err.Error() != "there is nothing to order" {
		t.Errorf("got %v", err)
	}
}

// TestFuncPanicsOnAMistake: a type without a schema is found when the program starts.
func TestFuncPanicsOnAMistake(t *testing.T) {
	tool := catalog.Tool{Name: "bad", Description: "Bad."}
	for name, make := range map[string]func(){
		"an input that is no object": func() { catalog.Func(tool, func(context.Context, int) (int, error) { return 0, nil }) },
		"an output without JSON":     func() { catalog.Func(tool, func(context.Context, struct{}) (chan int, error) { return nil, nil }) },
		"a bad tag": func() {
			catalog.Func(tool, func(context.Context, struct {
				N int `min:"few"`
			}) (int, error) {
				return 0, nil
			})
		},
		"no function": func() { catalog.Func[struct{}, int](tool, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("it was taken")
				}
			}()
			make()
		})
	}
}

// TestFromDefinitions: each tool calls the one function by its own name, and the
// definitions stay as they were.
func TestFromDefinitions(t *testing.T) {
	definitions := []catalog.Tool{{Name: "a", Description: "A."}, {Name: "b", Description: "B.", ReadOnly: true}}
	tools := catalog.FromDefinitions(definitions, func(ctx context.Context, name string, input json.RawMessage) (json.RawMessage, error) {
		return json.Marshal([]string{name, string(input), catalog.InvocationOf(ctx).IdempotencyKey})
	})
	for i, want := range []string{`["a","{}","k"]`, `["b","{}","k"]`} {
		inv := catalog.Invocation{Input: json.RawMessage(`{}`), IdempotencyKey: "k"}
		got, err := tools[i].Invoke(catalog.WithInvocation(context.Background(), &inv), inv)
		if err != nil || string(got) != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
	if definitions[0].Invoke != nil || !tools[1].ReadOnly || catalog.InvocationOf(context.Background()) != nil {
		t.Errorf("definitions %+v, tools %+v", definitions[0], tools[1])
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if err := errors.Join(json.Unmarshal([]byte(a), &x), json.Unmarshal([]byte(b), &y)); err != nil {
		t.Fatal(err)
	}
	p, err := json.Marshal(x)
	q, err2 := json.Marshal(y)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	return string(p) == string(q)
}
