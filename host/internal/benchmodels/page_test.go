package benchmodels

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host/codemode"
)

var update = flag.Bool("update", false, "write docs/models.md and its picture")

const (
	docs    = "../../../docs"
	page    = "models.md"
	picture = "models.svg"
)

// results are all figures of the page.
type results struct {
	domains          []domain
	replays          map[string][]replay // by domain
	prompts          []prompt
	all, tuned, held quality
	direct, auto     int // tokens at ten tools
	larger           int // tokens of the definitions of the tools of others
}

// measureAll makes all figures.
func measureAll(t testing.TB) results {
	t.Helper()
	on, auto := newHost(t, codemode.ActivationOn), newHost(t, codemode.ActivationAuto)
	r := results{domains: domains(), replays: map[string][]replay{}, prompts: measurePrompts(t, on, auto)}
	others := ownerless(services(t))
	r.larger = tokens(t, definitions(t, others))
	for _, d := range r.domains {
		worker := newReplayer(t, on, d)
		for _, k := range d.tasks {
			done := worker.run(k)
			done.costs[wayLookUp] = worker.lookUp(k, d.db.clone(), others)
			r.replays[d.name] = append(r.replays[d.name], done)
		}
	}
	r.all, r.tuned, r.held = searchQuality(t)
	r.direct, r.auto = fewTools(t, auto)
	return r
}

// TestModelsPage holds docs/models.md and its picture against the figures. With -update
// it writes them.
func TestModelsPage(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("half a minute; TestSomeTasks replays a part")
	}
	r := measureAll(t)
	parts := map[string]string{
		"tasks": r.taskTable(), "lengths": r.lengthTable(), "prompts": r.promptTable(), "search": r.searchTable(), "few": r.fewTable(), "large": r.largeTable(),
	}
	file := filepath.Join(docs, page)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := string(text)
	for _, name := range sortedKeys(parts) {
		want = withPart(t, want, name, parts[name])
		t.Logf("%s\n%s", name, parts[name])
	}
	compare(t, file, string(text), want)
	drawn, err := os.ReadFile(filepath.Join(docs, picture))
	if err != nil && !*update {
		t.Fatal(err)
	}
	compare(t, filepath.Join(docs, picture), string(drawn), r.draw())
	tasks, err := os.ReadFile(filepath.Join("testdata", "tasks.csv"))
	if err != nil && !*update {
		t.Fatal(err)
	}
	compare(t, filepath.Join("testdata", "tasks.csv"), string(tasks), r.perTask())
	r.checkGoals(t)
}

