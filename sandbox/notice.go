package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
)

// take acts on one frame of the guest.
func (s *Session) take(line []byte) error {
	m, err := decodeFrame(line)
	if err != nil {
		return &badFrame{err}
	}
	switch {
	case s.over():
		err = errors.New("a frame after the end")
	case m.Method == "":
		err = s.answered(m)
	case m.ID != nil:
		err = s.asked(m)
	default:
		err = s.notified(m)
	}
	if err != nil {
		return &badFrame{err}
	}
	return nil
}

// notified acts on a notification.
func (s *Session) notified(m message) error {
	switch m.Method {
	case "output":
		run := s.current()
		if run == nil {
			return errors.New("output outside a run")
		}
		return run.output(m.Params)
	case "image":
		run := s.current()
		if run == nil {
			return errors.New("a picture outside a run")
		}
		return run.image(m)
	case "ready":
		return s.started(m.Params)
	case "exited":
		var p struct {
			Code   *int `json:"code"`
			Signal int  `json:"signal"`
		}
		if err := strict(m.Params, &p); err != nil {
			return err
		}
		exit := Exit{Code: -1, Signal: p.Signal}
		if p.Code != nil {
			exit.Code = *p.Code
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.exit = &exit
		return nil
	}
	return fmt.Errorf("unknown notification %q", clip(m.Method, 40))
}

// started takes the guest's word that it can run code.
func (s *Session) started(params json.RawMessage) error {
	var p struct {
		Python         string `json:"python"`
		Implementation string `json:"implementation"`
	}
	if err := strict(params, &p); err != nil {
		return err
	}
	select {
	case <-s.ready:
		return errors.New("ready, a second time")
	default:
	}
	s.Python = clip(p.Python, 40)
	close(s.ready)
	return nil
}

// answered takes the answer to a run.
func (s *Session) answered(m message) error {
	if taken, err := s.fetched(m); taken {
		return err
	}
	run := s.current()
	if run == nil || *m.ID != run.id {
		return fmt.Errorf("an answer to request %d, which is not open", *m.ID)
	}
	if m.Error != nil {
		return errors.New("an error in answer to a run")
	}
	var answer ended
	if err := strict(m.Result, &answer); err != nil {
		return err
	}
	switch answer.Status {
	case Succeeded, Exited:
	case Failed, Interrupted:
		if answer.Error == nil {
			return fmt.Errorf("status %q without its error", answer.Status)
		}
	default:
		return fmt.Errorf("unknown status %q", clip(string(answer.Status), 40))
	}
	if code := answer.ExitCode; code == nil && answer.Status == Exited || code != nil && (*code != 0) != (answer.Status == Exited) {
		return fmt.Errorf("status %q with another exit code than it can have", answer.Status)
	}
	// The run is over before its answer is: a frame for it that follows is
	// too late.
	s.finish(run)
	run.answer <- answer
	return nil
}

// over tells whether the first process has reported the end of the session's
// Python, which it does last. A report that the session itself made up is so
// found out.
func (s *Session) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.exit != nil
}

func (s *Session) current() *active {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run
}
