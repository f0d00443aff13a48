package harness

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// userCommands are the commands of a user's scenarios beyond testscript's own.
func userCommands() map[string]func(ts *testscript.TestScript, neg bool, args []string) {
	commands := maps.Clone(Commands())
	commands["bridge"] = cmdBridge
	commands["profile"] = cmdProfile
	commands["call"] = cmdCall
	return commands
}

// cmdBridge runs the bridge, as exec bridge does:
//
//	bridge ARGUMENT…
func cmdBridge(ts *testscript.TestScript, neg bool, args []string) {
	path, err := lookPath("bridge", ts.Getenv("PATH"))
	ts.Check(err)
	if err := ts.Exec(path, args...); (err != nil) != neg {
		ts.Fatalf("bridge %s: %v", strings.Join(args, " "), verb(err))
	}
}

func verb(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// cmdProfile connects an agent to a bridge under a profile, in a new session:
//
//	profile [-elicit accept|always|decline|cancel] NAME [POLICIES…]
//
// The policies are those that are tested unless others are named. With -elicit
// the agent can ask a person, who answers so. Why a bridge has not started is on
// stderr, and wants "!".
func cmdProfile(ts *testscript.TestScript, neg bool, args []string) {
	elicit := ""
	if len(args) > 1 && args[0] == "-elicit" {
		elicit, args = args[1], args[2:]
	}
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		usage(ts, "profile [-elicit accept|always|decline|cancel] NAME [POLICIES…]")
	}
	a := agentOf(ts)
	if a.cmd != nil {
		ts.Check(a.close())
	}
	args[0] = "--profile=" + args[0]
	for i := range args[1:] {
		args[i+1] = "--policies=" + args[i+1]
	}
	err := connectBridge(ts, a, elicit, args)
	if err != nil {
		a.End() // it has ended, or will say no more
		log, _ := os.ReadFile(filepath.Join(a.work, "bridge.log"))
		ts.Stderr().Write(log)
	}
	switch {
	case err != nil && !neg:
		ts.Fatalf("%v", err)
	case err == nil && neg:
		ts.Fatalf("no error")
	}
}

// connectBridge starts a bridge in the scenario's own folder, where places in
// its policies are short.
func connectBridge(ts *testscript.TestScript, a *Agent, elicit string, args []string) error {
	path, err := lookPath("bridge", ts.Getenv("PATH"))
	if err != nil {
		return err
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = a.work
	cmd.Env = environ(ts)
	return a.connect(cmd, false, elicit)
}

// connected gives the scenario's agent, connected to a bridge under the profile
// that a client gets which asks for none, if to no other.
func connected(ts *testscript.TestScript) *Agent {
	a := agentOf(ts)
	if a.cmd == nil {
		ts.Check(connectBridge(ts, a, "", nil))
	}
	return a
}

// cmdCall calls a tool, in a run of its own:
//
//	call SERVER.TOOL [JSON | NAME=TEXT | NAME:=JSON]…
//
// What the tool answers goes to stdout, as text or JSON; the message of a denial
// or an error to stderr, which wants "!".
func cmdCall(ts *testscript.TestScript, neg bool, args []string) {
	const how = "call SERVER.TOOL [JSON | NAME=TEXT | NAME:=JSON]…"
	if len(args) == 0 {
		usage(ts, how)
	}
	server, tool, ok := strings.Cut(args[0], ".")
	if !ok {
		usage(ts, how)
	}
	arguments, err := callArguments(args[1:])
	ts.Check(err)
	code := fmt.Sprintf(callCode, literal(server), literal(tool), literal(string(arguments)))
	raw, err := connected(ts).Call("tools/call", map[string]any{
		"name": "run_python", "arguments": map[string]any{"code": code},
	})
	ts.Check(err)
	var r struct {
		Content []struct{ Text string }
		IsError bool

		StructuredContent struct {
			Stdout string
			Error  struct{ Message string }
		}
	}
	ts.Check(json.Unmarshal(raw, &r))
	answer := r.StructuredContent
	switch {
	case !r.IsError:
		fmt.Fprint(ts.Stdout(), answer.Stdout)
	case answer.Error.Message != "":
		fmt.Fprintln(ts.Stderr(), answer.Error.Message)
	case len(r.Content) > 0:
		fmt.Fprintln(ts.Stderr(), r.Content[0].Text)
	}
	switch {
	case r.IsError && !neg:
		ts.Fatalf("%s was not answered", args[0])
	case !r.IsError && neg:
		ts.Fatalf("%s was answered", args[0])
	}
}

// callCode makes a call past the guest's own check of its arguments, as code can
// that means harm: what stops it is the policy. It leaves nothing behind in the
// session.
const callCode = `print((lambda value: value if isinstance(value, str) else "" if value is None
    else __import__("json").dumps(value, ensure_ascii=False, default=str))(
    await __import__("_guest.proxy", fromlist=["call_of"]).call_of(
        __import__("_guest.hub", fromlist=["current"]).current,
        "call", %s, %s, __import__("json").loads(%s))))`

// literal is a string as Python reads it, which JSON's are but for a few that no
// encoder writes.
func literal(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.Encode(s) // a string can always be written
	return strings.TrimSpace(b.String())
}

// callArguments makes the arguments of a call of those of the command.
func callArguments(args []string) (json.RawMessage, error) {
	if len(args) == 1 && strings.HasPrefix(args[0], "{") {
		if !json.Valid([]byte(args[0])) {
			return nil, fmt.Errorf("not JSON: %s", args[0])
		}
		return json.RawMessage(args[0]), nil
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for i, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok {
			return nil, fmt.Errorf("argument %q is neither NAME=TEXT nor NAME:=JSON", arg)
		}
		if i > 0 {
			b.WriteByte(',')
		}
		name, raw := strings.CutSuffix(name, ":")
		if !raw {
			value = literal(value)
		} else if !json.Valid([]byte(value)) {
			return nil, fmt.Errorf("argument %q: not JSON: %s", name, value)
		}
		b.WriteString(literal(name) + ":" + value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
