package harness

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// agentKey finds a scenario's agent among the values of its environment.
type agentKey struct{}

// patience bounds what a scenario waits for. It is not a measurement.
const patience = 60 * time.Second

// Agent is the MCP client that a scenario plays, connected to one server.
type Agent struct {
	work      string   // the scenario's folder
	variables []string // the names of its variables

	stopped <-chan struct{} // closed when the scenario is to end early, nil if it never is

	cmd    *exec.Cmd
	in     io.WriteCloser
	out    io.ReadCloser
	exited chan struct{}
	modern bool
	elicit string // how its person answers, as mcp connect is told; "" cannot be asked
	next   int

	writing sync.Mutex // guards in

	mu      sync.Mutex // guards what follows
	answers map[int]chan answer
	gone    error
	notes   []json.RawMessage

	background int         // id of the request that was sent with -bg, 0 if none
	pending    chan answer // where its answer will be
	begun      map[string]any
}

// answer is a JSON-RPC response.
type answer struct {
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// Connect starts a bridge, outside of a scenario, and initializes it. The folder is
// for its log.
func Connect(dir string, cmd *exec.Cmd) (*Agent, error) {
	a := &Agent{work: dir}
	return a, a.connect(cmd, false, "")
}

// connect starts the server, and greets it unless the era needs no greeting.
func (a *Agent) connect(cmd *exec.Cmd, modern bool, elicit string) error {
	if a.cmd != nil {
		return errors.New("connected already; mcp close first")
	}
	log, err := os.Create(filepath.Join(a.work, "bridge.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.Stderr = log
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	a.cmd, a.in, a.out, a.modern, a.elicit, a.exited = cmd, in, out, modern, elicit, make(chan struct{})
	a.answers, a.gone, a.notes = map[int]chan answer{}, nil, nil
	go a.read(out, a.exited)
	if modern {
		_, err = a.Call("server/discover", map[string]any{})
		return err
	}
	_, err = a.Call("initialize", map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": a.capabilities(),
		"clientInfo": map[string]any{"name": "scenario", "version": "1"},
	})
	if err != nil {
		return err
	}
	return a.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
}

// read hands out the answers until the server has ended.
func (a *Agent) read(out io.Reader, exited chan struct{}) {
	defer close(exited)
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			a.take(line)
		}
		if err != nil {
			break
		}
	}
	err := a.cmd.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.gone = fmt.Errorf("the server has ended (%v); see bridge.log", err)
	for id, c := range a.answers {
		close(c)
		delete(a.answers, id)
	}
}

func (a *Agent) take(line []byte) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
		answer
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return
	}
	if m.Method == "elicitation/create" {
		go func() {
			if answer := a.elicited(m.Params); a.elicit != "never" {
				a.send(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": answer})
			}
		}()
		return
	}
	var id int
	numbered := json.Unmarshal(m.ID, &id) == nil && string(m.ID) != "null"
	a.mu.Lock()
	defer a.mu.Unlock()
	if m.Method != "" || !numbered {
		a.notes = append(a.notes, line)
		return
	}
	if c, ok := a.answers[id]; ok {
		c <- m.answer
		delete(a.answers, id)
	}
}

func (a *Agent) send(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	a.writing.Lock()
	defer a.writing.Unlock()
	_, err = a.in.Write(append(line, '\n'))
	return err
}

// begin sends a request and returns its id and where its answer will be.
func (a *Agent) begin(method string, params map[string]any) (int, chan answer, error) {
	if a.cmd == nil {
		return 0, nil, errors.New("not connected; mcp connect first")
	}
	if a.modern {
		meta, ok := params["_meta"].(map[string]any)
		if !ok {
			meta = map[string]any{}
			params["_meta"] = meta
		}
		meta["io.modelcontextprotocol/protocolVersion"] = "2026-07-28"
		meta["io.modelcontextprotocol/clientInfo"] = map[string]any{"name": "scenario", "version": "1"}
		meta["io.modelcontextprotocol/clientCapabilities"] = a.capabilities()
	}
	c := make(chan answer, 1)
	a.mu.Lock()
	if a.gone != nil {
		defer a.mu.Unlock()
		return 0, nil, a.gone
	}
	a.next++
	id := a.next
	a.answers[id] = c
	a.mu.Unlock()
	return id, c, a.send(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

// await waits for an answer.
func (a *Agent) await(c chan answer) (json.RawMessage, error) {
	select {
	case r, ok := <-c:
		if !ok {
			return nil, a.gone
		}
		if r.Error != nil {
			return nil, fmt.Errorf("%d: %s", r.Error.Code, r.Error.Message)
		}
		return r.Result, nil
	case <-a.stopped:
		return nil, errors.New("no answer")
	case <-time.After(patience):
		return nil, fmt.Errorf("no answer within %s", patience)
	}
}

func (a *Agent) Call(method string, params map[string]any) (json.RawMessage, error) {
	_, c, err := a.begin(method, params)
	if err != nil {
		return nil, err
	}
	return a.await(c)
}

// close ends the connection as a client does, by closing the server's stdin,
// and waits until the server has ended.
func (a *Agent) close() error {
	if a.cmd == nil {
		return errors.New("not connected")
	}
	a.in.Close()
	return a.wait()
}

func (a *Agent) wait() error {
	defer func() { a.cmd = nil }()
	select {
	case <-a.exited:
		if code := a.cmd.ProcessState.ExitCode(); code != 0 {
			return fmt.Errorf("the server ended with %s", a.cmd.ProcessState)
		}
		return nil
	case <-time.After(patience):
		a.cmd.Process.Kill()
		<-a.exited
		return fmt.Errorf("the server did not end within %s", patience)
	}
}

// signal sends a signal and waits until nothing is left of the server and of
// all that it had started.
func (a *Agent) signal(sig syscall.Signal) error {
	if a.cmd == nil {
		return errors.New("not connected")
	}
	family := descendants(a.cmd.Process.Pid)
	if err := a.cmd.Process.Signal(sig); err != nil {
		return err
	}
	ended := a.wait()
	if left := outlive(family, 5*time.Second); len(left) > 0 {
		return fmt.Errorf("still there after 5 seconds: %v", left)
	}
	if sig == syscall.SIGKILL {
		return nil
	}
	return ended
}

// vanish ends the connection as a client does that crashes, and waits until
// nothing is left of the server, long before a run would be over.
func (a *Agent) vanish() error {
	if a.cmd == nil {
		return errors.New("not connected")
	}
	family := append(descendants(a.cmd.Process.Pid), process{})
	_, family[len(family)-1], _ = stat(fmt.Sprintf("/proc/%d/stat", a.cmd.Process.Pid))
	a.in.Close()
	a.out.Close()
	if left := outlive(family, 10*time.Second); len(left) > 0 {
		return fmt.Errorf("still there after 10 seconds: %v", left)
	}
	<-a.exited
	a.cmd = nil
	return nil
}

// End is the end of a scenario: nothing of it may go on.
func (a *Agent) End() {
	if a.cmd == nil {
		return
	}
	a.in.Close()
	select {
	case <-a.exited:
	case <-time.After(10 * time.Second):
		a.cmd.Process.Kill()
		<-a.exited
	}
	a.cmd = nil
}
