package podman

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"bridge/sandbox/container"

	"github.com/containers/podman/v5/pkg/bindings"
	"github.com/opencontainers/runtime-spec/specs-go"
)

// The requests that the bridge makes of podman, and as much of their forms as it
// uses: https://docs.podman.io/en/latest/_static/api.html. The connection is that
// of podman's bindings. Their packages for containers and images bring the
// libraries of the whole engine into the program.

// do makes a request, and reads the answer into a value that is not nil. %s in
// the path stands for the name.
func (s *service) do(ctx context.Context, method, path, name string, query url.Values, body, answer any) error {
	var in io.Reader
	header := http.Header{}
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		in = strings.NewReader(string(text))
		header.Set("Content-Type", "application/json")
	}
	response, err := s.ask(ctx, in, header, method, path, name, query)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	return response.Process(answer)
}

func (s *service) ask(ctx context.Context, body io.Reader, header http.Header, method, path, name string, query url.Values) (*bindings.APIResponse, error) {
	conn, err := bindings.GetClient(s.conn)
	if err != nil {
		return nil, err
	}
	var names []string
	if strings.Contains(path, "%s") {
		names = []string{name}
	}
	return conn.DoRequest(ctx, body, method, path, query, header, names...)
}

// containerSpec is the body of a request for a new container. A field that is
// false or empty and without omitempty is set to that, whatever containers.conf
// says.
type containerSpec struct {
	Name             string               `json:"name"`
	Image            string               `json:"image"`
	Entrypoint       []string             `json:"entrypoint"`
	Command          []string             `json:"command,omitempty"`
	Labels           map[string]string    `json:"labels"`
	Env              map[string]string    `json:"env"`
	UnsetEnvAll      bool                 `json:"unsetenvall"`
	EnvHost          bool                 `json:"env_host"`
	HTTPProxy        bool                 `json:"httpproxy"`
	Stdin            bool                 `json:"stdin"`
	Terminal         bool                 `json:"terminal"`
	Remove           bool                 `json:"remove"`
	StopTimeout      uint                 `json:"stop_timeout"`
	Systemd          string               `json:"systemd"`
	SdNotifyMode     string               `json:"sdnotifyMode"`
	RestartPolicy    string               `json:"restart_policy"`
	LogConfiguration map[string]string    `json:"log_configuration"`
	HealthConfig     map[string][]string  `json:"healthconfig"`
	Hostname         string               `json:"hostname"`
	Init             bool                 `json:"init"`
	WorkDir          string               `json:"work_dir"`
	ImageVolumeMode  string               `json:"image_volume_mode"`
	Mounts           []specs.Mount        `json:"mounts"`
	Resources        specs.LinuxResources `json:"resource_limits"`
	Rlimits          []specs.POSIXRlimit  `json:"r_limits"`
	OOMScoreAdj      int                  `json:"oom_score_adj"`

	SeccompProfilePath string    `json:"seccomp_profile_path,omitempty"`
	User               string    `json:"user"`
	Mask               []string  `json:"mask"`
	SelinuxOpts        []string  `json:"selinux_opts,omitempty"`
	ApparmorProfile    string    `json:"apparmor_profile,omitempty"`
	NetNS              namespace `json:"netns"`
	PidNS              namespace `json:"pidns"`
	UtsNS              namespace `json:"utsns"`
	IpcNS              namespace `json:"ipcns"`
	CgroupNS           namespace `json:"cgroupns"`
	UseImageHosts      bool      `json:"use_image_hosts"`
	UseImageResolvConf bool      `json:"use_image_resolve_conf"`
	Privileged         bool      `json:"privileged"`
	CapDrop            []string  `json:"cap_drop"`
	NoNewPrivileges    bool      `json:"no_new_privileges"`
	ReadOnlyFilesystem bool      `json:"read_only_filesystem"`
	ReadWriteTmpfs     bool      `json:"read_write_tmpfs"`
	Passwd             bool      `json:"manage_password"`
	Umask              string    `json:"umask"`
}

type namespace struct {
	Mode string `json:"nsmode"`
}

