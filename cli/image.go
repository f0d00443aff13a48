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
	"bridge/sandbox/container"
	"bridge/sandbox/engines"
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
func (c *imageChoice) open() (list []engines.Container, spec sandbox.Spec, end func(), err error) {
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
	list = engines.Containers(engines.Named(all, named))
	switch {
	case len(list) > 0:
	case c.engine != "":
		return nil, spec, nil, usagef("unknown engine %q; engines with images: %s", c.engine, strings.Join(withImages(all), ", "))
	default:
		return nil, spec, nil, fmt.Errorf("engine %q of %s runs no image\nhint: --engine %s", named, p.Source("engine"), strings.Join(withImages(all), ", or --engine "))
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
	b := container.Build{Tag: c.ownImage(), Containerfile: c.containerfile, Output: os.Stderr}
	if c.base != "" {
		b.Args = map[string]string{"BASE": c.base}
	}
	fmt.Fprintf(stderr, "bridge: building %s on %s\n", b.Tag, e.Name())
	if err := e.Build(ctx, spec, b); err != nil {
		text := strings.TrimSpace(err.Error())
		if c.base == "" && ctx.Err() == nil {
			text += "\nhint: where no registry is reached, name a Debian that the engine has: bridge image build --base IMAGE"
		}
		return errors.New(text)
	}
	_, err = fmt.Fprintln(stdout, b.Tag)
	return err
}

// withImages are the names of the engines that run images.
func withImages(all []engines.Engine) []string {
	var names []string
	for _, e := range engines.Containers(all) {
		names = append(names, e.Name())
	}
	return names
}

// firstAnswer is the first of the engines that answers, whether it has an image
// or not.
func firstAnswer(ctx context.Context, spec sandbox.Spec, list []engines.Container) (engines.Container, error) {
	var passed []engines.Refusal
	for _, e := range list {
		_, err := e.Describe(ctx, spec)
		if err == nil {
			return e, nil
		}
		if ctx.Err() != nil {
			return nil, err
		}
		passed = append(passed, engines.NewRefusal(e.Name(), err))
	}
	return nil, &engines.NotReady{Engines: passed}
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
	list, spec, end, err := c.open()
	if err != nil {
		return err
	}
	defer end()
	ctx, stop := signals()
	defer stop()
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "IMAGE\tENGINE\tSIZE\tBUILT\tUSE")
	var passed []engines.Refusal
	var without []string
	for _, e := range list {
		images, err := e.Images(ctx, spec)
		if err != nil {
			passed = append(passed, engines.NewRefusal(e.Name(), err))
			continue
		}
		if !slices.ContainsFunc(images, func(im container.Image) bool { return im.Name == c.ownImage() }) {
			without = append(without, e.Name())
		}
		for _, im := range images {
			use := "another version's"
			switch {
			case im.Name == c.ownImage():
				use = "this bridge's"
			case strings.HasPrefix(im.Name, container.Layers+":"):
				use = "packages of a profile"
			case !strings.HasPrefix(im.Name, container.Repository+":"):
				continue
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", im.Name, e.Name(), decimal(im.Size), im.Created.Format(time.DateOnly), use)
		}
	}
	if len(passed) == len(list) {
		return &engines.NotReady{Engines: passed}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, name := range without {
		fmt.Fprintln(stderr, spoken(fmt.Sprintf("%s is not on %s\nhint: bridge image build --engine %s", c.ownImage(), name, name)))
	}
	return nil
}

// decimal writes bytes as engines do.
func decimal(n int64) string { return fmt.Sprintf("%d MB", (n+500_000)/1_000_000) }
