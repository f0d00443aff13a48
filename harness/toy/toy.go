// Package toy is a small MCP server for tests and scenarios. It speaks the
// real protocol over stdio, and can be told to misbehave as real servers do.
//
// Each tools/call adds a line with the tool's name to the file that TOY_LOG
// names, toy.log in the current folder if it is not set, none if it is empty:
// what is not in it was never asked of the server. Each call of sleep that is
// cancelled adds a line to the file that TOY_CANCELLED names, if any.
//
// It knows nothing of the bridge.
package toy

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// options are the ways to misbehave, as flags on the command line.
type options struct {
	startDelay  time.Duration
	dieAtStart  bool
	pages       bool
	oddTool     bool
	change      bool
	ignoreStdin bool
	stubborn    bool
	modern      bool
	raw         bool
	chatter     bool
	daemon      string
	asDaemon    string
	http        string
	sse         bool
	token       string
	forget      bool
	moved       bool
	login       time.Duration
	visit       string
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("toy", flag.ContinueOnError)
	f.DurationVar(&o.startDelay, "start-delay", 0, "wait before reading anything")
	f.BoolVar(&o.dieAtStart, "die-at-start", false, "write a line to stderr and exit with 1")
	f.BoolVar(&o.pages, "pages", false, "list tools three to a page")
	f.BoolVar(&o.oddTool, "odd-tool", false, "list a tool whose schema has an array as its type, and a nameless one")
	f.BoolVar(&o.change, "change", false, "have a tool grow, which adds the tool late")
	f.BoolVar(&o.ignoreStdin, "ignore-stdin", false, "read nothing after the first call")
	f.BoolVar(&o.stubborn, "stubborn", false, "ignore SIGTERM, SIGINT and the end of input")
	f.BoolVar(&o.modern, "modern", false, "refuse initialize: speak 2026-07-28 only")
	f.BoolVar(&o.raw, "raw", false, "have the tools raw, refuse, write and ask, which answer with what they are given, and steps; over HTTP write and steps alone work")
	f.BoolVar(&o.chatter, "chatter", false, "write lines to stdout that are not messages")
	f.StringVar(&o.daemon, "daemon", "", "leave a process behind that ignores signals and input, its pid in this `file`")
	f.StringVar(&o.asDaemon, "as-daemon", "", "be that process")
	f.StringVar(&o.http, "http", "", "serve over HTTP, and write the definition of the server to this `file` of CUE")
	f.BoolVar(&o.sse, "sse", false, "over HTTP, know the transport of MCP's first version only")
	f.StringVar(&o.token, "token", "", "over HTTP, ask for this bearer `token`")
	f.BoolVar(&o.forget, "forget", false, "over HTTP, forget each session after its second call")
	f.DurationVar(&o.login, "login", 0, "over HTTP, be an authorization server too, whose tokens hold for so long")
	f.StringVar(&o.visit, "visit", "", "be a browser that goes to this `page`, and end")
	f.BoolVar(&o.moved, "moved", false, "over HTTP, redirect to another host")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unknown argument %q", f.Arg(0))
	}
	return o, nil
}

// Main is the server as a command. It ends at the end of its input, with the
// exit status that it returns.
func Main() int {
	o, err := parse(os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintf(os.Stderr, "toy: %v\n", err)
		return 2
	}
	if o.stubborn || o.asDaemon != "" {
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	}
	switch {
	case o.asDaemon != "":
		if err := os.WriteFile(o.asDaemon, fmt.Append(nil, os.Getpid()), 0o666); err != nil {
			return 1
		}
		forever()
	case o.dieAtStart:
		fmt.Fprintln(os.Stderr, "toy: dying at start, as asked")
		return 1
	case o.daemon != "":
		if err := startDaemon(o.daemon); err != nil {
			fmt.Fprintf(os.Stderr, "toy: %v\n", err)
			return 1
		}
	}
	if o.chatter {
		fmt.Println("toy: this line is not a message")
	}
	time.Sleep(o.startDelay)
	if o.visit != "" {
		if err := visit(o.visit); err != nil {
			fmt.Fprintf(os.Stderr, "toy: %v\n", err)
			return 1
		}
		return 0
	}
	if o.http != "" {
		if err := serveHTTP(o); err != nil {
			fmt.Fprintf(os.Stderr, "toy: %v\n", err)
			return 1
		}
		return 0
	}

	s := newSession(o, os.Stdout)
	if err := s.serve(context.Background(), newServer(o), os.Stdin); err != nil {
		fmt.Fprintf(os.Stderr, "toy: %v\n", err)
		return 1
	}
	if o.stubborn {
		forever()
	}
	return 0
}

func forever() {
	for {
		time.Sleep(time.Hour)
	}
}

func newServer(o options) *server.MCPServer {
	opts := []server.ServerOption{server.WithToolCapabilities(true), server.WithInputSchemaValidation()}
	if o.pages {
		opts = append(opts, server.WithPaginationLimit(3))
	}
	srv := server.NewMCPServer("toy", "1.0.0", opts...)
	srv.AddTools(tools()...)
	srv.AddResources(resources()...)
	srv.AddResourceTemplate(mcp.NewResourceTemplate("toy://notes/{name}", "note", mcp.WithTemplateMIMEType("text/plain")), note)
	if o.raw {
		srv.AddTools(rawTools(srv)...)
	}
	if o.oddTool {
		srv.AddTools(oddTool())
	}
	if o.change {
		srv.AddTools(growTool(srv))
	}
	return srv
}
