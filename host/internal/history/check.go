package history

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Rule is a promise that several hosts keep together.
type Rule string

const (
	// Lost: a run that a client was told of ends, with a result that the client gets.
	Lost Rule = "no run is lost"
	// Doubled: a call takes effect once, unless its tool is declared idempotent.
	Doubled Rule = "no effect is doubled"
	// Answers: what a program was told of its calls is what its calls did.
	Answers Rule = "answers are those of the calls"
	// Epochs: no two claims of a run have one epoch, and each has a higher one than
	// those before it.
	Epochs Rule = "epochs grow"
	// Fencing: only the newest claim of a run writes it.
	Fencing Rule = "only the newest claim writes"
	// Tokens: a plugin that compares epochs takes no call of an older one than it has seen.
	Tokens Rule = "no effect of an older epoch"
	// Results: a run has one result, however often it is delivered.
	Results Rule = "results are equal"
)

// Violation is a promise that was broken for a run.
type Violation struct {
	Rule   Rule
	Run    string
	Detail string
	Events []Event // what proves it, in the order of the history
}

func (v Violation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: run %s: %s", v.Rule, v.Run, v.Detail)
	for _, e := range v.Events {
		fmt.Fprintf(&b, "\n\t%s", e)
	}
	return b.String()
}

// Check returns the violations of a history that is over, by run and then by rule.
func Check(events []Event) []Violation {
	byRun := map[string][]Event{}
	for _, e := range events {
		if e.Run != "" {
			byRun[e.Run] = append(byRun[e.Run], e)
		}
	}
	var found []Violation
	for _, id := range slices.Sorted(maps.Keys(byRun)) {
		r := run{id: id, events: byRun[id]}
		for _, rule := range rules {
			rule(&r)
		}
		found = append(found, r.found...)
	}
	return found
}

var rules = []func(*run){
	(*run).checkEnds, (*run).checkResults, (*run).checkEffects, (*run).checkAnswers,
	(*run).checkEpochs, (*run).checkWrites, (*run).checkTokens,
}

// run is the history of one run.
type run struct {
	id     string
	events []Event
	found  []Violation
}

func (r *run) of(kinds ...Kind) []Event {
	var some []Event
	for _, e := range r.events {
		if slices.Contains(kinds, e.Kind) {
			some = append(some, e)
		}
	}
	return some
}

func (r *run) violate(rule Rule, proof []Event, format string, args ...any) {
	r.found = append(r.found, Violation{rule, r.id, fmt.Sprintf(format, args...), proof})
}

// checkEnds is the rule Lost.
func (r *run) checkEnds() {
	if failed := r.of(Failed); len(failed) > 0 {
		r.violate(Lost, failed, "it failed, and not by its program")
		return
	}
	if len(r.of(Suspended)) == 0 || len(r.of(Completed, Aborted)) > 0 {
		return
	}
	gone, unanswered := r.of(Gone), r.of(Unanswered)
	switch {
	case len(gone) > 0 && len(r.of(Kept)) > 0:
		r.violate(Lost, r.of(Gone, Kept, Unanswered), "a client was told that it had the result, which the store has still")
	case len(gone) == 0:
		r.violate(Lost, r.of(Suspended, Unanswered), "a client was told of it, and it never ended")
	case len(unanswered) == 0 || unanswered[0].At > gone[0].At:
		r.violate(Lost, gone, "a client was told that it had the result, and no request was without an answer before")
	}
}

// checkResults is the rule Results.
func (r *run) checkResults() {
	ends := r.of(Completed)
	for _, e := range ends {
		if e.Result != ends[0].Result {
			r.violate(Results, []Event{ends[0], e}, "two results")
			return
		}
	}
}

// effects returns the effects of a run by their keys.
func (r *run) effects() map[string][]Event {
	byKey := map[string][]Event{}
	for _, e := range r.of(Effected) {
		byKey[e.Key] = append(byKey[e.Key], e)
	}
	return byKey
}

// checkEffects is the rule Doubled.
func (r *run) checkEffects() {
	byKey := r.effects()
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		if es := byKey[key]; len(es) > 1 && !es[0].Idempotent {
			r.violate(Doubled, es, "%s took effect %d times", key, len(es))
		}
	}
}

// checkAnswers checks the rule Answers, for runs with a result that says what they were
// told.
func (r *run) checkAnswers() {
	ends := r.of(Completed)
	if len(ends) == 0 {
		return
	}
	end, byKey := ends[0], r.effects()
	for _, key := range end.Answered {
		if len(byKey[key]) == 0 {
			r.violate(Answers, []Event{end}, "the program got an answer of %s, which took no effect", key)
		}
		delete(byKey, key)
	}
	if len(byKey) > end.Unknown {
		r.violate(Answers, []Event{end}, "%s took effect; the program got no answer, and was told of %d calls that may have",
			strings.Join(slices.Sorted(maps.Keys(byKey)), ", "), end.Unknown)
	}
}

// checkEpochs is the rule Epochs.
func (r *run) checkEpochs() {
	claims := r.of(Claimed)
	for i := 1; i < len(claims); i++ {
		if claims[i].Epoch <= claims[i-1].Epoch {
			r.violate(Epochs, claims[i-1:i+1], "a claim of epoch %d follows one of epoch %d", claims[i].Epoch, claims[i-1].Epoch)
		}
	}
}

// checkWrites is the rule Fencing.
func (r *run) checkWrites() {
	var newest Event
	for _, e := range r.of(Claimed, Written) {
		switch {
		case e.Kind == Claimed:
			newest = e
		case newest.Kind == "": // the recorder of claims was not there yet
		case e.Epoch != newest.Epoch || e.Host != newest.Host:
			r.violate(Fencing, []Event{newest, e}, "%s wrote as epoch %d after %s had claimed epoch %d", e.Host, e.Epoch, newest.Host, newest.Epoch)
		}
	}
}

// checkTokens is the rule Tokens.
func (r *run) checkTokens() {
	var newest Event
	for _, e := range r.of(Effected, Refused) {
		switch {
		case e.Epoch == 0: // the call carried none
		case e.Kind == Effected && e.Epoch < newest.Epoch:
			r.violate(Tokens, []Event{newest, e}, "the plugin had seen epoch %d", newest.Epoch)
		case e.Epoch > newest.Epoch:
			newest = e
		}
	}
}
