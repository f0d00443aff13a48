package upstream

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"testing"

	"bridge/definition"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// The same call of the same server: over this package, and over the library's
// own client, which is the reference.

func BenchmarkCall(b *testing.B) {
	def := toyDefinition(b)
	def.Env["TOY_LOG"] = ""
	set := open(b, def)
	call(b, set, "echo", `{"text":"x"}`)
	args := json.RawMessage(`{"text":"hello"}`)
	b.Run("upstream", func(b *testing.B) {
		for b.Loop() {
			if _, err := set.Call(b.Context(), "toy", "echo", args); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("upstream-32", func(b *testing.B) {
		b.SetParallelism(16)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := set.Call(b.Context(), "toy", "echo", args); err != nil {
					b.Error(err)
				}
			}
		})
	})

	direct := library(b, def)
	req := mcp.CallToolRequest{Params: mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": "hello"}}}
	b.Run("library", func(b *testing.B) {
		for b.Loop() {
			if _, err := direct.CallTool(b.Context(), req); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("library-32", func(b *testing.B) {
		b.SetParallelism(16)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := direct.CallTool(b.Context(), req); err != nil {
					b.Error(err)
				}
			}
		})
	})
}

// library is the library's client of a toy that no keeper watches.
func library(b *testing.B, def definition.Server) *client.Client {
	b.Helper()
	cmd := exec.Command(def.Command)
	cmd.Env = append(os.Environ(), "TOY_LOG=", "GORACE=atexit_sleep_ms=0")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	c := client.NewClient(transport.NewIO(stdout, stdin, io.NopCloser(nil)), client.WithProtocolVersion(mcp.LATEST_LEGACY_PROTOCOL_VERSION))
	b.Cleanup(func() {
		c.Close()
		cmd.Wait()
	})
	if err := c.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	if _, err := c.Initialize(b.Context(), mcp.InitializeRequest{}); err != nil {
		b.Fatal(err)
	}
	return c
}

// From nothing to the first catalog, and to nothing again.
func BenchmarkStart(b *testing.B) {
	def := toyDefinition(b)
	def.Env["TOY_LOG"] = ""
	for b.Loop() {
		set := open(b, def)
		if _, err := set.Tools(b.Context(), "toy"); err != nil {
			b.Fatal(err)
		}
		set.Close()
	}
}

func BenchmarkSearch(b *testing.B) {
	var entries []Entry
	for range 36 {
		entries = append(entries, shelf()...)
	}
	b.Run("index", func(b *testing.B) {
		for b.Loop() {
			indexed(b, entries)
		}
	})
	index := indexed(b, entries)
	b.Run("query", func(b *testing.B) {
		for b.Loop() {
			search(b, index, "create an isue in the repositry", 5)
		}
	})
}
