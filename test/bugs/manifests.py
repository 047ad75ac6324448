"""Known defects of what is shipped beside the programs (manifests), each with a test in Go: on a real API server, or of the chart."""

POLICIES = "manifests/policies/policies.yaml"

BUGS = [
    {"name": "annotation-not-refused-on-create", "of": "F55", "what": "a request by annotation is taken where no scheduler asks fgpu about it",
     "test": "TestARequestByAnnotationAtASchedulerThatDoesNotAskIsRefusedOnCreate",
     "changes": [(POLICIES, "", "      operations: [CREATE, UPDATE]\n  matchConditions:\n  - name: annotated\n",
                  "      operations: [UPDATE]\n  matchConditions:\n  - name: annotated\n")]},
    {"name": "name-of-nobody", "of": "F56", "what": "the scheduler's file and fgpu's disagree about the names of units",
     "test": "TestAllSchedulerConfigurationsAgree",
     "changes": [("manifests/control-plane/scheduler.yaml", "", "      - nvidia.com/vgpu\n", "")]},
    {"name": "labels-taken-over", "of": "F80", "what": "Prometheus puts the namespace and the pod of the agent on the series of containers",
     "test": "TestTheLabelsOfTheAgentsAreKept",
     "changes": [("manifests/helm/templates/node.yaml", "", "honorLabels: true # its metrics name", "honorLabels: false # its metrics name")]},
    {"name": "kubelet-leaves-its-group", "of": "F83", "what": "a kubelet changes the host group of its node",
     "test": "TestAKubeletDoesNotChangeTheHostGroupOfItsNode",
     "changes": [("manifests/policies/host-groups.yaml", "", "[\"fgpu.io/host-group\", \"fgpu.io/host-gpu-memory\"]\n", "[\"fgpu.io/host-gpu-memory\"]\n")]},
    {"name": "annotation-by-status", "of": "F87", "what": "a request by annotation is added to a waiting pod through pods/status",
     "test": "TestARequestByAnnotationAtASchedulerThatDoesNotAskIsRefusedOnCreate",
     "changes": [(POLICIES, "", "resources: [pods, pods/status] # annotations can be changed through both\n      operations: [CREATE, UPDATE]",
                  "resources: [pods]\n      operations: [CREATE, UPDATE]")]},
]
