package upstream

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"bridge/upstream/keeper"
)

// process is a started server and everything it starts in turn.
type process struct {
	stdin  *os.File
	stdout *os.File
	stderr *os.File

	ended  chan struct{} // closed when the server has ended; others of its making may live on
	ending string        // how it ended, to be read after ended
	gone   chan struct{} // closed when nothing of it is left

	end func() // has everything of it ended, SIGTERM first; does not wait; may be called again
}

// startProcess starts what the spec says. The name is the server's, for ps.
func startProcess(name string, spec keeper.Spec) (*process, error) {
	var pipes pipes
	stdin, toServer := pipes.make()
	fromServer, stdout := pipes.make()
	fromServerErr, stderr := pipes.make()
	if pipes.err != nil {
		pipes.close()
		return nil, pipes.err
	}
	p := &process{
		stdin:  toServer,
		stdout: fromServer,
		stderr: fromServerErr,
		ended:  make(chan struct{}),
		gone:   make(chan struct{}),
	}
	err := p.launch(name, spec, [3]*os.File{stdin, stdout, stderr})
	if err != nil {
		pipes.close()
		return nil, err
	}
	// The server's ends belong to the server alone, so that each side sees the
	// other's end of file.
	stdin.Close()
	stdout.Close()
	stderr.Close()
	return p, nil
}

// readUntil bounds the reading of what the server writes. Once the server has
// ended, whoever sees to that does.
func (p *process) readUntil(deadline time.Time) {
	p.stdout.SetReadDeadline(deadline)
	select {
	case <-p.ended:
		p.stdout.SetReadDeadline(time.Now().Add(drainTime))
	default:
	}
}

// closeFiles lets go of the bridge's ends.
func (p *process) closeFiles() {
	p.stdin.Close()
	p.stdout.Close()
	p.stderr.Close()
}

// pipes makes pipes and remembers the first thing that went wrong.
type pipes struct {
	files []*os.File
	err   error
}

func (p *pipes) make() (r, w *os.File) {
	if p.err != nil {
		return nil, nil
	}
	if r, w, p.err = os.Pipe(); p.err == nil {
		p.files = append(p.files, r, w)
	}
	return r, w
}

func (p *pipes) close() {
	for _, f := range p.files {
		f.Close()
	}
}

// lookPath finds a program as the server's own PATH has it, for it is the
// environment that its author wrote. Folders that depend on where the bridge
// was started are not searched, as package os/exec does not.
func lookPath(command, path, dir string) (string, error) {
	if strings.ContainsRune(command, filepath.Separator) || strings.Contains(command, "/") {
		file := command
		if dir != "" && !filepath.IsAbs(file) {
			file = filepath.Join(dir, file)
		}
		return exec.LookPath(file)
	}
	for _, folder := range filepath.SplitList(path) {
		if !filepath.IsAbs(folder) {
			continue
		}
		if found, err := exec.LookPath(filepath.Join(folder, command)); err == nil {
			return found, nil
		}
	}
	return "", exec.ErrNotFound
}
