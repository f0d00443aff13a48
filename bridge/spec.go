package bridge

import (
	"os"
	"path/filepath"
	"strings"

	"bridge/policy"
	"bridge/sandbox"
	"bridge/store"
)

// Spec says what a profile's sandbox is made with.
func Spec(p *policy.Profile) sandbox.Spec {
	return sandbox.Spec{
		Packages: packages(p),
		Label:    p.Name,
		Python:   p.Python,
		Limits: sandbox.Limits{
			Memory: p.Limits.Memory, CPUs: p.Limits.CPUs, PIDs: p.Limits.PIDs, Files: p.Limits.Files,
			Tmp: p.Limits.Tmp, Workspace: p.Limits.Workspace, Shm: p.Limits.Shm,
		},
		Mounts:      mounts(p.Mounts),
		Image:       p.Image,
		Pull:        p.Pull,
		Rootful:     p.Rootful,
		Enforced:    p.Limits.Enforced,
		User:        p.User,
		SecurityOpt: p.Security,
	}
}

// packages are those that a profile wants. Environments for them are kept in the
// folder of the state.
func packages(p *policy.Profile) sandbox.Packages {
	if len(p.Packages) == 0 && p.Require == "" {
		return sandbox.Packages{}
	}
	folder := inHome(p.State)
	if folder == "" {
		folder, _ = store.Default()
	}
	return sandbox.Packages{List: p.Packages, File: inHome(p.Require), Folder: filepath.Join(folder, "environments")}
}

// inHome is a path with the home folder for ~.
func inHome(path string) string {
	home, _ := os.UserHomeDir()
	if rest, ok := strings.CutPrefix(path, "~"); ok && home != "" {
		return filepath.Join(home, rest)
	}
	return path
}

// mounts are the folders that a profile shares, with ~ as the home folder of
// whoever runs the bridge. Where that is not known, ~ stays, which no engine
// takes for an absolute path.
func mounts(folders []policy.Folder) []sandbox.Mount {
	var list []sandbox.Mount
	for _, f := range folders {
		list = append(list, sandbox.Mount{Source: inHome(f.Source), Target: f.Target, Writable: f.Writable, Relabel: f.Relabel})
	}
	return list
}
