package harness

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// The service account of manifests/node.
const (
	AgentNamespace = "fgpu-node"
	AgentAccount   = "fgpu-node"
)

// AgentToken is what kubelet would get for an agent on this node: the API server writes the node into a token that is bound
// to a pod there, or to the node itself.
func (cp *ControlPlane) AgentToken(ctx context.Context, bound authenticationv1.BoundObjectReference) (string, error) {
	seconds := int64(7200)
	r, err := cp.Client.CoreV1().ServiceAccounts(AgentNamespace).CreateToken(ctx, AgentAccount, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds, BoundObjectRef: &bound}}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("token of the agent, bound to %s %s: %w", bound.Kind, bound.Name, err)
	}
	return r.Status.Token, nil
}

// BoundToPod names a pod, and BoundToNode a node, for AgentToken.
func BoundToPod(p *corev1.Pod) authenticationv1.BoundObjectReference {
	return authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: p.Name, UID: p.UID}
}

func BoundToNode(n *corev1.Node) authenticationv1.BoundObjectReference {
	return authenticationv1.BoundObjectReference{Kind: "Node", APIVersion: "v1", Name: n.Name, UID: n.UID}
}

// AgentKubeconfig is for an agent on this node, which must be there.
func (cp *ControlPlane) AgentKubeconfig(ctx context.Context, node string) (string, error) {
	n, err := cp.Client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	token, err := cp.AgentToken(ctx, BoundToNode(n))
	if err != nil {
		return "", err
	}
	return cp.writeKubeconfig("agent-on-"+node, token)
}

// ClientWith speaks to the API server with a token.
func (cp *ControlPlane) ClientWith(token string) (*kubernetes.Clientset, error) {
	return kubernetes.NewForConfig(cp.restConfig(token))
}
