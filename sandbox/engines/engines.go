// Package engines is the one list of the engines, and the chooser that picks the
// one which a profile gets.
//
// A new engine is a package of its own, one line in kinds, and its name in the
// enumeration of policy's schema; a test holds the two together.
package engines

import (
	"context"
	"log/slog"
	"slices"

	"bridge/sandbox"
	"bridge/sandbox/container"
	"bridge/sandbox/docker"
	"bridge/sandbox/native"
	"bridge/sandbox/podman"
)

// kinds are all engines, in the order in which they are tried.
func kinds() []kind {
	return []kind{
		{podman.Name, func(o Options) Engine { return podman.New(podman.Options{Image: o.Image, Log: o.Log}) }},
		{docker.Name, func(o Options) Engine { return docker.New(docker.Options{Image: o.Image, Log: o.Log}) }},
		{native.Name, func(Options) Engine { return native.New() }},
	}
}

type kind struct {
	name string
	make func(Options) Engine
}

// Options are what engines are made with.
type Options struct {
	Image string       // the bridge's own, for engines that run images
	Log   *slog.Logger // nil: nothing is logged
}

// Engine is an engine that can be closed.
type Engine interface {
	sandbox.Engine
	Close()
}

// A Container is an engine that runs images, and can build them. The spec says
// whether a service that runs as root may be asked.
type Container interface {
	Engine
	Build(ctx context.Context, spec sandbox.Spec, b container.Build) error
	Images(ctx context.Context, spec sandbox.Spec) ([]container.Image, error)
	Describe(ctx context.Context, spec sandbox.Spec) (container.Facts, error)
}

// Names are the names of all engines, in the order in which they are tried.
func Names() []string {
	var names []string
	for _, k := range kinds() {
		names = append(names, k.name)
	}
	return names
}

// All makes all engines, in the order in which they are tried. Nothing is looked
// for or started before they are used.
func All(o Options) []Engine {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	var all []Engine
	for _, k := range kinds() {
		all = append(all, k.make(o))
	}
	return all
}

// Named is the engines of that name: one or none, or all if the name is "".
func Named(list []Engine, name string) []Engine {
	return slices.DeleteFunc(slices.Clone(list), func(e Engine) bool { return name != "" && e.Name() != name })
}

// Containers are those of the engines that run images.
func Containers(list []Engine) []Container {
	var all []Container
	for _, e := range list {
		if c, is := e.(Container); is {
			all = append(all, c)
		}
	}
	return all
}