// compare holds a file against what it should be, or writes it.
func compare(t *testing.T, file, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	if !*update {
		t.Errorf("%s is out of date: run make bench-models", filepath.Base(file))
		return
	}
	if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// withPart replaces what is between the marks of a generated part.
func withPart(t *testing.T, text, name, part string) string {
	t.Helper()
	start, end := "<!-- generated: "+name+" -->\n", "<!-- end -->\n"
	before, rest, opened := strings.Cut(text, start)
	_, after, closed := strings.Cut(rest, end)
	if !opened || !closed {
		t.Fatalf("%s lacks the marks %q and %q", page, start, end)
	}
	return before + start + part + end + after
}

// checkGoals fails where a figure is worse than what is promised.
func (r results) checkGoals(t *testing.T) {
	t.Helper()
	for _, d := range r.domains {
		direct, cell := r.mean(d.name, wayDirect), r.mean(d.name, wayAnswer)
		if math.Abs(cell.turns-2) > 1e-9 {
			t.Errorf("%s: %.2f turns, want one program and an answer", d.name, cell.turns)
		}
		if d.name == "banking" && cell.turns > 0.2*direct.turns {
			t.Errorf("banking: %.1f turns in place of %.1f, want 80 %% fewer", cell.turns, direct.turns)
		}
		if cell.results > 0.2*direct.results {
			t.Errorf("%s: the results of a program are %.0f tokens, those of direct calls %.0f, want at most a fifth", d.name, cell.results, direct.results)
		}
		if cell.total > direct.total {
			t.Errorf("%s: one program takes %.0f tokens, direct calls %.0f", d.name, cell.total, direct.total)
		}
	}
}

// means are the mean figures of the tasks of a domain.
type means struct{ turns, input, output, results, total, longest float64 }

func (r results) mean(domain, way string) means { return meanOf(r.replays[domain], way) }

func meanOf(replays []replay, way string) (m means) {
	n := float64(len(replays))
	for _, p := range replays {
		c := p.costs[way]
		m.turns += float64(c.turns) / n
		m.input += float64(c.input) / n
		m.output += float64(c.output) / n
		m.results += float64(c.results) / n
		m.total += float64(c.total()) / n
		m.longest += float64(c.longest) / n
	}
	return m
}

// taskTable compares the ways of working for each domain.
func (r results) taskTable() string {
	var b strings.Builder
	b.WriteString("| domain | way | turns | tokens read | tokens written | tokens of results | context at the end | tokens, direct = 100 |\n|---|---|---:|---:|---:|---:|---:|---:|\n")
	for _, d := range r.domains {
		calls, most := callsOf(d)
		name := fmt.Sprintf("%s: %d tasks, %.1f calls (at most %d), %d tools", d.name, len(d.tasks), calls, most, len(d.operations))
		base := r.mean(d.name, wayDirect).total
		for _, way := range ways {
			m := r.mean(d.name, way)
			fmt.Fprintf(&b, "| %s | %s | %.1f | %.0f | %.0f | %.0f | %.0f | %.0f |\n", name, way, m.turns, m.input, m.output, m.results, m.longest, 100*m.total/base)
			name = ""
		}
	}
	return b.String()
}

// largeTable compares the ways of working where the tools of a task are among many.
func (r results) largeTable() string {
	var b strings.Builder
	b.WriteString("| domain | direct calls: turns | tokens | a server with search and call: turns | tokens | look the tools up, one program: turns | tokens | tokens, direct = 100 |\n" +
		"|---|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, d := range r.domains {
		direct, relay, cell := r.mean(d.name, wayDirect), r.mean(d.name, wayRelay), r.mean(d.name, wayLookUp)
		total := direct.total + direct.turns*float64(r.larger)
		fmt.Fprintf(&b, "| %s | %.1f | %.0f | %.1f | %.0f | %.1f | %.0f | %.1f |\n", d.name, direct.turns, total, relay.turns, relay.total, cell.turns, cell.total, 100*cell.total/total)
	}
	return b.String()
}

// lengthTable compares tasks by how many calls they need.
func (r results) lengthTable() string {
	var b strings.Builder
	b.WriteString("| calls | tasks | turns, direct | turns, one program | tokens, direct | tokens, one program | saved |\n|---|---:|---:|---:|---:|---:|---:|\n")
	from := 1
	for _, to := range []int{1, 2, 4, 8, 16, 64} {
		var some []replay
		for _, d := range r.domains {
			for _, p := range r.replays[d.name] {
				if n := len(p.task.calls); n >= from && n <= to {
					some = append(some, p)
				}
			}
		}
		label := fmt.Sprintf("%d to %d", from, to)
		if from == to {
			label = fmt.Sprint(to)
		}
		direct, cell := meanOf(some, wayDirect), meanOf(some, wayAnswer)
		fmt.Fprintf(&b, "| %s | %d | %.1f | %.1f | %.0f | %.0f | %.0f %% |\n", label, len(some), direct.turns, cell.turns, direct.total, cell.total, 100*(1-cell.total/direct.total))
		from = to + 1
	}
	return b.String()
}

// promptTable has what definitions cost.
func (r results) promptTable() string {
	var b strings.Builder
	b.WriteString("| tools | all definitions | exec and wait | a server with search and call | one search of such a server | `auto` shows |\n|---:|---:|---:|---:|---:|---|\n")
	for _, p := range r.prompts {
		shows := "the tools"
		if p.auto {
			shows = "exec and wait"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", grouped(p.tools), grouped(p.direct), grouped(p.ours), grouped(p.relay), grouped(p.search), shows)
	}
	return b.String()
}

func (r results) searchTable() string {
	var b strings.Builder
	b.WriteString("| queries | number | recall@5 | recall@10 | first result is right | no result |\n|---|---:|---:|---:|---:|---:|\n")
	for _, row := range []struct {
		name string
		q    quality
	}{{"all", r.all}, {"whose misses were read", r.tuned}, {"the others", r.held}} {
		fmt.Fprintf(&b, "| %s | %d | %.2f | %.2f | %.2f | %d |\n", row.name, row.q.queries, row.q.recall5, row.q.recall10, row.q.first, row.q.empty)
	}
	return b.String()
}

func (r results) fewTable() string {
	return fmt.Sprintf("| ten tools, %d tasks | tokens |\n|---|---:|\n| direct calls | %s |\n| what `auto` shows | %s (%+.1f %%) |\n",
		len(r.replays["airline"]), grouped(r.direct), grouped(r.auto), 100*(float64(r.auto)/float64(r.direct)-1))
}

// perTask has a line for each task.
func (r results) perTask() string {
	var b strings.Builder
	b.WriteString("domain,task,calls,direct turns,direct tokens,one program turns,one program tokens\n")
	for _, d := range r.domains {
		for i, p := range r.replays[d.name] {
			b.WriteString(p.line(i))
		}
	}
	return b.String()
}

// line returns the line of a task in testdata/tasks.csv.
func (p replay) line(i int) string {
	direct, cell := p.costs[wayDirect], p.costs[wayAnswer]
	return fmt.Sprintf("%s,%d,%d,%d,%d,%d,%d\n", p.task.domain, i+1, len(p.task.calls), direct.turns, direct.total(), cell.turns, cell.total())
}

// TestSomeTasks replays the first tasks of each domain in all ways, which must leave the
// same database.
func TestSomeTasks(t *testing.T) {
	t.Parallel()
	h := newHost(t, codemode.ActivationOn)
	const some = 4
	for _, d := range domains() {
		r := newReplayer(t, h, d)
		for _, k := range d.tasks[:some] {
			if c := r.run(k).costs[wayAnswer]; c.turns != 2 {
				t.Errorf("%s: %d turns, want one program and an answer", d.name, c.turns)
			}
		}
	}
}

// grouped writes a number with commas.
func grouped(n int) string {
	digits := fmt.Sprint(n)
	var parts []string
	for len(digits) > 3 {
		parts = append(parts, digits[len(digits)-3:])
		digits = digits[:len(digits)-3]
	}
	parts = append(parts, digits)
	slices.Reverse(parts)
	return strings.Join(parts, ",")
}