// create makes a container and returns podman's warnings.
func (s *service) create(ctx context.Context, spec *containerSpec) (warnings []string, err error) {
	var made struct{ Warnings []string }
	err = s.do(ctx, http.MethodPost, "/containers/create", "", nil, spec, &made)
	return made.Warnings, err
}

func (s *service) start(ctx context.Context, name string) error {
	return s.do(ctx, http.MethodPost, "/containers/%s/start", name, nil, nil, nil)
}

func (s *service) kill(ctx context.Context, name string) error {
	return s.do(ctx, http.MethodPost, "/containers/%s/kill", name, url.Values{"signal": {"KILL"}}, nil, nil)
}

// remove kills and removes a container. That there is none is no error.
func (s *service) remove(ctx context.Context, name string) error {
	err := s.do(ctx, http.MethodDelete, "/containers/%s", name, url.Values{"force": {"true"}, "ignore": {"true"}, "timeout": {"0"}}, nil, nil)
	if missing(err) {
		return nil
	}
	return err
}

// state is how a container is.
type state struct {
	Status     string
	Running    bool
	ExitCode   int
	OOMKilled  bool
	CgroupPath string
}

func (s *service) inspect(ctx context.Context, name string) (state, error) {
	var c struct{ State state }
	err := s.do(ctx, http.MethodGet, "/containers/%s/json", name, nil, nil, &c)
	return c.State, err
}

// list returns the containers with a label, in any state.
func (s *service) list(ctx context.Context, label string) ([]container.Listed, error) {
	filters, err := json.Marshal(map[string][]string{"label": {label}})
	if err != nil {
		return nil, err
	}
	var list []struct {
		ID     string `json:"Id"`
		Names  []string
		Labels map[string]string
	}
	err = s.do(ctx, http.MethodGet, "/containers/json", "", url.Values{"all": {"true"}, "filters": {string(filters)}}, nil, &list)
	var all []container.Listed
	for _, c := range list {
		all = append(all, container.Listed{ID: c.ID, Owner: c.Labels[container.OwnerLabel], Name: strings.Join(c.Names, "")})
	}
	return all, err
}

// imageID is the id of the image of a name, "" if there is none.
func (s *service) imageID(ctx context.Context, name string) (string, error) {
	var i struct {
		ID string `json:"Id"`
	}
	err := s.do(ctx, http.MethodGet, "/images/%s/json", name, nil, nil, &i)
	if missing(err) {
		return "", nil
	}
	return i.ID, err
}

func (s *service) images(ctx context.Context) ([]container.Image, error) {
	var list []struct {
		ID       string `json:"Id"`
		RepoTags []string
		Size     int64
		Created  int64
	}
	err := s.do(ctx, http.MethodGet, "/images/json", "", nil, nil, &list)
	var all []container.Image
	for _, i := range list {
		for _, name := range i.RepoTags {
			all = append(all, container.Image{Name: name, ID: i.ID, Size: i.Size, Created: time.Unix(i.Created, 0)})
		}
	}
	return all, err
}

// follow reads what podman says of something that takes long, until its end.
func follow(response *bindings.APIResponse, out io.Writer) error {
	defer response.Body.Close()
	if !response.IsSuccess() {
		return response.Process(nil)
	}
	lines := json.NewDecoder(response.Body)
	for {
		var line struct {
			Stream      string
			Error       string
			ErrorDetail struct{ Message string }
		}
		if err := lines.Decode(&line); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("its answer is cut off: %w", err)
		}
		if text := cmp.Or(line.ErrorDetail.Message, line.Error); text != "" {
			return errors.New(text)
		}
		io.WriteString(out, line.Stream)
	}
}

// information is what podman says of itself.
type information struct {
	Host struct {
		CgroupsVersion    string `json:"cgroupVersion"`
		CgroupControllers []string
		Security          struct{ Rootless bool }
	}
	Version struct{ Version string }
}

func (s *service) information(ctx context.Context) (information, error) {
	var i information
	err := s.do(ctx, http.MethodGet, "/info", "", nil, nil, &i)
	return i, err
}
