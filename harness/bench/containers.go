package main

import (
	"fmt"
	"os"
	"os/exec"
	"time"

	"bridge/sandbox"
	"bridge/sandbox/docker"
	"bridge/sandbox/image"
	"bridge/sandbox/podman"
)

// A container is an engine that runs images, with the command of the same
// name as its reference.
type container interface {
	sandbox.Engine
	sandbox.Preparer
	Close()
}

func (b *bench) podman() ([]figure, error) {
	own, err := ownImage()
	if err != nil {
		return nil, err
	}
	return b.container(func() container { return podman.New(podman.Options{Image: own}) }, sandbox.Spec{Label: "bench", Image: own}, "")
}

// docker is measured as root's, where that is the one there is: the bridge
// would want to be allowed it, but it costs the same.
func (b *bench) docker() ([]figure, error) {
	own, err := ownImage()
	if err != nil {
		return nil, err
	}
	return b.container(func() container { return docker.New(docker.Options{Image: own}) }, sandbox.Spec{Label: "bench", Image: own, Rootful: true}, ", rootful: true")
}

// ownImage is the name of the image that this source tree's bridge builds.
func ownImage() (string, error) {
	containerfile, err := os.ReadFile("Containerfile")
	if err != nil {
		return "", fmt.Errorf("%w (bench runs in the project's folder)", err)
	}
	return image.Name(containerfile), nil
}

// container measures an engine, or says why there is nothing to measure. The
// fields are what a profile needs besides the engine's name.
func (b *bench) container(make func() container, spec sandbox.Spec, fields string) ([]figure, error) {
	engine := make()
	defer engine.Close()
	name := engine.Name()
	const goal = "half of the reference"
	all := []figure{
		{what: name + ": start to Python's first byte", goal: goal},
		{what: "  " + name + ": the same, of one that was made ahead", goal: goal},
		{what: "  " + name + ": the same, and the engine to be found first"},
		{what: "  " + name + `: warm run_python("1+1")`},
	}
	if err := b.present(engine, spec); err != nil {
		if b.ctx.Err() != nil {
			return nil, err
		}
		for i := range all {
			all[i].absent = err.Error()
		}
		return all, nil
	}
	if err := b.containerStarts(all, engine, make, spec); err != nil {
		return nil, err
	}
	if err := b.containerRun(&all[3], name, fields); err != nil {
		return all[:3], err
	}
	return all, nil
}

// present is nil if the engine is ready and its command is there.
func (b *bench) present(engine container, spec sandbox.Spec) error {
	if err := engine.Ready(b.ctx, spec); err != nil {
		return err
	}
	_, err := exec.LookPath(engine.Name())
	return err
}

// containerStarts measures from the start of a container to the first byte of
// its Python, beside the engine's own command, which is told to make about
// the same container. There are three starts in a bridge's life: the first of
// its process, which asks the engine what it is before anything else; one with
// nothing made ahead; and that of a fresh sandbox after another one, while which
// was up the next was made ahead, all but its start.
func (b *bench) containerStarts(all []figure, engine container, make func() container, spec sandbox.Spec) error {
	program := []string{"-I", "-c", firstByte}
	command := append([]string{
		"run", "--rm", "--pull=never", "--network=none", "--read-only", "--cap-drop=all",
		"--security-opt=no-new-privileges", "--user=65534:65534", "--log-driver=none",
		// Podman's defaults are more than it may give in some containers.
		"--ulimit=nofile=256:256", "--ulimit=nproc=4096:4096",
		"--entrypoint=python3", spec.Image,
	}, program...)
	ahead := func() (time.Duration, error) {
		if err := engine.Prepare(b.ctx, spec, program); err != nil {
			return 0, err
		}
		return b.sandboxed(engine, spec)()
	}
	anew := func() (time.Duration, error) {
		e := make()
		defer e.Close()
		return b.sandboxed(e, spec)()
	}
	took, err := inTurns(15, b.sandboxed(engine, spec), ahead, anew, b.heard(engine.Name(), command...))
	if err != nil {
		return err
	}
	for i := range took[:3] {
		f := &all[i]
		f.measured = short(took[i])
		f.reference = engine.Name() + " run, the same image: " + short(took[3])
		f.ratio = ratio(float64(took[i]), float64(took[3]))
		f.met = took[i] <= took[3]/2
	}
	return nil
}

// containerRun measures a run in a warm session of the engine from client to
// client. It has no goal of its own: that the engine makes no difference to
// it is what there is to see.
func (b *bench) containerRun(f *figure, name, fields string) error {
	bridge, err := b.connect(func(self string) string {
		return policyWith(1, 0)(self) + fmt.Sprintf("\nprofiles: bench: {engine: %q%s}\n", name, fields)
	})
	if err != nil {
		return err
	}
	defer bridge.close()
	noop, err := connect(b.ctx, b.self, "serve")
	if err != nil {
		return err
	}
	defer noop.close()
	took, err := inTurns(200, timed(bridge.sum), timed(noop.nothing))
	if err != nil {
		return err
	}
	f.measured = short(took[0])
	f.reference = "mcp-go no-op call: " + short(took[1])
	f.ratio = ratio(float64(took[0]), float64(took[1]))
	return nil
}
