package node

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// kubectlFgpu runs `kubectl fgpu ...` with the rights of that kubeconfig: kubectl finds the plugin in PATH.
func (s *scene) kubectlFgpu(kubeconfig string, args ...string) (stdout, stderr string, code int) {
	s.Helper()
	cmd := exec.CommandContext(s.ctx, filepath.Join(os.Getenv("FGPU_CONTROLLERS"), "kubectl"),
		append(append([]string{"fgpu"}, args...), "--kubeconfig", kubeconfig)...)
	cmd.Env = append(os.Environ(), "HOME="+theNode.path("data"),
		"PATH="+strings.Join([]string{os.Getenv("FGPU_CONTROLLERS"), filepath.Dir(os.Getenv("FGPU_BIN")), os.Getenv("PATH")}, ":"))
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.Fatalf("kubectl fgpu %v: %v", args, err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// userOfThePlugin asks the fgpu of the cluster as a user who has nothing, then the rights to read pods, then those of
// manifests/kubectl.
func (s *scene) userOfThePlugin(manifests string) {
	s.Helper()
	s.kubectl("-n", "team", "create", "serviceaccount", "ann")
	kubeconfig, err := plane.Kubeconfig(s.ctx, "team", "ann")
	s.must(err)
	refused := func(right string) {
		s.Helper()
		s.until(right, func() (bool, string) { // an API server learns of roles in a moment
			out, errs, code := s.kubectlFgpu(kubeconfig, "state")
			return code == 1 && out == "" && strings.Contains(errs, right) &&
				strings.Contains(errs, "in namespace fgpu-system you need get and list of pods, create and get of pods/portforward"), errs
		})
	}
	refused(`cannot list resource "pods"`)
	s.kubectl("-n", "fgpu-system", "create", "role", "ann", "--verb=get,list", "--resource=pods")
	s.kubectl("-n", "fgpu-system", "create", "rolebinding", "ann", "--role=ann", "--serviceaccount=team:ann")
	refused(`resource "pods/portforward"`)
	s.kubectl("-n", "fgpu-system", "delete", "rolebinding/ann", "role/ann")

	s.kubectl("apply", "-k", filepath.Join(manifests, "kubectl"))
	s.kubectl("-n", "fgpu-system", "create", "rolebinding", "ann", "--role=fgpu-reader", "--serviceaccount=team:ann")
	s.until("kubectl fgpu state", func() (bool, string) {
		out, errs, code := s.kubectlFgpu(kubeconfig, "state")
		return code == 0 && strings.Contains(out, "team/one 300m"), out + errs
	})
	for _, pod := range [][]string{{"pod/one", "-n", "team"}, {"pod/team/one"}} {
		out, errs, code := s.kubectlFgpu(kubeconfig, append([]string{"explain"}, pod...)...)
		if code != 0 || !strings.HasPrefix(out, "pod/team/one: ") {
			s.Errorf("explain %v: %d %s%s", pod, code, out, errs)
		}
	}
	if out, errs, code := s.kubectlFgpu(kubeconfig, "frag", "-o", "json"); code != 0 || !strings.Contains(out, "largestHole") {
		s.Errorf("frag: %d %s%s", code, out, errs)
	}
	_, errs, code := s.kubectlFgpu(kubeconfig, "state", "--fgpu-namespace", "kube-system")
	if code != 1 || !strings.Contains(errs, "in namespace kube-system you need") {
		s.Errorf("another namespace: %d %s", code, errs)
	}
	say("kubectl fgpu works with the rights of manifests/kubectl alone")
}
