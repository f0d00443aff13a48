package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// pipe is the transport to a server that is a process.
type pipe struct {
	conn *conn
	proc *process
	in   *input
	out  *output

	pending *pending
}

// connect gives a connection its process.
func (c *conn) connect(proc *process) {
	done, stop := context.WithCancel(c.life)
	l := &pipe{
		conn: c, proc: proc, in: newInput(proc.stdin, &c.server.set.queued), pending: newPending(c),
		out: newOutput(proc.stdout, c.server.set.large, done.Done(), proc.readUntil),
	}
	c.transport = l
	c.over.Go(func() {
		<-proc.ended
		stop()
	})
	c.over.Go(func() { c.stderr.follow(proc.stderr) })
	c.over.Go(l.in.drain)
	c.over.Go(l.read)
	c.over.Go(l.supervise)
}

// open does nothing: the process has its pipes from its start.
func (l *pipe) open(context.Context) error { return nil }

func (l *pipe) alive() bool {
	select {
	case <-l.proc.ended:
		return false
	case <-l.out.eof:
		return false
	default:
		return true
	}
}

// drainTime is how long the last output of a server that has ended is waited
// for: something of its making may hold the pipes open for ever.
const drainTime = 200 * time.Millisecond

// supervise finds out how the connection ends, and says so to all who wait.
func (l *pipe) supervise() {
	select {
	case <-l.proc.ended:
	case <-l.out.eof:
		// As a rule its end follows at once, and is the better cause.
		select {
		case <-l.proc.ended:
		case <-time.After(drainTime):
		}
	}
	deadline := time.Now().Add(drainTime)
	l.proc.stdout.SetReadDeadline(deadline)
	l.proc.stderr.SetReadDeadline(deadline)
	<-l.out.eof
	<-l.conn.stderr.eof
	var cause error
	select {
	case <-l.proc.ended:
		cause = fmt.Errorf("ended (%s)", l.proc.ending)
	default:
		cause = errors.New("closed its output")
	}
	if l.out.end != nil {
		cause = l.out.end
	}
	l.conn.end(cause)
}

// read hears what the server writes until its end.
func (l *pipe) read() {
	defer close(l.out.eof)
	defer l.out.leave()
	ear := ear{pipe: l}
	for {
		line, err := l.out.line()
		ear.hear(line)
		if err != nil {
			return
		}
	}
}

func (l *pipe) request(ctx context.Context, id int64, method string, params any) (json.RawMessage, error) {
	line, err := json.Marshal(request(id, method, params))
	if err != nil {
		return nil, err
	}
	w := l.pending.add(id)
	defer l.pending.remove(id)
	if _, err := l.in.Write(append(line, '\n')); errors.Is(err, errQueueFull) {
		return nil, &lost{errQueueFull}
	}
	// If the pipe broke, why is known when the server's end is.
	return l.pending.await(ctx, w)
}

// send writes a message that is not answered.
func (l *pipe) send(message any) {
	if line, err := json.Marshal(message); err == nil {
		l.in.Write(append(line, '\n'))
	}
}

func (l *pipe) notify(_ context.Context, method string, params map[string]any) {
	l.send(notification(method, params))
}

// agreed does nothing: the version is in no message after the handshake.
func (l *pipe) agreed(string) {}

// listen does nothing: notifications come by themselves.
func (l *pipe) listen(context.Context) {}

// farewell is how long a server has to end by itself at the end of its input.
const farewell = time.Second

func (l *pipe) close() {
	l.in.Close()
	select {
	case <-l.proc.ended:
	case <-time.After(farewell):
	}
	l.proc.end()
	<-l.proc.gone
	<-l.conn.dead
	l.conn.leave()
	l.proc.closeFiles()
}
