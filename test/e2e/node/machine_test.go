package node

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fgpu.io/fgpu/test/e2e/harness"
)

// The node: containerd, kubelet and fgpu-node, in the namespaces that `init` has prepared. Each can be ended and started again.

const (
	// /run belongs to these tests alone (init), so that the agent runs with the paths that it has by default.
	containerdSocket = "/run/containerd/containerd.sock"
	nriSocket        = "/run/nri/nri.sock"
	cdiDir           = "/run/cdi"
	nodeIP           = "192.0.2.1" // init gives it to the loopback device; kubelet refuses 127.0.0.1

	gpuMemMiB = 40960
)

var gpus = []string{"GPU-0f9b0000-0000-4000-8000-000000000000", "GPU-0f9b0001-0000-4000-8000-000000000001"}

type machine struct {
	dir        string // logs, and what the programs keep
	containerd *harness.Process
	kubelet    *harness.Process
	agent      *harness.Process
	toldBefore int // how often the agent was told what runs, before it was started or containerd was
}

func (m *machine) path(parts ...string) string {
	return filepath.Join(append([]string{m.dir}, parts...)...)
}

// write is for files of one line or of one page: folders are made.
func write(path, format string, args ...any) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, fmt.Appendf(nil, format, args...), 0o600)
}

// fakeGPUs are device files of NVIDIA's major number, without a driver behind them, the CDI description that nvidia-ctk
// would make of them, and what the scripted library of the driver says.
func (m *machine) fakeGPUs() error {
	script := ""
	for i, uuid := range gpus {
		file := m.path("dev", fmt.Sprintf("nvidia%d", i))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		if err := syscall.Mknod(file, syscall.S_IFCHR|0o666, 195<<8|i); err != nil {
			return fmt.Errorf("mknod %s: %w", file, err)
		}
		script += fmt.Sprintf("gpu %s %d %d 0 Fake\n", uuid, i, gpuMemMiB)
	}
	if err := os.MkdirAll(cdiDir, 0o700); err != nil {
		return err
	}
	if err := m.describeGPUs(0, 1); err != nil {
		return err
	}
	return write(m.path("gpus"), "%s", script)
}

// ---- containerd ----

const containerdConfig = `version = 3
root = '%[1]s/data/containerd'
state = '/run/containerd'
disabled_plugins = ['io.containerd.internal.v1.opt', 'io.containerd.snapshotter.v1.btrfs',
  'io.containerd.snapshotter.v1.devmapper', 'io.containerd.snapshotter.v1.zfs']
[grpc]
  address = '%[2]s'
[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = '%[3]s'
[plugins.'io.containerd.cri.v1.runtime']
  # Without CAP_SYS_RESOURCE, as in a container, the score of a sandbox cannot be lowered.
  restrict_oom_score_adj = true
  disable_apparmor = true
  netns_mounts_under_state_dir = true
  tolerate_missing_hugetlb_controller = true
  cdi_spec_dirs = ['%[4]s']
[plugins.'io.containerd.cri.v1.runtime'.cni]
  bin_dirs = ['/usr/lib/cni']
  conf_dir = '%[1]s/cni'
  use_internal_loopback = true
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
  runtime_type = 'io.containerd.runc.v2'
[plugins.'io.containerd.grpc.v1.cri']
  disable_tcp_service = true
  stream_server_address = '127.0.0.1'
  stream_server_port = '0'
[plugins.'io.containerd.nri.v1.nri']
  disable = false
  socket_path = '%[5]s'
  plugin_path = '%[1]s/no-plugins'
  plugin_config_path = '%[1]s/no-plugins'
[plugins.'io.containerd.nri.v1.nri'.default_validator]
  enable = true
`

const network = `{"cniVersion":"1.0.0","name":"e2e","plugins":[{"type":"ptp","ipam":{"type":"host-local",
"ranges":[[{"subnet":"10.231.0.0/24"}]],"routes":[{"dst":"0.0.0.0/0"}]}}]}
`

