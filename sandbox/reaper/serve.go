package reaper

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	// coming is how long a service may take until it listens.
	coming = 20 * time.Second

	// going is how long it may take to end.
	going = time.Second

	// mark is the variable of the environment that the processes of a service
	// have. It holds the folder of its reaper.
	mark = "BRIDGE_SERVICE"
)

// A service is a podman system service that this process has started.
type service struct {
	cmd    *exec.Cmd
	ended  chan struct{}
	answer answer
}

// serve starts a service and waits until it listens, or until the bridge is
// gone, which then has asked it for nothing. Should all else fail, it ends by
// itself when nobody has asked it anything for some minutes.
func serve(podman string, a answer, over <-chan string) (*service, error) {
	// A file, since a pipe may be kept open by processes that stay.
	said, err := os.Create(filepath.Join(a.Dir, "service.log"))
	if err != nil {
		return nil, err
	}
	defer said.Close()
	cmd := exec.Command(podman, "--remote=false", "system", "service", "--time=300", "unix://"+a.Socket)
	cmd.Dir = a.Dir // where conmon leaves a file named oom
	cmd.Env = append(os.Environ(), mark+"="+a.Dir)
	cmd.Stderr = said
	cmd.SysProcAttr = bound()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &service{cmd: cmd, ended: make(chan struct{}), answer: a}
	go func() {
		defer close(s.ended)
		cmd.Wait()
	}()
	for begun := time.Now(); time.Since(begun) < coming; {
		if c, err := net.Dial("unix", a.Socket); err == nil {
			c.Close()
			return s, nil
		}
		select {
		case <-s.ended:
			s.end()
			return nil, errors.New(lastLine(said.Name()))
		case <-over:
			s.end()
			return nil, errors.New("nobody waits for it any more")
		case <-time.After(5 * time.Millisecond):
		}
	}
	s.end()
	return nil, fmt.Errorf("it does not listen after %v", coming)
}

// end asks the service to end, and makes it.
func (s *service) end() {
	terminate(s.cmd.Process)
	select {
	case <-s.ended:
	case <-time.After(going):
		s.cmd.Process.Kill()
		<-s.ended
	}
	s.answer.endRest()
}

func lastLine(file string) string {
	data, _ := os.ReadFile(file)
	text := strings.TrimSpace(string(data))
	if text == "" {
		return "it ended without a word"
	}
	return text[strings.LastIndexByte(text, '\n')+1:]
}
