package namespaces

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// reg makes a registration that is fine, then changed by edit.
func reg(edit func(*Registration)) Registration {
	r := Registration{
		PluginID: "tracker", ID: "issues", GlobalName: "Issues", Description: "Issues.",
		RequiredTools: []string{"list_issues"},
		CreateScope:   func(context.Context, RunContext) (any, error) { return map[string]any{}, nil },
	}
	if edit != nil {
		edit(&r)
	}
	return r
}

func TestRegisterRefuses(t *testing.T) {
	tests := []struct {
		name string
		edit func(*Registration)
		code Code
		says string
	}{
		{"no owner", func(r *Registration) { r.PluginID = "" }, InvalidPluginID, "plugin id"},
		{"owner with a colon", func(r *Registration) { r.PluginID = "a:b" }, InvalidPluginID, "':'"},
		{"no id", func(r *Registration) { r.ID = "" }, InvalidID, "letter or digit"},
		{"id as a path", func(r *Registration) { r.ID = "../issues" }, InvalidID, "letter or digit"},
		{"id too long", func(r *Registration) { r.ID = strings.Repeat("x", 129) }, InvalidID, "128"},
		{"no global", func(r *Registration) { r.GlobalName = "" }, NotIdentifier, "JavaScript identifier"},
		{"global with a dash", func(r *Registration) { r.GlobalName = "My-Issues" }, NotIdentifier, "My-Issues"},
		{"global with a digit first", func(r *Registration) { r.GlobalName = "1Issues" }, NotIdentifier, "1Issues"},
		{"global with a dot", func(r *Registration) { r.GlobalName = "a.b" }, NotIdentifier, "a.b"},
		{"global not UTF-8", func(r *Registration) { r.GlobalName = "a\xff" }, NotIdentifier, "identifier"},
		{"global of symbols", func(r *Registration) { r.GlobalName = "ⸯ" }, NotIdentifier, "identifier"},
		{"reserved", func(r *Registration) { r.GlobalName = "tools" }, ReservedGlobal, `globalName "tools" is reserved`},
		{"no tools", func(r *Registration) { r.RequiredTools = nil }, NoRequiredTools, "requiredToolNames must include at least one tool name"},
		{"empty tool", func(r *Registration) { r.RequiredTools = []string{""} }, InvalidToolName, "required tool"},
		{"unprintable tool", func(r *Registration) { r.RequiredTools = []string{"a\x00b"} }, InvalidToolName, "required tool"},
		{"long description", func(r *Registration) { r.Description = strings.Repeat("x", 4097) }, TextTooLong, "4096"},
		{"long prompt", func(r *Registration) { r.Prompt = strings.Repeat("x", 16<<10+1) }, TextTooLong, "16384"},
		{"no scope", func(r *Registration) { r.CreateScope = nil }, NoScope, "CreateScope"},
		{"id taken", func(r *Registration) { r.ID, r.GlobalName = "taken", "Other" }, DuplicateID, `already registered by plugin "first"`},
		{"global taken", func(r *Registration) { r.GlobalName = "Taken" }, DuplicateGlobal,
			`globalName "Taken" is already registered by namespace "taken" of plugin "first"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := NewRegistry()
			if err := r.Register(reg(func(r *Registration) { r.PluginID, r.ID, r.GlobalName = "first", "taken", "Taken" })); err != nil {
				t.Fatal(err)
			}
			bad := reg(test.edit)
			for way, err := range map[string]error{"Register": r.Register(bad), "Replace": r.Replace(bad.PluginID, []Registration{bad})} {
				if !errors.Is(err, test.code) || !strings.Contains(err.Error(), test.says) {
					t.Errorf("%s: %v; want %s with %q", way, err, test.code, test.says)
				}
				if bad.ID != "" && len(bad.ID) < 80 && !strings.Contains(err.Error(), bad.ID) {
					t.Errorf("%s: %v does not name the namespace", way, err)
				}
			}
			if all := r.All(); len(all) != 1 || all[0].ID != "taken" {
				t.Errorf("after a refusal the registry has %v", all)
			}
		})
	}
}

func TestReservedGlobals(t *testing.T) {
	for _, name := range strings.Fields(`tools namespaces text json yield_control MCP API ALL_TOOLS results console
		__quoin __quoinBridge globalThis undefined NaN Object Promise JSON Map Reflect Proxy Temporal Atomics eval
		await class let static enum require process fetch window setTimeout structuredClone URL crypto atob
		__proto__ constructor prototype toString hasOwnProperty then`) {
		if !IsReserved(name) {
			t.Errorf("%s is not reserved", name)
		}
		if err := NewRegistry().Register(reg(func(r *Registration) { r.GlobalName = name })); !errors.Is(err, ReservedGlobal) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"Issues", "Calendar", "$db", "_x", "Größe", "議題", "Tools", "quoin", "Text"} {
		if IsReserved(name) || !IsIdentifier(name) {
			t.Errorf("%s cannot be used", name)
		}
	}
}

func TestReplaceIsAllOrNothing(t *testing.T) {
	r := NewRegistry()
	old := reg(nil)
	if err := r.Register(old); err != nil {
		t.Fatal(err)
	}
	good := reg(func(r *Registration) { r.ID, r.GlobalName = "labels", "Labels" })
	foreign := reg(func(r *Registration) { r.PluginID, r.ID, r.GlobalName = "other", "x", "X" })
	if err := r.Replace("tracker", []Registration{good, foreign}); !errors.Is(err, WrongOwner) {
		t.Errorf("a foreign registration: %v", err)
	}
	if err := r.Replace("tracker", []Registration{good, good}); !errors.Is(err, DuplicateID) {
		t.Errorf("one id twice: %v", err)
	}
	if all := r.All(); len(all) != 1 || all[0].ID != "issues" {
		t.Fatalf("a refused Replace left %v", all)
	}
	// A new generation may keep its ids and globals, and swap them.
	swapped := []Registration{
		reg(func(r *Registration) { r.ID, r.GlobalName = "labels", "Issues" }),
		reg(func(r *Registration) { r.ID, r.GlobalName = "issues", "Labels" }),
	}
	if err := r.Replace("tracker", swapped); err != nil {
		t.Fatal(err)
	}
	if all := r.All(); len(all) != 2 || all[0].ID != "issues" || all[0].GlobalName != "Labels" {
		t.Errorf("after Replace: %v", all)
	}
	if err := r.Replace("tracker", nil); err != nil || len(r.All()) != 0 {
		t.Errorf("Replace with nothing: %v, left %v", err, r.All())
	}
}

func TestClearFreesNames(t *testing.T) {
	r := NewRegistry()
	for _, edit := range []func(*Registration){nil, func(r *Registration) { r.PluginID, r.ID, r.GlobalName = "cal", "calendar", "Calendar" }} {
		if err := r.Register(reg(edit)); err != nil {
			t.Fatal(err)
		}
	}
	if n := r.Clear("tracker"); n != 1 {
		t.Errorf("Clear removed %d", n)
	}
	if n := r.Clear("tracker"); n != 0 {
		t.Errorf("Clear of nothing removed %d", n)
	}
	if all := r.All(); len(all) != 1 || all[0].PluginID != "cal" {
		t.Errorf("left: %v", all)
	}
	if err := r.Register(reg(func(r *Registration) { r.PluginID = "other" })); err != nil {
		t.Errorf("a freed name is still taken: %v", err)
	}
}

func TestRegistryKeepsItsOwnCopy(t *testing.T) {
	r := NewRegistry()
	tools := []string{"list_issues", "list_issues", "get_issue"}
	if err := r.Register(reg(func(r *Registration) { r.RequiredTools = tools })); err != nil {
		t.Fatal(err)
	}
	tools[0] = "evil"
	got := r.All()[0].RequiredTools
	if len(got) != 2 || got[0] != "list_issues" || got[1] != "get_issue" {
		t.Errorf("required tools: %v", got)
	}
	got[0] = "evil"
	if again := r.All()[0].RequiredTools; again[0] != "list_issues" {
		t.Errorf("a reader changed the registry: %v", again)
	}
}
