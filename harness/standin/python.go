package standin

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
)

//go:embed runner.py
var runner string

// python is a stand-in in Python: the functions of a file, in a process of the
// host's python3.
type python struct {
	list     []definition
	readable []resource
	cmd      *exec.Cmd
	in       io.WriteCloser
	exited   chan struct{}

	mu      sync.Mutex // guards what follows
	next    int
	waiting map[int]chan reply // nil once the process has ended
}

// reply is a line of the process: what a call has come to.
type reply struct {
	ID    int             `json:"id"`
	Value json.RawMessage `json:"value"`
	Error *string         `json:"error"`
}

func startPython(file string) (*python, error) {
	path, err := exec.LookPath("python3")
	if err != nil {
		return nil, fmt.Errorf("%s: no python3 on PATH; write the stand-in in .cue or .json, or install Python 3.9 or later", file)
	}
	p := &python{cmd: exec.Command(path, "-c", runner, file), exited: make(chan struct{}), waiting: map[int]chan reply{}}
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(out)
	if err := p.greet(lines); err != nil {
		p.in.Close()
		p.cmd.Wait()
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	go p.read(lines)
	return p, nil
}

// greet reads the first line, which lists the tools, and the resources.
func (p *python) greet(lines *bufio.Reader) error {
	line, err := lines.ReadBytes('\n')
	if err != nil {
		return errors.New("python3 ended before it listed its tools")
	}
	var all struct {
		Tools     []json.RawMessage `json:"tools"`
		Resources []resource        `json:"resources"`
	}
	if err := json.Unmarshal(line, &all); err != nil {
		return err
	}
	p.readable = all.Resources
	for _, text := range all.Tools {
		var named struct {
			Name string `json:"name"`
		}
		if err := json.Unmarshal(text, &named); err != nil {
			return err
		}
		p.list = append(p.list, definition{named.Name, text})
	}
	return nil
}

// read hands out the replies until the process has ended.
func (p *python) read(lines *bufio.Reader) {
	defer close(p.exited)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var r reply
		if json.Unmarshal(line, &r) != nil {
			continue
		}
		p.mu.Lock()
		if c := p.waiting[r.ID]; c != nil {
			c <- r
			delete(p.waiting, r.ID)
		}
		p.mu.Unlock()
	}
	p.cmd.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.waiting {
		close(c)
	}
	p.waiting = nil
}

func (p *python) tools() []definition { return p.list }

func (p *python) resources() []resource { return p.readable }

func (p *python) call(ctx context.Context, tool string, args json.RawMessage) (json.RawMessage, error) {
	c, err := p.send(tool, args)
	if err != nil {
		return nil, err
	}
	select {
	case r, ok := <-c:
		switch {
		case !ok:
			return nil, errors.New("the stand-in has ended")
		case r.Error != nil:
			return nil, errors.New(*r.Error)
		}
		return r.Value, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *python) send(tool string, args json.RawMessage) (chan reply, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting == nil {
		return nil, errors.New("the stand-in has ended")
	}
	p.next++
	line, err := json.Marshal(object{"id": p.next, "tool": tool, "args": args})
	if err != nil {
		return nil, err
	}
	c := make(chan reply, 1)
	p.waiting[p.next] = c
	_, err = p.in.Write(append(line, '\n'))
	return c, err
}

// close ends the process, also in the middle of a call.
func (p *python) close() {
	p.in.Close()
	p.cmd.Process.Kill()
	<-p.exited
}
