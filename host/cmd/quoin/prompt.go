package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
)

// shown is what prompt says, as JSON.
type shown struct {
	Tools []shownTool `json:"tools"`
	Bytes int         `json:"bytes"` // of names, descriptions and schemas
}

type shownTool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Parameters  any    `json:"parameters"`
}

func newPrompt() *cobra.Command {
	var o options
	var provider, agent, key string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "prompt",
		Short: "Print what a model sees of code mode",
		Long: `Print the two tools that a model is shown in place of all others: their names,
descriptions with the limits in force, the index of tools and the namespaces,
and their schemas. With --provider, print them as a request to that API has
them in its field "tools": openai, openai-responses, anthropic, gemini or mcp.`,
		Example: `  quoin prompt
  quoin prompt --provider anthropic
  quoin prompt --json --config quoin.json5`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			p := host.Provider(provider)
			if provider != "" && !slices.Contains(host.Providers(), p) {
				return usagef("--provider is %q, expected one of %v", provider, host.Providers())
			}
			if provider != "" && asJSON {
				return usagef("both --provider and --json are given: the first prints JSON already")
			}
			return o.look(cmd, func(h *host.Host) error {
				exec, wait := h.Definitions(host.Session{AgentID: agent, SessionKey: key})
				tools := []catalog.Tool{exec, wait}
				switch {
				case provider != "":
					return printRendered(cmd.OutOrStdout(), p, tools)
				case asJSON:
					return printJSON(cmd.OutOrStdout(), describeTools(tools))
				}
				return printTexts(cmd.OutOrStdout(), tools)
			})
		},
	}
	o.bindHost(cmd, false)
	cmd.Flags().StringVar(&agent, "agent", "", "agent whose settings and rules hold")
	cmd.Flags().StringVar(&key, "session-key", "", "session key whose rules hold")
	cmd.Flags().StringVar(&provider, "provider", "", "print the request's tools for this API")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printRendered(w io.Writer, p host.Provider, tools []catalog.Tool) error {
	b, err := host.RenderTools(p, tools)
	if err != nil {
		return err
	}
	return printJSON(w, b)
}

func describeTools(tools []catalog.Tool) shown {
	var s shown
	for _, t := range tools {
		s.Tools = append(s.Tools, shownTool{t.Name, t.Description, t.Parameters})
		s.Bytes += toolBytes(t)
	}
	return s
}

func toolBytes(t catalog.Tool) int { return len(t.Name) + len(t.Description) + len(t.Parameters) }

// bytesPerToken is a rule of thumb for English and code.
const bytesPerToken = 4

func printTexts(w io.Writer, tools []catalog.Tool) error {
	for i, t := range tools {
		if i > 0 {
			fmt.Fprintln(w)
		}
		n := toolBytes(t)
		if _, err := fmt.Fprintf(w, "== %s: %d bytes, about %d tokens\n\n%s\n\n%s\n", t.Name, n, n/bytesPerToken, t.Description, t.Parameters); err != nil {
			return err
		}
	}
	return nil
}
