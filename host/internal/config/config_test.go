package config_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host/internal/config"
)

// limits is a configuration with a field of every kind.
type limits struct {
	On      bool
	Size    int
	Wait    time.Duration
	Name    string
	Word    string
	Words   []string
	Entries map[string]*limits
	List    []string
	Raw     json.RawMessage
	started int
}

func (l *limits) table() config.Table {
	return config.Table{EnvPrefix: "T_", Strict: []string{"GROUP_"}, Fields: []config.Field{
		config.Object("group", []config.Field{
			config.Bool("on", &l.On, "Switches."),
			config.Int("size", &l.Size, 1, 10, "Sizes."),
			config.Duration("waitMs", &l.Wait, time.Millisecond, 10, 1000, "Waits."),
		}, "A group.").Switch("on"),
		config.Text("name", &l.Name, "Names | calls.").Check(func(s string) error {
			if strings.Contains(s, " ") {
				return errors.New("a name without spaces")
			}
			return nil
		}),
		config.Choice("word", &l.Word, []string{"one", "two"}, "Chooses.").Alias("uno", "one"),
		config.Texts("words", &l.Words, "Lists."),
		config.Map("entries", "id", func(id string) config.Field {
			e := &limits{Size: l.Size}
			l.Entries[id] = e
			return config.Object(id, []config.Field{config.Int("size", &e.Size, 1, 10, "Sizes.")}, "One entry.").Inherited()
		}, "Maps.").OnFirst(func() { l.started++; l.Entries = map[string]*limits{} }).CheckKey(func(k string) error {
			if k == "bad" {
				return errors.New("another key")
			}
			return nil
		}),
		config.List("list", func(i int) config.Field {
			l.List = append(l.List, "")
			return config.Object("", []config.Field{config.Text("of", &l.List[i], "Elements.")}, "One element.")
		}, "Lists objects."),
		config.Raw("raw", &l.Raw, "Anything."),
	}}
}

// TestEveryKind reads each kind from a file, what text can give from the
// environment and the command line, and says where it came from.
func TestEveryKind(t *testing.T) {
	l := limits{Size: 5, Word: "two", Entries: map[string]*limits{}}
	report, err := l.table().Read(config.Input{
		File: "f", Text: []byte("{entries:{a:{size:2},b:{}},group:true,name:'x',word:'uno',words:[],list:[{of:'p'},{}],raw:{z:[1,],y:0x10}}"),
		Environ: []string{"T_GROUP_SIZE=7", "T_WORDS=a, b,", "T_GROUP_SISE=1", "T_OTHER=1"},
		Set:     []string{"group.waitMs=5", "words=['c']", "name=y=z"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := limits{
		On: true, Size: 7, Wait: 10 * time.Millisecond, Name: "y=z", Word: "one", Words: []string{"c"}, List: []string{"p", ""},
		Entries: map[string]*limits{"a": {Size: 2}, "b": {Size: 7}}, Raw: json.RawMessage(`{"z":[1],"y":16}`), started: 1,
	}
	if d := cmp.Diff(want, l, cmp.AllowUnexported(limits{})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	var got []string
	for _, v := range report.Values {
		got = append(got, fmt.Sprintf("%s %v %s", v.Field, v.Value, v.Origin))
	}
	if d := cmp.Diff([]string{
		"group.on true f:1:34", "group.size 7 T_GROUP_SIZE", "group.waitMs 10 --set", "name y=z --set", "word one f:1:53",
		"words [c] --set", "entries.a.size 2 f:1:19", "list[0].of p f:1:78", `raw {"z":[1],"y":16} f:1:91`,
	}, strings.Split(strings.ReplaceAll(strings.Join(got, "\n"), "[123 34 122 34 58 91 49 93 44 34 121 34 58 49 54 125]", `{"z":[1],"y":16}`), "\n")); d != "" {
		t.Errorf("values (-want +got):\n%s", d)
	}
	got = nil
	for _, w := range report.Warnings {
		got = append(got, w.String())
	}
	if d := cmp.Diff([]string{
		"T_GROUP_SISE: this variable sets no field; did you mean T_GROUP_SIZE?",
		"--set: group.waitMs is 5, below the least it can be; 10 is used (range 10 to 1000)",
	}, got); d != "" {
		t.Errorf("warnings (-want +got):\n%s", d)
	}
}

// TestProblems: faults of every kind, with their places, in order.
func TestProblems(t *testing.T) {
	l := limits{Entries: map[string]*limits{}}
	report, err := l.table().Read(config.Input{
		File: "f", Text: []byte("{group:7,\nname:'a b',word:'tow',words:'w',\nentries:{bad:{},a:{size:'s'},a:{}},list:[1,{off:''}],\nraw:Infinity,nam:1}"),
		Environ: []string{"T_WORD=x", "T_NAME="},
		Set:     []string{"entries.a.size=3"},
	})
	var e *config.Error
	if report == nil || !errors.As(err, &e) {
		t.Fatalf("got %v, %v", report, err)
	}
	want := []string{
		`f:1:8: group is 7, expected true, false or an object`,
		`f:2:6: name is "a b", expected a name without spaces`,
		`f:2:17: word is "tow", expected one of "one", "two"; did you mean "two"?`,
		`f:2:29: words is "w", expected a list of texts`,
		`f:3:10: entries has the entry "bad", expected another key`,
		`f:3:25: entries.a.size is "s", expected an integer from 1 to 10`,
		`f:3:30: entries.a stands twice, first at 3:17; keep one of them`,
		`f:3:42: list[0] is 1, expected an object`,
		`f:3:45: list[1].off is no such field; did you mean of?`,
		`f:4:5: raw is Infinity, expected a value that JSON can hold`,
		`f:4:14: nam is no such field; did you mean name?`,
		`T_WORD: word is "x", expected one of "one", "two"`,
		`--set: entries.a.size is no field that can be set here`,
	}
	if d := cmp.Diff(want, strings.Split(err.Error(), "\n")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestMarkdownAndSchema have every field.
func TestMarkdownAndSchema(t *testing.T) {
	l := limits{Size: 5, Word: "two", Entries: map[string]*limits{}}
	page := l.table().Markdown()
	for _, want := range []string{
		"| `size` | `5` | 1 to 10 | `T_GROUP_SIZE` | Sizes. |", `| Names \| calls. |`, "## `entries.<id>`", "## `list[]`",
		"`true` alone stands for `{ on: true }`", "As in `group`: `size`.",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the reference lacks %q:\n%s", want, page)
		}
	}
	schema, err := l.table().Schema("T")
	if err != nil || !json.Valid(schema) {
		t.Fatalf("%v: %s", err, schema)
	}
	for _, want := range []string{`"default": 5`, `"uno"`, `"minimum": 1`, `"additionalProperties": false`} {
		if !strings.Contains(string(schema), want) {
			t.Errorf("the schema lacks %s:\n%s", want, schema)
		}
	}
}
