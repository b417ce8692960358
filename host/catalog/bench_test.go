package catalog

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"
)

// tenThousand makes tools with the vocabulary of many services.
func tenThousand() []Tool {
	verbs := []string{"list", "get", "create", "update", "delete", "search", "archive", "restore", "export", "import"}
	things := []string{"issue", "event", "file", "message", "invoice", "customer", "branch", "deployment", "metric", "alert",
		"ticket", "contact", "calendar", "document", "folder", "user", "group", "policy", "backup", "report"}
	var tools []Tool
	for service := range 50 {
		for _, thing := range things {
			for _, verb := range verbs {
				tools = append(tools, Tool{
					Name: fmt.Sprintf("svc%d_%s_%s", service, verb, thing), Owner: fmt.Sprintf("service-%02d", service),
					Description: fmt.Sprintf("Use this tool to %s one or more %ss of the service number %d, subject to the permissions of its account.", verb, thing, service),
					Parameters: json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{"%s_id":{"type":"string","description":"identifier of the %s"},`+
						`"filter":{"type":"string","description":"expression that limits which %ss are affected"},"limit":{"type":"integer"}},"required":["%s_id"]}`, thing, thing, thing, thing)),
				})
			}
		}
	}
	return tools
}

func benchCatalog(b *testing.B) *Catalog {
	c, err := New(tenThousand(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	return c
}

func BenchmarkNew10k(b *testing.B) {
	tools := tenThousand()
	for b.Loop() {
		if _, err := New(tools, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkIndex10k(b *testing.B) {
	c := benchCatalog(b)
	for b.Loop() {
		makeIndex(c.guest)
	}
}

// BenchmarkSearch10k reports the median and the 99th percentile too.
func BenchmarkSearch10k(b *testing.B) {
	c := benchCatalog(b)
	for name, query := range map[string]string{
		"common": "list the issues of a service with a filter",
		"rare":   "svc17 archived invoices",
		"prefix": "deploym",
		"none":   "xylophone",
		"exact":  "svc3_get_user",
		"blank":  "",
	} {
		b.Run(name, func(b *testing.B) {
			c.Search("x", 1)
			var took []time.Duration
			for b.Loop() {
				start := time.Now()
				c.Search(query, 8)
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		})
	}
}

func BenchmarkResolve10k(b *testing.B) {
	c := benchCatalog(b)
	for name, wanted := range map[string]string{"id": "quoin:service-03:svc3_get_user", "name": "svc3_get_user", "unknown": "svc3_get_uesr"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := c.Resolve(wanted); (err != nil) != (name == "unknown") {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkViews10k(b *testing.B) {
	tools := tenThousand()
	for b.Loop() {
		c, err := New(tools, Options{})
		if err != nil {
			b.Fatal(err)
		}
		c.GuestEntriesJSON()
		c.SafeNamesJSON()
		c.Fingerprint()
	}
}

func BenchmarkValidateInput(b *testing.B) {
	c, err := New([]Tool{{Name: "x", Parameters: json.RawMessage(issueSchema)}}, Options{})
	if err != nil {
		b.Fatal(err)
	}
	input := json.RawMessage(`{"repo":"a/b","state":"open","limit":5}`)
	for b.Loop() {
		if err := c.ValidateInput("quoin:core:x", input); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDerive10k is what a run with rules or tools of its own pays the first
// time.
func BenchmarkDerive10k(b *testing.B) {
	c := benchCatalog(b)
	b.Run("filter", func(b *testing.B) {
		for b.Loop() {
			c.Filter(func(t *Tool) bool { return t.Owner != "service-07" })
		}
	})
	b.Run("with", func(b *testing.B) {
		for b.Loop() {
			if _, err := c.With([]Tool{{Name: "pick", Source: SourceClient}}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
