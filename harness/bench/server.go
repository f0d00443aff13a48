package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// serve is an MCP server over stdio with the tools noop, echo and sleep, and
// as many more as -tools says. It answers each message in a goroutine of its
// own, as the bridge does.
func serve(args []string) error {
	flags := flag.NewFlagSet("bench serve", flag.ContinueOnError)
	more := flags.Int("tools", 0, "how many tools it has besides noop, echo and sleep")
	if err := flags.Parse(args); err != nil {
		return err
	}
	s := server.NewMCPServer("bench", "1", server.WithToolCapabilities(false))
	s.AddTool(mcp.NewTool("noop", mcp.WithDescription("Does nothing.")),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(""), nil
		})
	s.AddTool(mcp.NewTool("echo", mcp.WithDescription("Gives the text back."), mcp.WithString("text", mcp.Required())),
		func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(r.GetString("text", "")), nil
		})
	s.AddTool(mcp.NewTool("sleep", mcp.WithDescription("Waits."), mcp.WithNumber("ms", mcp.Required())),
		func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			select {
			case <-time.After(time.Duration(r.GetFloat("ms", 0)) * time.Millisecond):
			case <-ctx.Done():
			}
			return mcp.NewToolResultText("rested"), nil
		})
	for i := range *more {
		s.AddTool(synthetic(i), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("done"), nil
		})
	}
	return listen(s, os.Stdin, os.Stdout)
}

// synthetic makes up the i-th tool, about as long as the tools of real
// servers are.
func synthetic(i int) mcp.Tool {
	verbs := []string{"list", "get", "create", "update", "delete", "search"}
	nouns := []string{"ticket", "invoice", "branch", "calendar", "meeting", "contact", "report", "dataset"}
	verb, noun := verbs[i%len(verbs)], nouns[i/len(verbs)%len(nouns)]
	return mcp.NewTool(fmt.Sprintf("%s_%s_%d", verb, noun, i),
		mcp.WithDescription(fmt.Sprintf(
			"Use this to %s a %s in the workspace of the signed-in user. The answer is a JSON object with its "+
				"identifier, its owner, when it was last changed and, where there are more, a cursor for the rest.", verb, noun)),
		mcp.WithString(noun+"_id", mcp.Required(), mcp.Description("Identifier of the "+noun+".")),
		mcp.WithString("workspace", mcp.Description("Workspace to look in; the user's own if it is left out.")),
		mcp.WithNumber("limit", mcp.Description("How many at most."), mcp.Min(1), mcp.Max(100)),
		mcp.WithArray("labels", mcp.Description("Only those with all of these labels."), mcp.WithStringItems()),
		mcp.WithBoolean("include_archived", mcp.Description("Whether archived ones count.")))
}

func listen(s *server.MCPServer, in io.Reader, out io.Writer) error {
	var answering sync.WaitGroup
	defer answering.Wait()
	var mu sync.Mutex
	lines := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			answering.Go(func() {
				answer := s.HandleMessage(context.Background(), line)
				if answer == nil {
					return
				}
				text, err := json.Marshal(answer)
				if err != nil {
					fmt.Fprintf(os.Stderr, "bench serve: %v\n", err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				out.Write(append(text, '\n'))
			})
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
