// Package story is the conversation of make demo-gateway: what a person types, what the
// scripted model replies, and a driver that holds it with a gateway in a process of its
// own, which it kills in the middle.
package story

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/quoinhq/quoin/examples/gateway/scripted"
)

// Lines are what the person types, in order.
var lines = []string{
	"File two bugs: the export loses the last row (data), and an empty file crashes it (urgent).",
	"Book a review of each open bug on 2 March with the person on call, and note it on the issue.",
	"Is each of them booked once?",
}

// Programs of the model.
const (
	fileBugs = `const bugs = [["Export loses the last row", "data"], ["Crash on an empty file", "urgent"]];
const issues = await Promise.all(bugs.map(([title, area]) => Issues.create({ title, labels: ["bug", area] })));
return issues.map((issue) => issue.title).sort();`

	searchTools = `return (await tools.search("book a meeting in free time", { limit: 5 })).map((tool) => tool.id);`

	bookReviews = `const [bugs, day] = await Promise.all([
  Issues.list({ state: "open", labels: ["bug"] }),
  Calendar.freeBusy({ from: "2026-03-02", to: "2026-03-03" }, { workingHours: { from: "09:00", to: "17:00" }, slotMinutes: 30 }),
]);
const byTitle = bugs.items.sort((a, b) => (a.title < b.title ? -1 : 1));
const people = await Promise.all(byTitle.map((bug) => tools.on_call({ area: bug.labels.find((label) => label !== "bug") })));
const booked = [];
for (const [n, bug] of byTitle.entries()) {
  const event = await Calendar.create({ title: "Review: " + bug.title, ...day.slots[n], onlyIfFree: true });
  await Issues.comment(bug.id, "Review with " + people[n].name + ", " + day.slots[n].start);
  booked.push(event.title + " with " + people[n].name);
}
return booked;`

	countAll = `const [bugs, day] = await Promise.all([Issues.list({ labels: ["bug"] }), Calendar.list({ from: "2026-03-02", to: "2026-03-03" })]);
return { events: day.items.length, comments: bugs.items.map((bug) => bug.comments) };`
)

// script is the model's side. It reads the results that it gets, and stops the
// conversation at the first that it does not expect.
var script = []scripted.Turn{
	program("I file both in one program.", fileBugs, ""),
	say("Filed: ", "Crash on an empty file", "Export loses the last row"),
	program("I look for the tools.", searchTools, ""),
	program("", bookReviews, "calendar_create"),
	say("Booked: ", "Review: Crash on an empty file with ", "Review: Export loses the last row with "),
	program("", countAll, ""),
	say("Yes: ", `"events":2`, `"comments":[1,1]`),
}

// program has the model run a program, once the results before it have a word in them.
func program(text, code, wants string) scripted.Turn {
	return func(c scripted.Conversation) (scripted.Reply, error) {
		for _, r := range c.Last() {
			if !strings.Contains(r.Content, wants) {
				return scripted.Reply{}, fmt.Errorf("the result is %s, expected one with %q", r.Content, wants)
			}
		}
		arguments, err := json.Marshal(map[string]string{"code": code})
		return scripted.Reply{Text: text, Calls: []scripted.Call{{Name: "exec", Arguments: string(arguments)}}}, err
	}
}

// say has the model tell the value of the program that has just completed.
func say(text string, wants ...string) scripted.Turn {
	return func(c scripted.Conversation) (scripted.Reply, error) {
		results := c.Last()
		if len(results) != 1 {
			return scripted.Reply{}, fmt.Errorf("there are %d results, expected one", len(results))
		}
		var r struct {
			Status string          `json:"status"`
			Value  json.RawMessage `json:"value"`
		}
		if err := json.Unmarshal([]byte(results[0].Content), &r); err != nil || r.Status != "completed" {
			return scripted.Reply{}, fmt.Errorf("the program did not complete: %s", results[0].Content)
		}
		for _, want := range wants {
			if !strings.Contains(string(r.Value), want) {
				return scripted.Reply{}, fmt.Errorf("the program returned %s, expected %s in it", r.Value, want)
			}
		}
		return scripted.Reply{Text: text + string(r.Value)}, nil
	}
}
