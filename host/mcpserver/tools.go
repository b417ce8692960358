package mcpserver

import (
	"context"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/modeltools"
)

// addOwnTools adds exec and wait. What lists say of them depends on the caller; see
// perCaller.
func (s *Server) addOwnTools() {
	exec, wait := s.host.Catalog(host.Session{}).Definitions()
	s.server.AddTool(ownTool(exec), s.exec)
	s.server.AddTool(ownTool(wait), s.wait)
}

// ownTool is exec or wait as clients see it.
func ownTool(t catalog.Tool) *mcp.Tool {
	return &mcp.Tool{
		Name: t.Name, Title: t.Label, Description: t.Description,
		InputSchema: t.Parameters, OutputSchema: modeltools.ResultSchema(),
		// Programs reach whatever tools there are: the defaults of the hints hold.
		Annotations: &mcp.ToolAnnotations{Title: t.Label},
	}
}

// perCaller lists exec and wait as the caller of the request is to see them, and says in its
// first answer what there is.
func (s *Server) perCaller(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		caller := callerOf(ctx, req.GetExtra())
		if method == "tools/list" || method == "tools/call" {
			s.awaitServers(ctx, caller)
		}
		res, err := next(ctx, method, req)
		if err != nil {
			return res, err
		}
		var list *mcp.ListToolsResult
		switch res := res.(type) {
		case *mcp.InitializeResult:
			res.Instructions += s.instructions(caller)
			return res, nil
		case *mcp.DiscoverResult:
			res.Instructions += s.instructions(caller)
			return res, nil
		case *mcp.ListToolsResult:
			list = res
		default:
			return res, nil
		}
		list.Tools = slices.DeleteFunc(list.Tools, func(t *mcp.Tool) bool { return !s.sees(caller, t.Name) })
		exec, wait := s.host.Catalog(caller).Definitions()
		for i, t := range list.Tools {
			switch t.Name {
			case modeltools.Exec:
				list.Tools[i] = ownTool(exec)
			case modeltools.Wait:
				list.Tools[i] = ownTool(wait)
			}
		}
		return list, nil
	}
}

// exec runs a program.
func (s *Server) exec(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	c := s.newCall(ctx, req)
	return c.perform(ctx, func(ctx context.Context) *host.Result {
		in, err := host.ParseExec(arguments(req))
		if err != nil {
			return codemode.Failed(err)
		}
		in.Wait = c.wait
		return s.host.Exec(ctx, c.caller, in)
	})
}

// wait continues a run.
func (s *Server) wait(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	c := s.newCall(ctx, req)
	id, err := host.ParseWait(arguments(req))
	c.runID, c.resumes = id, true
	if req.Params.GetProgressToken() != nil {
		c.wait = 0 // as long as the settings allow: the client sees that it still runs
	}
	return c.perform(ctx, func(ctx context.Context) *host.Result {
		if err != nil {
			return codemode.Failed(err)
		}
		res := c.goesOn(ctx, id)
		if res.Reason == codemode.ReasonWrongSession && overStreams(req.Extra) {
			res.Error += ownSession
		}
		return res
	})
}
