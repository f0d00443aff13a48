package bridge

import (
	"os"
	"path/filepath"
	"strings"

	"bridge/policy"
	"bridge/sandbox"
)

// Spec says what a profile's sandbox is made with.
func Spec(p *policy.Profile) sandbox.Spec {
	return sandbox.Spec{
		Label:  p.Name,
		Python: p.Python,
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

// mounts are the folders that a profile shares, with ~ as the home folder of
// whoever runs the bridge. Where that is not known, ~ stays, which no engine
// takes for an absolute path.
func mounts(folders []policy.Folder) []sandbox.Mount {
	home, _ := os.UserHomeDir()
	var list []sandbox.Mount
	for _, f := range folders {
		source := f.Source
		if rest, ok := strings.CutPrefix(source, "~"); ok && home != "" {
			source = filepath.Join(home, rest)
		}
		list = append(list, sandbox.Mount{Source: source, Target: f.Target, Writable: f.Writable, Relabel: f.Relabel})
	}
	return list
}
