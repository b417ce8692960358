package scripted

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tidwall/gjson"
)

// checkTools wants exactly the expected tools, in the same bytes as in the request before:
// otherwise providers could not cache them.
func (e *Endpoint) checkTools(api wireAPI, raw string, tools []definition) error {
	var names []string
	for _, t := range tools {
		names = append(names, t.name.String())
		if t.schema.Get("type").String() != "object" || t.description.String() == "" {
			return fmt.Errorf("the tool %q needs a description and the schema of an object", t.name)
		}
	}
	want := e.Tools
	if len(want) == 0 {
		want = []string{"exec", "wait"}
	}
	if !slices.Equal(names, want) {
		return fmt.Errorf("the tools are %q, expected %q", names, want)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.tools == nil {
		e.tools = map[string]string{}
	}
	if before, ok := e.tools[api.name]; ok && before != raw {
		return errors.New("the definitions of the tools have changed since the first request")
	}
	e.tools[api.name] = raw
	return nil
}

// checkMessages wants every call answered once, right after it was made, before anyone
// says anything else. Programs says that the results are results of exec and wait.
func checkMessages(list []Message, programs bool) error {
	if len(list) == 0 || list[0].Role != "user" {
		return errors.New("a conversation starts with what a person says")
	}
	open, seen := map[string]bool{}, map[string]bool{}
	for i, m := range list {
		if m.Role != "tool" && len(open) > 0 {
			return fmt.Errorf("message %d comes before the results of %d calls", i, len(open))
		}
		for _, r := range m.Results {
			if !open[r.CallID] {
				return fmt.Errorf("message %d answers %q, which is not an open call", i, r.CallID)
			}
			delete(open, r.CallID)
			if err := checkResult(r.Content, programs); err != nil {
				return fmt.Errorf("the result of %s: %w", r.CallID, err)
			}
		}
		for _, c := range m.Calls {
			if c.ID == "" || seen[c.ID] {
				return fmt.Errorf("message %d has the call %q twice", i, c.ID)
			}
			seen[c.ID], open[c.ID] = true, true
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("%d calls have no results", len(open))
	}
	if last := list[len(list)-1]; last.Role == "assistant" {
		return errors.New("the model has said the last word already")
	}
	return nil
}

// hidden are fields of a result that are for people and programs, not for models.
var hidden = []string{"telemetry", "isolation", "phase", "dispatched"}

func checkResult(content string, programs bool) error {
	if !gjson.Valid(content) {
		return fmt.Errorf("it is not JSON: %.200s", content)
	}
	if !programs {
		return nil
	}
	fields := gjson.Parse(content)
	for _, name := range hidden {
		if fields.Get(name).Exists() {
			return fmt.Errorf("it shows the model %s", name)
		}
	}
	if status := fields.Get("status").String(); !slices.Contains([]string{"completed", "waiting", "failed"}, status) {
		return fmt.Errorf("its status is %q: %.200s", status, content)
	}
	return nil
}