func (m *machine) startContainerd(ctx context.Context) error {
	if err := write(m.path("containerd.toml"), containerdConfig, m.dir, containerdSocket, pauseImage, cdiDir, nriSocket); err != nil {
		return err
	}
	if err := write(m.path("cni", "10-ptp.conflist"), network); err != nil {
		return err
	}
	m.containerd = &harness.Process{Name: "containerd", Path: filepath.Join(os.Getenv("FGPU_CONTAINERD"), "containerd"),
		LogFile: m.path("containerd.log"), Args: []string{"--config", m.path("containerd.toml")},
		Ready: func(ctx context.Context) error {
			return m.ctr(ctx, "version")
		}}
	if err := m.containerd.Start(ctx); err != nil {
		return err
	}
	return m.importImages(ctx)
}

func (m *machine) ctr(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, filepath.Join(os.Getenv("FGPU_CONTAINERD"), "ctr"), append([]string{"-a", containerdSocket, "-n", "k8s.io"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("ctr %s: %w: %s", args[0], err, out)
	}
	return nil
}

func (m *machine) importImages(ctx context.Context) error {
	box, err := os.ReadFile(os.Getenv("FGPU_NODE_BOX"))
	if err != nil {
		return fmt.Errorf("FGPU_NODE_BOX: %w", err)
	}
	return m.importAll(ctx, map[string]imageOf{pauseImage: boxOf(box, nil, "pause"), boxImage: boxOf(box, nil, "look"),
		cudaImage: boxOf(box, []string{"NVIDIA_VISIBLE_DEVICES=all"}, "look"),
		mpsImage:  boxOf(box, []string{"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=99G", "CUDA_DISABLE_CONTROL=true"}, "look")})
}

func (m *machine) importAll(ctx context.Context, images map[string]imageOf) error {
	for name, image := range images {
		file := m.path("data", "image.tar")
		if err := writeImage(file, name, image); err != nil {
			return err
		}
		if err := m.ctr(ctx, "images", "import", file); err != nil {
			return err
		}
	}
	return nil
}

// ---- kubelet ----

const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
# The API server forwards ports through it; nobody else is in this network.
enableServer: true
address: %[4]s
healthzPort: 0
failCgroupV1: false
failSwapOn: false
cgroupDriver: cgroupfs
cgroupRoot: /%[2]s
oomScoreAdj: 0
makeIPTablesUtilChains: false
containerRuntimeEndpoint: unix://%[3]s
podLogsDir: %[1]s/pods
volumePluginDir: %[1]s/data/volumeplugins
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: "10Mi"}
# A container that was refused is tried again this soon, not after up to 5 minutes.
crashLoopBackOff: {maxContainerRestartPeriod: 2s}
syncFrequency: 2s
nodeStatusUpdateFrequency: 5s
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
`

func (m *machine) startKubelet(ctx context.Context) error {
	kubeconfig, err := plane.UserKubeconfig(harness.KubeletUser)
	if err != nil {
		return err
	}
	// Kubernetes gives this role to the nodes through an authorizer of its own.
	if _, err := plane.Client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "e2e-kubelet"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:node"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: harness.KubeletUser}}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := write(m.path("kubelet.yaml"), kubeletConfig, m.dir, os.Getenv("FGPU_NODE_CGROUP"), containerdSocket, nodeIP); err != nil {
		return err
	}
	m.kubelet = &harness.Process{Name: "kubelet", Path: filepath.Join(os.Getenv("FGPU_KUBELET"), "kubelet"), LogFile: m.path("kubelet.log"),
		Args: []string{"--config", m.path("kubelet.yaml"), "--kubeconfig", kubeconfig, "--root-dir", m.path("data", "kubelet"),
			"--cert-dir", m.path("data", "pki"), "--hostname-override", harness.RealNode, "--node-ip", nodeIP, "--v", "2"},
		Ready: nodeIsReady}
	return m.kubelet.Start(ctx)
}

func nodeIsReady(ctx context.Context) error {
	n, err := plane.Client.CoreV1().Nodes().Get(ctx, harness.RealNode, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
			return nil
		} else if c.Type == corev1.NodeReady {
			return fmt.Errorf("node: %s", c.Message)
		}
	}
	return fmt.Errorf("node: no condition yet")
}

// ---- fgpu-node ----

func (m *machine) startAgent(ctx context.Context) error {
	if err := os.Setenv("FAKE_NVML", m.path("gpus")); err != nil {
		return err
	}
	kubeconfig, err := plane.AgentKubeconfig(ctx, harness.RealNode)
	if err != nil {
		return err
	}
	m.agent = &harness.Process{Name: "fgpu-node", Path: os.Getenv("FGPU_NODE"), LogFile: m.path("fgpu-node.log"),
		Args: []string{"--node-name", harness.RealNode, "--kubeconfig", kubeconfig, "--publish", "all", "--public-keys", filepath.Join(plane.Dir, "signing"),
			"--nvml-library", os.Getenv("FGPU_FAKE_NVML")},
		Ready: m.agentIsAsked}
	return m.agent.Start(ctx)
}

// timesTold: how often containerd has told the agent what runs.
func (m *machine) timesTold() int {
	text, err := os.ReadFile(m.path("fgpu-node.log"))
	if err != nil {
		return 0 // it has said nothing
	}
	return strings.Count(string(text), "Knows what runs on the GPUs")
}

func (m *machine) agentIsAsked(context.Context) error {
	if m.timesTold() == m.toldBefore {
		return fmt.Errorf("containerd has not told it yet what runs")
	}
	return nil
}

// restartAgent kills it and starts it again.
func (m *machine) restartAgent(ctx context.Context) error {
	m.killAgent()
	return m.agent.Start(ctx)
}

func (m *machine) killAgent() {
	m.agent.Kill()
	m.toldBefore = m.timesTold()
}

// stopAgent asks it to end; anything but exit code 0 is an error.
func (m *machine) stopAgent() error {
	if !m.agent.Running() {
		return fmt.Errorf("fgpu-node ended by itself: %v; end of its log:\n%s", m.agent.Err(), harness.Tail(m.agent.LogFile, 20))
	}
	if err := m.agent.Stop(); err != nil {
		return err
	}
	if code := m.agent.ExitCode(); code != 0 {
		return fmt.Errorf("fgpu-node answered SIGTERM with exit code %d; end of its log:\n%s", code, harness.Tail(m.agent.LogFile, 20))
	}
	return nil
}

// restartContainerd kills it, starts it again, and waits for the agent to find it.
func (m *machine) restartContainerd(ctx context.Context) error {
	m.containerd.Kill()
	m.toldBefore = m.timesTold()
	if err := m.containerd.Start(ctx); err != nil {
		return err
	}
	return m.agent.AwaitReady(ctx)
}

// ---- all of it ----

func startMachine(ctx context.Context, dir string) (*machine, error) {
	m := &machine{dir: dir}
	theNode = m
	if err := m.fakeGPUs(); err != nil {
		return m, err
	}
	for _, part := range []struct {
		name  string
		start func(context.Context) error
	}{{"containerd", m.startContainerd}, {"kubelet", m.startKubelet}, {"fgpu-node", m.startAgent}, {"inventory", awaitPublished}} {
		if err := part.start(ctx); err != nil {
			return m, fmt.Errorf("%s: %w", part.name, err)
		}
		say("%s: ready", part.name)
	}
	return m, nil
}

// addressIsOurs refuses to run on a machine's own network: containerd and the kubelet would change it.
func addressIsOurs() error {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return err
	}
	for _, a := range addresses {
		if strings.HasPrefix(a.String(), nodeIP+"/") {
			return nil
		}
	}
	return fmt.Errorf("these tests run in namespaces of their own: start them with scripts/node-e2e")
}
