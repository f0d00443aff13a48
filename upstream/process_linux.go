package upstream

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"bridge/upstream/keeper"
)

// keeperStart bounds how long a keeper has to start its server. It takes a
// few milliseconds on a quiet machine.
const keeperStart = 10 * time.Second

// launch starts the server under a keeper (package keeper), which ends all of
// it when the control pipe is closed, by us or by our death.
func (p *process) launch(name string, spec keeper.Spec, stdio [3]*os.File) error {
	var pipes pipes
	controlR, controlW := pipes.make()
	statusR, statusW := pipes.make()
	if pipes.err != nil {
		pipes.close()
		return pipes.err
	}
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{keeper.Name, name}, Env: []string{},
		Stdin: stdio[0], Stdout: stdio[1], Stderr: stdio[2],
		ExtraFiles: []*os.File{controlR, statusW}, // keeper.Control, keeper.Status
		// Away from the terminal's group: an interrupt is for the bridge, which
		// then ends its servers in good order.
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	if err := cmd.Start(); err != nil {
		pipes.close()
		return fmt.Errorf("keeper: %w", err)
	}
	controlR.Close()
	statusW.Close()

	status := bufio.NewReader(statusR)
	if err := instruct(spec, controlW, statusR, status); err != nil {
		controlW.Close()
		statusR.Close()
		cmd.Wait()
		return err
	}
	p.end = sync.OnceFunc(func() { controlW.Close() })
	go p.follow(cmd, statusR, status)
	return nil
}

// instruct tells a keeper what to start and hears whether it could.
func instruct(spec keeper.Spec, control, statusFile *os.File, status *bufio.Reader) error {
	line, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	deadline := time.Now().Add(keeperStart)
	control.SetWriteDeadline(deadline)
	statusFile.SetReadDeadline(deadline)
	if _, err := control.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("keeper: %w", err)
	}
	answer, err := status.ReadString('\n')
	if err != nil {
		return fmt.Errorf("keeper: %w", err)
	}
	statusFile.SetReadDeadline(time.Time{})
	if cause, failed := strings.CutPrefix(strings.TrimSpace(answer), "failed "); failed {
		return errors.New(cause)
	}
	return nil
}

// follow hears from the keeper how the server ended, and when all of it has.
func (p *process) follow(cmd *exec.Cmd, statusFile *os.File, status *bufio.Reader) {
	p.ending = "its keeper was killed"
	if line, err := status.ReadString('\n'); err == nil {
		p.ending = strings.TrimPrefix(strings.TrimSpace(line), "ended ")
	}
	close(p.ended)
	cmd.Wait()
	statusFile.Close()
	close(p.gone)
}
