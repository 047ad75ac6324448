//go:build !nri_state_change

package nri

import (
	"context"

	"github.com/containerd/nri/pkg/api"
)

func (r *runtime) startContainer(pod *api.PodSandbox, c *api.Container) error {
	return r.nri.StartContainer(context.Background(), &api.StartContainerRequest{Pod: pod, Container: c})
}

func (r *runtime) removeSandbox(pod *api.PodSandbox) error {
	return r.nri.RemovePodSandbox(context.Background(), &api.RemovePodSandboxRequest{Pod: pod})
}

func (r *runtime) removeContainer(pod *api.PodSandbox, c *api.Container) error {
	return r.nri.RemoveContainer(context.Background(), &api.RemoveContainerRequest{Pod: pod, Container: c})
}
