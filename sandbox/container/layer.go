package container

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"strings"

	"bridge/sandbox"
)

// Layers is the name of images that have a profile's packages, without the tag.
const Layers = "localhost/bridge-packages"

// A Layerer is an engine that can put packages on an image.
type Layerer interface {
	Build(ctx context.Context, spec sandbox.Spec, b Build) error
	ImageID(ctx context.Context, spec sandbox.Spec, name string) (id string, err error) // "" if there is none
	Fetch(ctx context.Context, spec sandbox.Spec, name string, progress io.Writer) error
}

// forwarded are the variables that say where packages come from.
var forwarded = []string{"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_TRUSTED_HOST", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"}

// Layered is a spec on the image that has its packages: a layer on the image that
// it names, which is built if need be.
func Layered(ctx context.Context, e Layerer, engine string, spec sandbox.Spec, own string, progress io.Writer) (sandbox.Spec, error) {
	if spec.Packages.None() {
		return spec, nil
	}
	base, err := ImageOf(spec, own)
	if err != nil {
		return spec, err
	}
	id, err := e.ImageID(ctx, spec, base)
	if err == nil && id == "" && Pulls(spec, own) {
		if err = e.Fetch(ctx, spec, base, progress); err == nil {
			id, err = e.ImageID(ctx, spec, base)
		}
	}
	if err != nil {
		return spec, err
	}
	if id == "" {
		return spec, MissingImage(engine, base, own)
	}
	digest, err := spec.Packages.Digest(id)
	if err != nil {
		return spec, err
	}
	name := Layers + ":" + digest
	there, err := e.ImageID(ctx, spec, name)
	if err != nil {
		return spec, err
	}
	if there == "" {
		text, err := spec.Packages.Text()
		if err != nil {
			return spec, err
		}
		args := map[string]string{"BASE": base}
		for _, variable := range forwarded {
			if value := os.Getenv(variable); value != "" {
				args[variable] = value
			}
		}
		fmt.Fprintf(progress, "%s builds an image with %s\n", engine, strings.Join(spec.Packages.List, ", "))
		if err := e.Build(ctx, spec, Build{Tag: name, Containerfile: layer(spec.Packages.List, text), Args: args, Output: progress}); err != nil {
			return spec, fmt.Errorf("installing the profile's packages: %w", err)
		}
	}
	spec.Image, spec.Pull, spec.Packages = name, false, sandbox.Packages{}
	return spec, nil
}

// layer is the Containerfile. Names of packages and the text of requirements are
// the policy's; neither is read by a shell.
func layer(packages []string, requirements string) []byte {
	list := base64.StdEncoding.EncodeToString([]byte(strings.Join(packages, "\n") + "\n" + requirements))
	return []byte(`ARG BASE
FROM ${BASE}
ARG ` + strings.Join(forwarded, "\nARG ") + `
USER 0:0
RUN set -eu; \
    if ! python3 -m pip --version >/dev/null 2>&1; then \
        apt-get update -o Acquire::Retries=3; apt-get install -o Acquire::Retries=3 -y --no-install-recommends python3-pip; rm -rf /var/lib/apt/lists/*; \
    fi; \
    echo ` + list + ` | base64 -d >/tmp/requirements.txt; \
    PIP_BREAK_SYSTEM_PACKAGES=1 PIP_ROOT_USER_ACTION=ignore python3 -m pip install --no-cache-dir --no-input --progress-bar off -r /tmp/requirements.txt; \
    rm -rf /tmp/requirements.txt /root/.cache
USER 65534:65534
`)
}
