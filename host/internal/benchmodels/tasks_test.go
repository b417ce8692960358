package benchmodels

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// call is one call of a tool that solves a part of a task.
type call struct {
	tool  string
	input document
}

// task is what a user asks for, and the calls that do it.
type task struct {
	domain, text string
	calls        []call
}

// domain is a business with a database, tools and tasks.
type domain struct {
	name       string
	operations []operation
	db         database
	tasks      []task
}

// plan says how many tasks of a domain need how many calls, by number of calls.
type plan map[int]int

// story makes the calls of tasks from what a domain's records are.
type story struct {
	// objects is the table of what customers have, such as bookings.
	objects string
	// first looks the customer up, each object is read and then written, and last ends
	// a story that has room for one more call.
	first       func(customer string) call
	read, write func(d *dice, object document) call
	last        func(d *dice, customer string) call
	text        string // what the user says; %s is the customer, %d the number of objects
}

// need is how many objects a story of n calls has.
func need(n int) int { return max((n-1)/2, 1) }

// makeTasks makes the tasks of a plan. The objects of customer i are those that task i
// is about.
func (s story) makeTasks(name string, p plan, db database) []task {
	var tasks []task
	for _, n := range lengths(p) {
		d := newDice(fmt.Sprintf("%s task %d", name, len(tasks)))
		customer := customerID(len(tasks))
		tasks = append(tasks, task{
			domain: name, text: fmt.Sprintf(s.text, customer, need(n)),
			calls: s.calls(d, customer, s.of(db, customer, need(n)), n),
		})
	}
	return tasks
}

// calls makes n calls: reads first, as an agent has to, and then writes.
func (s story) calls(d *dice, customer string, objects []document, n int) []call {
	switch n {
	case 1:
		return []call{s.read(d, objects[0])}
	case 2:
		return []call{s.read(d, objects[0]), s.write(d, objects[0])}
	}
	calls := []call{s.first(customer)}
	for _, o := range objects {
		calls = append(calls, s.read(d, o))
	}
	for _, o := range objects {
		calls = append(calls, s.write(d, o))
	}
	if len(calls) < n {
		calls = append(calls, s.last(d, customer))
	}
	return calls
}

// of returns the first objects of a customer.
func (s story) of(db database, customer string, n int) []document {
	var own []document
	for _, id := range sortedKeys(db[s.objects]) {
		if o := db[s.objects][id]; o["customer_id"] == customer && len(own) < n {
			own = append(own, o)
		}
	}
	return own
}

// lengths are the numbers of calls of the tasks of a plan, mixed.
func lengths(p plan) []int {
	var all []int
	for n, tasks := range p {
		for range tasks {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	d := newDice("lengths")
	for i := len(all) - 1; i > 0; i-- {
		j := d.roll(i + 1)
		all[i], all[j] = all[j], all[i]
	}
	return all
}

func customerID(i int) string { return fmt.Sprintf("C%04d", i+1) }

// perCustomer says how many objects each customer has: as many as its task needs, and
// a few for those without one.
func perCustomer(p plan, customers int, d *dice) []int {
	counts := make([]int, customers)
	need1 := lengths(p)
	for i := range counts {
		counts[i] = 1 + d.roll(4)
		if i < len(need1) {
			counts[i] = max(counts[i], need(need1[i]))
		}
	}
	return counts
}

// names of people and places that records are made of.
var (
	firstNames = strings.Fields("Ada Bruno Chiara David Elif Farid Greta Hugo Ines Jonas Kaja Liam Mara Nils Olga Pavel Rosa Sven Tara Uwe")
	lastNames  = strings.Fields("Adler Brandt Costa Dubois Eriksen Fischer Garcia Haas Ivanov Jansen Keller Lindt Moreau Novak Olsen Petit Rossi Silva Toth Weber")
	towns      = strings.Fields("Basel Bergen Bilbao Bordeaux Ghent Graz Krakow Leeds Lyon Malmo Porto Riga Sofia Turin Utrecht Vilnius")
)

// person makes the record of a customer.
func person(d *dice, id string) document {
	first, last := choose(d, firstNames), choose(d, lastNames)
	return document{
		"id": id, "name": first + " " + last, "email": strings.ToLower(first+"."+last) + "@example.com",
		"address":    document{"street": fmt.Sprintf("%s Street %d", choose(d, lastNames), 1+d.roll(90)), "city": choose(d, towns), "postal_code": fmt.Sprint(10000 + d.roll(80000))},
		"birth_date": fmt.Sprintf("%d-%02d-%02d", 1950+d.roll(55), 1+d.roll(12), 1+d.roll(28)),
		"membership": choose(d, []string{"regular", "silver", "gold"}),
		"payment_methods": []any{
			document{"id": fmt.Sprintf("card_%04d", d.roll(10000)), "kind": "credit_card", "last_four": fmt.Sprintf("%04d", d.roll(10000))},
			document{"id": fmt.Sprintf("voucher_%04d", d.roll(10000)), "kind": "voucher", "balance": float64(10 * d.roll(40))},
		},
	}
}

// domains are the three businesses.
func domains() []domain { return []domain{airline(), retail(), banking()} }

// TestTasks: domains have the size that the page says, and every call of every task
// works.
func TestTasks(t *testing.T) {
	t.Parallel()
	for _, d := range domains() {
		mean, most := callsOf(d)
		t.Logf("%s: %d tools, %d tasks, %.1f calls in the mean and %d at most, a database of %d KB",
			d.name, len(d.operations), len(d.tasks), mean, most, len(d.db.changes(t, nil))>>10)
		for _, task := range d.tasks {
			for _, o := range task.calls {
				if !slices.ContainsFunc(d.operations, func(op operation) bool { return strings.HasPrefix(op.line, o.tool+"(") }) {
					t.Errorf("%s: %s does not exist", d.name, o.tool)
				}
			}
		}
	}
}

// callsOf returns how many calls the tasks of a domain need.
func callsOf(d domain) (mean float64, most int) {
	for _, task := range d.tasks {
		mean += float64(len(task.calls)) / float64(len(d.tasks))
		most = max(most, len(task.calls))
	}
	return mean, most
}
