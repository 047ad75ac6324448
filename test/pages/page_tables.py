"""What commands.py and the tests know about the commands of the pages. A row that no page needs any more fails the tests."""

PROGRAMS = set("""fgpu build/release/fgpu fgpu-node fgpu-demo kubectl helm curl ctr kind skopeo mkdir cp cat chown chmod openssl source kubeadm
nvidia-ctk manifests/mtls/certificates.sh test/e2e/run systemctl journalctl crictl etcdctl chroot until wait date man cmake docker cd""".split())

# First lines of blocks that are neither commands nor YAML, and spans that only begin like a command.
NOT_COMMANDS = {
    "fgpu is not ready: ...",
    "fgpu demo  00:06 of 00:09  8 nodes, 32 GPUs   ▀ compute ▄ memory █ both",
    "fgpu.yaml:5:3: unknown key 'candidtes' in packing; did you mean 'candidates'?",
    # the version of the API server into a file: two lines of one shell, and the e2e tests have a kube-scheduler of their own
    r"""version=$(kubectl get --raw /version | sed -n 's/.*"gitVersion": "\(v[0-9]*[.][0-9]*[.][0-9]*\).*/\1/p')""",
    "of 5000 nodes 812 fit, and kube-scheduler asked for an order of 100; rsp put node-a before node-b: there it takes 180 milli",
}

RUN_BY_TEST = "scripts/test does this itself, or is it"
BUILDS = "installs packages or builds everything again"
LONG = "takes long, and has no result that a test could judge"
NO_RUNTIME = "needs a container runtime or a registry; test/e2e/node imports the images"
OWNER = "gives files to another user, which needs root; the image runs as this user in test/e2e/node"
NO_KUBELET = "needs a kubelet; test/e2e/node reads logs and forwards ports"
BESIDE = "needs the form beside the control plane; TestDoctorIsGreenBesideTheControlPlanesKubeScheduler"
MPS = "starts the MPS daemon of NVIDIA's driver, which is not here"

# By exact text (commands.normal).
CANNOT_RUN = {
    "scripts/run": BUILDS, "scripts/run --for 60": BUILDS, "scripts/run --kubeconfig FILE": BUILDS, "scripts/run --kubeconfig": BUILDS,
    "scripts/test": RUN_BY_TEST, "scripts/test --quick": RUN_BY_TEST, "scripts/test-minors 1.22": LONG,
    "scripts/install-deps": RUN_BY_TEST, "scripts/install-deps --arm64": BUILDS,
    "scripts/image --out images": "scripts/check-image does it", "scripts/package --out packages": "scripts/check-package does it",
    "scripts/image --arch arm64 --out images": "scripts/test-arm64 does it", "scripts/image --join --out images": "scripts/test-arm64 does it",
    "scripts/packing-guide --run --trace FOLDER": LONG, "scripts/packing-corpus --seeds 0-3": LONG, "scripts/check-replay --all": LONG,
    "scripts/bench --all FOLDER": LONG, "scripts/bench-packing FOLDER": LONG, "scripts/bench-packing --derived FOLDER": LONG,
    "man -l build/release/man/fgpu-state.1": "shows it in a pager; test/integration/test_manual.py reads it",
    "fgpu demo --scenario day-night": "takes a minute; test/integration/test_demo.py tells every scenario fast",
    "cmake --install": "test/integration/test_parts.py installs",
    "kubeadm kubeconfig user --client-name fgpu > /etc/kubernetes/fgpu.conf": "needs a control plane of kubeadm",
    "ctr -n k8s.io images import fgpu-node-v0.1.0-amd64.tar": NO_RUNTIME,
    "kind load image-archive images/fgpu-v0.1.0-amd64.tar": NO_RUNTIME,
    "skopeo copy oci-archive:images/fgpu-v0.1.0-amd64.tar docker://REGISTRY/fgpu:v0.1.0": NO_RUNTIME,
    "nvidia-ctk cdi generate": "a program of NVIDIA, for a driver that is not here",
    "kubectl -n fgpu-system logs deployment/fgpu-scheduler -c fgpu --tail 50": NO_KUBELET, "kubectl logs fgpu-first": NO_KUBELET,
    "kubectl -n fgpu-system logs deployment/fgpu-scheduler -c fgpu": NO_KUBELET, "kubectl -n fgpu-node logs POD": NO_KUBELET,
    "kubectl -n fgpu-system port-forward deployment/fgpu-scheduler 9442": NO_KUBELET,
    "chroot /host nvidia-cuda-mps-control -f &": MPS,
    "until echo set_default_active_thread_percentage 25 | chroot /host nvidia-cuda-mps-control; do sleep 1; done": MPS,
    "wait": MPS,
    "chown 65532 /etc/kubernetes/fgpu.conf; chmod 400 /etc/kubernetes/fgpu.conf": OWNER,
    "chown -R 65532 /etc/kubernetes/fgpu/signing": OWNER, "chown 65532 /etc/kubernetes/fgpu/tls.*": OWNER,
    "cd /etc/kubernetes": BESIDE,
    "fgpu doctor --scheduler-config scheduler.yaml --fgpu-user fgpu --server https://127.0.0.1:9442 "
    "--ca-file fgpu/ca.crt --cert-file fgpu/scheduler.crt --key-file fgpu/scheduler.key": BESIDE,
    "curl --cacert ca.crt --cert scheduler.crt --key scheduler.key https://127.0.0.1:9442/state > state.json":
        "needs the form beside the control plane; test/integration/test_tls.py has such a listener",
}

