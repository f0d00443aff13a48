package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// asked serves a request of the guest, beside others.
func (s *Session) asked(m message) error {
	// The run's number stands in every request's parameters. What else is
	// in them is the handler's to judge.
	var p struct {
		Run *int64 `json:"run"`
	}
	if err := json.Unmarshal(m.Params, &p); err != nil || p.Run == nil {
		return fmt.Errorf("request %q without the number of its run", clip(m.Method, 40))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	run := s.run
	if run == nil {
		if s.queued > maxQueue {
			return errors.New("requests outside a run, without end")
		}
		s.enqueue(refusal(*m.ID, &Error{Kind: "invalid", Message: "no run is going on"}))
		return nil
	}
	if *p.Run != run.id {
		return fmt.Errorf("a request for run %d in run %d", *p.Run, run.id)
	}
	if _, open := run.flight[*m.ID]; open {
		return fmt.Errorf("request %d, a second time", *m.ID)
	}
	if len(run.flight) >= maxRequests {
		return fmt.Errorf("more than %d requests at once", maxRequests)
	}
	size := len(m.Params)
	if run.carried > 0 && run.carried+size > maxCarried {
		return fmt.Errorf("requests of more than %d bytes at once", maxCarried)
	}
	run.flight[*m.ID] = size
	run.carried += size
	// The line that params lie in is reused for the next frame.
	params := append(json.RawMessage(nil), m.Params...)
	s.workers.Add(1)
	run.handlers.Add(1)
	go s.serve(run, *m.ID, m.Method, params)
	return nil
}

// serve has the handler answer one request, and sends the answer if the run
// still goes on.
func (s *Session) serve(run *active, id int64, method string, params json.RawMessage) {
	defer s.workers.Done()
	defer run.handlers.Done()
	// It ends with the answer's way into the queue, so that what a handler
	// holds until then, bounds what waits here.
	ctx, sent := context.WithCancel(run.ctx)
	defer sent()
	var value any
	err := error(&Error{Kind: "invalid", Message: fmt.Sprintf("unknown request %q", clip(method, 40))})
	if s.handler != nil {
		value, err = s.handler(ctx, method, params)
	}
	// One answer at a time waits for room, and is made when there is some.
	s.answering.Lock()
	defer s.answering.Unlock()
	s.room(run)
	if err == nil && run.ctx.Err() != nil {
		// Its code is about to be interrupted: nobody takes what may be large.
		err = &Error{Kind: "server", Message: "the run was stopped before the answer came"}
	}
	frame := answer(id, value, err)
	s.mu.Lock()
	defer s.mu.Unlock()
	run.carried -= run.flight[id]
	delete(run.flight, id)
	switch {
	case s.run != run || s.queued > maxQueue:
		// Nobody waits for it, or who does has not read for long.
	case run.ctx.Err() != nil && !run.interrupted:
		// Its code is about to be interrupted: it must see that, and not
		// first the failures that come of it.
		run.late = append(run.late, frame)
	default:
		s.enqueue(frame)
	}
}

// interrupt asks the guest to end a run, and then gives it the answers that
// came of the run's end: code that cleans up must not wait for them for ever.
func (s *Session) interrupt(run *active) {
	frame, _ := encodeFrame(message{Method: "interrupt", Params: mustRaw(map[string]int64{"run": run.id})})
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != run {
		return
	}
	run.interrupted = true
	s.enqueue(frame)
	for _, frame := range run.late {
		s.enqueue(frame)
	}
	run.late = nil
}

// answer encodes what a handler returned, which may be as large as a frame and is
// not copied more often than need be.
func answer(id int64, value any, err error) []byte {
	if err != nil {
		return refusal(id, err)
	}
	var frame bytes.Buffer
	if raw, is := value.(json.RawMessage); is {
		frame.Grow(len(raw) + 64)
	}
	fmt.Fprintf(&frame, `{"jsonrpc":"2.0","id":%d,"result":`, id)
	head := frame.Len()
	if raw, is := value.(json.RawMessage); is {
		err = json.Compact(&frame, raw)
	} else {
		e := json.NewEncoder(&frame)
		e.SetEscapeHTML(false)
		if err = e.Encode(value); err == nil {
			frame.Truncate(frame.Len() - 1) // the end of the line
		}
	}
	if err != nil {
		return refusal(id, fmt.Errorf("encoding the answer: %w", err))
	}
	size := frame.Len() - head
	frame.WriteString("}\n")
	if frame.Len() > MaxFrame {
		return refusal(id, &Error{Kind: "server", Message: fmt.Sprintf(
			"the answer is %d bytes; at most %d can be taken into the session", size, MaxFrame)})
	}
	return frame.Bytes()
}

// refusal encodes an error for the guest.
func refusal(id int64, err error) []byte {
	e := &wireError{Code: -32000, Message: clip(err.Error(), 64<<10)}
	var refused *Error
	if errors.As(err, &refused) {
		e.Data = refusalData(refused)
	}
	frame, err := encodeFrame(message{ID: &id, Error: e})
	if err != nil {
		// The extra data could not be encoded; the message always can.
		e.Data = map[string]any{"kind": refused.Kind}
		frame, _ = encodeFrame(message{ID: &id, Error: e})
	}
	return frame
}

// refusalData returns the data member of an error: the kind, and the rest
// beside it if that is an object.
func refusalData(e *Error) any {
	data := map[string]json.RawMessage{} // numbers stay as they were written
	if e.Data != nil {
		encoded, err := json.Marshal(e.Data)
		if err != nil {
			return map[string]any{"kind": e.Kind, "data": e.Data}
		}
		if json.Unmarshal(encoded, &data) != nil || data == nil {
			data = map[string]json.RawMessage{"data": encoded}
		}
	}
	data["kind"] = mustRaw(e.Kind)
	return data
}

// room waits until the guest has read enough of what was sent to it, or the
// run ends.
func (s *Session) room(run *active) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.queued > maxQueue && run.ctx.Err() == nil && s.lost == nil {
		s.changed.Wait()
	}
}

// send queues a frame for the guest.
func (s *Session) send(frame []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost != nil {
		return fmt.Errorf("the session is gone: %w", s.lost)
	}
	s.enqueue(frame)
	return nil
}

// enqueue adds to the queue. The caller holds the mutex. Frames of our own are
// few, and an answer waits for room before it is made, so the queue is bounded.
func (s *Session) enqueue(frame []byte) {
	if s.lost != nil {
		return
	}
	s.queue = append(s.queue, frame)
	s.queued += len(frame)
	s.changed.Broadcast()
}

// write sends the queue to the guest. A guest that does not read blocks this
// goroutine alone, until its sandbox is killed.
func (s *Session) write() {
	defer s.workers.Done()
	stdin := s.box.Stdin()
	defer stdin.Close()
	for {
		s.mu.Lock()
		for len(s.queue) == 0 && s.lost == nil {
			s.changed.Wait()
		}
		if s.lost != nil {
			s.queue = nil
			s.mu.Unlock()
			return
		}
		frames := s.queue
		s.queue = nil
		s.mu.Unlock()
		for _, frame := range frames {
			if _, err := stdin.Write(frame); err != nil {
				// The reading side learns why.
				return
			}
			s.mu.Lock()
			s.queued -= len(frame)
			s.changed.Broadcast()
			s.mu.Unlock()
		}
	}
}
