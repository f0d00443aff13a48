package main

import (
	"fmt"
	"os"
	"os/exec"
	"time"

	"bridge/sandbox"
	"bridge/sandbox/container"
	"bridge/sandbox/engines"
)

// ownImage is the name of the image that this source tree's bridge builds.
func ownImage() (string, error) {
	containerfile, err := os.ReadFile("Containerfile")
	if err != nil {
		return "", fmt.Errorf("%w (bench runs in the project's folder)", err)
	}
	return container.OwnImage(containerfile), nil
}

// container measures the engine of that name, or says why it cannot be measured.
// An engine that runs as root is allowed: that makes no difference to the costs.
func (b *bench) container(name string) ([]figure, error) {
	own, err := ownImage()
	if err != nil {
		return nil, err
	}
	spec := sandbox.Spec{Label: "bench", Image: own, Rootful: true}
	open := func() engines.Engine { return engines.Named(engines.All(engines.Options{Image: own}), name)[0] }
	engine := open()
	defer engine.Close()
	const goal = "half of the reference"
	all := []figure{
		{what: name + ": start to Python's first byte", goal: goal},
		{what: "  " + name + ": the same, of a warm container", goal: goal},
		{what: "  " + name + ": the same, including the search for the engine"},
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
	if err := b.containerStarts(all, engine, open, spec); err != nil {
		return nil, err
	}
	if err := b.containerRun(&all[3], name); err != nil {
		return all[:3], err
	}
	return all, nil
}

// present is nil if the engine is ready and its command is there.
func (b *bench) present(engine sandbox.Engine, spec sandbox.Spec) error {
	if err := engine.Ready(b.ctx, spec); err != nil {
		return err
	}
	_, err := exec.LookPath(engine.Name())
	return err
}

// containerStarts measures from the start of a container to the first byte of
// its Python, beside the engine's own command, which makes about the same
// container. A bridge has three kinds of starts: the first of its process, which
// includes the search for the engine; one without a warm container; and one that
// takes the warm container which was made during the session before.
func (b *bench) containerStarts(all []figure, engine engines.Engine, open func() engines.Engine, spec sandbox.Spec) error {
	program := []string{"-I", "-c", firstByte}
	command := append([]string{
		"run", "--rm", "--pull=never", "--network=none", "--read-only", "--cap-drop=all",
		"--security-opt=no-new-privileges", "--user=65534:65534", "--log-driver=none",
		// Podman's defaults are more than it may give in some containers.
		"--ulimit=nofile=256:256", "--ulimit=nproc=4096:4096",
		"--entrypoint=python3", spec.Image,
	}, program...)
	ahead := func() (time.Duration, error) {
		if err := engine.(sandbox.Preparer).Prepare(b.ctx, spec, program); err != nil {
			return 0, err
		}
		return b.sandboxed(engine, spec)()
	}
	anew := func() (time.Duration, error) {
		e := open()
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
// client. It has no goal of its own: it shows that the engine makes no
// difference.
func (b *bench) containerRun(f *figure, name string) error {
	bridge, err := b.connect(func(self string) string {
		return policyWith(1, 0)(self) + fmt.Sprintf("\nprofiles: bench: {engine: %q, rootful: true}\n", name)
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