# Exit codes besides 0 that are answers, too.
# The simulated API server has no policies and lets nobody do anything; what doctor finds is tested in test_doctor.py.
CODES = {"kubectl fgpu doctor": (1,), "build/release/fgpu doctor --kubeconfig FILE": (1,)}

# These stay until they are ended. What they print when they are ready.
STAYS = {"kubectl fgpu page": "http://127.0.0.1:"}

# [(pattern, value)] for each place: the names of things that are there. The tests make what they name.
COMMON = [
    (r"build/release/fgpu\b", "fgpu"),
    (r" \[flags\]", ""),
    (r"/etc/kubernetes/", "etc/"),
    (r"--out FILE\b", "--out file.pem"),
    (r"\bNAMESPACE\b", "team"),
]
PLACEHOLDERS = {
    "local": [
        *COMMON,
        (r"pod/train-0\b", "pod/waits"), (r"pod/(team/)?NAME\b", r"pod/\1waits"),
        (r"--scenario NAME", "--scenario list"),
        (r"--kubeconfig FILE\b", "--kubeconfig ~/.kube/config"),
        (r"(?<=replay )FILE\b", "saved.jsonl"), (r"--config OTHER\b", "--config new.yaml"),
        (r"--config FILE\b|(?<=check-config )FILE\.\.\.|(?<=check-config )FILE\b", lambda m: m[0].replace("FILE...", "new.yaml").replace("FILE", "new.yaml")),
        (r"--effective FILE", "--effective new.yaml"),
        (r"--state FILE", "--state state.json --pods pods.csv --strategy fgd"),
        (r"--nodes FILE --pods FILE", "--nodes nodes.csv --pods pods.csv"),
        (r"--from FILE \.\.\.", "--from node-b.json"), (r"--from http://127\.0\.0\.1:9444", "--from node-a.json"),
        (r"--token-file FILE", "--token-file token"), (r"--at TIME", "--at 2026-03-01T20:30:00Z"),
    ],
    "cluster": [
        *COMMON,
        (r"\bNODE\b", "node-1"), (r"(?<=node )NAME\b", "node-1"), (r"\bUSER\b", "ann"), (r"pod/NAME\b|(?<=pod )NAME\b", "pod/shares"),
        (r"YOUR/", "registry.example/"), (r"\bVERB RESOURCE\b", "list pods"),
    ],
}

