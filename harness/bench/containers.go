package main

import (
	"fmt"
	"os"
	"os/exec"

	"bridge/sandbox"
	"bridge/sandbox/docker"
	"bridge/sandbox/image"
	"bridge/sandbox/podman"
)

// A container is an engine that runs images, with the command of the same
// name as its reference.
type container interface {
	sandbox.Engine
	Close()
}

func (b *bench) podman() ([]figure, error) {
	own, err := ownImage()
	if err != nil {
		return nil, err
	}
	return b.container(podman.New(podman.Options{Image: own}), sandbox.Spec{Label: "bench", Image: own}, "")
}

// docker is measured as root's, where that is the one there is: the bridge
// would want to be allowed it, but it costs the same.
func (b *bench) docker() ([]figure, error) {
	own, err := ownImage()
	if err != nil {
		return nil, err
	}
	return b.container(docker.New(docker.Options{Image: own}), sandbox.Spec{Label: "bench", Image: own, Rootful: true}, ", rootful: true")
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
func (b *bench) container(engine container, spec sandbox.Spec, fields string) ([]figure, error) {
	defer engine.Close()
	name := engine.Name()
	start := figure{what: name + ": start to Python's first byte", goal: "half of the reference"}
	warm := figure{what: "  " + name + `: warm run_python("1+1")`}
	if err := b.present(engine, spec); err != nil {
		if b.ctx.Err() != nil {
			return nil, err
		}
		start.absent, warm.absent = err.Error(), err.Error()
		return []figure{start, warm}, nil
	}
	err := b.containerStart(&start, engine, spec)
	if err != nil {
		return nil, err
	}
	if err := b.containerRun(&warm, name, fields); err != nil {
		return []figure{start}, err
	}
	return []figure{start, warm}, nil
}

// present is nil if the engine is ready and its command is there.
func (b *bench) present(engine container, spec sandbox.Spec) error {
	if err := engine.Ready(b.ctx, spec); err != nil {
		return err
	}
	_, err := exec.LookPath(engine.Name())
	return err
}

// containerStart measures from the start of a container to the first byte of
// its Python, beside the engine's own command, which is told to make about
// the same container.
func (b *bench) containerStart(f *figure, engine container, spec sandbox.Spec) error {
	command := []string{
		"run", "--rm", "--pull=never", "--network=none", "--read-only", "--cap-drop=all",
		"--security-opt=no-new-privileges", "--user=65534:65534", "--log-driver=none",
		// Podman's defaults are more than it may give in some containers.
		"--ulimit=nofile=256:256", "--ulimit=nproc=4096:4096",
		"--entrypoint=python3", spec.Image, "-I", "-c", firstByte,
	}
	took, err := inTurns(15, b.sandboxed(engine, spec), b.heard(engine.Name(), command...))
	if err != nil {
		return err
	}
	f.measured = short(took[0])
	f.reference = engine.Name() + " run, the same image: " + short(took[1])
	f.ratio = ratio(float64(took[0]), float64(took[1]))
	f.met = took[0] <= took[1]/2
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
