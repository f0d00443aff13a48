package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"bridge/bridge"
	"bridge/sandbox"
	"bridge/sandbox/image"
)

// newImage is `bridge image`: the image that container engines run.
func newImage(containerfile []byte) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "image",
		Short: "build the image that podman and docker run sandboxes from, and list it",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown command %q of image; commands: build, ls", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return usagef("no command of image; commands: build, ls") },
	}
	cmd.AddCommand(newImageBuild(containerfile), newImageList(containerfile))
	return cmd
}

// imageChoice is on which engine there is something to do with images.
type imageChoice struct {
	choice
	engine string
	base   string
}

func (c *imageChoice) flags(cmd *cobra.Command) {
	c.choice.flags(cmd)
	cmd.Flags().StringVar(&c.engine, "engine", "", "`podman` or docker (default the profile's, or the first that answers)")
}

func newImageBuild(containerfile []byte) *cobra.Command {
	c := imageChoice{choice: choice{containerfile: containerfile}}
	cmd := &cobra.Command{
		Use:   "build [--engine podman|docker] [--base IMAGE]",
		Short: "build the image on the engine in use",
		Long: `build makes the image that a sandbox of podman or docker is run from where a
profile names no other: Debian's Python with numpy, pandas, matplotlib and pillow,
jq and the common command-line tools. What the build says goes to stderr as it is
said, and the name of the image to stdout at the end.

The name has a digest of what the image is built from in it, so that a bridge
never runs the image of another version.`,
		Example: `  bridge image build
  bridge image build --engine docker --base localhost/our-debian:13`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.build(cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	c.flags(cmd)
	cmd.Flags().StringVar(&c.base, "base", "", "build from `IMAGE`, a Debian 13 or later (default debian:trixie-slim)")
	return cmd
}

// open finds the engines that the command is about, and how to end them.
func (c *imageChoice) open() (list []container, spec sandbox.Spec, end func(), err error) {
	log, err := newLog(slog.LevelWarn)
	if err != nil {
		return nil, spec, nil, err
	}
	p, err := c.load()
	if err != nil {
		return nil, spec, nil, err
	}
	named := cmp.Or(c.engine, p.Engine)
	all := c.engines(log)
	for _, e := range containers(all) {
		if named == "" || named == e.Name() {
			list = append(list, e)
		}
	}
	switch {
	case len(list) > 0:
	case c.engine != "":
		return nil, spec, nil, usagef("unknown engine %q; engines with images: podman, docker", c.engine)
	default:
		return nil, spec, nil, fmt.Errorf("engine %q of %s runs no image\nhint: --engine podman, or --engine docker", named, p.Source("engine"))
	}
	end = func() {
		for _, e := range all {
			e.Close()
		}
	}
	return list, bridge.Spec(p), end, nil
}

func (c *imageChoice) build(stdout, stderr io.Writer) error {
	list, spec, end, err := c.open()
	if err != nil {
		return err
	}
	defer end()
	ctx, stop := signals()
	defer stop()
	e, err := firstAnswer(ctx, spec, list)
	if err != nil {
		return err
	}
	b := build{name: c.own(), containerfile: c.containerfile, output: os.Stderr}
	if c.base != "" {
		b.args = map[string]string{"BASE": c.base}
	}
	fmt.Fprintf(stderr, "bridge: building %s on %s\n", b.name, e.Name())
	if err := e.build(ctx, spec, b); err != nil {
		text := strings.TrimSpace(err.Error())
		if c.base == "" && ctx.Err() == nil {
			text += "\nhint: where no registry is reached, name a Debian that the engine has: bridge image build --base IMAGE"
		}
		return errors.New(text)
	}
	_, err = fmt.Fprintln(stdout, b.name)
	return err
}

// firstAnswer is the first of the engines that answers. Whether it has an
// image does not matter to who is about to build one.
func firstAnswer(ctx context.Context, spec sandbox.Spec, list []container) (container, error) {
	var passed []refusal
	for _, e := range list {
		_, err := e.describe(ctx, spec)
		if err == nil {
			return e, nil
		}
		if ctx.Err() != nil {
			return nil, err
		}
		passed = append(passed, newRefusal(e.Name(), err))
	}
	return nil, &notReady{engines: passed}
}

func newImageList(containerfile []byte) *cobra.Command {
	c := imageChoice{choice: choice{containerfile: containerfile}}
	cmd := &cobra.Command{
		Use:   "ls [--engine podman|docker]",
		Short: "list the images that bridges have built, on the engines that answer",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.list(cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	c.flags(cmd)
	return cmd
}

func (c *imageChoice) list(stdout, stderr io.Writer) error {
	engines, spec, end, err := c.open()
	if err != nil {
		return err
	}
	defer end()
	ctx, stop := signals()
	defer stop()
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "IMAGE\tENGINE\tSIZE\tBUILT\tUSE")
	var passed []refusal
	var without []string
	for _, e := range engines {
		images, err := e.images(ctx, spec)
		if err != nil {
			passed = append(passed, newRefusal(e.Name(), err))
			continue
		}
		if !slices.ContainsFunc(images, func(im stored) bool { return im.name == c.own() }) {
			without = append(without, e.Name())
		}
		for _, im := range images {
			if !strings.HasPrefix(im.name, image.Repository+":") {
				continue
			}
			use := "another version's"
			if im.name == c.own() {
				use = "this bridge's"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", im.name, e.Name(), decimal(im.size), im.created.Format(time.DateOnly), use)
		}
	}
	if len(passed) == len(engines) {
		return &notReady{engines: passed}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, name := range without {
		fmt.Fprintln(stderr, spoken(fmt.Sprintf("%s is not on %s\nhint: bridge image build --engine %s", c.own(), name, name)))
	}
	return nil
}