# The order in which the pages run on the cluster, which is fresh at first; others by name between them. One page leaves things to the next, and
# the last one removes everything.
FIRST = ["manifests/install.md", "README.md"]
LAST = ["manifests/README.md"]
# Until the API server acts on a policy or a quota: it says these words to who makes this pod.
REFUSED = """for i in $(seq 60); do
  said=$(kubectl apply -f - <<'POD' 2>&1
apiVersion: v1
kind: Pod
metadata: {{name: refused, namespace: team{annotations}}}
spec:
  schedulerName: fgpu-scheduler
  containers: [{{name: main, image: none.example/none{limits}}}]
POD
)
  case "$said" in *{words}*) exit 0 ;; esac
  kubectl -n team delete pod refused --now --ignore-not-found; sleep 1
done; echo "$said"; exit 1"""

# What the operator of Prometheus brings.
RULES_DEFINED = """kubectl apply -f - <<'END' && kubectl wait --for=condition=Established --timeout=60s crd/prometheusrules.monitoring.coreos.com
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: prometheusrules.monitoring.coreos.com}
spec:
  group: monitoring.coreos.com
  names: {kind: PrometheusRule, plural: prometheusrules}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
END"""
# What the schedulers of the form make.
LEASE_HELD = """kubectl apply -f manifests/dedicated/namespace.yaml && kubectl apply -f - <<'END'
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: fgpu-scheduler, namespace: fgpu-system}
spec: {holderIdentity: fgpu-scheduler-0_1}
END"""
REMOVED = "for f in one-line dedicated node; do kubectl delete -k manifests/$f --ignore-not-found & done; wait"

# Before and after one command: where a page shows ways of which a reader goes one, and where a command alone does not show that it helps.
AROUND = {
    "apiVersion: v1 kind: ResourceQuota metadata: {name:": (
        "", REFUSED.format(words="'exceeded quota: gpus'", annotations="", limits=", resources: {limits: {fgpu.io/gpu-milli: 5000}}")),
    """kubectl -n kube-system patch configmap fgpu-policy --type=merge -p '{"data":{"schedulersWithoutAnnotations":"default-scheduler fgpu-scheduler"}}'""": (
        "", REFUSED.format(words="'does not ask fgpu about pods that request'", annotations=", annotations: {fgpu.io/gpu-fraction: '0.5'}", limits="")),
    "helm install fgpu manifests/helm --namespace default --set image.repository=YOUR/fgpu,nodeImage.repository=YOUR/fgpu-node": (
        REMOVED, ""),
    "helm upgrade fgpu manifests/helm --namespace default --reset-then-reuse-values --wait": (
        REMOVED + " && helm install fgpu manifests/helm --namespace default --wait", ""),
    "kubectl apply -k manifests/monitoring": (RULES_DEFINED + "\nkubectl apply -f manifests/dedicated/namespace.yaml -f manifests/node/namespace.yaml", ""),
    "kubectl get lease -n fgpu-system fgpu-scheduler": (LEASE_HELD, ""),
    "kubectl apply -k manifests/strict": ("kubectl apply -f manifests/dedicated/namespace.yaml", ""),
    "kubectl -n fgpu-system delete leases -l fgpu.io/intents": ("", "kubectl delete namespace fgpu-system"), # the next form makes it
    "helm test fgpu --namespace default": (
        "", "helm uninstall fgpu --namespace default --wait && kubectl apply -k manifests/dedicated && kubectl apply -k manifests/one-line &&"
            "kubectl -n fgpu-system create secret generic fgpu-signing --from-file=key.pem --from-file=key.pem.pub"),
}

# Options of kube-scheduler, kubectl and helm that pages name by themselves.
OTHERS_OPTIONS = {"--config", "--policy-config-file", "--v", "--namespace", "--set"}

# Pages whose spans of several words are texts of the program, and what others say there.
SAYS = ["manifests/troubleshooting.md", "manifests/recovery.md", "manifests/security.md", "manifests/moving.md", "manifests/dra.md", "manifests/sizes-and-tenants.md"]
OTHERS_SAY = {
    "Insufficient fgpu.io/gpu-milli", 'Post "http://127.0.0.1:9443/v1/filter"...', 'secret "fgpu-signing" not found',
    "0/5 nodes are available: 3 too few empty GPUs, ...",
}
